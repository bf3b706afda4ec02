//! What is sent: bodies in turn, from files, and what comes back chunked.

use std::io::Write as _;

use crate::lab::hit;
use crate::stub::{Act, Stub, ok};

fn file(content: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file
}

#[test]
fn lines_of_a_file_take_turns() {
    let stub = Stub::start(|_| ok());
    let lines = file(b"token=a\ntoken=bb\r\n\ntoken=c\n");
    let path = lines.path().to_str().unwrap();
    hit(&["-n", "7", "-c", "1", "--each", path], &stub.url);
    let bodies: Vec<_> = stub.seen().into_iter().map(|seen| seen.body).collect();
    let (a, b, c) = ("token=a", "token=bb", "token=c");
    assert_eq!(bodies, [a, b, c, a, b, c, a]);
}

#[test]
fn every_line_is_used_equally_by_all_lanes_together() {
    let stub = Stub::start(|_| ok());
    let lines = file(b"t=0\nt=1\nt=2\nt=3\nt=4\nt=5\nt=6\nt=7\nt=8\nt=9\n");
    let path = lines.path().to_str().unwrap();
    hit(&["-n", "100", "-c", "8", "--each", path], &stub.url);
    let mut bodies: Vec<_> = stub.seen().into_iter().map(|seen| seen.body).collect();
    bodies.sort_unstable();
    let expected: Vec<_> = (0..100).map(|index| format!("t={}", index / 10)).collect();
    assert_eq!(bodies, expected);
}

#[test]
fn body_headers_and_credentials_arrive_as_given() {
    let stub = Stub::start(|_| ok());
    let body = file(b"{\"a\":\n1}");
    let path = body.path().to_str().unwrap();
    let args = [
        "-n",
        "1",
        "-c",
        "1",
        "-m",
        "PUT",
        "-D",
        path,
        "-T",
        "application/json",
        "-a",
        "bench:secret",
        "-H",
        "X-One: 1",
        "-H",
        "X-One: 2",
    ];
    hit(&args, &stub.url);
    let seen = stub.seen().remove(0);
    let head = seen.head.to_ascii_lowercase();
    assert!(seen.head.starts_with("PUT / HTTP/1.1\r\n"), "{}", seen.head);
    assert!(head.contains("content-type: application/json\r\n"));
    assert!(seen.head.contains("Basic YmVuY2g6c2VjcmV0\r\n"));
    assert!(head.contains("x-one: 1\r\nx-one: 2\r\n"));
    assert_eq!(seen.body, "{\"a\":\n1}");
}

#[test]
fn form_is_posted_as_a_form() {
    let stub = Stub::start(|_| ok());
    hit(
        &["-n", "1", "-d", "grant_type=client_credentials"],
        &stub.url,
    );
    let seen = stub.seen().remove(0);
    assert!(seen.head.starts_with("POST / "));
    assert!(seen.head.contains("application/x-www-form-urlencoded"));
    assert_eq!(seen.body, "grant_type=client_credentials");
}

#[test]
fn chunked_answers_are_read_whole() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: t\r\n\r\n";
    let stub = Stub::start(|_| Act::Send(chunked.to_vec()));
    let run = hit(&["-n", "50", "-c", "2"], &stub.url);
    assert_eq!(run["responses"], 50);
    assert_eq!(run["body_bytes"], 50 * 11);
    assert_eq!(stub.connections(), 2);
}

#[test]
fn answers_larger_than_any_buffer_are_read_whole() {
    let mut large = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n".to_vec();
    large.resize(large.len() + 1_000_000, b'x');
    let stub = Stub::start(move |_| Act::Send(large.clone()));
    let run = hit(&["-n", "10", "-c", "2"], &stub.url);
    assert_eq!(run["responses"], 10);
    assert_eq!(run["body_bytes"], 10_000_000);
}

#[test]
fn answer_to_head_has_no_body() {
    let stub = Stub::start(|_| Act::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".to_vec()));
    let run = hit(&["-n", "10", "-c", "1", "-m", "HEAD"], &stub.url);
    assert_eq!(run["responses"], 10);
    assert_eq!(stub.connections(), 1);
}
