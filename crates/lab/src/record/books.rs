//! What samples add up to while a run lasts: counts and latencies of every step, and of every second.
//! Books of generators that ran at the same time are added to each other without loss. It must not
//! know files or how figures are shown.

mod cells;
pub(crate) mod document;
pub(crate) mod glance;
pub(crate) mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::histogram::{Latencies, Unusable};
use crate::record::names::{Step, Unit};
use crate::sample::{Outcome, Sample};
use crate::wire::Kind;

use windows::Windows;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unmergeable {
    #[error("books of different steps cannot be added")]
    Steps,
    #[error(transparent)]
    Histogram(#[from] Unusable),
}

/// What came of one step, or of one flow as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    /// Answers that passed their checks.
    pub(crate) right: u64,
    /// Answers that did not, by the number of the check.
    pub(crate) wrong: BTreeMap<u16, u64>,
    /// What got no answer.
    pub(crate) failed: BTreeMap<Kind, u64>,
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) bytes: u64,
    /// Arrivals that were due and never sent: they are in no other count.
    pub(crate) dropped: u64,
    response: Option<Latencies>,
    /// `None` as long as everything started when it was due, which makes it the same as `response`.
    service: Option<Latencies>,
    /// From the intended start to the actual one, of calls that were sent later than they were due;
    /// `None` as long as there is none, which is how it stays in a closed loop.
    late: Option<Latencies>,
}

impl Book {
    /// Everything that was sent, whatever came of it.
    pub(crate) fn count(&self) -> u64 {
        self.right + self.wrong_count() + self.failed_count()
    }

    pub(crate) fn answers(&self) -> u64 {
        self.right + self.wrong_count()
    }

    /// Wrong answers and failures, without what was on its way when the run was stopped: that says
    /// nothing about the target.
    pub(crate) fn errors(&self) -> u64 {
        let interrupted = self.failed.get(&Kind::Interrupted).copied();
        self.wrong_count() + self.failed_count() - interrupted.unwrap_or(0)
    }

    pub(crate) fn wrong_count(&self) -> u64 {
        self.wrong.values().sum()
    }

    pub(crate) fn failed_count(&self) -> u64 {
        self.failed.values().sum()
    }

    /// From the intended start. Of a call, every answer has one; of a flow, only a complete one:
    /// a flow that was given up took less time for the wrong reason.
    pub(crate) fn response(&self) -> Option<&Latencies> {
        self.response.as_ref()
    }

    /// From the actual start.
    pub(crate) fn service(&self) -> Option<&Latencies> {
        self.service.as_ref().or(self.response.as_ref())
    }

    /// How late calls were sent, whatever came of them: of those that had a moment of their own at which
    /// they were due. A flow has none: its first call has it.
    pub(crate) fn late(&self) -> Option<&Latencies> {
        self.late.as_ref()
    }

    fn add(&mut self, sample: &Sample, unit: Unit, blank: &Latencies) {
        if unit == Unit::Sample && sample.start > sample.due {
            let late = self.late.get_or_insert_with(|| blank.clone());
            late.record(sample.start - sample.due);
        }
        self.bytes += sample.bytes;
        let is_complete = match sample.outcome {
            Outcome::Right { status } => {
                self.right += 1;
                self.answered(status, unit);
                true
            }
            Outcome::Wrong { status, check } => {
                *self.wrong.entry(check).or_default() += 1;
                self.answered(status, unit);
                unit == Unit::Sample
            }
            Outcome::Failed(kind) => {
                *self.failed.entry(kind).or_default() += 1;
                false
            }
        };
        if is_complete {
            self.time(sample, blank);
        }
    }

    /// A flow has no status of its own; its calls have them.
    fn answered(&mut self, status: u16, unit: Unit) {
        if unit == Unit::Sample {
            *self.statuses.entry(status).or_default() += 1;
        }
    }

