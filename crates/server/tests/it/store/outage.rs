//! Outages of `PostgreSQL`: it stops answering, it is killed, connections break. Nothing hangs,
//! everything recovers by itself, and nothing that was acknowledged is lost or done twice.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use signet::store::{
    Created, Ending, EndingKind, Error, Inserted, Redeemed, Rotated, SingleUse, Store,
    StoreOptions, StoreUrl,
};
use signet_oauth::log::Position;

use super::endings::{ending, state_of};
use super::families::{redemption, rotation};
use super::place::{NOW, Place, client, environment, key, run, token};

/// A `PostgreSQL` of the test's own.
struct Server {
    dir: tempfile::TempDir,
    port: u16,
    process: Option<Child>,
}

/// A command as the user that `PostgreSQL` accepts.
fn as_user(program: &str) -> Command {
    let user = environment("SIGNET_TEST_PG_USER");
    if user.is_empty() {
        return Command::new(program);
    }
    let group = Command::new("id").args(["-g", &user]).output().unwrap();
    let group = String::from_utf8(group.stdout).unwrap();
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--reuid={user}"))
        .arg(format!("--regid={}", group.trim()))
        .args(["--clear-groups", "--pdeathsig", "INT", program]);
    command
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

impl Server {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let user = environment("SIGNET_TEST_PG_USER");
        if !user.is_empty() {
            succeed(Command::new("chown").arg(user).arg(dir.path()));
        }
        let initdb = format!("{}/initdb", environment("SIGNET_TEST_PG_BIN"));
        succeed(
            as_user(&initdb)
                .args([
                    "-U",
                    "signet",
                    "--auth=trust",
                    "--encoding=UTF8",
                    "-N",
                    "-D",
                ])
                .arg(dir.path().join("db"))
                .current_dir(dir.path()),
        );
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        drop(taken);
        let mut server = Self {
            dir,
            port,
            process: None,
        };
        server.start();
        server
    }

    fn start(&mut self) {
        let bin = environment("SIGNET_TEST_PG_BIN");
        let port = self.port.to_string();
        let process = as_user(&format!("{bin}/postgres"))
            .args(["-p", &port, "-c", "listen_addresses=127.0.0.1", "-k"])
            .arg(self.dir.path())
            .arg("-D")
            .arg(self.dir.path().join("db"))
            .current_dir(self.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.process = Some(process);
        for _ in 0..600 {
            let ready = Command::new(format!("{bin}/pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-p", &port])
                .status()
                .unwrap();
            if ready.success() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("PostgreSQL does not start");
    }

    fn url(&self) -> StoreUrl {
        StoreUrl::Postgres(format!(
            "postgres://signet@127.0.0.1:{}/postgres",
            self.port
        ))
    }

    /// The server and all its children.
    fn signal(&self, signal: Signal) {
        let parent = self.process.as_ref().unwrap().id();
        let mut pids = vec![parent];
        for entry in std::fs::read_dir("/proc").unwrap() {
            let path = entry.unwrap().path().join("stat");
            let stat = std::fs::read_to_string(&path).unwrap_or_default();
            // `pid (name) state ppid …`
            let after = stat.rsplit_once(") ").map_or("", |(_, after)| after);
            let fields: Vec<&str> = after.split(' ').collect();
            if fields
                .get(1)
                .is_some_and(|ppid| *ppid == parent.to_string())
            {
                pids.push(stat.split(' ').next().unwrap().parse().unwrap());
            }
        }
        for pid in pids {
            let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            let _gone = kill_process(pid, signal);
        }
    }

    /// Without a word to anybody, as when the power goes.
    fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.process.take().unwrap().wait().unwrap();
        // The next start must not take the dead one for a living one.
        let _gone = std::fs::remove_file(self.dir.path().join("db/postmaster.pid"));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.kill();
        }
    }
}

fn options(seconds: u64) -> StoreOptions {
    StoreOptions {
        deadline: Duration::from_secs(seconds),
        ..StoreOptions::default()
    }
}

