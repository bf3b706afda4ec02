//! The bars of the instrument itself: how much it can send, how exact its timetable is, whether its
//! figures are the arithmetic ones, and how much memory it needs.

mod played;
pub(crate) mod soak;

use std::io::{Write as _, stdout};
use std::thread;
use std::time::Duration;

use crate::failure::{Context, Failed, Outcome};
use crate::lab::Lab;
use crate::number::Spread;
use crate::row::{Bar, Row, Table};
use crate::run::wrk;
use crate::server::{Echo, Nginx};
use played::{Played, hey, play, start};

/// Connections of the closed loop.
pub(crate) const USERS: usize = 64;
const RATE: f64 = 20_000.0;
/// Of every answer of the target with a fixed latency, in milliseconds.
const DELAY: f64 = 5.0;

/// Measures all of them.
pub(crate) fn run(lab: &Lab) -> Outcome<()> {
    let mut table = Table::new(lab);
    table.try_group("closed", closed)?;
    table.try_group("open", open)?;
    table.try_group("stall", stall)?;
    table.try_group("memory", memory)?;
    stdout()
        .write_all(table.markdown().as_bytes())
        .context("standard output")?;
    match table.missed() {
        0 => Ok(()),
        missed => Err(Failed::because(format_args!(
            "{missed} bars missed or not measured"
        ))),
    }
}

/// A plan that asks for `/` of a target in a closed loop.
fn asking(url: &str, load: &str, seconds: f64, warmup: f64) -> String {
    format!(
        "warmup = '{warmup} s'\n[target]\nname = 'static'\ntested = true\nissuer = '{url}'\ndiscovery = ''\n\
         [[populations]]\nname = 'users'\n{load}\nduration = '{} s'\n\
         steps = [{{ name = 'get', url = '/' }}]\n",
        seconds + warmup
    )
}

fn ratios(pairs: impl IntoIterator<Item = (f64, f64)>) -> Outcome<Spread> {
    Spread::of(pairs.into_iter().map(|(ours, theirs)| ours / theirs)).context("no pairs")
}

/// With every sample recorded, against generators that keep a histogram or nothing.
fn closed(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let nginx = Nginx::start(lab)?;
    let plan = asking(
        &nginx.url("/"),
        &format!("users = {USERS}"),
        lab.plan.seconds,
        lab.plan.warmup,
    );
    let (mut wrks, mut heys) = (Vec::new(), Vec::new());
    for _ in 0..lab.plan.rounds {
        let ours = play(lab, &plan, &[])?.flawless()?.rate;
        let theirs = wrk(lab, "closed-wrk", &nginx.url("/"), None, &nginx.process)?.flawless()?;
        lab.say(format_args!(
            "assay run {ours:.0}/s, wrk {:.0}/s",
            theirs.rate
        ));
        wrks.push((ours, theirs.rate));
        if let Some(theirs) = hey(lab, &nginx.url("/"), USERS)? {
            lab.say(format_args!("hey {theirs:.0}/s"));
            heys.push((ours, theirs));
        }
    }
    let what = "closed loop, one core, 64 connections, static target, every sample kept: `assay run` against wrk";
    table.push(Row::figure(
        "closed-wrk",
        what,
        Bar::AtLeast(0.9),
        "",
        ratios(wrks)?,
    ))?;
    let spread =
        ratios(heys).context("hey is not installed: go install github.com/rakyll/hey@latest")?;
    let what = "the same against hey";
    table.push(Row::figure(
        "closed-hey",
        what,
        Bar::AtLeast(2.0),
        "",
        spread,
    ))
}

