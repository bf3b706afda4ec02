//! What came of the requests of one generator, ready to be added to another's. It must not know how a
//! request is sent or how a report looks.

use std::collections::BTreeMap;

use crate::clock::Nanos;
use crate::histogram::{Latencies, Unusable};
use crate::wire::{Answer, Failure, Kind};

/// Sum and extremes of one part of all answered requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) count: u64,
    pub(crate) sum: u128,
    pub(crate) fastest: Nanos,
    pub(crate) slowest: Nanos,
}

impl Span {
    pub(crate) fn record(&mut self, ns: Nanos) {
        self.merge(Self {
            count: 1,
            sum: u128::from(ns),
            fastest: ns,
            slowest: ns,
        });
    }

    pub(crate) fn merge(&mut self, other: Self) {
        if other.count == 0 {
            return;
        }
        self.fastest = match self.count {
            0 => other.fastest,
            _ => self.fastest.min(other.fastest),
        };
        self.slowest = self.slowest.max(other.slowest);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// The mean in nanoseconds.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean is read to a few digits only"
    )]
    pub(crate) fn mean(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => self.sum as f64 / count as f64,
        }
    }
}

/// Where the time of answered requests went. An exchange that used an open connection spent zero on
/// `dial` and `lookup`, and that zero counts, so that the five means (`lookup` is part of `dial`) add
/// up to the mean service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phases {
    pub(crate) dial: Span,
    pub(crate) lookup: Span,
    pub(crate) write: Span,
    pub(crate) wait: Span,
    pub(crate) read: Span,
}

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mishaps {
    pub(crate) count: u64,
    /// What the system said about the first.
    pub(crate) example: String,
}

/// When a request was to start and when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) due: Nanos,
    pub(crate) at: Nanos,
    /// A free lane was waiting for `due`, so being late is the generator's own fault.
    pub(crate) awaited: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct OpenTally {
    /// From the actual start to the last byte.
    pub(crate) service: Latencies,
    /// From the intended to the actual start, where a free lane was waiting. It is part of the
    /// response time and no fault of the target.
    pub(crate) lag: Latencies,
}

#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// From the intended start to the last byte.
    pub(crate) response: Latencies,
    /// What only an open load can tell: a closed one starts every request when it is intended.
    pub(crate) open: Option<OpenTally>,
    pub(crate) phases: Phases,
    /// Opened connections by themselves.
    pub(crate) dials: Span,
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) errors: BTreeMap<Kind, Mishaps>,
    pub(crate) body_bytes: u64,
    /// Arrivals that were due and never sent.
    pub(crate) dropped: u64,
}

impl OpenTally {
    fn new() -> Result<Self, Unusable> {
        Ok(Self {
            service: Latencies::new()?,
            lag: Latencies::new()?,
        })
    }
}

impl Tally {
    pub(crate) fn new(open: bool) -> Result<Self, Unusable> {
        Ok(Self {
            response: Latencies::new()?,
            open: open.then(OpenTally::new).transpose()?,
            phases: Phases::default(),
            dials: Span::default(),
            statuses: BTreeMap::new(),
            errors: BTreeMap::new(),
            body_bytes: 0,
            dropped: 0,
        })
    }

    pub(crate) fn answered(&mut self, start: Start, answer: &Answer) {
        self.response.record(answer.ended - start.due);
        if let Some(open) = &mut self.open {
            open.service.record(answer.ended - start.at);
            if start.awaited {
                open.lag.record(start.at - start.due);
            }
        }
        self.phases.dial.record(answer.dialled.whole);
        self.phases.lookup.record(answer.dialled.lookup);
        self.phases.write.record(answer.write);
        self.phases.wait.record(answer.wait);
        self.phases.read.record(answer.read);
        if answer.dialled.count > 0 {
            self.dials.record(answer.dialled.whole);
        }
        *self.statuses.entry(answer.status).or_default() += 1;
        self.body_bytes += answer.body;
    }

    /// Books a request that got no answer. It has no latency: the distribution is of answers only.
    pub(crate) fn failed(&mut self, failure: Failure) {
        self.add_mishaps(failure.kind, 1, failure.detail);
    }

    /// Adds another tally of the same kind of load.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unusable> {
        if let (Some(mine), Some(theirs)) = (&mut self.open, &other.open) {
            mine.service.merge(&theirs.service)?;
            mine.lag.merge(&theirs.lag)?;
        }
        self.response.merge(&other.response)?;
        self.phases.dial.merge(other.phases.dial);
        self.phases.lookup.merge(other.phases.lookup);
        self.phases.write.merge(other.phases.write);
        self.phases.wait.merge(other.phases.wait);
        self.phases.read.merge(other.phases.read);
        self.dials.merge(other.dials);
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for (kind, mishaps) in &other.errors {
            self.add_mishaps(*kind, mishaps.count, mishaps.example.clone());
        }
        self.body_bytes += other.body_bytes;
        self.dropped += other.dropped;
        Ok(())
    }

    pub(crate) fn answers(&self) -> u64 {
        self.response.count()
    }

    pub(crate) fn error_count(&self) -> u64 {
        self.errors.values().map(|mishaps| mishaps.count).sum()
    }

    fn add_mishaps(&mut self, kind: Kind, count: u64, example: String) {
        self.errors
            .entry(kind)
            .or_insert(Mishaps { count: 0, example })
            .count += count;
    }
}
