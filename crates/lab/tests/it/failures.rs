//! What goes wrong: closed, refused and broken connections are counted by kind.

use std::net::TcpListener;

use crate::lab::{hit, hit_output};
use crate::stub::{Act, Stub, ok};

#[test]
fn connections_closed_midway_are_counted() {
    let stub = Stub::start(|seen| match seen.index % 10 {
        9 => Act::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf".to_vec()),
        _ => ok(),
    });
    let run = hit(&["-n", "100", "-c", "3"], &stub.url);
    assert_eq!(stub.seen().len(), 100);
    assert_eq!(run["responses"], 90);
    assert_eq!(run["errors"]["closed"]["count"], 10);
    assert_eq!(run["response"]["count"], 90, "only answers have a latency");
}

#[test]
fn silence_is_a_timeout() {
    let stub = Stub::start(|seen| match seen.index {
        0 => ok(),
        _ => Act::Ignore,
    });
    let run = hit(&["-n", "4", "-c", "1", "-t", "0.2"], &stub.url);
    assert_eq!(run["responses"], 1);
    assert_eq!(run["errors"]["timeout"]["count"], 3);
    assert_eq!(
        stub.connections(),
        4 - 1,
        "a late answer must not meet the next request"
    );
}

#[test]
fn nonsense_is_a_protocol_error() {
    let stub = Stub::start(|seen| match seen.index % 3 {
        0 => Act::Send(b"220 mail.example ESMTP\r\n".to_vec()),
        1 => Act::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy".to_vec()),
        _ => ok(),
    });
    let run = hit(&["-n", "30", "-c", "2"], &stub.url);
    assert_eq!(run["responses"], 10);
    assert_eq!(run["errors"]["protocol"]["count"], 20);
}

#[test]
fn announced_close_is_no_error() {
    let stub = Stub::start(|_| {
        Act::Close(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_vec())
    });
    let run = hit(&["-n", "20", "-c", "2"], &stub.url);
    assert_eq!(run["responses"], 20);
    assert_eq!(stub.connections(), 20);
}

#[test]
fn connection_closed_while_idle_is_opened_again() {
    let stub =
        Stub::start(|_| Act::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()));
    // Between arrivals there is ample time to notice that the server has gone.
    let run = hit(&["-n", "4", "-c", "1", "-q", "8"], &stub.url);
    assert_eq!(run["responses"], 4);
    assert_eq!(run["error_count"], 0);
    assert_eq!(stub.connections(), 4);
}

#[test]
fn nobody_listening_is_a_connect_error() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", free.local_addr().unwrap());
    drop(free);
    let output = hit_output(&["-n", "5"], &url);
    assert_eq!(output.status.code(), Some(1), "no answer, no success");
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(run["errors"]["connect"]["count"], 5);
    assert_eq!(run["responses"], 0);
}

#[test]
fn name_without_an_address_is_a_lookup_error() {
    let run = hit(&["-n", "1"], "http://name.invalid/");
    assert_eq!(run["errors"]["lookup"]["count"], 1);
}
