//! How good the yardstick itself is: the ceiling against nginx, our generator against wrk.

use std::fs;

use crate::failure::{Context, Outcome};
use crate::lab::Lab;
use crate::pair;
use crate::prepare::GRANT;
use crate::row::{Bar, Row, Table};
use crate::run::{self, Body, Hit};
use crate::server::{Echo, Nginx};

pub(super) fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let (echo, nginx) = (Echo::start(lab, None)?, Nginx::start(lab)?);
    let script = lab.scratch().join("form.lua");
    let text = format!(
        "wrk.method = 'POST'\nwrk.body = '{GRANT}'\n\
         wrk.headers['Content-Type'] = 'application/x-www-form-urlencoded'\n"
    );
    fs::write(&script, text).context("cannot write the script for wrk")?;
    let wrk = |row, url: String, script, process| {
        move || run::wrk(lab, row, &url, script, process)?.flawless()
    };

    let row = "echo-nginx";
    let subject = wrk(row, echo.url("/"), Some(&*script), &echo.process);
    let ceiling = wrk(row, nginx.url("/"), None, &nginx.process);
    let pairs = pair::alternate(
        lab,
        row,
        ("assay echo, form posted", &subject),
        ("nginx, static 200", &ceiling),
    )?;
    let what = "`assay echo` unsigned against nginx answering a static 200, by wrk";
    table.push(Row::ratio(row, what, Bar::AtLeast(0.6), pairs)?)?;

    let row = "echo-nginx-get";
    let subject = wrk(row, echo.url("/"), None, &echo.process);
    let ceiling = wrk(row, nginx.url("/"), None, &nginx.process);
    let pairs = pair::alternate(
        lab,
        row,
        ("assay echo, GET", &subject),
        ("nginx, GET", &ceiling),
    )?;
    let what = "the same, GET to both";
    table.push(Row::ratio(row, what, Bar::None, pairs)?)?;

    let row = "hit-wrk";
    let hit = Hit::planned(lab, nginx.url("/"), Body::None);
    let subject = || run::hit(lab, row, &hit, &nginx.process)?.flawless();
    let ceiling = wrk(row, nginx.url("/"), None, &nginx.process);
    let pairs = pair::alternate(
        lab,
        row,
        ("assay hit on nginx", &subject),
        ("wrk on nginx", &ceiling),
    )?;
    let own = pairs.ratio(|hit, wrk| wrk.generator_cpu / hit.generator_cpu)?;
    let what = "`assay hit` against wrk, on a static server";
    let row = Row::ratio(row, what, Bar::AtLeast(0.85), pairs)?;
    let note = format!(
        "by the generator's own processor time the ratio is {:.3} ({:.3}–{:.3}); by CPU in the table is \
         nginx's time, which says only that both asked it the same",
        own.median, own.lowest, own.highest
    );
    table.push(row.note(note))
}
