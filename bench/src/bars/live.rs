//! Persisted tokens among millions that are alive, on the embedded database.

use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use super::memory::megabytes;
use super::tokens::{asking, stateless};
use crate::clock::Stopwatch;
use crate::failure::Outcome;
use crate::lab::Lab;
use crate::number::{figure, real};
use crate::pair::{self, Pairs, Side};
use crate::prepare;
use crate::row::{Bar, Row, Table};
use crate::run;
use crate::server::{Server, Setup};

/// Requests on their way while the store is filled.
const FILLING: usize = 1000;
/// Seconds that the tokens of the filling live.
const LIFETIME: u64 = 86_400;

pub(super) fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let data = lab.prepared(&format!("live-{}", lab.plan.live_rows));
    prepare::once(&data, || fill(lab, &data))?;
    opaque(lab, table, &data)?;
    jwt(lab, table, &data)
}

/// Issues the live tokens through the token endpoint itself, with many requests to a commit.
fn fill(lab: &Lab, data: &Path) -> Outcome<()> {
    let rows = lab.plan.live_rows;
    lab.say(format_args!(
        "issuing {} tokens that stay alive",
        figure(real(rows))
    ));
    let setup = Setup::embedded(data.to_owned());
    let server = Server::start(lab, &setup)?;
    let fields = |form: &str, persistence: &str| json!({ "access_token": form, "persistence": persistence, "access_token_lifetime": LIFETIME });
    let opaque = prepare::client(&server, "opaque", "bcrypt:8", fields("opaque", "persisted"))?;
    prepare::client(&server, "persisted", "bcrypt:8", fields("jwt", "persisted"))?;
    prepare::client(&server, "stateless", "bcrypt:8", stateless())?;
    let mut hit = asking(lab, "", &server, &opaque).hit.requests(rows);
    hit.concurrency = FILLING;
    let clock = Stopwatch::start();
    let run = run::hit(lab, "live-fill", &hit, &server.process)?.flawless()?;
    lab.say(format_args!(
        "filled in {:.0} s, {} tokens/s",
        clock.seconds(),
        figure(run.rate)
    ));
    server.process.stop();
    Ok(())
}

fn start(lab: &Lab, data: &Path) -> Outcome<Server> {
    Server::start(lab, &Setup::embedded(data.to_owned()))
}

/// A server on the live store, and how large its write-ahead log becomes on disk meanwhile.
fn watched(
    lab: &Lab,
    data: &Path,
    measure: impl FnOnce(&Server) -> Outcome<Pairs>,
) -> Outcome<(Pairs, Server, u64)> {
    let server = start(lab, data)?;
    let (stop, largest) = (AtomicBool::new(false), AtomicU64::new(0));
    let wal = data.join("signet.db-wal");
    let pairs = thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                let bytes = wal.metadata().map_or(0, |file| file.len());
                largest.fetch_max(bytes, Relaxed);
                thread::sleep(Duration::from_millis(100));
            }
        });
        let pairs = measure(&server);
        stop.store(true, Relaxed);
        pairs
    })?;
    Ok((pairs, server, largest.into_inner()))
}

fn side<'a>(lab: &Lab, server: &'a Server, id: &str, name: &str) -> Outcome<Side<'a>> {
    let side = asking(lab, name, server, &prepare::known(id));
    // The first use pays for the slow hash; it is not what is measured.
    run::hit(
        lab,
        "live-warm",
        &side.hit.clone().requests(200),
        &server.process,
    )?
    .flawless()?;
    Ok(side)
}

fn opaque(lab: &Lab, table: &mut Table, data: &Path) -> Outcome<()> {
    let rows = figure(real(lab.plan.live_rows));
    let row = "live-opaque";
    let (pairs, server, wal) = watched(lab, data, |server| {
        let subject = side(lab, server, "opaque", "opaque, persisted")?;
        let of = side(lab, server, "stateless", "ES256 JWT, stateless")?;
        pair::measure(lab, row, &subject, &of)
    })?;
    let figures = server.figures()?;
    let what = format!(
        "client credentials, opaque, persisted in SQLite among {rows} live rows, against ES256 stateless"
    );
    table.push(Row::ratio(row, &what, Bar::AtLeast(0.5), pairs)?)?;
    let p99 = figures.state("store_commit_seconds_p99")? * 1e3;
    let slowest = figures.state("store_commit_seconds_max")? * 1e3;
    let what = "99th percentile of a commit meanwhile";
    let row = Row::reading("live-commit", what, Bar::Below(20.0), " ms", p99);
    let p50 = figures.state("store_commit_seconds_p50")? * 1e3;
    let (commits, written) = (
        figures.state("store_commits")?,
        figures.state("store_rows")?,
    );
    table.push(row.note(format!(
        "p50 {p50:.2} ms, slowest {slowest:.1} ms, {} commits of {:.1} rows on average",
        figure(commits),
        written / commits.max(1.0)
    )))?;
    let largest = figures.state("store_wal_bytes_max")? / 1e6;
    let what = "largest write-ahead log meanwhile";
    let row = Row::reading(
        "live-wal",
        what,
        Bar::Below(64.0),
        " MB",
        largest.max(megabytes(wal)),
    );
    let note = format!(
        "by the server's count {largest:.1} MB, the file {:.1} MB",
        megabytes(wal)
    );
    table.push(row.note(note))?;
    let memory = server.process.memory()?;
    let what = format!("memory of the server then, {rows} live rows (RSS)");
    table.push(Row::reading(
        "live-memory",
        &what,
        Bar::None,
        " MB",
        megabytes(memory.rss),
    ))?;
    let bytes = megabytes(prepare::directory_bytes(data));
    let what = format!("disk then, {rows} live rows and the log file");
    table.push(Row::reading("live-disk", &what, Bar::None, " MB", bytes))?;
    server.process.stop();
    Ok(())
}

fn jwt(lab: &Lab, table: &mut Table, data: &Path) -> Outcome<()> {
    let row = "live-jwt";
    let (pairs, server, _) = watched(lab, data, |server| {
        let subject = side(lab, server, "persisted", "ES256 JWT, persisted")?;
        let of = side(lab, server, "stateless", "ES256 JWT, stateless")?;
        pair::measure(lab, row, &subject, &of)
    })?;
    let rows = figure(real(lab.plan.live_rows));
    let what = format!("JWT persisted in SQLite among {rows} live rows, against JWT stateless");
    table.push(Row::ratio(row, &what, Bar::AtLeast(0.60), pairs)?)?;
    server.process.stop();
    Ok(())
}
