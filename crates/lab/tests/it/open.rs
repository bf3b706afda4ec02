//! The open loop: a stall of the target shows from the intended start.

use std::time::Duration;

use crate::lab::hit;
use crate::stub::{Act, Stub, ok};

#[test]
fn stall_counts_for_every_arrival_that_waited() {
    let stub = Stub::start(|seen| match seen.index {
        50 => Act::Stall(Duration::from_millis(300)),
        _ => ok(),
    });
    let run = hit(&["-n", "400", "-q", "200", "-c", "1"], &stub.url);
    assert_eq!(stub.seen().len(), 400);
    assert_eq!(run["mode"], "open");
    assert_eq!(run["dropped"], 0);
    // Some sixty arrivals became due during the stall. One request was slow; they all waited.
    let p99 = |part: &serde_json::Value| part["p99"].as_f64().unwrap();
    let response = p99(&run["response"]);
    let service = p99(&run["open"]["service"]);
    assert!(response > 0.2, "response {response}");
    assert!(service < 0.1, "service {service}");
    assert!(run["open"]["service"]["max"].as_f64().unwrap() >= 0.3);
}

#[test]
fn arrivals_beyond_the_backlog_are_dropped_and_counted() {
    let stub = Stub::start(|seen| match seen.index {
        0 => Act::Stall(Duration::from_millis(300)),
        _ => ok(),
    });
    let args = ["-n", "200", "-q", "1000", "-c", "1", "--backlog", "10"];
    let run = hit(&args, &stub.url);
    let dropped = run["dropped"].as_u64().unwrap();
    let sent = stub.seen().len() as u64;
    assert!(dropped >= 100, "dropped {dropped}");
    assert_eq!(sent + dropped, 200);
    assert_eq!(run["responses"], sent);
}

#[test]
fn threads_share_the_timetable() {
    let stub = Stub::start(|_| ok());
    let args = ["-n", "100", "-q", "1000", "-c", "4", "--threads", "2"];
    let run = hit(&args, &stub.url);
    assert_eq!(stub.seen().len(), 100);
    assert_eq!(run["responses"], 100);
    assert_eq!(run["open"]["service"]["count"], 100);
}
