//! What happened in each second of a run, for the live view, for stopping by itself and for plots over
//! time. A sample belongs to the second of its end. It must not know steps or the whole run.

use std::collections::BTreeMap;

use super::cells::{self, CELLS};
use crate::clock::Nanos;
use crate::grpc::status::Code;
use crate::sample::{Outcome, Sample};
use crate::wire::Kind;

const SECOND: Nanos = 1_000_000_000;

/// What ended in a second, or in several together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) count: u64,
    /// Wrong answers and failures.
    pub(crate) errors: u64,
    /// Wrong answers alone.
    pub(crate) wrong: u64,
    /// Answers by the first digit of their status: 1xx first. A code of gRPC counts as the status that
    /// it is usually translated to.
    pub(crate) classes: [u64; 5],
    /// Of the response times.
    pub(crate) sum: u128,
    /// How many of the count were warm-up.
    pub(crate) warm: u64,
    /// Response times of answers: (cell, count), ascending.
    pub(super) cells: Vec<(u16, u32)>,
}

impl Window {
    /// Answers with a status of 500 or more.
    #[cfg(test)]
    pub(crate) fn server_errors(&self) -> u64 {
        self.classes[4]
    }

    /// The mean response time of the answers; zero without answers.
    pub(crate) fn mean(&self) -> Nanos {
        let answers = u128::from(self.classes.iter().sum::<u64>());
        Nanos::try_from(self.sum / answers.max(1)).unwrap_or(Nanos::MAX)
    }

    /// The response time that this share of the answers did not exceed, within 2 %; zero without
    /// answers.
    pub(crate) fn quantile(&self, share: f64) -> Nanos {
        let total: u64 = self.cells.iter().map(|(_, count)| u64::from(*count)).sum();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank among the samples of seconds"
        )]
        let rank = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let reached = self.cells.iter().find(|(_, count)| {
            seen += u64::from(*count);
            seen >= rank
        });
        reached.map_or(0, |(cell, _)| cells::middle(*cell))
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.errors += other.errors;
        self.wrong += other.wrong;
        self.sum += other.sum;
        for (mine, theirs) in self.classes.iter_mut().zip(other.classes) {
            *mine += theirs;
        }
        self.warm += other.warm;
        let mut all: BTreeMap<u16, u32> = self.cells.iter().copied().collect();
        for (cell, count) in &other.cells {
            let mine = all.entry(*cell).or_default();
            *mine = mine.saturating_add(*count);
        }
        self.cells = all.into_iter().collect();
    }
}

/// All seconds in which something ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    past: BTreeMap<u64, Window>,
    now: Option<Open>,
}

/// The second that samples are ending in.
#[derive(Clone, Debug)]
struct Open {
    second: u64,
    window: Window,
    cells: Box<[u32; CELLS]>,
}

impl Open {
    fn new(second: u64) -> Self {
        Self {
            second,
            window: Window::default(),
            cells: Box::new([0; CELLS]),
        }
    }

    fn close(&self) -> Window {
        let counted = self.cells.iter().zip(0..).filter(|(count, _)| **count > 0);
        Window {
            cells: counted.map(|(count, cell)| (cell, *count)).collect(),
            ..self.window.clone()
        }
    }

    fn add(&mut self, sample: &Sample) {
        let window = &mut self.window;
        window.count += 1;
        window.warm += u64::from(sample.warm);
        let status = match sample.outcome {
            Outcome::Right { status } => status,
            Outcome::Wrong { status, .. } => {
                window.errors += 1;
                window.wrong += 1;
                status
            }
            Outcome::Failed(kind) => {
                window.errors += u64::from(kind != Kind::Interrupted);
                return;
            }
        };
        let digit = Code::of_sample(status).map_or(status / 100, Code::class);
        let class = usize::from(digit).clamp(1, 5) - 1;
        window.classes[class] += 1;
        let response = sample.end.saturating_sub(sample.due);
        window.sum += u128::from(response);
        let cell = cells::cell(response);
        if let Some(count) = self.cells.get_mut(usize::from(cell)) {
            *count = count.saturating_add(1);
        }
    }
}

impl Windows {
    pub(super) fn add(&mut self, sample: &Sample) {
        let second = sample.end / SECOND;
        match &mut self.now {
            Some(now) if now.second == second => now.add(sample),
            _ => {
                let mut next = Open::new(second);
                next.add(sample);
                if let Some(done) = self.now.replace(next) {
                    self.keep(done.second, &done.close());
                }
            }
        }
    }

    pub(super) fn keep(&mut self, second: u64, window: &Window) {
        self.past.entry(second).or_default().merge(window);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (second, window) in other.all() {
            self.keep(second, &window);
        }
    }

    /// Every second in which something ended, in order.
    pub(crate) fn all(&self) -> BTreeMap<u64, Window> {
        self.between(0, u64::MAX)
    }

    /// The seconds from `first` up to and with `last`.
    pub(crate) fn between(&self, first: u64, last: u64) -> BTreeMap<u64, Window> {
        let mut windows: BTreeMap<_, _> = self
            .past
            .range(first..=last.max(first))
            .map(|(second, window)| (*second, window.clone()))
            .collect();
        if let Some(now) = &self.now
            && (first..=last).contains(&now.second)
        {
            windows.entry(now.second).or_default().merge(&now.close());
        }
        windows
    }
}
