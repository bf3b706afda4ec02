//! A look at books that are still being kept: small enough to be handed to another thread several
//! times a second. It must not know how it is shown.

use std::collections::BTreeMap;

use super::windows::Window;
use super::{Book, Books, add_counts};
use crate::clock::Nanos;
use crate::record::names::Unit;
use crate::wire::Kind;

/// Seconds that a look goes back.
pub(crate) const BACK: u64 = 60;

/// Calls only, the warm-up included; flows are made of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Glance {
    pub(crate) samples: u64,
    pub(crate) wrong: BTreeMap<u16, u64>,
    pub(crate) failed: BTreeMap<Kind, u64>,
    /// Arrivals that were not sent, whatever they were the arrivals of.
    pub(crate) dropped: u64,
    /// The last seconds, the one that is not over included.
    pub(crate) seconds: BTreeMap<u64, Window>,
}

impl Glance {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.dropped += other.dropped;
        add_counts(&mut self.wrong, &other.wrong);
        add_counts(&mut self.failed, &other.failed);
        for (second, window) in &other.seconds {
            self.seconds.entry(*second).or_default().merge(window);
        }
    }

    fn add(&mut self, book: &Book) {
        self.samples += book.count();
        add_counts(&mut self.wrong, &book.wrong);
        add_counts(&mut self.failed, &book.failed);
    }
}

impl Books {
    /// How it looks at this moment of the run.
    pub(crate) fn glance(&self, now: Nanos) -> Glance {
        let second = now / 1_000_000_000;
        let mut glance = Glance {
            seconds: self.windows.between(second.saturating_sub(BACK), second),
            ..Glance::default()
        };
        for (step, book) in self.measured().chain(self.warmup()) {
            glance.dropped += book.dropped;
            if step.unit == Unit::Sample {
                glance.add(book);
            }
        }
        glance
    }
}
