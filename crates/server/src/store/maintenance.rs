//! What keeps the database small: expired rows go in slices of a few milliseconds, at the old end.

use signet_oauth::time::Timestamp;
use std::sync::atomic::Ordering::Relaxed;

use super::Store;
use super::error::Error;
use super::op::{Outcome, Write};
use super::statistics::StoreStatistics;

/// Seconds that a row of the log is kept at least: the tail from which nodes catch up.
pub(super) const LOG_TAIL_SECONDS: u64 = 3600;

/// What was expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Rows deleted; where whole partitions are dropped, their rows are not counted.
    pub rows: u64,
    /// A slice was full: call again soon.
    pub more: bool,
}

impl Expired {
    /// So many rows went, where one slice takes so many at most.
    pub(super) fn add(&mut self, rows: u64, slice: u64) {
        self.rows += rows;
        self.more |= rows >= slice;
    }
}

impl Store {
    /// Deletes a slice of what expired `skew` seconds before `now`, and prepares room ahead where
    /// the backend wants that. Call every few seconds, and again at once while there is more.
    pub async fn expire(&self, now: Timestamp, skew: u64) -> Result<Expired, Error> {
        self.remove(now, skew, false).await
    }

    /// The same, and besides, row by row, the tokens that would go with their bucket a few minutes
    /// later. Call again while there is more.
    pub async fn flush(&self, now: Timestamp, skew: u64) -> Result<Expired, Error> {
        self.remove(now, skew, true).await
    }

    async fn remove(&self, now: Timestamp, skew: u64, all: bool) -> Result<Expired, Error> {
        match self.write(Write::Expire { now, skew, all }).await? {
            Outcome::Expired(expired) => {
                self.counters.expirations.fetch_add(1, Relaxed);
                Ok(expired)
            }
            _ => Err(Error::mixed_up()),
        }
    }

    /// What the store did since it was opened.
    pub fn statistics(&self) -> StoreStatistics {
        self.counters.snapshot()
    }
}
