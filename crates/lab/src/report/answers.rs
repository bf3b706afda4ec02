//! The text that users of the common closed-loop tool know, for one step of a run. What samples do not
//! hold (the phases of an exchange) is left out. It must not know files.

use std::fmt::Write as _;
use std::time::Duration;

use crate::clock::nanos;
use crate::histogram::{Latencies, Unusable};
use crate::hit::run::{About, Generator, Protocol, Run};
use crate::hit::tally::{Mishaps, OpenTally, Phases, Span, Tally};
use crate::record::books::Book;
use crate::report::text;

#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswersError {
    #[error(transparent)]
    Histogram(#[from] Unusable),
    #[error("the report cannot be made: {0}")]
    Text(#[from] std::fmt::Error),
}

/// The summary, the histogram, the distribution and the outcomes of one step. `checks` are the names
/// of failed checks; `seconds` is how long the measured part of the run lasted.
pub(crate) fn render(book: &Book, checks: &[String], seconds: f64) -> Result<String, AnswersError> {
    let mut out = text::blocks(&run(book, seconds)?)?;
    if !book.wrong.is_empty() {
        writeln!(out, "Wrong answers:")?;
        for (check, count) in &book.wrong {
            let name = checks.get(usize::from(*check)).map_or("?", String::as_str);
            writeln!(out, "  [{count}]\t{name}")?;
        }
        writeln!(out)?;
    }
    Ok(out)
}

fn run(book: &Book, seconds: f64) -> Result<Run, Unusable> {
    let blank = Latencies::new()?;
    let elapsed = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let of = |latencies: Option<&Latencies>| latencies.unwrap_or(&blank).clone();
    let errors = book.failed.iter().map(|(kind, count)| {
        let mishaps = Mishaps {
            count: *count,
            example: "no answer".to_owned(),
        };
        (*kind, mishaps)
    });
    Ok(Run {
        about: About {
            url: String::new(),
            method: String::new(),
            protocol: Protocol::Http1,
            rate: None,
            concurrency: 0,
            threads: 0,
            started: Duration::ZERO,
            interrupted: false,
        },
        elapsed: nanos(elapsed),
        tally: Tally {
            response: of(book.response()),
            open: Some(OpenTally {
                service: of(book.service()),
                lag: blank.clone(),
            }),
            phases: Phases::default(),
            dials: Span::default(),
            statuses: book.statuses.clone(),
            errors: errors.collect(),
            body_bytes: book.bytes,
            dropped: book.dropped,
        },
        generator: Generator::default(),
        warmup: None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::record::books::Books;
    use crate::record::names::{Step, Unit};
    use crate::sample::{Outcome, Sample};
    use crate::wire::Kind;

    #[test]
    fn a_step_reads_like_the_usual_summary() {
        let step = Step {
            name: "a/f/one".to_owned(),
            unit: Unit::Sample,
        };
        let mut books = Books::new(Arc::new([step])).unwrap();
        let mut book = |took: u64, outcome| {
            books.book(&Sample {
                step: 0,
                due: 0,
                start: 0,
                end: took * 1_000_000,
                bytes: 100,
                outcome,
                warm: false,
            });
        };
        let right = Outcome::Right { status: 200 };
        for took in [2, 4, 4, 4, 5, 6, 6, 8, 10] {
            book(took, right);
        }
        let wrong = Outcome::Wrong {
            status: 200,
            check: 0,
        };
        book(22, wrong);
        book(1, Outcome::Failed(Kind::Reset));
        let (_, book) = books.measured().next().unwrap();
        let text = render(book, &["nonce".to_owned()], 0.2).unwrap();
        let golden = include_str!("text/closed.golden");
        let (golden, _) = golden.split_once("\nDetails").unwrap();
        let golden = golden.replace("  Total data:\t1000 bytes", "  Total data:\t1100 bytes");
        let golden = golden.replace("100 bytes\n\nResp", "110 bytes\n\nResp");
        let (head, outcomes) = text.split_once("\nStatus code").unwrap();
        assert_eq!(head, golden);
        assert!(outcomes.contains("  [200]\t10 responses\n"));
        assert!(outcomes.contains("  [1]\treset: no answer\n"));
        assert!(outcomes.ends_with("Wrong answers:\n  [1]\tnonce\n\n"));
    }
}
