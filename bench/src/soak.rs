//! Millions of persisted tokens that live for seconds: the disk must not remember them. Rows go when
//! the five minutes in which they expire are over, so the tokens come at a rate that lets several
//! such times pass; the first two fill the disk, the others must not make it larger.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use crate::bars::{asking, megabytes};
use crate::clock::Stopwatch;
use crate::failure::{Context, Failed, Outcome};
use crate::lab::Lab;
use crate::number::{figure, real};
use crate::plot::{self, Panel};
use crate::postgres::Database;
use crate::prepare;
use crate::run::{self, Hit, Run};
use crate::server::{Server, Setup};

/// Between two looks at the disk.
const EVERY: Duration = Duration::from_secs(1);
/// What the largest disk of the second half may be of the largest before.
const FLAT: f64 = 1.10;
/// Seconds after which what is stored has reached its level: rows lie in buckets of 300 s and go 30 s
/// after their bucket is over, so a whole bucket has come and gone.
const SETTLED: f64 = 700.0;
/// Connections: enough that a busy moment of the machine drops no arrival.
const LANES: usize = 1000;
/// Seconds after the last token until its bucket has gone as well.
const AFTERWARDS: u64 = 345;

/// Where the tokens are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// One look.
#[derive(Clone, Copy, Debug, Serialize)]
struct Sample {
    seconds: f64,
    issued: f64,
    database: u64,
    wal: u64,
    memory: u64,
}

#[derive(Debug, Serialize)]
struct Summary {
    store: &'static str,
    tokens: u64,
    lifetime_seconds: u64,
    tokens_per_second: f64,
    settled_megabytes: f64,
    later_megabytes: f64,
    growth: f64,
    largest_wal_megabytes: f64,
    largest_memory_megabytes: f64,
    is_flat: bool,
    run: Run,
}

/// Issues the tokens of the plan, and looks at the disk meanwhile and for a while afterwards.
pub(crate) fn run(lab: &Lab, kind: Kind) -> Outcome<()> {
    let data = lab.scratch().join("soak");
    let setup = Setup::embedded(data.clone());
    let (setup, database) = match kind {
        Kind::Sqlite => (setup, None),
        Kind::Postgres => {
            let url = Database::create(lab.postgres()?, "signet_soak")?;
            let database = Database::connect(&url)?;
            (setup.on_postgres(lab, url)?, Some(database))
        }
    };
    let server = Server::start(lab, &setup)?;
    let fields = json!({
        "access_token": "opaque", "persistence": "persisted",
        "access_token_lifetime": lab.plan.soak_lifetime,
    });
    let client = prepare::client(&server, "soak", "bcrypt:8", fields)?;
    let disk = Disk {
        file: data.join("signet.db"),
        wal: data.join("signet.db-wal"),
        database,
    };
    let hit = Hit {
        rate: Some(real(lab.plan.soak_rate)),
        concurrency: LANES,
        ..asking(lab, "", &server, &client).hit
    };
    let hit = hit.requests_at_rate(lab.plan.soak_tokens);
    let over = AtomicBool::new(false);
    let (run, samples) = thread::scope(|scope| {
        let loading = scope.spawn(|| {
            let run = run::hit(lab, "soak", &hit, &server.process);
            // What expired last goes, too.
            thread::sleep(Duration::from_secs(lab.plan.soak_lifetime + AFTERWARDS));
            over.store(true, Relaxed);
            run
        });
        let samples = watch(lab, &server, &disk, &over);
        let run = loading
            .join()
            .map_err(|_| Failed::because("the load panicked"))
            .flatten();
        Ok::<_, Failed>((run?, samples?))
    })?;
    server.process.stop();
    report(lab, kind, run, &samples)
}

/// Where the bytes are.
struct Disk {
    file: PathBuf,
    wal: PathBuf,
    database: Option<Database>,
}

impl Disk {
    fn bytes(&self) -> Outcome<(u64, u64)> {
        if let Some(database) = &self.database {
            return database.bytes();
        }
        let of = |file: &PathBuf| file.metadata().map_or(0, |file| file.len());
        Ok((of(&self.file), of(&self.wal)))
    }
}

