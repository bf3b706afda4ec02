//! The published endpoint benchmark, whole: three kinds of tokens on three databases, a fresh store for
//! each, 10,000 requests at concurrency 100.

mod document;
mod endpoints;
mod strategy;

use clap::ValueEnum;
use serde::Serialize;
use std::fmt::Write as _;

use crate::failure::{Context, Failed, Outcome};
use crate::lab::Lab;
use crate::number::{Spread, figure};
use crate::pair::Pairs;

/// Where tokens and clients are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Database {
    Sqlite,
    Postgres,
    Memory,
}

impl Database {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Memory => "memory",
        }
    }
}

/// What an access token is, and who signs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Strategy {
    Opaque,
    Jwt,
    Remote,
}

impl Strategy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Opaque => "opaque",
            Self::Jwt => "jwt",
            Self::Remote => "remote",
        }
    }
}

/// What was measured of one endpoint.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    pub(super) endpoint: &'static str,
    pub(super) ceiling: &'static str,
    /// Pairs with the ceiling; where a run cannot be repeated, a single run and its report.
    pub(super) pairs: Option<Pairs>,
    pub(super) single: Option<crate::run::Run>,
}

#[derive(Debug, Serialize)]
struct Result {
    database: Database,
    strategy: Strategy,
    endpoints: Vec<Measured>,
}

/// Measures the chosen databases and strategies, or all of them.
pub(crate) fn run(lab: &Lab, databases: &[Database], strategies: &[Strategy]) -> Outcome<()> {
    let mut results = Vec::new();
    let mut failures = Vec::new();
    for database in databases {
        for strategy in strategies {
            let name = format!("{}-{}", database.name(), strategy.name());
            lab.say(format_args!("-- {name}"));
            match strategy::measure(lab, *database, *strategy) {
                Ok(endpoints) => {
                    let text = document::write(lab, *database, *strategy, &endpoints)?;
                    lab.results.text(&format!("{name}.md"), &text)?;
                    results.push(Result {
                        database: *database,
                        strategy: *strategy,
                        endpoints,
                    });
                    lab.results.json("results.json", &results)?;
                    lab.results.text("README.md", &table(lab, &results)?)?;
                }
                Err(why) => {
                    lab.say(format_args!("{name} failed: {why}"));
                    failures.push(format!("{name}: {why}"));
                }
            }
        }
    }
    lab.say(format_args!(
        "kept in {}",
        lab.results.directory().display()
    ));
    if failures.is_empty() {
        Ok(())
    } else {
        Err(Failed::because(failures.join("\n")))
    }
}

fn table(lab: &Lab, results: &[Result]) -> Outcome<String> {
    let mut out = String::from("# Endpoints, and their ratios to the ceiling\n\n");
    writeln!(
        out,
        "{}\n{} requests at concurrency {} against a server on one core, the generator on the other. \
         The ceiling is `assay echo` on the server's core, asked the same at the same concurrency: a \
         program that parses the form, signs or not, and does nothing else. Ratios are medians of {} \
         pairs, lowest and highest behind them; *by CPU* compares processor time a request, which other \
         programs disturb less. Remote signatures are RS256 by `signet-signer` on the generator's core.\n",
        lab.environment.markdown(),
        lab.plan.requests,
        lab.plan.concurrency,
        lab.plan.rounds
    )
    .context("a table")?;
    out.push_str(
        "| document | endpoint | req/s | p50 ms | p99 ms | server CPU µs | ceiling | ratio | by CPU |\n\
         |---|---|--:|--:|--:|--:|---|--:|--:|\n",
    );
    for result in results {
        let name = format!("{}-{}", result.database.name(), result.strategy.name());
        for measured in &result.endpoints {
            line(&mut out, &name, measured)?;
        }
    }
    Ok(out)
}

fn line(out: &mut String, name: &str, measured: &Measured) -> Outcome<()> {
    let endpoint = measured.endpoint;
    if let Some(run) = &measured.single {
        return writeln!(
            out,
            "| [{name}]({name}.md) | {endpoint} | {} | {} | {} | {} | – | – | – |",
            figure(run.rate),
            figure(run.p50 * 1e3),
            figure(run.p99 * 1e3),
            figure(run.server_cpu),
        )
        .context("a table");
    }
    let pairs = measured
        .pairs
        .as_ref()
        .context("an endpoint without a run")?;
    let written = |spread: Spread| {
        format!(
            "{} ({}–{})",
            figure(spread.median),
            figure(spread.lowest),
            figure(spread.highest)
        )
    };
    let subject = &pairs.subject;
    writeln!(
        out,
        "| [{name}]({name}.md) | {endpoint} | {} | {} | {} | {} | {} | {} | {} |",
        figure(subject.median(|run| run.rate)),
        figure(subject.median(|run| run.p50 * 1e3)),
        figure(subject.median(|run| run.p99 * 1e3)),
        figure(subject.median(|run| run.server_cpu)),
        measured.ceiling,
        written(pairs.by_rate()?),
        pairs.by_cpu().map_or("–".to_owned(), written),
    )
    .context("a table")
}
