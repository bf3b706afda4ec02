//! Introspection of different tokens in turn: one token would be a perfect cache.

use serde_json::json;
use std::path::PathBuf;
use std::thread;

use crate::clock::Stopwatch;
use crate::failure::Outcome;
use crate::lab::Lab;
use crate::number::real;
use crate::pair::{self, Side};
use crate::prepare::{self, Registered};
use crate::row::{Bar, Row, Table};
use crate::run::{self, Body, Hit};
use crate::server::{Echo, Server, Setup};

/// Bytes of the shortest answer about a live token; a dead one gets 16.
const ALIVE: f64 = 100.0;
/// Calls over which statements are counted.
const COUNTED: u64 = 50_000;

pub(super) fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let server = Server::start(lab, &Setup::embedded(lab.scratch().join("introspection")))?;
    let echo = Echo::start(lab, None)?;
    for (form, persistence) in [("jwt", "stateless"), ("opaque", "persisted")] {
        let fields = json!({
            "access_token": form, "persistence": persistence, "access_token_lifetime": 86400,
        });
        let client = prepare::client(&server, form, "bcrypt:8", fields)?;
        let file = lab.scratch().join(format!("{form}.tokens"));
        prepare::tokens(&server, &client, lab.plan.tokens, &file)?;
        doors(lab, table, &server, &echo, (form, &client, file))?;
    }
    Ok(())
}

fn doors(
    lab: &Lab,
    table: &mut Table,
    server: &Server,
    echo: &Echo,
    (form, client, file): (&str, &Registered, PathBuf),
) -> Outcome<()> {
    let doors = [
        (
            "public",
            server.url("/oauth2/introspect"),
            client.authorization.as_str(),
        ),
        (
            "admin",
            server.admin_url("/admin/oauth2/introspect"),
            server.bearer.as_str(),
        ),
    ];
    for (door, url, authorization) in doors {
        let hit = Hit::planned(lab, url, Body::FormLines(file.clone()));
        let hit = hit.with(authorization).answers_of_at_least(ALIVE);
        let row = format!("introspect-{form}-{door}");
        run::hit(
            lab,
            &row,
            &hit.clone().requests(lab.plan.tokens),
            &server.process,
        )?
        .flawless()?;
        let name = format!("{form}, {door} door");
        let subject = Side {
            name,
            hit: hit.clone(),
            process: &server.process,
        };
        let hit = Hit {
            url: echo.url("/"),
            ..hit.clone()
        }
        .answers_of_at_least(ALIVE);
        let of = Side {
            name: "echo, same requests".to_owned(),
            hit,
            process: &echo.process,
        };
        let pairs = pair::measure(lab, &row, &subject, &of)?;
        let tokens = lab.plan.tokens;
        let what = format!("introspection, {tokens} different {form} tokens in turn, {door} door");
        table.push(Row::ratio(&row, &what, Bar::AtLeast(0.60), pairs)?)?;
        let statements = statements(lab, server, &subject.hit)?;
        let what = format!("SQL per call of it ({form}, {door} door)");
        let key = format!("{row}-sql");
        let row = Row::reading(&key, &what, Bar::AtMost(0.001), "", statements.per_call);
        table.push(row.note(statements.note))?;
    }
    Ok(())
}

/// SQL statements behind calls.
#[derive(Clone, Debug)]
pub(super) struct Statements {
    pub(super) per_call: f64,
    pub(super) note: String,
}

/// Counts the statements of the store over many calls, and over as long a time without any.
pub(super) fn statements(lab: &Lab, server: &Server, hit: &Hit) -> Outcome<Statements> {
    let count = || {
        let figures = server.figures()?;
        Ok::<_, crate::failure::Failed>(
            figures.state("store_reads")? + figures.state("store_writes")?,
        )
    };
    let (before, clock) = (count()?, Stopwatch::start());
    run::hit(
        lab,
        "statements",
        &hit.clone().requests(COUNTED),
        &server.process,
    )?
    .flawless()?;
    let (after, took) = (count()?, clock.elapsed());
    thread::sleep(took);
    let idle = count()? - after;
    let note = format!(
        "{} statements during {COUNTED} calls, {idle} during as long a time without calls",
        after - before
    );
    Ok(Statements {
        per_call: (after - before) / real(COUNTED),
        note,
    })
}
