//! A server that is asked to stop: who has been let in is answered, nobody else is let in.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::http::rest;
use crate::support::{On, Server, on_every_store, until};

on_every_store! {
    requests_in_flight_are_finished_and_nobody_else_is_let_in
}

async fn requests_in_flight_are_finished_and_nobody_else_is_let_in(store: On) {
    let mut server = Server::on(store, &[]);
    let secret = server
        .quick("app", json!({"persistence": "persisted"}))
        .await;
    let to = server.running.as_ref().unwrap().public;
    let body = format!("grant_type=client_credentials&client_id=app&client_secret={secret}");
    let head = format!(
        "POST /oauth2/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut streams = vec![];
    for _ in 0..10 {
        let mut stream = TcpStream::connect(to).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // The server asks for the body: the request is in flight.
        let mut interim = [0; 25];
        stream.read_exact(&mut interim).await.unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
        streams.push(stream);
    }
    let mut idle = TcpStream::connect(to).await.unwrap();
    idle.write_all(b"GET /health/ready HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let mut first = [0; 15];
    idle.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    let running = server.running.take().unwrap();
    let stopping = tokio::task::spawn_blocking(move || running.stop());
    until("nobody is let in any more", async || {
        TcpStream::connect(to).await.is_err()
    })
    .await;
    let ended = rest(&mut idle).await;
    assert!(
        ended.contains("\"ok\""),
        "an idle connection is closed, its answer complete: {ended}"
    );
    assert!(!stopping.is_finished(), "it waits for those in flight");
    for stream in &mut streams {
        stream.write_all(body.as_bytes()).await.unwrap();
    }
    for mut stream in streams {
        let answer = rest(&mut stream).await;
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("access_token"),
            "{answer}"
        );
    }
    stopping.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_never_end_are_given_up_after_the_drain_time() {
    let mut server = Server::with(&[("limits.drain_timeout", "1"), ("limits.body_timeout", "60")]);
    let to = server.running.as_ref().unwrap().public;
    let mut stream = TcpStream::connect(to).await.unwrap();
    let head = b"POST /oauth2/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n\
        expect: 100-continue\r\ncontent-length: 9\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let mut interim = [0; 12];
    stream.read_exact(&mut interim).await.unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100");
    let running = server.running.take().unwrap();
    let stopping = tokio::task::spawn_blocking(move || running.stop());
    tokio::time::timeout(crate::support::PATIENCE, stopping)
        .await
        .expect("it stops")
        .unwrap();
}
