use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

use super::*;
use crate::watch::meter::Measure;

/// Answers one request with these bytes; gives back what it was sent.
fn serve(answer: String) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics?x=y", listener.local_addr().unwrap());
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(request).unwrap()
    });
    (url, serving)
}

fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn endpoint(url: &str, more: &str) -> Endpoint {
    let text = format!("name = \"m\"\nurl = \"{url}\"\nmetrics = [\"jobs*\"]\n{more}");
    Endpoint::new(&toml::from_str(&text).unwrap(), Clock::start()).unwrap()
}

fn poll(endpoint: &Endpoint) -> Result<Poll, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(endpoint.poll())
}

#[test]
fn metrics_are_fetched_with_the_token_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    std::fs::write(&token, "abc.def\n").unwrap();
    let (url, serving) = serve(answer("200 OK", "jobs 3\nother 4\n"));
    let endpoint = endpoint(&url, &format!("token_file = {token:?}"));
    let poll = poll(&endpoint).unwrap();
    assert_eq!(
        poll.readings,
        [super::super::meter::Reading::new(
            "jobs",
            "",
            Measure::Level(3.0)
        )]
    );
    assert!(poll.notes.is_empty());
    let request = serving.join().unwrap();
    assert!(
        request.starts_with("GET /metrics?x=y HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("authorization: Bearer abc.def\r\n"),
        "{request}"
    );
}

#[test]
fn lines_without_sense_and_patterns_without_metrics_are_told() {
    let (url, serving) = serve(answer("200 OK", "other 4\nwhat is this\n"));
    let poll = poll(&endpoint(&url, "")).unwrap();
    serving.join().unwrap();
    assert!(poll.readings.is_empty());
    assert!(poll.notes[0].starts_with("line 2 "), "{:?}", poll.notes);
    assert_eq!(poll.notes[1], "no metric matches");
}

#[test]
fn an_endpoint_that_fails_says_why() {
    for (whole, reason) in [
        (answer("403 Forbidden", ""), "403"),
        ("SSH-2.0-x\r\n\r\n".to_owned(), ""),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\njobs 1\n".to_owned(),
            "",
        ),
    ] {
        let (url, serving) = serve(whole.clone());
        let error = poll(&endpoint(&url, "")).unwrap_err();
        serving.join().unwrap();
        assert!(
            !error.is_empty() && error.contains(reason),
            "{whole}: {error}"
        );
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", nobody.local_addr().unwrap());
    drop(nobody);
    let error = poll(&endpoint(&url, "")).unwrap_err();
    assert!(error.starts_with("no connection: "), "{error}");
}

#[test]
fn urls_with_credentials_are_refused() {
    let source = "name = \"m\"\nurl = \"http://u:p@x/\"\nmetrics = [\"a\"]";
    let error = Endpoint::new(&toml::from_str(source).unwrap(), Clock::start()).unwrap_err();
    assert!(matches!(error, BadSource::Url(..)), "{error}");
}
