//! The closed loop: exactly as many requests as asked for, over as many connections.

use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;
use std::sync::mpsc;

use crate::lab::{assay, hit, hit_output};
use crate::stub::{Act, Stub, ok};

#[test]
fn count_is_exact() {
    let stub = Stub::start(|_| ok());
    let run = hit(&["-n", "1000", "-c", "7"], &stub.url);
    assert_eq!(stub.seen().len(), 1000);
    assert_eq!(stub.connections(), 7);
    assert_eq!(run["responses"], 1000);
    assert_eq!(run["statuses"]["200"], 1000);
    assert_eq!(run["response"]["count"], 1000);
    assert_eq!(run["connections"]["count"], 7);
    assert_eq!(run["body_bytes"], 2000);
    assert_eq!(run["mode"], "closed");
}

#[test]
fn threads_share_the_count() {
    let stub = Stub::start(|_| ok());
    let run = hit(&["-n", "1000", "-c", "7", "--threads", "3"], &stub.url);
    assert_eq!(stub.seen().len(), 1000);
    assert_eq!(stub.connections(), 7);
    assert_eq!(run["responses"], 1000);
}

#[test]
fn fewer_requests_than_connections_are_no_problem() {
    let stub = Stub::start(|_| ok());
    let run = hit(&["-n", "3", "-c", "50"], &stub.url);
    assert_eq!((stub.seen().len(), stub.connections()), (3, 3));
    assert_eq!(run["responses"], 3);
}

#[test]
fn warmup_is_sent_and_not_measured() {
    let stub = Stub::start(|_| ok());
    let run = hit(&["-n", "100", "-c", "4", "--warmup", "50"], &stub.url);
    assert_eq!(stub.seen().len(), 150);
    assert_eq!(
        stub.connections(),
        4,
        "the measurement uses warm connections"
    );
    assert_eq!(run["responses"], 100);
    assert_eq!(run["connections"]["count"], 0);
    assert_eq!(run["warmup"]["response"]["count"], 50);
}

#[test]
fn without_keepalive_every_request_has_its_connection() {
    let stub = Stub::start(|_| ok());
    let run = hit(&["-n", "20", "-c", "2", "--no-keepalive"], &stub.url);
    assert_eq!(stub.connections(), 20);
    assert_eq!(run["responses"], 20);
}

#[test]
fn text_report_names_what_was_counted() {
    let stub = Stub::start(|seen| match seen.index % 4 {
        0 => Act::Send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_vec()),
        _ => ok(),
    });
    let output = assay()
        .args(["hit", "--quiet", "-n", "40", "-c", "2", &stub.url])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(
        text.contains("  [200]\t30 responses\n  [401]\t10 responses\n"),
        "{text}"
    );
    assert!(text.contains("  Total data:\t60 bytes\n"), "{text}");
}

#[test]
fn interrupt_ends_the_run_and_keeps_its_figures() {
    let (arrived, arrival) = mpsc::channel();
    let stub = Stub::start(move |seen| {
        if seen.index < 10 {
            return ok();
        }
        arrived.send(()).unwrap();
        Act::Ignore
    });
    let child = assay()
        .args(["hit", "--json", "--quiet", "-z", "1h", "-c", "1", &stub.url])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    arrival.recv().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(run["interrupted"], true);
    assert_eq!(run["responses"], 10);
    assert_eq!(run["errors"]["interrupted"]["count"], 1);
}

#[test]
fn exit_status_says_what_happened() {
    let stub = Stub::start(|_| Act::Send(b"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n".to_vec()));
    let code = |args: &[&str], url: &str| hit_output(args, url).status.code();
    assert_eq!(code(&["-n", "2"], &stub.url), Some(0));
    assert_eq!(code(&["-n", "2", "--fail-on-error"], &stub.url), Some(1));
    assert_eq!(code(&["-n", "2", "-q", "0"], &stub.url), Some(2));
    assert_eq!(code(&["-n", "2"], "nonsense"), Some(2));
    assert_eq!(
        code(&["-n", "2", "--each", "/no/such/file"], &stub.url),
        Some(2)
    );
}

#[test]
fn saved_runs_merge_into_one() {
    let stub = Stub::start(|_| ok());
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.json", "b.json"].map(|name| folder.path().join(name));
    for file in &files {
        let file = file.to_str().unwrap();
        hit(&["-n", "30", "-c", "2", "--save", file], &stub.url);
    }
    let output = assay()
        .args(["merge", "--json"])
        .args(&files)
        .output()
        .unwrap();
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(run["responses"], 60);
    assert_eq!(run["response"]["count"], 60);
    assert_eq!(run["concurrency"], 4);
}
