//! The echo server: what it answers, signed and not.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::lab::{Echo, hit};

/// Posts a form and returns the JSON of the answer.
fn post(url: &str, form: &str) -> Value {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    let length = form.len();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{form}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    serde_json::from_str(body).unwrap()
}

#[test]
fn form_comes_back_as_json() {
    let echo = Echo::start(&[]);
    let answer = post(&echo.url, "token=a%20b&client_id=c");
    assert_eq!(answer["active"], true);
    assert_eq!(answer["form"]["token"], "a b");
    assert_eq!(answer["form"]["client_id"], "c");
}

#[test]
fn both_protocols_reach_it() {
    let echo = Echo::start(&[]);
    let http1 = hit(&["-n", "100", "-c", "4", "-d", "a=b"], &echo.url);
    assert_eq!(
        (&http1["responses"], &http1["protocol"]),
        (&100.into(), &"HTTP/1.1".into())
    );
    let http2 = hit(
        &["-n", "1000", "-c", "40", "-d", "a=b", "--http2"],
        &echo.url,
    );
    assert_eq!(
        (&http2["responses"], &http2["protocol"]),
        (&1000.into(), &"HTTP/2".into())
    );
    assert_eq!(
        http2["connections"]["count"], 1,
        "streams share a connection"
    );
    assert_eq!(
        http1["body_bytes"].as_u64().unwrap() * 10,
        http2["body_bytes"].as_u64().unwrap()
    );
}

#[test]
fn http2_connections_are_as_many_as_asked_for() {
    let echo = Echo::start(&[]);
    let run = hit(
        &["-n", "100", "-c", "9", "--http2", "--connections", "3"],
        &echo.url,
    );
    assert_eq!(run["responses"], 100);
    assert_eq!(run["connections"]["count"], 3);
}

#[test]
fn tokens_are_signed_anew_for_every_request() {
    for algorithm in ["es256", "rs256"] {
        let echo = Echo::start(&["--sign", algorithm]);
        let mut ids = Vec::new();
        for _ in 0..3 {
            let answer = post(&echo.url, "client_id=bench&scope=read+write");
            assert_eq!(answer["token_type"], "Bearer");
            assert_eq!(answer["scope"], "read write");
            let token = answer["access_token"].as_str().unwrap();
            let parts: Vec<_> = token.split('.').collect();
            let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
            let header: Value = serde_json::from_slice(&decode(parts[0])).unwrap();
            let claims: Value = serde_json::from_slice(&decode(parts[1])).unwrap();
            assert_eq!(header["alg"], algorithm.to_uppercase());
            assert_eq!(header["typ"], "at+jwt");
            assert_eq!(claims["client_id"], "bench");
            assert!(claims["exp"].as_u64() > claims["iat"].as_u64());
            let expected = if algorithm == "es256" { 64 } else { 256 };
            assert_eq!(decode(parts[2]).len(), expected);
            ids.push(claims["jti"].as_str().unwrap().to_owned());
        }
        ids.dedup();
        assert_eq!(ids.len(), 3);
    }
}
