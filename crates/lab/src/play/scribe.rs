//! Where a generator books what came of its calls: into its books, and to the file of samples. It must
//! not know connections or flows.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::call::Wrong;
use crate::clock::Nanos;
use crate::record::books::Books;
use crate::record::names::Checks;
use crate::record::samples::recorder::{RecordError, Sink};
use crate::sample::{Outcome, Sample};
use crate::wire::Kind;

/// How many examples of what went wrong are kept: one of each kind is enough to begin looking.
const EXAMPLES: usize = 100;

/// How many tokens are remembered, in 16 MB.
const TOKENS: usize = 1_000_000;

#[derive(Debug)]
pub(crate) struct Scribe {
    books: Books,
    sink: Option<Sink>,
    checks: Arc<Checks>,
    /// What was due before is warm-up.
    warm_until: Nanos,
    examples: BTreeMap<String, String>,
    failure: Option<RecordError>,
    /// Digests of the tokens that were issued, as many as are remembered.
    tokens: HashSet<u64>,
    repeated: u64,
    waits: u64,
}

/// What a generator brings home.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) books: Books,
    /// What went wrong, by kind, with the words of the first time.
    pub(crate) examples: BTreeMap<String, String>,
    /// Answers with a token that an earlier answer had.
    pub(crate) repeated: u64,
    /// How often a user waited because nobody was there.
    pub(crate) waits: u64,
}

impl Scribe {
    pub(crate) fn new(
        books: Books,
        sink: Option<Sink>,
        checks: Arc<Checks>,
        warm_until: Nanos,
    ) -> Self {
        Self {
            books,
            sink,
            checks,
            warm_until,
            examples: BTreeMap::new(),
            failure: None,
            tokens: HashSet::new(),
            repeated: 0,
            waits: 0,
        }
    }

    pub(crate) fn book(&mut self, sample: Sample) {
        let sample = Sample {
            warm: sample.due < self.warm_until,
            ..sample
        };
        self.books.book(&sample);
        if let Some(sink) = &mut self.sink
            && let Err(error) = sink.push(sample)
        {
            self.sink = None;
            self.failure = Some(error);
        }
    }

    /// The outcome of an answer that failed a check.
    pub(crate) fn wrong(&mut self, status: u16, wrong: &Wrong) -> Outcome {
        self.example(wrong.check, &wrong.detail);
        let check = self.checks.index(wrong.check);
        Outcome::Wrong { status, check }
    }

    /// Notes the token of an answer: a token is issued once.
    pub(crate) fn issued(&mut self, token: u64) {
        if self.tokens.len() < TOKENS && !self.tokens.insert(token) {
            self.repeated += 1;
        }
    }

    /// Notes that a user leaves the target alone for a while, because nobody was there.
    pub(crate) fn waited(&mut self) {
        self.waits += 1;
    }

    /// Remembers what the system said about a failure.
    pub(crate) fn failed(&mut self, kind: Kind, detail: &str) {
        self.example(kind.name(), detail);
    }

    fn example(&mut self, kind: &str, detail: &str) {
        if self.examples.len() < EXAMPLES && !self.examples.contains_key(kind) {
            self.examples.insert(kind.to_owned(), detail.to_owned());
        }
    }

    /// Books arrivals of a flow that were due and will not be sent.
    pub(crate) fn dropped(&mut self, step: u16, count: u64, warm: bool) {
        self.books.drop_arrivals(step, count, warm);
    }

    pub(crate) fn books(&self) -> &Books {
        &self.books
    }

    /// Sends samples on that are held back; called now and then, it bounds what a crash can lose.
    pub(crate) fn flush(&mut self) {
        if let Some(sink) = &mut self.sink
            && let Err(error) = sink.flush()
        {
            self.sink = None;
            self.failure = Some(error);
        }
    }

    /// Why the run has to stop, if it has to.
    pub(crate) fn failure(&self) -> Option<&RecordError> {
        self.failure.as_ref()
    }

    pub(crate) fn into_record(mut self) -> Record {
        self.flush();
        Record {
            books: self.books,
            examples: self.examples,
            repeated: self.repeated,
            waits: self.waits,
        }
    }
}
