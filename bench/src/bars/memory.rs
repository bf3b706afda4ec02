//! Memory of the server: idle, and after many tokens that wrote nothing.

use std::thread;
use std::time::Duration;

use crate::failure::{Context, Outcome};
use crate::lab::Lab;
use crate::number::{Spread, real};
use crate::prepare;
use crate::process::Memory;
use crate::row::{Bar, Row, Table};
use crate::run;
use crate::server::{Server, Setup};

/// Megabytes, the smaller ones.
pub(crate) fn megabytes(bytes: u64) -> f64 {
    real(bytes) / 1e6
}

pub(super) fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let (mut idle, mut loaded) = (Vec::new(), Vec::new());
    for round in 0..lab.plan.rounds.min(5) {
        let data = lab.scratch().join(format!("memory-{round}"));
        let server = Server::start(lab, &Setup::embedded(data))?;
        thread::sleep(Duration::from_secs(2));
        let empty = server.process.memory()?;
        idle.push(empty);
        let client = prepare::client(&server, "chosen", "bcrypt:8", super::tokens::stateless())?;
        let hit = super::tokens::asking(lab, "", &server, &client).hit;
        let hit = hit.requests(lab.plan.issued);
        run::hit(lab, "memory", &hit, &server.process)?.flawless()?;
        let after = server.process.memory()?;
        loaded.push(after);
        let (empty, after) = (megabytes(empty.rss), megabytes(after.rss));
        lab.say(format_args!(
            "memory: {empty:.1} MB idle, {after:.1} MB after"
        ));
        server.process.stop();
    }
    let what = "memory of the server idle, empty SQLite store (RSS)";
    table.push(row("memory-idle", what, Bar::Below(30.0), &idle)?)?;
    let what = format!(
        "memory after {} tokens issued stateless (RSS)",
        lab.plan.issued
    );
    table.push(row("memory-issued", &what, Bar::Below(60.0), &loaded)?)
}

fn row(key: &str, what: &str, bar: Bar, seen: &[Memory]) -> Outcome<Row> {
    let of = |part: fn(&Memory) -> u64| {
        Spread::of(seen.iter().map(|memory| megabytes(part(memory)))).context("no readings")
    };
    let (rss, pss) = (of(|memory| memory.rss)?, of(|memory| memory.pss)?);
    let note = format!("PSS {:.1} MB", pss.median);
    Ok(Row::figure(key, what, bar, " MB", rss).note(note))
}
