//! Revocations at a fixed rate for minutes: what they keep in memory, and how long others wait.

use serde_json::json;
use std::path::Path;
use std::thread;

use super::memory::megabytes;
use crate::failure::{Context, Failed, Outcome};
use crate::lab::Lab;
use crate::number::{figure, real};
use crate::prepare;
use crate::row::{Bar, Row, Table};
use crate::run::{self, Amount, Body, Hit, Run};
use crate::server::{Echo, Server, Setup};

/// Introspections per second beside the revocations, each with an intended start.
const PROBES: f64 = 500.0;
/// Connections of the probes: enough that none waits for another.
const PROBE_LANES: usize = 64;
/// The longest that anybody may wait, in seconds.
const PAUSE: f64 = 0.005;

/// Stateless JWTs: the server verifies the signature of each, which it has not seen before.
pub(super) fn jwt(lab: &Lab, table: &mut Table) -> Outcome<()> {
    measure(lab, table, "jwt", "stateless")
}

/// Opaque tokens: the server looks each of them up.
pub(super) fn opaque(lab: &Lab, table: &mut Table) -> Outcome<()> {
    measure(lab, table, "opaque", "persisted")
}

fn measure(lab: &Lab, table: &mut Table, form: &str, persistence: &str) -> Outcome<()> {
    let setup = Setup::embedded(lab.scratch().join("revocations"));
    let server = Server::start(lab, &setup)?;
    let fields = json!({
        "access_token": form, "persistence": persistence, "access_token_lifetime": 3600,
    });
    let client = prepare::client(&server, "chosen", "bcrypt:8", fields)?;
    let count = lab.plan.revoke_rate * lab.plan.revoke_seconds;
    lab.say(format_args!(
        "issuing {} tokens of one hour",
        figure(real(count))
    ));
    let file = lab.scratch().join("revocations.tokens");
    prepare::tokens(&server, &client, count, &file)?;
    let probes = lab.scratch().join("probes.tokens");
    prepare::tokens(&server, &client, 1000, &probes)?;
    let before = server.process.memory()?;
    let load = load(lab, &server, &file, &probes)?;
    std::fs::remove_file(&file).context(file.display())?;
    rows(lab, table, form, (&server, &load, before.rss))?;
    server.process.stop();
    Ok(())
}

/// The three runs that go on at the same time.
#[derive(Debug)]
struct Load {
    revocations: Run,
    probes: Run,
    /// The same probes of a program that does nothing: what the machine itself made wait.
    control: Run,
}

fn load(lab: &Lab, server: &Server, file: &Path, probes: &Path) -> Outcome<Load> {
    let echo = Echo::start(lab, None)?;
    let seconds = real(lab.plan.revoke_seconds);
    let open = |url: String, file: &Path, rate: f64, lanes: usize| {
        let hit = Hit::planned(lab, url, Body::FormLines(file.to_owned())).with(&server.bearer);
        let amount = Amount::Seconds(seconds);
        Hit {
            amount,
            rate: Some(rate),
            concurrency: lanes,
            warmup: 0.0,
            ..hit
        }
    };
    let url = server.admin_url("/admin/oauth2/revoke");
    let revoke = open(url, file, real(lab.plan.revoke_rate), 400);
    let revoke = revoke.requests_at_rate(lab.plan.revoke_rate * lab.plan.revoke_seconds);
    let probe = open(
        server.admin_url("/admin/oauth2/introspect"),
        probes,
        PROBES,
        PROBE_LANES,
    );
    let control = open(echo.url("/"), probes, PROBES, PROBE_LANES);
    thread::scope(|scope| {
        let probing = scope.spawn(|| run::hit(lab, "revocations-probes", &probe, &server.process));
        let controlling =
            scope.spawn(|| run::hit(lab, "revocations-control", &control, &echo.process));
        let revocations = run::hit(lab, "revocations", &revoke, &server.process)?;
        let join = |run: thread::Result<Outcome<Run>>| {
            run.map_err(|_| Failed::because("a probe panicked"))
                .flatten()
        };
        let (probes, control) = (join(probing.join())?, join(controlling.join())?);
        Ok(Load {
            revocations,
            probes,
            control,
        })
    })
}

fn rows(
    lab: &Lab,
    table: &mut Table,
    form: &str,
    (server, load, before): (&Server, &Load, u64),
) -> Outcome<()> {
    let plan = &lab.plan;
    let told = format!(
        "{} revocations/s of {form} tokens for {} s",
        plan.revoke_rate, plan.revoke_seconds
    );
    rate(lab, table, load, &told)?;
    memory(table, server, before, &told)?;
    pause(table, server, load, &told)
}

fn rate(lab: &Lab, table: &mut Table, load: &Load, told: &str) -> Outcome<()> {
    let (plan, run) = (&lab.plan, &load.revocations);
    let what = format!("{told}: share of the intended rate that was answered");
    let reached = run.rate / real(plan.revoke_rate);
    let row = Row::reading("revocations-rate", &what, Bar::AtLeast(0.99), "", reached);
    let troubles = run.troubles.join(", ");
    table.push(row.note(format!(
        "{} asked for; p50 {:.2} ms, p99 {:.2} ms, slowest {:.1} ms from the intended start; server's \
         processor time {:.1} µs a revocation, the probes in it; {}",
        figure(real(plan.revoke_rate * plan.revoke_seconds)),
        run.p50 * 1e3,
        run.p99 * 1e3,
        run.slowest * 1e3,
        run.server_cpu,
        if troubles.is_empty() { "no error" } else { &troubles }
    )))
}

fn memory(table: &mut Table, server: &Server, before: u64, told: &str) -> Outcome<()> {
    let figures = server.figures()?;
    let (entries, bytes) = (
        figures.state("ended_entries")?,
        figures.state("ended_bytes")?,
    );
    let after = server.process.memory()?.rss;
    let per_entry = bytes / entries.max(1.0);
    let what = format!("{told}: memory an entry");
    let row = Row::reading(
        "revocations-memory",
        &what,
        Bar::AtMost(40.0),
        " bytes",
        per_entry,
    );
    table.push(row.note(format!(
        "{} entries in force, bytes by the server's own count; the process grew from {:.1} to {:.1} MB, \
         which is {:.1} bytes an entry with everything else that grew",
        figure(entries),
        megabytes(before),
        megabytes(after),
        real(after.saturating_sub(before)) / entries.max(1.0)
    )))
}

fn pause(table: &mut Table, server: &Server, load: &Load, told: &str) -> Outcome<()> {
    let what = format!("{told}: longest wait of an introspection beside it");
    let slowest = load.probes.slowest * 1e3;
    let bar = Bar::AtMost(PAUSE * 1e3);
    let row = Row::reading("revocations-pause", &what, bar, " ms", slowest);
    let (slow, of) = server.figures()?.slower("/admin/oauth2/introspect", PAUSE);
    table.push(row.note(format!(
        "from the intended start, {} probes at {PROBES}/s, p99 {:.2} ms; `assay echo` beside it on the \
         same core, doing nothing, made its probes wait up to {:.1} ms (p99 {:.2} ms): that much is the \
         machine; by the server's own clock {slow} of {of} introspections took longer than 3.2 ms",
        figure(real(load.probes.answers)),
        load.probes.p99 * 1e3,
        load.control.slowest * 1e3,
        load.control.p99 * 1e3,
    )))
}
