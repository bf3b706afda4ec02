//! The figures of a run: what reports show and comparisons read. They follow from books alone, so the
//! samples of a run give the same ones again. It must not know how figures are shown or compared.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::clock::seconds;
use crate::histogram::Latencies;
use crate::record::books::Book;
use crate::record::books::document::Ledger;
use crate::record::names::{Step, Unit};

pub(crate) const FORMAT: u32 = 1;

/// The file in the directory of a run.
pub(crate) const FILE: &str = "summary.json";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("{}: {}; give the directory of a finished run", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error("{}: not the summary of a run: {}", .0.display(), .1)]
    Content(PathBuf, serde_json::Error),
    #[error("{}: format {} is not known here, only format {FORMAT}; use the assay that wrote it", .0.display(), .1)]
    Format(PathBuf, u32),
}

/// A run in figures. Times are in seconds. Members that are not known are left alone, and most may be
/// missing: a later recorder may say more, an earlier one has said less.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) format: u32,
    #[serde(default)]
    pub(crate) plan: String,
    #[serde(default)]
    pub(crate) target: String,
    /// When the measured part began, in seconds since 1970.
    #[serde(default)]
    pub(crate) started: f64,
    /// How long the measured part lasted.
    #[serde(default)]
    pub(crate) seconds: f64,
    #[serde(default)]
    pub(crate) rows: Vec<Row>,
    #[serde(default)]
    pub(crate) resources: Vec<Resource>,
    #[serde(default)]
    pub(crate) warmup: Warmup,
    #[serde(default)]
    pub(crate) notes: Vec<String>,
}

/// A step, or a flow as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// `population/flow/step`; a flow as a whole is `population/flow`.
    pub(crate) step: String,
    #[serde(default)]
    pub(crate) unit: Unit,
    /// Everything that was sent: right, wrong and failed.
    pub(crate) count: u64,
    /// Wrong and failed.
    #[serde(default)]
    pub(crate) errors: u64,
    /// Answers that failed a check, by check.
    #[serde(default)]
    pub(crate) wrong: BTreeMap<String, u64>,
    /// What got no answer, by kind.
    #[serde(default)]
    pub(crate) failed: BTreeMap<String, u64>,
    #[serde(default)]
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Due and never sent; in no other count.
    #[serde(default)]
    pub(crate) dropped: u64,
    /// Answers, right or wrong, per second of the measured part.
    #[serde(default)]
    pub(crate) per_second: f64,
    #[serde(default)]
    pub(crate) bytes: u64,
    /// From the intended start.
    #[serde(default)]
    pub(crate) response: Times,
    /// From the actual start.
    #[serde(default)]
    pub(crate) service: Times,
    /// From the intended start to the actual one; missing where nothing had a timetable, as in a closed
    /// loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) late: Option<Times>,
}

/// All zero without answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    #[serde(default)]
    pub(crate) unit: String,
    pub(crate) mean: f64,
    #[serde(default)]
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
    /// Those of the run in this directory.
    pub(crate) fn read(run: &Path) -> Result<Self, Unreadable> {
        let path = run.join(FILE);
        let text = fs::read(&path).map_err(|error| Unreadable::File(path.clone(), error))?;
        let summary: Self = match serde_json::from_slice(&text) {
            Ok(summary) => summary,
            Err(error) => return Err(Unreadable::Content(path, error)),
        };
        if summary.format == FORMAT {
            Ok(summary)
        } else {
            Err(Unreadable::Format(path, summary.format))
        }
    }

    pub(crate) fn of(ledger: &Ledger, about: &About) -> Self {
        let measured = ledger.measured;
        let (length, before) = (seconds(measured.length()), seconds(measured.warmup()));
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
            late: book.late().map(|late| Times::of(Some(late))),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Summary, Unreadable> {
        let run = tempfile::tempdir().unwrap();
        fs::write(run.path().join(FILE), text).unwrap();
        Summary::read(run.path())
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "read as it was written")]
    fn members_that_are_not_known_are_left_alone() {
        let summary = read(
            r#"{"format": 1, "plan": "p", "target": "t", "started": 1700000000, "seconds": 60.5, "later": {},
                "rows": [{"step": "users/login/token", "unit": "flow", "count": 7, "errors": 1, "dropped": 2,
                          "per_second": 1.5, "response": {"mean": 0.1, "p99_9": 0.5, "p98": 0.4}, "new": []}],
                "resources": [{"series": "server cpu", "unit": "%", "mean": 80, "max": 99.5}]}"#,
        )
        .unwrap();
        let row = &summary.rows[0];
        assert_eq!((row.unit, row.count), (Unit::Flow, 7));
        assert_eq!((row.errors, row.dropped), (1, 2));
        assert_eq!((row.response.p99_9, row.service.p50), (0.5, 0.0));
        assert_eq!(summary.resources[0].mean, 80.0);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let missing = Summary::read(Path::new("/nowhere"))
            .unwrap_err()
            .to_string();
        assert!(missing.starts_with("/nowhere/summary.json: "), "{missing}");
        let format = read(r#"{"format": 2}"#).unwrap_err().to_string();
        assert!(format.contains("format 2 is not known here"), "{format}");
        let content = read("[]").unwrap_err().to_string();
        assert!(content.contains("not the summary of a run"), "{content}");
    }
}
