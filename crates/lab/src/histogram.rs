//! Latencies of a whole run: one mergeable histogram that holds every sample, and the exact extremes
//! and sum beside it. It must not know what was measured or how it is shown.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use crate::clock::Nanos;

/// Three significant digits hold every quantile within 0.1 % of the true value.
const SIGNIFICANT_DIGITS: u8 = 3;
/// The first upper bound; longer samples widen the histogram instead of being clipped.
const HIGHEST: Nanos = 60_000_000_000;
/// Rows of the drawn histogram after the row of the fastest sample.
const ROWS: u64 = 10;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("histogram cannot be made: {0}")]
    Create(#[from] hdrhistogram::CreationError),
    #[error("histogram cannot be read: {0}")]
    Read(#[from] hdrhistogram::serialization::DeserializeError),
    #[error("histogram cannot be written: {0}")]
    Write(#[from] hdrhistogram::serialization::V2SerializeError),
    #[error("histograms cannot be merged: {0}")]
    Merge(#[from] hdrhistogram::AdditionError),
}

/// Exact figures that a histogram of three digits cannot give back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exact {
    pub(crate) fastest: Nanos,
    /// How many samples took exactly `fastest`.
    pub(crate) fastest_count: u64,
    pub(crate) slowest: Nanos,
    pub(crate) sum: u128,
}

#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    cells: Histogram<u64>,
    exact: Exact,
}

impl Latencies {
    pub(crate) fn new() -> Result<Self, Unusable> {
        let mut cells = Histogram::new_with_bounds(1, HIGHEST, SIGNIFICANT_DIGITS)?;
        cells.auto(true);
        Ok(Self {
            cells,
            exact: Exact::default(),
        })
    }

    /// Adds a sample. Nothing is sampled away, however long it took.
    pub(crate) fn record(&mut self, ns: Nanos) {
        // A histogram that grows by itself refuses only what no index can reach; the extreme cell
        // is then still right about the rank of the sample.
        if self.cells.record(ns).is_err() {
            self.cells.saturating_record(ns);
        }
        self.keep(Exact {
            fastest: ns,
            fastest_count: 1,
            slowest: ns,
            sum: u128::from(ns),
        });
    }

    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Unusable> {
        if other.count() > 0 {
            self.cells.add(&other.cells)?;
            self.keep(other.exact);
        }
        Ok(())
    }

    fn keep(&mut self, other: Exact) {
        let mine = &mut self.exact;
        if mine.fastest_count == 0 || other.fastest < mine.fastest {
            mine.fastest = other.fastest;
            mine.fastest_count = other.fastest_count;
        } else if other.fastest == mine.fastest {
            mine.fastest_count += other.fastest_count;
        }
        mine.slowest = mine.slowest.max(other.slowest);
        mine.sum += other.sum;
    }

    pub(crate) fn count(&self) -> u64 {
        self.cells.len()
    }

    pub(crate) fn exact(&self) -> Exact {
        self.exact
    }

    /// The mean in nanoseconds, exact; zero without samples.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean is read to a few digits only"
    )]
    pub(crate) fn mean(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            count => self.exact.sum as f64 / count as f64,
        }
    }

    /// The standard deviation in nanoseconds.
    pub(crate) fn deviation(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            _ => self.cells.stdev(),
        }
    }

    /// The smallest latency that at least this share of the samples did not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Nanos {
        self.cells
            .value_at_quantile(share)
            .clamp(self.exact.fastest, self.exact.slowest)
    }

    /// Eleven rows of (upper edge, count): the fastest value by itself, then ten rows of equal
    /// width up to the slowest.
    pub(crate) fn rows(&self) -> Vec<(Nanos, u64)> {
        let Exact {
            fastest,
            fastest_count,
            slowest,
            ..
        } = self.exact;
        if fastest_count == 0 {
            return Vec::new();
        }
        let span = slowest - fastest;
        let edge = |row: u64| {
            let part = u128::from(span) * u128::from(row) / u128::from(ROWS);
            fastest + u64::try_from(part).unwrap_or(span)
        };
        let mut rows: Vec<_> = (0..=ROWS).map(|row| (edge(row), 0)).collect();
        rows[0].1 = fastest_count;
        // The cell of the fastest sample also holds others that are equal to three digits only.
        let mut own = fastest_count;
        let mut row = 1;
        for cell in self.cells.iter_recorded() {
            // A cell that reaches over an edge counts below it, where its round values are.
            let value = self.cells.lowest_equivalent(cell.value_iterated_to());
            let value = value.clamp(fastest, slowest);
            while row < rows.len() - 1 && value > rows[row].0 {
                row += 1;
            }
            let rest = cell.count_since_last_iteration();
            let taken = rest.min(own);
            own -= taken;
            rows[row].1 += rest - taken;
        }
        rows
    }

    /// The histogram in the portable V2 encoding.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, Unusable> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.cells, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads back what [`Self::encode`] wrote, together with the exact figures kept beside it.
    pub(crate) fn decode(mut bytes: &[u8], exact: Exact) -> Result<Self, Unusable> {
        let mut cells: Histogram<u64> = Deserializer::new().deserialize(&mut bytes)?;
        cells.auto(true);
        Ok(Self { cells, exact })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(samples: &[Nanos]) -> Latencies {
        let mut latencies = Latencies::new().unwrap();
        for ns in samples {
            latencies.record(*ns);
        }
        latencies
    }

    #[test]
    fn nothing_recorded_is_all_zero() {
        let none = of(&[]);
        assert_eq!((none.count(), none.quantile(0.99)), (0, 0));
        assert!(none.mean() == 0.0 && none.deviation() == 0.0);
        assert!(none.rows().is_empty());
    }

    #[test]
    fn rows_start_with_the_fastest_alone() {
        let rows = of(&[1_000_000, 1_000_001, 2_000_000]).rows();
        assert_eq!(rows.len(), 11);
        assert_eq!(rows[0], (1_000_000, 1));
        assert_eq!(rows[1], (1_100_000, 1));
        assert_eq!(rows[10], (2_000_000, 1));
    }

    #[test]
    fn sample_beyond_the_first_bound_widens_the_histogram() {
        let two_hours = 7_200_000_000_000;
        let latencies = of(&[1_000, two_hours]);
        assert_eq!(latencies.exact().slowest, two_hours);
        assert!(latencies.quantile(1.0) > two_hours / 1000 * 999);
    }

    proptest! {
        #[test]
        fn merging_parts_equals_recording_the_whole(
            samples in prop::collection::vec(0..90_000_000_000_u64, 0..200),
            cut in 0..200_usize,
        ) {
            let cut = cut.min(samples.len());
            let whole = of(&samples);
            let mut merged = of(&samples[..cut]);
            merged.merge(&of(&samples[cut..])).unwrap();
            prop_assert_eq!(&merged.cells, &whole.cells);
            prop_assert_eq!(merged.exact, whole.exact);
            prop_assert_eq!(merged.rows(), whole.rows());
        }

        #[test]
        fn rows_lose_no_sample(samples in prop::collection::vec(0..90_000_000_000_u64, 1..200)) {
            let rows = of(&samples).rows();
            let total: u64 = rows.iter().map(|row| row.1).sum();
            prop_assert_eq!(total, samples.len() as u64);
        }

        #[test]
        fn encoding_round_trips(samples in prop::collection::vec(0..90_000_000_000_u64, 0..100)) {
            let before = of(&samples);
            let after = Latencies::decode(&before.encode().unwrap(), before.exact()).unwrap();
            prop_assert_eq!(after.cells, before.cells);
        }

        #[test]
        fn quantiles_are_within_a_thousandth(mut samples in prop::collection::vec(1..90_000_000_000_u64, 1..200)) {
            let latencies = of(&samples);
            samples.sort_unstable();
            for share in [0.5, 0.9, 0.99] {
                #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank below 200")]
                let rank = (samples.len() as f64 * share).ceil() as usize;
                let truth = samples[rank - 1];
                prop_assert!(latencies.quantile(share).abs_diff(truth) <= truth / 1000 + 1);
            }
        }
    }
}