    fn time(&mut self, sample: &Sample, blank: &Latencies) {
        let response = self.response.get_or_insert_with(|| blank.clone());
        if sample.start != sample.due && self.service.is_none() {
            self.service = Some(response.clone());
        }
        response.record(sample.end.saturating_sub(sample.due));
        if let Some(service) = &mut self.service {
            service.record(sample.end.saturating_sub(sample.start));
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unusable> {
        self.right += other.right;
        self.bytes += other.bytes;
        self.dropped += other.dropped;
        add_counts(&mut self.wrong, &other.wrong);
        add_counts(&mut self.failed, &other.failed);
        add_counts(&mut self.statuses, &other.statuses);
        if self.service.is_some() || other.service.is_some() {
            let mut service = self.service().cloned();
            merge(&mut service, other.service())?;
            self.service = service;
        }
        merge(&mut self.late, other.late())?;
        merge(&mut self.response, other.response())
    }
}

/// The books of one generator, or of all together.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    steps: Arc<[Step]>,
    blank: Latencies,
    measured: Vec<Book>,
    warmup: Vec<Book>,
    windows: Windows,
    strays: u64,
}

impl Books {
    pub(crate) fn new(steps: Arc<[Step]>) -> Result<Self, Unusable> {
        Ok(Self {
            blank: Latencies::new()?,
            measured: vec![Book::default(); steps.len()],
            warmup: vec![Book::default(); steps.len()],
            windows: Windows::default(),
            strays: 0,
            steps,
        })
    }

    pub(crate) fn book(&mut self, sample: &Sample) {
        let index = usize::from(sample.step);
        let books = if sample.warm {
            &mut self.warmup
        } else {
            &mut self.measured
        };
        let (Some(book), Some(step)) = (books.get_mut(index), self.steps.get(index)) else {
            self.strays += 1;
            return;
        };
        book.add(sample, step.unit, &self.blank);
        // A flow is not one more sample: its calls are in their windows already.
        if step.unit == Unit::Sample {
            self.windows.add(sample);
        }
    }

    /// Books arrivals of a step that were due and will not be sent.
    pub(crate) fn drop_arrivals(&mut self, step: u16, count: u64, warm: bool) {
        let books = if warm {
            &mut self.warmup
        } else {
            &mut self.measured
        };
        match books.get_mut(usize::from(step)) {
            Some(book) => book.dropped += count,
            None => self.strays += count,
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        if self.steps != other.steps {
            return Err(Unmergeable::Steps);
        }
        let mine = self.measured.iter_mut().chain(&mut self.warmup);
        let theirs = other.measured.iter().chain(&other.warmup);
        for (mine, theirs) in mine.zip(theirs) {
            mine.merge(theirs)?;
        }
        self.windows.merge(&other.windows);
        self.strays += other.strays;
        Ok(())
    }

    /// Gives check `n` the number `numbers[n]`, so that books with other numbers can be added.
    pub(crate) fn renumber_checks(&mut self, numbers: &[u16]) {
        for book in self.measured.iter_mut().chain(&mut self.warmup) {
            let mut wrong = BTreeMap::new();
            for (check, count) in &book.wrong {
                let number = numbers.get(usize::from(*check)).unwrap_or(check);
                *wrong.entry(*number).or_default() += count;
            }
            book.wrong = wrong;
        }
    }

    pub(crate) fn steps(&self) -> &Arc<[Step]> {
        &self.steps
    }

    /// The measured part, step by step.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (&Step, &Book)> {
        self.steps.iter().zip(&self.measured)
    }

    pub(crate) fn warmup(&self) -> impl Iterator<Item = (&Step, &Book)> {
        self.steps.iter().zip(&self.warmup)
    }

    /// Second by second, the warm-up included.
    pub(crate) fn windows(&self) -> &Windows {
        &self.windows
    }

    /// What belongs to no step. Anything but zero is a fault of the lab.
    pub(crate) fn strays(&self) -> u64 {
        self.strays
    }
}

fn add_counts<K: Copy + Ord>(mine: &mut BTreeMap<K, u64>, theirs: &BTreeMap<K, u64>) {
    for (key, count) in theirs {
        *mine.entry(*key).or_default() += count;
    }
}

fn merge(mine: &mut Option<Latencies>, theirs: Option<&Latencies>) -> Result<(), Unusable> {
    match (mine, theirs) {
        (_, None) => Ok(()),
        (mine @ None, Some(theirs)) => {
            *mine = Some(theirs.clone());
            Ok(())
        }
        (Some(mine), Some(theirs)) => mine.merge(theirs),
    }
}

#[cfg(test)]
mod tests;