fn watch(lab: &Lab, server: &Server, disk: &Disk, over: &AtomicBool) -> Outcome<Vec<Sample>> {
    let (clock, mut samples) = (Stopwatch::start(), Vec::new());
    while !over.load(Relaxed) {
        let (database, wal) = disk.bytes()?;
        let issued = server
            .figures()
            .map_or(f64::NAN, |figures| figures.issued());
        let memory = server.process.memory()?.rss;
        let sample = Sample {
            seconds: clock.seconds(),
            issued,
            database,
            wal,
            memory,
        };
        if samples.len() % 30 == 0 {
            lab.say(format_args!(
                "soak: {} tokens, database {:.1} MB, log {:.1} MB, memory {:.1} MB",
                figure(issued),
                megabytes(database),
                megabytes(wal),
                megabytes(memory)
            ));
        }
        samples.push(sample);
        thread::sleep(EVERY);
    }
    Ok(samples)
}

fn report(lab: &Lab, kind: Kind, run: Run, samples: &[Sample]) -> Outcome<()> {
    let largest = |of: fn(&Sample) -> u64, from: f64, to: f64| {
        let within = |sample: &&Sample| (from..to).contains(&sample.seconds);
        megabytes(samples.iter().filter(within).map(of).max().unwrap_or(0))
    };
    let settled = largest(|sample| sample.database, 0.0, SETTLED);
    let later = largest(|sample| sample.database, SETTLED, f64::INFINITY);
    let all = f64::INFINITY;
    let summary = Summary {
        store: kind.name(),
        tokens: lab.plan.soak_tokens,
        lifetime_seconds: lab.plan.soak_lifetime,
        tokens_per_second: run.rate,
        settled_megabytes: settled,
        later_megabytes: later,
        growth: later / settled,
        largest_wal_megabytes: largest(|sample| sample.wal, 0.0, all),
        largest_memory_megabytes: largest(|sample| sample.memory, 0.0, all),
        is_flat: later <= settled * FLAT,
        run,
    };
    let name = kind.name();
    lab.results.json(&format!("{name}.json"), &summary)?;
    let mut csv = String::from("seconds,issued,database_bytes,wal_bytes,memory_bytes\n");
    for s in samples {
        let (seconds, issued) = (s.seconds, s.issued);
        writeln!(
            csv,
            "{seconds:.1},{issued:.0},{},{},{}",
            s.database, s.wal, s.memory
        )
        .context("a table")?;
    }
    lab.results.text(&format!("{name}.csv"), &csv)?;
    draw(lab, name, samples)?;
    let text = markdown(lab, &summary);
    lab.results.text(&format!("{name}.md"), &text)?;
    lab.say(text);
    if summary.is_flat {
        return summary.run.flawless().map(drop);
    }
    Err(Failed::because("the disk grew with the tokens issued"))
}

fn draw(lab: &Lab, name: &str, samples: &[Sample]) -> Outcome<()> {
    let curve = |of: &dyn Fn(&Sample) -> f64| {
        samples
            .iter()
            .map(|sample| (sample.seconds, of(sample)))
            .collect::<Vec<_>>()
    };
    let disk = Panel {
        title: "Disk and memory while tokens are issued and expire",
        unit: "MB",
        curves: vec![
            ("database", curve(&|sample| megabytes(sample.database))),
            ("write-ahead log", curve(&|sample| megabytes(sample.wal))),
            (
                "memory of the server",
                curve(&|sample| megabytes(sample.memory)),
            ),
        ],
    };
    let issued = Panel {
        title: "Tokens issued",
        unit: "millions",
        curves: vec![("issued", curve(&|sample| sample.issued / 1e6))],
    };
    plot::write(
        &lab.results.directory().join(format!("{name}.svg")),
        &[disk, issued],
    )
}

fn markdown(lab: &Lab, summary: &Summary) -> String {
    format!(
        "# Soak: {} persisted tokens of {} s, {}\n\n{}\n\
         | | |\n|---|--:|\n| tokens/s | {} |\n| largest database in the first {SETTLED:.0} s | {:.1} MB |\n\
         | largest database afterwards | {:.1} MB ({:+.1} %) |\n| largest write-ahead log | {:.1} MB |\n\
         | largest memory of the server | {:.1} MB |\n| flat | {} |\n\
         | what went wrong | {} |\n\n![Disk over time]({}.svg)\n",
        figure(real(summary.tokens)),
        summary.lifetime_seconds,
        summary.store,
        lab.environment.markdown(),
        figure(summary.tokens_per_second),
        summary.settled_megabytes,
        summary.later_megabytes,
        (summary.growth - 1.0) * 100.0,
        summary.largest_wal_megabytes,
        summary.largest_memory_megabytes,
        if summary.is_flat { "yes" } else { "NO" },
        if summary.run.troubles.is_empty() {
            "nothing".to_owned()
        } else {
            summary.run.troubles.join("; ")
        },
        summary.store,
    )
}
