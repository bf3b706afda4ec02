//! From the start of the process to its first 200, with a store that holds much.

use serde_json::json;
use std::path::Path;

use super::memory::megabytes;
use crate::api::{self, Ask};
use crate::clock::Stopwatch;
use crate::failure::{Context, Outcome};
use crate::lab::Lab;
use crate::number::{Spread, figure, real};
use crate::prepare::{self, GRANT, TOKEN};
use crate::row::{Bar, Row, Table};
use crate::run::{self, Body, Hit};
use crate::server::{Server, Setup};

/// Starts behind a figure.
const STARTS: usize = 7;

pub(super) fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let clients = figure(real(lab.plan.clients));
    let data = lab.prepared(&format!("clients-{}", lab.plan.clients));
    prepare::once(&data, || fill_clients(lab, &data))?;
    let what = format!("start to first 200 with {clients} clients");
    starts(lab, table, &data, ("start-clients", &what, Bar::Below(0.3)))?;

    let ended = figure(real(lab.plan.revocations));
    let name = format!(
        "clients-{}-revocations-{}",
        lab.plan.clients, lab.plan.revocations
    );
    let with_ended = lab.prepared(&name);
    prepare::once(&with_ended, || {
        prepare::copy(&data, &with_ended)?;
        fill_revocations(lab, &with_ended)
    })?;
    let what = format!("the same, with {ended} live revocations besides");
    starts(
        lab,
        table,
        &with_ended,
        ("start-revocations", &what, Bar::Below(2.0)),
    )
}

fn setup(data: &Path) -> Setup {
    Setup::embedded(data.to_owned())
}

/// Clients with a generated secret, through the administrator's door.
fn fill_clients(lab: &Lab, data: &Path) -> Outcome<()> {
    lab.say(format_args!("creating {} clients", lab.plan.clients));
    let server = Server::start(lab, &setup(data))?;
    let body = Body::Json("{}".to_owned());
    let hit = Hit::planned(lab, server.admin_url("/admin/clients"), body).with(&server.bearer);
    let hit = hit.requests(lab.plan.clients);
    let run = run::hit(lab, "start-fill", &hit, &server.process)?.flawless()?;
    lab.say(format_args!("{} clients/s", figure(run.rate)));
    let fields = json!({ "access_token": "jwt", "access_token_lifetime": 86400 });
    prepare::client(&server, "chosen", "bcrypt:8", fields)?;
    server.process.stop();
    Ok(())
}

fn fill_revocations(lab: &Lab, data: &Path) -> Outcome<()> {
    lab.say(format_args!("revoking {} tokens", lab.plan.revocations));
    let server = Server::start(lab, &setup(data))?;
    let file = lab.scratch().join("to-revoke.tokens");
    prepare::tokens(
        &server,
        &prepare::known("chosen"),
        lab.plan.revocations,
        &file,
    )?;
    let url = server.admin_url("/admin/oauth2/revoke");
    let hit = Hit::planned(lab, url, Body::FormLines(file.clone())).with(&server.bearer);
    let hit = Hit {
        concurrency: 500,
        ..hit
    }
    .requests(lab.plan.revocations);
    let run = run::hit(lab, "start-fill", &hit, &server.process)?.flawless()?;
    let ended = server.figures()?.state("ended_entries")?;
    lab.say(format_args!(
        "{} revocations/s, {} in force",
        figure(run.rate),
        figure(ended)
    ));
    std::fs::remove_file(&file).context(file.display())?;
    server.process.stop();
    Ok(())
}

fn starts(
    lab: &Lab,
    table: &mut Table,
    data: &Path,
    (key, what, bar): (&str, &str, Bar),
) -> Outcome<()> {
    let (mut ready, mut token, mut memory, mut ended) = (vec![], vec![], vec![], 0.0);
    for _ in 0..STARTS {
        let clock = Stopwatch::start();
        let server = Server::start(lab, &setup(data))?;
        let ask = Ask::form(TOKEN, GRANT).with(&prepare::known("chosen").authorization);
        api::expect(server.public, &ask)?;
        token.push(clock.seconds());
        ready.push(server.started_in.as_secs_f64());
        memory.push(megabytes(server.process.memory()?.rss));
        ended = server.figures()?.state("ended_entries")?;
        server.process.stop();
    }
    let spread = Spread::of(ready).context("no starts")?;
    let token = Spread::of(token).context("no starts")?;
    let memory = Spread::of(memory).context("no starts")?;
    let row = Row::figure(key, what, bar, " s", spread);
    let row = row.note(format!(
        "the first token, whose client pays a bcrypt of cost 8, after {:.3} s; {} revocations in force; \
         {:.0} MB of memory; the files were in the page cache",
        token.median,
        figure(ended),
        memory.median
    ));
    table.push(row)
}
