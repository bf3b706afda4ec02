//! A finished run: everything that any report of it is made from. It must not know how it was driven
//! or how it is shown.

use std::time::Duration;

use crate::clock::{Nanos, nanos, seconds};
use crate::histogram::{Latencies, Unusable};
use crate::hit::tally::Tally;

/// From this share of a core on, a generator is taken to be the limit of what was measured.
const SATURATED: f64 = 0.9;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct About {
    pub(crate) url: String,
    pub(crate) method: String,
    pub(crate) protocol: Protocol,
    /// Arrivals per second of an open load; `None` is a closed load.
    pub(crate) rate: Option<f64>,
    pub(crate) concurrency: usize,
    pub(crate) threads: usize,
    /// Since the epoch.
    pub(crate) started: Duration,
    /// The user stopped it before its end.
    pub(crate) interrupted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// What the generator itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Generator {
    /// Of all threads that sent.
    pub(crate) cpu: Nanos,
    /// Of the busiest thread, in cores.
    pub(crate) busiest: f64,
}

impl Generator {
    pub(crate) fn of_thread(cpu: Nanos, elapsed: Nanos) -> Self {
        let busiest = match elapsed {
            0 => 0.0,
            _ => seconds(cpu) / seconds(elapsed),
        };
        Self { cpu, busiest }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.cpu += other.cpu;
        self.busiest = self.busiest.max(other.busiest);
    }

    pub(crate) fn is_limit(&self) -> bool {
        self.busiest >= SATURATED
    }
}

/// The part of the load that came before the measurement.
#[derive(Clone, Debug)]
pub(crate) struct Warmup {
    pub(crate) elapsed: Nanos,
    pub(crate) latencies: Latencies,
    pub(crate) errors: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) about: About,
    /// Until the last request was over.
    pub(crate) elapsed: Nanos,
    pub(crate) tally: Tally,
    pub(crate) generator: Generator,
    pub(crate) warmup: Option<Warmup>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unmergeable {
    #[error("the runs differ in their {0}")]
    Differ(&'static str),
    #[error(transparent)]
    Histogram(#[from] Unusable),
}

impl Run {
    /// Answers per second over the whole run.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a rate is read to a few digits only"
    )]
    pub(crate) fn rate(&self) -> f64 {
        match self.elapsed {
            0 => 0.0,
            elapsed => self.tally.answers() as f64 / seconds(elapsed),
        }
    }

    /// Whether every request was answered, and none with an error status.
    pub(crate) fn is_clean(&self) -> bool {
        let refused = self.tally.statuses.keys().any(|status| *status >= 400);
        self.tally.error_count() == 0 && self.tally.dropped == 0 && !refused
    }

    /// Adds a run that was driven at the same time against the same target by another process.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        let (mine, theirs) = (&mut self.about, &other.about);
        let same = [
            (mine.url == theirs.url, "url"),
            (mine.method == theirs.method, "method"),
            (mine.protocol == theirs.protocol, "protocol"),
            (mine.rate.is_some() == theirs.rate.is_some(), "load"),
        ];
        if let Some((_, what)) = same.into_iter().find(|(same, _)| !same) {
            return Err(Unmergeable::Differ(what));
        }
        let started = mine.started.min(theirs.started);
        let end = |about: &About, elapsed| about.started + Duration::from_nanos(elapsed);
        let ended = end(mine, self.elapsed).max(end(theirs, other.elapsed));
        self.elapsed = nanos(ended.saturating_sub(started));
        mine.started = started;
        mine.concurrency += theirs.concurrency;
        mine.threads += theirs.threads;
        mine.interrupted |= theirs.interrupted;
        mine.rate = mine
            .rate
            .zip(theirs.rate)
            .map(|(mine, theirs)| mine + theirs);
        self.tally.merge(&other.tally)?;
        self.generator.merge(other.generator);
        merge_warmup(&mut self.warmup, other.warmup.as_ref())?;
        Ok(())
    }
}

/// Warm-ups ran side by side too: the longest says how long.
pub(crate) fn merge_warmup(
    mine: &mut Option<Warmup>,
    theirs: Option<&Warmup>,
) -> Result<(), Unusable> {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => {
            mine.elapsed = mine.elapsed.max(theirs.elapsed);
            mine.errors += theirs.errors;
            mine.latencies.merge(&theirs.latencies)
        }
        (mine @ None, Some(theirs)) => {
            *mine = Some(theirs.clone());
            Ok(())
        }
        (_, None) => Ok(()),
    }
}