#[expect(clippy::disallowed_methods, reason = "the test is about time")]
fn start_watch() -> Instant {
    Instant::now()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_answering_is_unavailable_in_time_and_then_is_back() {
    let server = Server::new();
    let store = Store::open(&server.url(), options(1)).unwrap();
    let first = token(1, NOW);
    assert_eq!(
        store.insert_token(first.clone()).await.unwrap(),
        Inserted::Done
    );
    store
        .end(vec![ending(EndingKind::Token, 1, NOW)])
        .await
        .unwrap();
    server.signal(Signal::STOP);
    let watch = start_watch();
    let (inserted, used, ended, found, node) = tokio::join!(
        store.insert_token(token(2, NOW)),
        store.use_assertion(key(1), NOW, key(1)),
        store.end(vec![ending(EndingKind::Token, 2, NOW)]),
        store.find_token(first.token.id),
        store.next_node(),
    );
    let took = watch.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    for error in [
        inserted.unwrap_err(),
        used.unwrap_err(),
        ended.unwrap_err(),
        found.unwrap_err(),
        node.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    }
    server.signal(Signal::CONT);
    recover(&store).await;
    // Nobody knew whether this was done; the same attempt finds out.
    let used = store.use_assertion(key(1), NOW, key(1)).await.unwrap();
    assert_eq!(used, SingleUse::Won);
    let inserted = store.insert_token(token(2, NOW)).await.unwrap();
    assert_eq!(inserted, Inserted::Done);
    assert!(store.find_token(first.token.id).await.unwrap().is_some());
    store
        .end(vec![ending(EndingKind::Token, 2, NOW)])
        .await
        .unwrap();
    gapless(&store).await;
    store.close().await;
}

/// Waits until writes, appends and reads succeed again.
async fn recover(store: &Store) {
    let watch = start_watch();
    loop {
        let event = signet_oauth::log::Event::KeysChanged;
        let (written, appended, read) = tokio::join!(
            store.put_setting("recovered", "yes"),
            store.append(event, NOW),
            store.head()
        );
        if written.is_ok() && appended.is_ok() && read.is_ok() {
            return;
        }
        assert!(watch.elapsed() < Duration::from_secs(20), "{written:?}");
    }
}

async fn gapless(store: &Store) -> usize {
    let rows = store.read_log(Position(0), 100_000).await.unwrap();
    let positions: Vec<u64> = rows.iter().map(|row| row.position.0).collect();
    let expected: Vec<u64> = (1..=positions.len() as u64).collect();
    assert_eq!(positions, expected);
    let head = store.head().await.unwrap();
    assert_eq!(head.position.0, positions.len() as u64);
    rows.len()
}

/// Uses, issues, ends and registers without pause until it is told to stop; every operation must
/// succeed, however often the connection breaks. Returns how many rounds there were.
async fn work(store: Store, worker: u64, stop: Arc<AtomicBool>) -> u64 {
    let mut round = 0;
    while !stop.load(Relaxed) {
        let number = worker * 1_000_000 + round;
        let attempt = key(number + 7);
        let used = store.use_assertion(key(number), NOW, attempt).await;
        assert_eq!(used.unwrap(), SingleUse::Won);
        let again = store.use_assertion(key(number), NOW, key(1)).await;
        assert_eq!(again.unwrap(), SingleUse::Used);
        let stored = token(u32::try_from(number).unwrap(), NOW);
        let inserted = store.insert_token(stored).await.unwrap();
        assert_eq!(inserted, Inserted::Done);
        let ended = store.end(vec![one_end(number)]).await.unwrap();
        assert_eq!(ended.rows.len(), 1);
        let new = client(&format!("c{number}"));
        let created = store.create_client(new, attempt).await.unwrap();
        assert!(matches!(created, Created::Done { .. }), "{created:?}");
        redeem_and_rotate(&store, number).await;
        round += 1;
    }
    round
}

/// A code is redeemed, its family rotates; both once.
async fn redeem_and_rotate(store: &Store, number: u64) {
    let first = redemption(number, number + 7);
    let again = redemption(number, 1);
    assert_eq!(store.redeem_code(first).await.unwrap(), Redeemed::Won);
    let replayed = Redeemed::Replayed {
        family: key(number),
    };
    assert_eq!(store.redeem_code(again).await.unwrap(), replayed);
    let rotated = store.rotate_family(rotation(number, 0, number + 7)).await;
    let rotated = rotated.unwrap();
    assert!(matches!(rotated, Rotated::Done(_)), "{rotated:?}");
    let rotated = store.rotate_family(rotation(number, 0, 1)).await.unwrap();
    assert!(matches!(rotated, Rotated::Lost(Some(_))), "{rotated:?}");
}

fn one_end(number: u64) -> Ending {
    ending(EndingKind::Token, number, NOW)
}

/// What the workers were told is what is there.
async fn check(store: &Store, rounds: &[u64]) {
    gapless(store).await;
    let (_, state) = state_of(store).await;
    let expected: u64 = rounds.iter().sum();
    assert_eq!(state.len() as u64, expected);
    for (worker, rounds) in (0_u64..).zip(rounds) {
        for round in 0..*rounds {
            let number = worker * 1_000_000 + round;
            let id = token(u32::try_from(number).unwrap(), NOW).token.id;
            assert!(store.find_token(id).await.unwrap().is_some(), "{number}");
            let family = store.find_family(key(number)).await.unwrap();
            assert_eq!(family.map(|family| family.generation), Some(1));
        }
    }
    let rows = store.read_log(Position(0), 100_000).await.unwrap();
    let marks: BTreeSet<[u8; 16]> = rows.iter().map(|row| row.mark).collect();
    assert_eq!(marks.len(), rows.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_loses_nothing_and_the_store_reconnects() {
    let mut server = Server::new();
    let store = Store::open(&server.url(), options(60)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..8)
        .map(|worker| tokio::spawn(work(store.clone(), worker, Arc::clone(&stop))))
        .collect();
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.kill();
        server.start();
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.store(true, Relaxed);
    let mut rounds = Vec::new();
    for worker in workers {
        rounds.push(worker.await.unwrap());
    }
    check(&store, &rounds).await;
    assert!(store.statistics().reconnects > 0);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_break_in_the_middle_change_nothing() {
    let place = Place::postgres().await;
    let StoreUrl::Postgres(url) = &place.url else {
        panic!("this is about PostgreSQL");
    };
    let store = Store::open(&place.url, options(60)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..8)
        .map(|worker| tokio::spawn(work(store.clone(), worker, Arc::clone(&stop))))
        .collect();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE datname = current_database() AND application_name = 'signet'";
        run(url, sql).await;
    }
    stop.store(true, Relaxed);
    let mut rounds = Vec::new();
    for worker in workers {
        rounds.push(worker.await.unwrap());
    }
    check(&store, &rounds).await;
    assert!(store.statistics().reconnects >= 20);
    store.close().await;
}
