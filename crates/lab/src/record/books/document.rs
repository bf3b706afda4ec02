//! Books as JSON, complete enough to be read back and added to others. Times are in nanoseconds. It
//! must not know files.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::windows::{Window, Windows};
use super::{Book, Books};
use crate::clock::Nanos;
use crate::histogram::{Exact, Latencies, Unusable};
use crate::record::names::{Step, Unit};
use crate::record::samples::Span;
use crate::wire::Kind;

const FORMAT: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("not the histograms of a run: {0}")]
    Json(#[from] serde_json::Error),
    #[error("format {0} of histograms is not known here; use the assay that wrote it")]
    Format(u32),
    #[error("a histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error(transparent)]
    Histogram(#[from] Unusable),
}

/// Books and what is needed to understand them without anything else.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) books: Books,
    pub(crate) checks: Vec<String>,
    pub(crate) measured: Span,
}

#[derive(Debug, Serialize, Deserialize)]
struct LedgerDocument {
    format: u32,
    measured: Span,
    checks: Vec<String>,
    steps: Vec<StepDocument>,
    windows: Vec<WindowDocument>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StepDocument {
    step: String,
    unit: Unit,
    measured: BookDocument,
    warmup: BookDocument,
}

#[derive(Debug, Serialize, Deserialize)]
struct BookDocument {
    right: u64,
    wrong: BTreeMap<u16, u64>,
    failed: BTreeMap<Kind, u64>,
    statuses: BTreeMap<u16, u64>,
    bytes: u64,
    dropped: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<LatencyDocument>,
    /// Missing when it is the same as the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<LatencyDocument>,
    /// Missing where nothing was late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late: Option<LatencyDocument>,
}

#[derive(Debug, Serialize, Deserialize)]
struct LatencyDocument {
    min_ns: Nanos,
    min_count: u64,
    max_ns: Nanos,
    sum_ns: u128,
    /// V2 encoding, base64.
    histogram: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct WindowDocument {
    second: u64,
    count: u64,
    errors: u64,
    wrong: u64,
    classes: [u64; 5],
    sum_ns: u128,
    warm: u64,
    p50_ns: Nanos,
    p95_ns: Nanos,
    p99_ns: Nanos,
    cells: Vec<(u16, u32)>,
}

impl Ledger {
    pub(crate) fn to_json(&self) -> Result<String, Unreadable> {
        let measured = self.books.measured.iter();
        let books = measured.zip(&self.books.warmup);
        let steps = self.books.steps.iter().zip(books);
        let steps = steps.map(|(step, (measured, warmup))| {
            Ok(StepDocument {
                step: step.name.clone(),
                unit: step.unit,
                measured: BookDocument::of(measured)?,
                warmup: BookDocument::of(warmup)?,
            })
        });
        let windows = self.books.windows.all();
        let document = LedgerDocument {
            format: FORMAT,
            measured: self.measured,
            checks: self.checks.clone(),
            steps: steps.collect::<Result<_, Unreadable>>()?,
            windows: windows.iter().map(WindowDocument::of).collect(),
        };
        Ok(serde_json::to_string(&document)?)
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, Unreadable> {
        let document: LedgerDocument = serde_json::from_slice(text)?;
        if document.format != FORMAT {
            return Err(Unreadable::Format(document.format));
        }
        let names = document.steps.iter().map(|document| Step {
            name: document.step.clone(),
            unit: document.unit,
        });
        let steps: Arc<[Step]> = names.collect();
        let mut books = Books::new(steps)?;
        for (index, step) in document.steps.into_iter().enumerate() {
            books.measured[index] = step.measured.read()?;
            books.warmup[index] = step.warmup.read()?;
        }
        let mut windows = Windows::default();
        for document in document.windows {
            windows.keep(document.second, &document.read());
        }
        books.windows = windows;
        Ok(Self {
            books,
            checks: document.checks,
            measured: document.measured,
        })
    }
}

impl BookDocument {
    fn of(book: &Book) -> Result<Self, Unreadable> {
        Ok(Self {
            right: book.right,
            wrong: book.wrong.clone(),
            failed: book.failed.clone(),
            statuses: book.statuses.clone(),
            bytes: book.bytes,
            dropped: book.dropped,
            response: book
                .response
                .as_ref()
                .map(LatencyDocument::of)
                .transpose()?,
            service: book.service.as_ref().map(LatencyDocument::of).transpose()?,
            late: book.late.as_ref().map(LatencyDocument::of).transpose()?,
        })
    }

    fn read(self) -> Result<Book, Unreadable> {
        Ok(Book {
            right: self.right,
            wrong: self.wrong,
            failed: self.failed,
            statuses: self.statuses,
            bytes: self.bytes,
            dropped: self.dropped,
            response: self.response.map(|document| document.read()).transpose()?,
            service: self.service.map(|document| document.read()).transpose()?,
            late: self.late.map(|document| document.read()).transpose()?,
        })
    }
}

impl LatencyDocument {
    fn of(latencies: &Latencies) -> Result<Self, Unreadable> {
        let exact = latencies.exact();
        Ok(Self {
            min_ns: exact.fastest,
            min_count: exact.fastest_count,
            max_ns: exact.slowest,
            sum_ns: exact.sum,
            histogram: STANDARD.encode(latencies.encode()?),
        })
    }

    fn read(&self) -> Result<Latencies, Unreadable> {
        let exact = Exact {
            fastest: self.min_ns,
            fastest_count: self.min_count,
            slowest: self.max_ns,
            sum: self.sum_ns,
        };
        Ok(Latencies::decode(
            &STANDARD.decode(&self.histogram)?,
            exact,
        )?)
    }
}

impl WindowDocument {
    fn of((second, window): (&u64, &Window)) -> Self {
        Self {
            second: *second,
            count: window.count,
            errors: window.errors,
            wrong: window.wrong,
            classes: window.classes,
            sum_ns: window.sum,
            warm: window.warm,
            p50_ns: window.quantile(0.50),
            p95_ns: window.quantile(0.95),
            p99_ns: window.quantile(0.99),
            cells: window.cells.clone(),
        }
    }

    fn read(self) -> Window {
        Window {
            count: self.count,
            errors: self.errors,
            wrong: self.wrong,
            classes: self.classes,
            sum: self.sum_ns,
            warm: self.warm,
            cells: self.cells,
        }
    }
}
