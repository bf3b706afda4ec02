//! SIGTERM: what was begun is finished, what was acknowledged is kept, and the next start works at
//! once, on the same ports.

use rustix::process::Signal;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::child::{Launch, Signet, free_port};
use super::ledger::Look;
use super::load::{self, Load};
use super::plan;
use super::report;
use super::wire::{Ask, Wire};

const SOON: Duration = Duration::from_secs(10);

/// A request for a token whose body arrives slowly: the first half of it.
const FIRST: &str = "grant_type=client_credentials&client_id=demo&cli";
const SECOND: &str = "ent_secret=demo-secret";

async fn begin(to: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let length = FIRST.len() + SECOND.len();
    let head = format!(
        "POST /oauth2/token HTTP/1.1\r\nhost: signet.test\r\ncontent-length: {length}\r\n\
         content-type: application/x-www-form-urlencoded\r\n\r\n{FIRST}"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

async fn read(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

async fn start_sqlite(place: &std::path::Path) -> (Launch, Signet) {
    let launch = Launch::new(
        place,
        &format!("sqlite:{}", place.join("data/signet.db").display()),
    );
    let signet = launch.start().await;
    (launch, signet)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_upload_is_answered_after_sigterm_and_the_next_start_works_at_once() {
    let place = tempfile::tempdir().unwrap();
    let (launch, mut signet) = start_sqlite(place.path()).await;
    let post = serde_json::json!({"client_id": "slow", "token_endpoint_auth_method": "client_secret_post",
        "client_secret": "demo-secret", "secret_hash": "bcrypt:4", "access_token": "opaque"});
    let created = Wire::new(signet.admin)
        .must(&signet.as_admin(Ask::post("/admin/clients").json(&post)))
        .await;
    assert_eq!(created.status, 201, "{created:?}");
    // Idle connections are in nobody's way.
    let mut idle = Wire::new(signet.public);
    assert_eq!(idle.must(&Ask::get("/health/alive")).await.status, 200);
    let mut slow = begin(signet.public).await;
    sleep(Duration::from_millis(200)).await;

    signet.signal(Signal::TERM);
    sleep(Duration::from_millis(500)).await;
    assert!(
        signet.wait_for_end(Duration::ZERO).await.is_none(),
        "it did not wait:\n{}",
        signet.output()
    );
    assert!(
        TcpStream::connect(signet.public).await.is_err(),
        "it accepts new work"
    );
    slow.write_all(SECOND.as_bytes()).await.unwrap();
    let asked = Instant::now();
    let answer = read(slow).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let status = signet.wait_for_end(SOON).await.unwrap();
    let took = asked.elapsed();
    assert!(
        status.success() && took < Duration::from_secs(2),
        "{status}, {took:?}\n{}",
        signet.output()
    );

    let ports = [signet.public.port(), signet.admin.port()];
    let mut again = launch.spawn_at(ports);
    again.wait_until_ready().await.unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let form = [("token", body["access_token"].as_str().unwrap())];
    let ask = again.as_admin(Ask::post("/admin/oauth2/introspect").form(&form));
    assert_eq!(
        Wire::new(again.admin).must(&ask).await.json()["active"],
        true
    );
    let what = format!(
        "slow upload answered 200, exit 0 {took:?} later, started again in {:?}",
        again.ready_after
    );
    report::row("SIGTERM, slow upload", &what, 0);
    again.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_by_sigterm_under_load() {
    let place = tempfile::tempdir().unwrap();
    let mut dice = plan::dice("SIGTERM under load");
    let (launch, mut signet) = start_sqlite(place.path()).await;
    load::prepare(&signet).await;
    let load = Load::start(&signet, &mut dice);
    sleep(Duration::from_millis(500)).await;
    load.expect_death();
    signet.signal(Signal::TERM);
    let asked = Instant::now();
    let status = signet.wait_for_end(SOON).await.unwrap();
    let took = asked.elapsed();
    assert!(
        status.success() && took < Duration::from_secs(2),
        "{status}, {took:?}\n{}",
        signet.output()
    );
    let mut ledger = load.end().await;
    let signet = launch.start().await;
    let lost = ledger.check(&signet, &mut dice, Look::All).await;
    report::row(
        "SIGTERM under load",
        &format!("{ledger}; exit 0 after {took:?}"),
        lost.len(),
    );
    assert!(
        lost.is_empty() && ledger.strange.is_empty(),
        "{lost:?} {:?}",
        ledger.strange
    );
    signet.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_never_ends_is_given_up_when_the_drain_time_is_over() {
    let place = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", place.path().join("data/signet.db").display());
    let launch = Launch::new(place.path(), &store).with("SIGNET_LIMITS_DRAIN_TIMEOUT", "1");
    let mut signet = launch.start().await;
    let stuck = begin(signet.public).await;
    sleep(Duration::from_millis(100)).await;
    signet.signal(Signal::TERM);
    let asked = Instant::now();
    signet.wait_for_end(SOON).await.expect("it waits for ever");
    assert!(
        asked.elapsed() < Duration::from_secs(3),
        "{:?}",
        asked.elapsed()
    );
    drop(stuck);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ports_are_told_to_be_taken_before_the_store_is_touched() {
    let place = tempfile::tempdir().unwrap();
    let (launch, _signet) = start_sqlite(place.path()).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for ports in [[port, free_port()], [free_port(), port]] {
        let mut second = launch.spawn_at(ports);
        let status = second.wait_for_end(SOON).await.unwrap();
        let output = second.output();
        assert!(
            !status.success() && output.contains("is taken"),
            "{status}: {output}"
        );
        assert!(
            output.contains(&port.to_string()) && !output.contains("in use by another"),
            "{output}"
        );
    }
}