/// Against a target that answers exactly five milliseconds later.
fn open(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let echo = Echo::with(lab, &["--delay", &format!("{DELAY}ms")])?;
    let seconds = lab.plan.seconds.max(5.0);
    let load = format!("rate = '{RATE}/s'\nlimit = 2000");
    let plan = asking(&echo.url("/"), &load, seconds, 1.0);
    let (mut reached, mut errors, mut late) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..lab.plan.rounds {
        let played = play(lab, &plan, &[])?.flawless()?;
        reached.push((played.rate / RATE - 1.0).abs() * 100.0);
        errors.push((played.p50 - DELAY).abs());
        late.push(played.late);
    }
    let spread = |of: Vec<f64>| Spread::of(of).context("no runs");
    let what = "open loop at 20,000/s, target of fixed latency: achieved rate off by";
    table.push(Row::figure(
        "open-rate",
        what,
        Bar::AtMost(0.5),
        " %",
        spread(reached)?,
    ))?;
    let what = "the same: error of the median latency";
    table.push(Row::figure(
        "open-median",
        what,
        Bar::Below(0.2),
        " ms",
        spread(errors)?,
    ))?;
    let what = "the same: 99.9th percentile of the lateness of starts";
    table.push(Row::figure(
        "open-late",
        what,
        Bar::Below(2.0),
        " ms",
        spread(late)?,
    ))
}

/// Two seconds without an answer in sixty at 500/s: a thousand arrivals wait, evenly between nothing and
/// two seconds. The slowest hundredth of thirty thousand are three hundred of them.
fn stall(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let (seconds, rate, length) = (60.0, 500.0, 2.0);
    let echo = Echo::with(lab, &["--stall", "20s+2s"])?;
    let plan = asking(&echo.url("/"), "rate = '500/s'\nlimit = 3000", seconds, 0.0);
    let played = play(lab, &plan, &[])?.flawless()?;
    let waiting: f64 = rate * length;
    let p99 = length * (1.0 - seconds * rate * 0.01 / waiting) * 1000.0;
    let off = |measured: f64, right: f64| (measured / right - 1.0).abs() * 100.0;
    let note = format!("{:.0} ms measured, {p99:.0} ms by arithmetic", played.p99);
    let what = "a target that stalls 2 s in a run of 60 s at 500/s: 99th percentile off by";
    table.push(
        Row::reading(
            "stall-p99",
            what,
            Bar::AtMost(2.0),
            " %",
            off(played.p99, p99),
        )
        .note(note),
    )?;
    let note = format!(
        "{:.0} ms measured, {:.0} ms by arithmetic",
        played.slowest,
        length * 1000.0
    );
    let what = "the same: slowest off by";
    let slowest = off(played.slowest, length * 1000.0);
    table.push(Row::reading("stall-max", what, Bar::AtMost(2.0), " %", slowest).note(note))
}

/// The hour of the soak in short: what is kept per sample would show in a minute.
fn memory(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let echo = Echo::start(lab, None)?;
    let seconds = lab.plan.seconds * 8.0;
    let plan = asking(
        &echo.url("/"),
        &format!("rate = '{RATE}/s'\nlimit = 2000"),
        seconds,
        0.0,
    );
    let (mut child, _) = start(lab, &plan, &["--keep", "histograms"])?;
    let (mut early, mut most) = (0.0_f64, 0.0_f64);
    while child.ended().is_none() {
        thread::sleep(Duration::from_secs(1));
        let Ok(memory) = child.memory() else {
            break;
        };
        #[expect(clippy::cast_precision_loss, reason = "megabytes")]
        let megabytes = memory.rss as f64 / 1e6;
        if megabytes > 0.0 {
            most = most.max(megabytes);
            early = if early > 0.0 { early } else { megabytes };
        }
    }
    let what = format!("memory of `assay run` at 20,000/s for {seconds:.0} s, histograms kept");
    let note = format!("{early:.1} MB after the first second");
    table.push(Row::reading("memory", &what, Bar::Below(100.0), " MB", most).note(note))
}

impl Played {
    fn flawless(self) -> Outcome<Self> {
        match (self.errors, self.dropped) {
            (0, 0) => Ok(self),
            (errors, dropped) => Err(Failed::because(format_args!(
                "{errors} errors and {dropped} dropped arrivals in a run"
            ))),
        }
    }
}
