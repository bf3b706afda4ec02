//! TLS that the server speaks itself, on both doors, over real sockets.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustix::process::{Pid, Signal, kill_process};
use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};
use serde_json::json;
use signet::clock::Clock;
use signet::rng::Rng;
use signet::serve;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::support::certificates::{Authority, Issued};
use crate::support::http::{Call, bytes};
use crate::support::{PATIENCE, Server, config, until};

const BOTH: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
const READY: &str = "GET /health/ready HTTP/1.1\r\nhost: x\r\n\r\n";

/// A server that speaks TLS, and who vouches for it.
struct Place {
    authority: Authority,
    issued: Issued,
    dir: tempfile::TempDir,
    server: Server,
}

fn options(dir: &Path) -> Vec<(String, String)> {
    let file = |name: &str| dir.join(name).display().to_string();
    [
        ("issuer", "https://127.0.0.1:4444".to_owned()),
        ("tls.certificate_file", file("chain.pem")),
        ("tls.key_file", file("key.pem")),
        ("tls.admin", "on".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

impl Place {
    fn new(further: &[(&str, &str)]) -> Self {
        let authority = Authority::new();
        let issued = authority.issue("127.0.0.1");
        let dir = tempfile::tempdir().unwrap();
        issued.write(dir.path());
        let options = options(dir.path());
        let own = options
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let server = Server::with(&own.chain(further.iter().copied()).collect::<Vec<_>>());
        Self {
            authority,
            issued,
            dir,
            server,
        }
    }

    fn doors(&self) -> [SocketAddr; 2] {
        let running = self.server.running.as_ref().unwrap();
        [running.public, running.admin]
    }

    async fn connect(&self) -> TlsStream<TcpStream> {
        let connected = self.authority.connect(self.doors()[0], BOTH, &["http/1.1"]);
        connected.await.unwrap()
    }

    /// The certificate that a new connection is shown.
    async fn shown(&self) -> Vec<u8> {
        let stream = self.connect().await;
        stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    }

    /// What is counted under a name.
    fn counted(&self, name: &str) -> u64 {
        let text = self.server.app().metrics.render().unwrap();
        let line = format!("signet_tls_total{{name=\"{name}\"}} ");
        let found = text.lines().find_map(|text| text.strip_prefix(&line));
        found.map_or(0, |count| count.parse().unwrap())
    }
}

/// Sends one request, and reads until the text comes.
async fn ask(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    request: &str,
    end: &str,
) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(end) {
        let mut part = [0; 4096];
        let reading = tokio::time::timeout(PATIENCE, stream.read(&mut part)).await;
        let count = reading.unwrap_or_else(|_| panic!("no {end}")).unwrap();
        assert!(count > 0, "closed: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&part[..count]);
    }
    String::from_utf8(seen).unwrap()
}

async fn is_answered(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> bool {
    let answer = ask(stream, READY, r#"{"status":"ok"}"#).await;
    answer.starts_with("HTTP/1.1 200 OK\r\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_doors_speak_tls_in_two_versions_of_it_and_of_http() {
    let place = Place::new(&[]);
    for door in place.doors() {
        for version in [&TLS12, &TLS13] {
            for (offered, chosen) in [
                (&[][..], None),
                (&["http/1.1"], Some("http/1.1")),
                (&["http/1.1", "h2"], Some("h2")),
            ] {
                let connected = place.authority.connect(door, &[version], offered).await;
                let mut stream = connected.unwrap();
                let about = stream.get_ref().1;
                assert_eq!(about.protocol_version(), Some(version.version));
                assert_eq!(about.alpn_protocol(), chosen.map(str::as_bytes));
                if chosen == Some("h2") {
                    assert_eq!(over_http2(stream).await, 200);
                } else {
                    assert!(is_answered(&mut stream).await);
                    assert!(is_answered(&mut stream).await, "and again");
                }
            }
        }
        let unknown = place.authority.connect(door, BOTH, &["spdy/3"]).await;
        assert!(unknown.is_err(), "no protocol in common");
        let stranger = Authority::new().connect(door, BOTH, &[]).await;
        assert!(stranger.is_err(), "who does not believe it");
        let plain = bytes(door, READY.as_bytes()).await;
        assert!(!plain.contains("HTTP/"), "not in clear: {plain}");
    }
}

async fn over_http2(stream: TlsStream<TcpStream>) -> u16 {
    let io = TokioIo::new(stream);
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
    let (mut sender, connection) = shaken.unwrap();
    tokio::spawn(connection);
    let request = http::Request::get("https://127.0.0.1/health/ready");
    let request = request.body(Empty::<Bytes>::new()).unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let status = answer.status().as_u16();
    answer.into_body().collect().await.unwrap();
    status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_issued_over_tls() {
    let place = Place::new(&[("tls.admin", "off")]);
    let secret = place.server.quick("app", json!({})).await;
    let mut stream = place.connect().await;
    for _ in 0..3 {
        let body = format!("grant_type=client_credentials&client_id=app&client_secret={secret}");
        let request = format!(
            "POST /oauth2/token HTTP/1.1\r\nhost: x\r\ncontent-type: \
             application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = ask(&mut stream, &request, "}").await;
        assert!(answer.contains("\"access_token\""), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_certificate_is_shown_and_no_connection_is_lost() {
    let place = Place::new(&[]);
    let dir = place.dir.path();
    let mut before = place.connect().await;
    assert!(is_answered(&mut before).await);
    assert_eq!(place.shown().await, place.issued.der().to_vec());

    let bad = Issued {
        certificate: place.issued.certificate.clone(),
        key: place.authority.issue("127.0.0.1").key,
    };
    bad.write(dir);
    until("the bad one is noticed", async || {
        place.counted("certificates_refused") > 0
    })
    .await;
    assert_eq!(
        place.shown().await,
        place.issued.der().to_vec(),
        "the old one stays"
    );
    std::fs::remove_file(dir.join("key.pem")).unwrap();
    until("so is that there is none", async || {
        place.counted("certificates_refused") > 1
    })
    .await;
    assert_eq!(
        place.shown().await,
        place.issued.der().to_vec(),
        "the old one stays"
    );

    let good = place.authority.issue("127.0.0.1");
    good.write(dir);
    until("the new one is shown", async || {
        place.shown().await == good.der().to_vec()
    })
    .await;
    assert!(place.counted("certificates_loaded") > 0);
    assert!(is_answered(&mut before).await, "who was there before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_read_again_when_somebody_says_so() {
    let place = Place::new(&[]);
    assert_eq!(place.counted("certificates_loaded"), 0);
    place.server.running.as_ref().unwrap().reload();
    until("it is read", async || {
        place.counted("certificates_loaded") == 1
    })
    .await;
    assert!(is_answered(&mut place.connect().await).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_shake_hands_is_let_go_and_keeps_nobody_waiting() {
    let place = Place::new(&[("tls.handshake_timeout", "1"), ("tls.handshakes", "50")]);
    let door = place.doors()[0];
    let mut silent = Vec::new();
    for _ in 0..40 {
        let mut stream = TcpStream::connect(door).await.unwrap();
        // The beginning of a greeting.
        stream.write_all(&[22, 3, 1]).await.unwrap();
        silent.push(stream);
    }
    assert!(is_answered(&mut place.connect().await).await, "beside them");
    for stream in &mut silent {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
        drop(ended.expect("it is closed"));
    }
    until("they are counted", async || {
        place.counted("handshakes_late") == 40
    })
    .await;
    let mut garbage = TcpStream::connect(door).await.unwrap();
    garbage.write_all(b"hello, who is there?").await.unwrap();
    until("so is nonsense", async || {
        place.counted("handshakes_failed") == 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshakes_beyond_the_limit_are_refused_at_once() {
    let place = Place::new(&[("tls.handshakes", "3"), ("tls.handshake_timeout", "60")]);
    let door = place.doors()[0];
    let mut established = place.connect().await;
    let mut silent = Vec::new();
    for _ in 0..3 {
        silent.push(TcpStream::connect(door).await.unwrap());
    }
    until("there is no room", async || {
        place.authority.connect(door, BOTH, &[]).await.is_err()
    })
    .await;
    assert!(place.counted("handshakes_refused") > 0);
    assert!(is_answered(&mut established).await, "who was there before");
    let admin = place.authority.connect(place.doors()[1], BOTH, &[]).await;
    assert!(admin.is_ok(), "the other door has a limit of its own");
    drop(silent);
    until("there is room again", async || {
        place.authority.connect(door, BOTH, &[]).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_in_flight_over_tls_are_finished_when_the_server_stops() {
    let mut place = Place::new(&[("tls.admin", "off")]);
    let secret = place.server.quick("app", json!({})).await;
    let body = format!("grant_type=client_credentials&client_id=app&client_secret={secret}");
    let head = format!(
        "POST /oauth2/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = place.connect().await;
    ask(&mut stream, &head, "100 Continue\r\n\r\n").await;
    let door = place.doors()[0];
    let running = place.server.running.take().unwrap();
    let stopping = tokio::task::spawn_blocking(move || running.stop());
    until("nobody is let in any more", async || {
        TcpStream::connect(door).await.is_err()
    })
    .await;
    let answer = ask(&mut stream, &body, "access_token").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(stream);
    stopping.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_good_certificate_does_not_start() {
    let authority = Authority::new();
    let (one, other) = (authority.issue("127.0.0.1"), authority.issue("127.0.0.1"));
    let long_ago = Clock::frozen(signet_oauth::time::Timestamp(0));
    let far_ahead = Clock::frozen(signet_oauth::time::Timestamp(100_000_000_000));
    for (certificate, key, clock, said) in [
        (
            &one.certificate,
            &other.key,
            Clock::system(),
            "is not that of the first certificate",
        ),
        (
            &one.key,
            &one.key,
            Clock::system(),
            "it holds no certificate",
        ),
        (
            &one.certificate,
            &one.certificate,
            Clock::system(),
            "it holds no private key",
        ),
        (&one.certificate, &one.key, far_ahead, "expired at"),
        (
            &one.certificate,
            &one.key,
            long_ago,
            "is the clock of this machine right?",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let issued = Issued {
            certificate: certificate.clone(),
            key: key.clone(),
        };
        issued.write(dir.path());
        let config = config(dir.path(), &options(dir.path()));
        let started = std::thread::spawn(move || serve::start_with(&config, clock, Rng::system()));
        let error = started.join().unwrap().unwrap_err().to_string();
        assert!(
            error.starts_with("TLS: ") && error.contains(said),
            "{said}: {error}"
        );
    }
}

/// The binary, with a certificate for its public door.
struct Binary {
    child: Child,
    admin: SocketAddr,
}

impl Binary {
    fn start(dir: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
        command.args(["serve", "--dev", "--data-dir", "data"]);
        for option in [
            "issuer=https://127.0.0.1:4444",
            "public_listen=127.0.0.1:0",
            "admin_listen=127.0.0.1:0",
            "tls.certificate_file=chain.pem",
            "tls.key_file=key.pem",
            "log.level=error",
        ] {
            command.args(["--set", option]);
        }
        command.current_dir(dir).env_clear().stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = said.map_while(Result::ok);
        let mut listener = |name: &str| {
            let line =
                said.find_map(|line| Some(line.trim().strip_prefix(name)?.trim().to_owned()));
            line.unwrap_or_else(|| panic!("it does not say where {name} is"))
        };
        let public = listener("public");
        assert!(public.starts_with("https://"), "{public}");
        let admin = listener("admin");
        let admin = admin.strip_prefix("http://").unwrap();
        let admin = admin.split_whitespace().next().unwrap().parse().unwrap();
        Self { child, admin }
    }
}

impl Drop for Binary {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hangup_signal_has_the_certificate_read_again_and_ends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    Authority::new().issue("127.0.0.1").write(dir.path());
    let mut binary = Binary::start(dir.path());
    let token = std::fs::read_to_string(dir.path().join("data/admin.token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let loaded = async || {
        let call =
            Call::new(binary.admin, "GET", "/admin/metrics").header("authorization", &bearer);
        call.await
            .text()
            .contains("signet_tls_total{name=\"certificates_loaded\"} 1\n")
    };
    assert!(!loaded().await);
    kill_process(Pid::from_child(&binary.child), Signal::HUP).unwrap();
    until("it is read again", loaded).await;
    assert!(binary.child.try_wait().unwrap().is_none(), "it goes on");
}
