//! The figures of a run: what reports show and comparisons read. They follow from books alone, so the
//! samples of a run give the same ones again. It must not know files or how figures are shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::seconds;
use crate::histogram::Latencies;
use crate::record::books::Book;
use crate::record::books::document::Ledger;
use crate::record::names::{Step, Unit};

pub(crate) const FORMAT: u32 = 1;

/// A run in figures. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) format: u32,
    pub(crate) plan: String,
    pub(crate) target: String,
    /// When the measured part began, in seconds since 1970.
    pub(crate) started: f64,
    /// How long the measured part lasted.
    pub(crate) seconds: f64,
    pub(crate) rows: Vec<Row>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) warmup: Warmup,
    pub(crate) notes: Vec<String>,
}

/// A step, or a flow as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) step: String,
    pub(crate) unit: Unit,
    /// Everything that was sent: right, wrong and failed.
    pub(crate) count: u64,
    /// Wrong and failed.
    pub(crate) errors: u64,
    /// Answers that failed a check, by check.
    pub(crate) wrong: BTreeMap<String, u64>,
    /// What got no answer, by kind.
    pub(crate) failed: BTreeMap<String, u64>,
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Due and never sent; in no other count.
    pub(crate) dropped: u64,
    /// Answers, right or wrong, per second of the measured part.
    pub(crate) per_second: f64,
    pub(crate) bytes: u64,
    /// From the intended start.
    pub(crate) response: Times,
    /// From the actual start.
    pub(crate) service: Times,
}

/// All zero without answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p75: f64,
    pub(crate) p90: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) p99_9: f64,
    pub(crate) max: f64,
}

/// A series that was watched during the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Resource {
    pub(crate) series: String,
    pub(crate) unit: String,
    pub(crate) mean: f64,
    pub(crate) max: f64,
}

/// What came before the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Warmup {
    pub(crate) seconds: f64,
    pub(crate) rows: Vec<Row>,
}

/// What books do not know about their run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct About {
    pub(crate) plan: String,
    pub(crate) target: String,
    /// When the clock of the run read zero, in nanoseconds since 1970.
    pub(crate) zero_ns: u64,
    pub(crate) resources: Vec<Resource>,
    pub(crate) notes: Vec<String>,
}

impl Summary {
    pub(crate) fn of(ledger: &Ledger, about: &About) -> Self {
        let measured = ledger.measured;
        let (length, before) = (seconds(measured.length()), seconds(measured.from_ns));
        let Ledger { books, checks, .. } = ledger;
        let warmup = books.warmup().any(|(_, book)| is_used(book));
        let mut notes = about.notes.clone();
        notes.extend(fault(books.strays()));
        Self {
            format: FORMAT,
            plan: about.plan.clone(),
            target: about.target.clone(),
            started: seconds(about.zero_ns.saturating_add(measured.from_ns)),
            seconds: length,
            rows: rows(books.measured(), checks, length),
            resources: about.resources.clone(),
            warmup: Warmup {
                seconds: if warmup { before } else { 0.0 },
                rows: if warmup {
                    rows(books.warmup(), checks, before)
                } else {
                    Vec::new()
                },
            },
            notes,
        }
    }
}

impl Row {
    pub(crate) fn of(step: &Step, book: &Book, checks: &[String], seconds: f64) -> Self {
        let named = |(check, count): (&u16, &u64)| {
            let name = checks.get(usize::from(*check)).cloned();
            (name.unwrap_or_else(|| format!("check {check}")), *count)
        };
        Self {
            step: step.name.clone(),
            unit: step.unit,
            count: book.count(),
            errors: book.errors(),
            wrong: book.wrong.iter().map(named).collect(),
            failed: book
                .failed
                .iter()
                .map(|(kind, count)| (kind.to_string(), *count))
                .collect(),
            statuses: book.statuses.clone(),
            dropped: book.dropped,
            per_second: per_second(book.answers(), seconds),
            bytes: book.bytes,
            response: Times::of(book.response()),
            service: Times::of(book.service()),
        }
    }

    /// Answers that passed their checks.
    pub(crate) fn right(&self) -> u64 {
        self.count.saturating_sub(self.errors)
    }
}

impl Times {
    pub(crate) fn of(latencies: Option<&Latencies>) -> Self {
        let Some(latencies) = latencies else {
            return Self::default();
        };
        let at = |share| seconds(latencies.quantile(share));
        Self {
            mean: latencies.mean() / 1e9,
            p50: at(0.50),
            p75: at(0.75),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            max: seconds(latencies.exact().slowest),
        }
    }
}

/// Zero when no time passed.
#[expect(
    clippy::cast_precision_loss,
    reason = "a rate is read to a few digits only"
)]
pub(crate) fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

fn rows<'a>(
    books: impl Iterator<Item = (&'a Step, &'a Book)>,
    checks: &[String],
    seconds: f64,
) -> Vec<Row> {
    books
        .map(|(step, book)| Row::of(step, book, checks, seconds))
        .collect()
}

fn is_used(book: &Book) -> bool {
    book.count() + book.dropped > 0
}

fn fault(strays: u64) -> Option<String> {
    (strays > 0).then(|| format!("{strays} samples belong to no step: a fault of the lab"))
}
