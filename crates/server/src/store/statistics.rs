//! What the store did and how long its commits took. The one place of the store that measures
//! time; it knows nothing of what is measured.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Quarters of an octave from 16 µs to over a minute.
const BUCKETS: usize = 92;

/// Counters that the threads of a store share.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) reads: AtomicU64,
    pub(super) writes: AtomicU64,
    pub(super) operations: AtomicU64,
    pub(super) expirations: AtomicU64,
    pub(super) retried_batches: AtomicU64,
    pub(super) reconnects: AtomicU64,
    pub(super) queued: AtomicU64,
    pub(super) largest_batch: AtomicU64,
    pub(super) wal_bytes: AtomicU64,
    pub(super) largest_wal_bytes: AtomicU64,
    commits: Histogram,
}

impl Counters {
    /// One transaction of so many operations was committed.
    pub(super) fn committed(&self, operations: usize, took: Duration) {
        let operations = u64::try_from(operations).unwrap_or(u64::MAX);
        self.operations.fetch_add(operations, Relaxed);
        self.largest_batch.fetch_max(operations, Relaxed);
        self.commits.record(took);
    }

    pub(super) fn wal(&self, bytes: u64) {
        self.wal_bytes.store(bytes, Relaxed);
        self.largest_wal_bytes.fetch_max(bytes, Relaxed);
    }

    pub(super) fn snapshot(&self) -> StoreStatistics {
        StoreStatistics {
            read_statements: self.reads.load(Relaxed),
            write_statements: self.writes.load(Relaxed),
            operations: self.operations.load(Relaxed),
            expirations: self.expirations.load(Relaxed),
            retried_batches: self.retried_batches.load(Relaxed),
            reconnects: self.reconnects.load(Relaxed),
            queued: self.queued.load(Relaxed),
            largest_batch: self.largest_batch.load(Relaxed),
            wal_bytes: self.wal_bytes.load(Relaxed),
            largest_wal_bytes: self.largest_wal_bytes.load(Relaxed),
            commits: self.commits.snapshot(),
        }
    }
}

/// Measures from its making; commits are the only thing that the store times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "durations of commits are a figure for operators, no rule depends on them"
    )]
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn read(self) -> Duration {
        self.0.elapsed()
    }
}

#[derive(Debug)]
struct Histogram {
    counts: [AtomicU64; BUCKETS],
    sum_micros: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; BUCKETS],
            sum_micros: AtomicU64::new(0),
        }
    }
}

impl Histogram {
    fn record(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = bounds().take_while(|bound| *bound < micros).count();
        self.counts[bucket.min(BUCKETS - 1)].fetch_add(1, Relaxed);
        self.sum_micros.fetch_add(micros, Relaxed);
    }

    fn snapshot(&self) -> Durations {
        Durations {
            counts: self
                .counts
                .iter()
                .map(|count| count.load(Relaxed))
                .collect(),
            sum: Duration::from_micros(self.sum_micros.load(Relaxed)),
        }
    }
}

/// Upper bounds in microseconds: 16, 20, 24, 28, 32, 40, …
fn bounds() -> impl Iterator<Item = u64> {
    (0..BUCKETS as u64).map(|at| (4 + at % 4) << (2 + at / 4))
}

/// How long things took, in buckets of about a fifth of their value.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    counts: Vec<u64>,
    sum: Duration,
}

impl Durations {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Upper bound of each bucket, and how many fell into it.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        bounds()
            .map(Duration::from_micros)
            .zip(self.counts.iter().copied())
    }

    /// What so many in a million stayed below (990,000: the 99th percentile); zero when empty.
    pub fn quantile(&self, per_million: u64) -> Duration {
        let wanted = self.count().saturating_mul(per_million).div_ceil(1_000_000);
        let mut seen = 0;
        for (bound, count) in self.buckets() {
            seen += count;
            if count > 0 && seen >= wanted {
                return bound;
            }
        }
        Duration::ZERO
    }

    /// What was added since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.counts.iter().copied().chain(std::iter::repeat(0));
        Self {
            counts: self
                .counts
                .iter()
                .zip(before)
                .map(|(now, before)| now.saturating_sub(before))
                .collect(),
            sum: self.sum.saturating_sub(earlier.sum),
        }
    }
}

/// A reading of the store's counters; all but the gauges only grow.
#[derive(Clone, Debug, Default)]
pub struct StoreStatistics {
    /// SQL statements executed to read.
    pub read_statements: u64,
    /// SQL statements executed to write.
    pub write_statements: u64,
    /// Operations that were committed: many share one commit.
    pub operations: u64,
    /// How many of them removed what had expired: what the server does by itself.
    pub expirations: u64,
    /// Batches that failed as a whole and were run again one by one.
    pub retried_batches: u64,
    /// Connections to the database that were made anew.
    pub reconnects: u64,
    /// Operations waiting now.
    pub queued: u64,
    /// The most operations that one commit carried.
    pub largest_batch: u64,
    /// Bytes in the write-ahead log that are not free for reuse (`SQLite`).
    pub wal_bytes: u64,
    /// The most that this ever was.
    pub largest_wal_bytes: u64,
    /// How long transactions took, from their first statement until they were durable.
    pub commits: Durations,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_bounds_of_what_was_recorded() {
        let histogram = Histogram::default();
        for millis in 1..=100 {
            histogram.record(Duration::from_millis(millis));
        }
        let durations = histogram.snapshot();
        assert_eq!(durations.count(), 100);
        for (per_million, exact) in [(500_000, 50.0), (990_000, 99.0), (1_000_000, 100.0)] {
            let found = durations.quantile(per_million).as_secs_f64() * 1000.0;
            assert!((exact..exact * 1.25).contains(&found), "{exact}: {found}");
        }
        assert_eq!(durations.since(&durations).count(), 0);
    }
}
