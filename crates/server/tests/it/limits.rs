//! What a peer may take of the server: sizes, times, and bytes that are hardly HTTP. Whatever came
//! in, the server answers the next one.

use serde_json::json;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::http::{Call, bytes, rest};
use crate::support::{PATIENCE, Server, together};

const FORM: &str = "application/x-www-form-urlencoded";

fn public(server: &Server) -> SocketAddr {
    server.running.as_ref().unwrap().public
}

/// Reads from an open connection until the text has come.
async fn read_until(stream: &mut TcpStream, expected: &str) -> String {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(expected) {
        let mut part = [0; 4096];
        let reading = tokio::time::timeout(PATIENCE, stream.read(&mut part)).await;
        let count = reading.unwrap_or_else(|_| panic!("no {expected}")).unwrap();
        assert!(
            count > 0,
            "closed before {expected}: {}",
            String::from_utf8_lossy(&seen)
        );
        seen.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&seen).into_owned()
}

async fn assert_lives(server: &Server, after: &str) {
    assert_eq!(
        server.public("GET", "/health/ready").await.status,
        200,
        "after {after}"
    );
    assert_eq!(
        server.admin("GET", "/admin/clients").await.status,
        200,
        "after {after}"
    );
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn bodies_beyond_the_limit_are_too_large() {
    let server = Server::with(&[
        ("limits.body_bytes", "2048"),
        ("limits.admin_body_bytes", "4096"),
    ]);
    let secret = server.quick("app", json!({})).await;
    let padded = |size: usize| {
        let start = "grant_type=client_credentials&x=";
        format!("{start}{}", "x".repeat(size - start.len()))
    };
    for path in ["/oauth2/token", "/oauth2/introspect", "/oauth2/revoke"] {
        let call = |size| {
            server
                .public("POST", path)
                .basic("app", &secret)
                .raw(FORM, padded(size) + "&token=x")
        };
        assert_eq!(
            call(2048 - 8).await.status,
            200,
            "{path}: as much as may be"
        );
        for size in [2048 - 7, 10_000, 1_000_000] {
            let answer = call(size).attempt().await;
            // A peer that is still sending may see the connection reset before it sees the answer.
            if let Ok(answer) = answer {
                assert_eq!(
                    answer.refusal(),
                    (413, "payload_too_large".to_owned()),
                    "{path} {size}"
                );
            }
        }
        assert_eq!(
            call(2048 - 7).await.status,
            413,
            "{path}: one byte too many"
        );
    }
    let body = |size: usize| json!({"metadata": {"x": "x".repeat(size)}});
    assert_eq!(
        server
            .admin("POST", "/admin/clients")
            .json(&body(4000))
            .await
            .status,
        201
    );
    let answer = server
        .admin("POST", "/admin/clients")
        .json(&body(4096))
        .await;
    assert_eq!(answer.refusal(), (413, "payload_too_large".to_owned()));
    let chunk = format!("{:x}\r\n{}\r\n", 1000, "x".repeat(1000));
    let head = format!(
        "POST /oauth2/token HTTP/1.1\r\nhost: x\r\ncontent-type: {FORM}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    let answer = bytes(
        public(&server),
        (head + &chunk.repeat(3) + "0\r\n\r\n").as_bytes(),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 413"), "in chunks: {answer}");
    assert_lives(&server, "large bodies").await;
}

#[tokio::test]
async fn headers_beyond_the_limit_are_refused() {
    let server = Server::with(&[("limits.header_bytes", "8192")]);
    let fits = server
        .public("GET", "/health/alive")
        .header("x-long", &"x".repeat(7000))
        .await;
    assert_eq!(fits.status, 200);
    let many: Vec<String> = (0..200)
        .map(|number| format!("x-{number}: x\r\n"))
        .collect();
    let many = many.concat();
    for (case, request) in [
        (
            "one long header",
            format!(
                "GET /health/alive HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n",
                "x".repeat(9000)
            ),
        ),
        (
            "a header without end",
            format!(
                "GET /health/alive HTTP/1.1\r\nhost: x\r\nx: {}",
                "x".repeat(100_000)
            ),
        ),
        (
            "many headers",
            format!("GET /health/alive HTTP/1.1\r\nhost: x\r\n{many}\r\n"),
        ),
        (
            "a long path",
            format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(9000)),
        ),
        (
            "a long method",
            format!("{} / HTTP/1.1\r\nhost: x\r\n\r\n", "X".repeat(100_000)),
        ),
    ] {
        let answer = bytes(public(&server), request.as_bytes()).await;
        let refused = answer.is_empty()
            || ["400", "414", "431"]
                .iter()
                .any(|code| answer[9..].starts_with(code));
        assert!(refused, "{case}: {answer}");
    }
    assert_lives(&server, "long headers").await;
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_awaited_for_ever() {
    let server = Server::with(&[("limits.body_timeout", "1")]);
    let head = format!(
        "POST /oauth2/token HTTP/1.1\r\nhost: x\r\ncontent-type: {FORM}\r\ncontent-length: 100\r\n\r\ngrant"
    );
    let answer = bytes(public(&server), head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("request_timeout"), "{answer}");
    assert!(
        answer.to_lowercase().contains("connection: close"),
        "{answer}"
    );
    assert_lives(&server, "a slow body").await;
}

#[tokio::test]
async fn connections_that_only_wait_are_closed() {
    let server = Server::with(&[("limits.header_timeout", "1"), ("limits.idle_timeout", "1")]);
    for (case, sent, answered) in [
        ("nothing", "", false),
        (
            "a part of the headers",
            "GET /health/alive HTTP/1.1\r\nhost:",
            false,
        ),
        (
            "one request, then nothing",
            "GET /health/alive HTTP/1.1\r\nhost: x\r\n\r\n",
            true,
        ),
        (
            "the next one only begun",
            "GET /health/alive HTTP/1.1\r\nhost: x\r\n\r\nGET /he",
            true,
        ),
    ] {
        let mut stream = TcpStream::connect(public(&server)).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert_eq!(
            answer.starts_with("HTTP/1.1 200"),
            answered,
            "{case}: {answer}"
        );
    }
    assert_lives(&server, "idle connections").await;
}

#[tokio::test]
async fn connections_beyond_the_limit_do_not_disturb_the_others() {
    let server = Server::with(&[("limits.connections", "3")]);
    let mut open = vec![];
    for _ in 0..3 {
        let mut stream = TcpStream::connect(public(&server)).await.unwrap();
        stream
            .write_all(b"GET /health/alive HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        read_until(&mut stream, r#"{"status":"ok"}"#).await;
        open.push(stream);
    }
    let refused = bytes(
        public(&server),
        b"GET /health/alive HTTP/1.1\r\nhost: x\r\n\r\n",
    )
    .await;
    assert_eq!(refused, "", "closed at once");
    assert_eq!(
        server.admin("GET", "/admin/clients").await.status,
        200,
        "the other door has a limit of its own"
    );
    for stream in &mut open {
        stream
            .write_all(b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        read_until(stream, "\"version\"").await;
    }
    drop(open);
    let again = async || {
        server
            .public("GET", "/health/alive")
            .attempt()
            .await
            .is_ok_and(|answer| answer.status == 200)
    };
    crate::support::until("there is room again", again).await;
}

#[tokio::test]
async fn methods_that_a_path_does_not_have_are_named_in_allow() {
    let server = Server::start();
    for (path, allowed) in [
        // Browsers ask first (CORS).
        ("/oauth2/token", &["OPTIONS", "POST"][..]),
        ("/oauth2/introspect", &["POST"]),
        ("/oauth2/revoke", &["POST"]),
        ("/.well-known/jwks.json", &["GET", "HEAD"]),
        ("/health/alive", &["GET", "HEAD"]),
        ("/version", &["GET", "HEAD"]),
    ] {
        for method in [
            "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW",
        ] {
            if allowed.contains(&method) {
                continue;
            }
            let answer = server.public(method, path).await;
            assert_eq!(answer.status, 405, "{method} {path}");
            let mut named: Vec<_> = answer.header("allow").split(',').map(str::trim).collect();
            named.sort_unstable();
            assert_eq!(named, allowed, "{method} {path}");
            if method != "HEAD" {
                assert_eq!(answer.json()["error"], "method_not_allowed");
            }
        }
    }
    for path in [
        "/",
        "/oauth2",
        "/oauth2/",
        "/oauth2/token/",
        "/userinfo/",
        "/favicon.ico",
        "//",
        "/%00",
        "*",
    ] {
        let answer = server.public("GET", path).attempt().await;
        if let Ok(answer) = answer {
            assert_eq!(answer.refusal(), (404, "not_found".to_owned()), "{path}");
            assert_eq!(answer.header("content-type"), "application/json", "{path}");
        }
    }
    let answer = bytes(
        public(&server),
        b"OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    let answer = bytes(
        public(&server),
        b"CONNECT x:443 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
}

#[tokio::test]
async fn requests_as_old_and_odd_clients_send_them_are_answered() {
    let server = Server::start();
    let secret = server.quick("app", json!({})).await;
    let body = format!("grant_type=client_credentials&client_id=app&client_secret={secret}");
    let length = body.len();
    let (cut, tail) = body.split_at(20);
    let chunks = format!(
        "14\r\n{cut}\r\n{:X};ext=1\r\n{tail}\r\n0\r\nx-trailer: y\r\n\r\n",
        tail.len()
    );
    let post = |version: &str, headers: &str| {
        format!(
            "POST /oauth2/token HTTP/{version}\r\nhost: x\r\ncontent-type: {FORM}\r\nconnection: close\r\n{headers}\r\n"
        )
    };
    for (case, request) in [
        (
            "HTTP/1.0",
            post("1.0", &format!("content-length: {length}\r\n")) + &body,
        ),
        (
            "HTTP/1.0 without a host",
            format!(
                "POST /oauth2/token HTTP/1.0\r\ncontent-type: {FORM}\r\ncontent-length: {length}\r\n\r\n{body}"
            ),
        ),
        (
            "chunks",
            post("1.1", "transfer-encoding: chunked\r\n") + &chunks,
        ),
        (
            "names in capitals",
            post("1.1", &format!("CONTENT-LENGTH: {length}\r\n")) + &body,
        ),
        (
            "empty lines before it",
            "\r\n\r\n".to_owned() + &post("1.1", &format!("content-length: {length}\r\n")) + &body,
        ),
        (
            "the whole URL",
            post("1.1", &format!("content-length: {length}\r\n")).replacen(
                "/oauth2",
                "http://x/oauth2",
                1,
            ) + &body,
        ),
    ] {
        let answer = bytes(public(&server), request.as_bytes()).await;
        let first = answer.lines().next().unwrap_or_default().to_owned();
        assert!(
            first.ends_with("200 OK") && answer.contains("access_token"),
            "{case}: {answer}"
        );
    }
}

#[tokio::test]
async fn a_client_that_waits_for_100_continue_gets_it() {
    let server = Server::start();
    let secret = server.quick("app", json!({})).await;
    let body = format!("grant_type=client_credentials&client_id=app&client_secret={secret}");
    let mut stream = TcpStream::connect(public(&server)).await.unwrap();
    let head = format!(
        "POST /oauth2/token HTTP/1.1\r\nhost: x\r\ncontent-type: {FORM}\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let interim = read_until(&mut stream, "\r\n\r\n").await;
    assert!(interim.starts_with("HTTP/1.1 100"), "{interim}");
    stream.write_all(body.as_bytes()).await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("access_token"),
        "{answer}"
    );
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = Server::start();
    let get = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n{more}\r\n");
    let requests = [
        get("/version", ""),
        get("/nowhere", ""),
        "POST /oauth2/token HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nx=y".to_owned(),
        get("/health/alive", "connection: close\r\n"),
        get("/version", ""),
    ];
    let answer = bytes(public(&server), requests.concat().as_bytes()).await;
    let order: Vec<usize> = ["\"version\"", "not_found", "invalid_request", "\"ok\""]
        .iter()
        .map(|part| {
            answer
                .find(part)
                .unwrap_or_else(|| panic!("no {part}: {answer}"))
        })
        .collect();
    assert!(order.is_sorted(), "{answer}");
    assert_eq!(
        answer.matches("HTTP/1.1 ").count(),
        4,
        "nothing after the close: {answer}"
    );
}

/// A request hidden behind another: whoever takes it for one of its own was smuggled into.
const HIDDEN: &str = "GET /version HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn requests_with_two_ends_are_refused_or_the_last_of_their_connection() {
    let server = Server::start();
    let post = |headers: &str, body: &str| {
        format!("POST /oauth2/token HTTP/1.1\r\nhost: x\r\n{headers}\r\n{body}{HIDDEN}")
    };
    for (case, request) in [
        (
            "two lengths",
            post("content-length: 3\r\ncontent-length: 40\r\n", "x=y"),
        ),
        (
            "two lengths in one line",
            post("content-length: 3, 40\r\n", "x=y"),
        ),
        ("length with a sign", post("content-length: +3\r\n", "x=y")),
        ("negative length", post("content-length: -3\r\n", "x=y")),
        (
            "length in hexadecimal",
            post("content-length: 0x3\r\n", "x=y"),
        ),
        (
            "length with a fraction",
            post("content-length: 3.0\r\n", "x=y"),
        ),
        ("empty length", post("content-length:\r\n", "x=y")),
        (
            "length beyond all numbers",
            post("content-length: 99999999999999999999999\r\n", "x=y"),
        ),
        (
            "space before the colon",
            post("content-length : 3\r\n", "x=y"),
        ),
        ("folded header", post("content-length:\r\n 3\r\n", "x=y")),
        (
            "length and chunks",
            post(
                "content-length: 3\r\ntransfer-encoding: chunked\r\n",
                "0\r\n\r\n",
            ),
        ),
        (
            "chunks and length",
            post(
                "transfer-encoding: chunked\r\ncontent-length: 3\r\n",
                "0\r\n\r\n",
            ),
        ),
        (
            "chunked is not last",
            post("transfer-encoding: chunked, identity\r\n", "0\r\n\r\n"),
        ),
        (
            "unknown coding",
            post("transfer-encoding: xchunked\r\n", "0\r\n\r\n"),
        ),
        (
            "identity",
            post("transfer-encoding: identity\r\n", "0\r\n\r\n"),
        ),
        (
            "coding with a tab",
            post("transfer-encoding:\x0bchunked\r\n", "0\r\n\r\n"),
        ),
        (
            "a bare CR in a header",
            post("x: a\rtransfer-encoding: chunked\r\n", "0\r\n\r\n"),
        ),
        ("a NUL in a header", post("x: a\0b\r\n", "")),
        (
            "chunk size with a sign",
            post("transfer-encoding: chunked\r\n", "+3\r\nx=y\r\n0\r\n\r\n"),
        ),
        (
            "chunk size in another base",
            post("transfer-encoding: chunked\r\n", "0x3\r\nx=y\r\n0\r\n\r\n"),
        ),
        (
            "chunk size beyond all numbers",
            post(
                "transfer-encoding: chunked\r\n",
                "fffffffffffffffff3\r\nx=y\r\n0\r\n\r\n",
            ),
        ),
        (
            "chunk longer than its size",
            post("transfer-encoding: chunked\r\n", "1\r\nx=y\r\n0\r\n\r\n"),
        ),
        (
            "chunk without its line end",
            post("transfer-encoding: chunked\r\n", "3\r\nx=y0\r\n\r\n"),
        ),
    ] {
        let answer = bytes(public(&server), request.as_bytes()).await;
        assert!(
            !answer.contains("\"version\""),
            "{case}: the hidden request was answered: {answer}"
        );
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{case}: {answer}"
        );
    }
    assert_lives(&server, "smuggling").await;
}

#[tokio::test]
async fn bytes_that_are_no_http_do_no_harm() {
    let server = Server::start();
    let noise: Vec<u8> = (0_u32..20_000)
        .map(|at| u8::try_from(at.wrapping_mul(2_654_435_761) >> 24).unwrap())
        .collect();
    for garbage in [
        &b"\0"[..],
        b"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\nx\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nh\xffst: x\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nhost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x09\x01\x05\0\0\0\x01garbage!!",
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
        &noise,
    ] {
        let mut stream = TcpStream::connect(public(&server)).await.unwrap();
        drop(stream.write_all(garbage).await);
        drop(stream.shutdown().await);
        let answer = rest(&mut stream).await;
        assert!(
            !answer.contains(" 200 ") && !answer.contains(" 500 "),
            "{garbage:?}: {answer}"
        );
    }
    let metrics = server.admin("GET", "/admin/metrics").await.text();
    assert!(metrics.contains("signet_panics_total 0"), "{metrics}");
    assert_lives(&server, "garbage").await;
}

#[tokio::test]
async fn a_peer_that_leaves_in_the_middle_does_no_harm() {
    let server = Server::start();
    let secret = server
        .quick("app", json!({"persistence": "persisted"}))
        .await;
    let body = format!("grant_type=client_credentials&client_id=app&client_secret={secret}");
    let request = format!(
        "POST /oauth2/token HTTP/1.1\r\nhost: x\r\ncontent-type: {FORM}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    for cut in (0..request.len()).step_by(7).chain([request.len()]) {
        let mut stream = TcpStream::connect(public(&server)).await.unwrap();
        stream.write_all(&request.as_bytes()[..cut]).await.unwrap();
        drop(stream);
    }
    assert_lives(&server, "broken connections").await;
    assert_eq!(server.token("app", &secret, &[]).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http2_is_spoken_to_those_who_begin_with_it() {
    let server = Server::start();
    let secret = server.quick("app", json!({})).await;
    let stream = TcpStream::connect(public(&server)).await.unwrap();
    let io = hyper_util::rt::TokioIo::new(stream);
    let executor = hyper_util::rt::TokioExecutor::new();
    let shaken = hyper::client::conn::http2::handshake(executor, io).await;
    let (sender, connection) = shaken.unwrap();
    let driving = tokio::spawn(connection);
    let body = format!("grant_type=client_credentials&client_id=app&client_secret={secret}");
    let answers = together(100, |number| {
        let mut sender = sender.clone();
        let body = if number % 4 == 3 {
            "x=y".to_owned()
        } else {
            body.clone()
        };
        async move {
            let request =
                http::Request::post("http://signet.test/oauth2/token").header("content-type", FORM);
            let request = request
                .body(http_body_util::Full::new(bytes::Bytes::from(body)))
                .unwrap();
            sender.ready().await.unwrap();
            sender
                .send_request(request)
                .await
                .unwrap()
                .status()
                .as_u16()
        }
    });
    let statuses = answers.await;
    for (number, status) in statuses.into_iter().enumerate() {
        assert_eq!(
            status,
            if number % 4 == 3 { 401 } else { 200 },
            "stream {number}"
        );
    }
    driving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_by_address_are_of_the_client_behind_the_proxy() {
    let server = Server::with(&[
        ("proxy.trusted", "127.0.0.1"),
        ("hashing.per_address", "1"),
        ("hashing.threads", "1"),
        ("secrets.hash", "bcrypt:11"),
    ]);
    let mut fields = json!({"client_id": "app", "client_secret": "right"});
    fields["grant_types"] = json!(["client_credentials"]);
    server.create(fields).await;
    let public = server.running.as_ref().unwrap().public;
    // Of the same guess, one hash would answer all.
    let guess = move |client: String, number: usize| async move {
        let call = Call::new(public, "POST", "/oauth2/token")
            .header("x-forwarded-for", &format!("6.6.6.6, {client}"))
            .basic("app", &format!("guess {number}"));
        call.form(&[("grant_type", "client_credentials")])
            .await
            .status
    };
    let apart = together(8, move |number| guess(format!("192.0.2.{number}"), number)).await;
    assert_eq!(apart, [401; 8], "each has a limit of their own");
    let same = together(16, move |number| guess("192.0.2.9".to_owned(), number)).await;
    assert!(same.contains(&503), "one has one: {same:?}");
    assert!(same.contains(&401), "{same:?}");
}
