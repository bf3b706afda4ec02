//! Medians, and the bootstrap interval of the ratio of two of them. It must not know what was measured.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Chosen so that the places of the usual quantiles among the resamples are whole: 250th and 9,750th.
const RESAMPLES: u16 = 9_999;
/// The same runs always give the same interval. Each row begins with it anew, so that an interval
/// does not depend on which other rows are shown.
const SEED: u64 = 0;

/// Where a figure probably lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// None of no values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    (!values.is_empty()).then(|| middle(&mut values))
}

/// The median of values that are there; their order is lost.
fn middle(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    let is_odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let upper = *upper;
    if is_odd {
        return upper;
    }
    let below = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(below, upper)
}

/// The percentile interval of median(b) / median(a). None where it means nothing: fewer than two
/// values on a side, or a first side that is not above zero throughout.
pub(crate) fn ratio_interval(a: &[f64], b: &[f64], confidence: f64) -> Option<Interval> {
    if a.len() < 2 || b.len() < 2 || a.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let (mut drawn_a, mut drawn_b) = (a.to_vec(), b.to_vec());
    let mut resampled = |from: &[f64], into: &mut [f64]| {
        for value in into.iter_mut() {
            *value = from[random.random_range(0..from.len())];
        }
        middle(into)
    };
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| resampled(b, &mut drawn_b) / resampled(a, &mut drawn_a))
        .collect();
    ratios.sort_by(f64::total_cmp);
    let outside = place((1.0 - confidence) / 2.0);
    Some(Interval {
        low: ratios[outside],
        high: ratios[ratios.len() - 1 - outside],
    })
}

/// The index of the resample below which this share of them lies.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float from 0 to 10,000"
)]
fn place(share: f64) -> usize {
    let rank = (share.clamp(0.0, 0.5) * f64::from(RESAMPLES + 1)).round();
    (rank as usize).max(1) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn median_is_the_middle_or_between_the_two_middles() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 9.0, 1.0, 2.0]), Some(3.0));
    }

    #[test]
    fn interval_that_means_nothing_is_not_made_up() {
        assert_eq!(ratio_interval(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(ratio_interval(&[1.0, 2.0], &[1.0], 0.95), None);
        assert_eq!(ratio_interval(&[0.0, 2.0], &[1.0, 2.0], 0.95), None);
    }

    #[test]
    fn more_confidence_needs_a_wider_interval() {
        let a: Vec<f64> = (90..110).map(f64::from).collect();
        let b: Vec<f64> = (100..120).map(f64::from).collect();
        let narrow = ratio_interval(&a, &b, 0.5).unwrap();
        let wide = ratio_interval(&a, &b, 0.99).unwrap();
        assert!(wide.low < narrow.low && narrow.high < wide.high);
        assert!(narrow.low < 1.1 && 1.1 < narrow.high, "{narrow:?}");
    }

    /// What the interval is for: nineteen times in twenty the true ratio lies within. The percentile
    /// interval of so few runs falls a little short of that; 0.9 is where this test draws the line.
    #[test]
    fn interval_of_ten_runs_holds_the_true_ratio_nearly_as_often_as_it_says() {
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let mut runs = |scale: f64| -> Vec<f64> {
            let noise = (0..10).map(|_| (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0);
            noise.map(|noise| scale * (0.03 * noise).exp()).collect()
        };
        let held = (0..60)
            .filter(|_| {
                let interval = ratio_interval(&runs(1.0), &runs(1.05), 0.95).unwrap();
                interval.low <= 1.05 && 1.05 <= interval.high
            })
            .count();
        assert!(held >= 54, "{held} of 60");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn interval_is_the_same_each_time_and_follows_the_scale(
            a in prop::collection::vec(1.0..2.0_f64, 2..12),
            b in prop::collection::vec(1.0..2.0_f64, 2..12),
        ) {
            let interval = ratio_interval(&a, &b, 0.95).unwrap();
            prop_assert_eq!(ratio_interval(&a, &b, 0.95).unwrap(), interval);
            let twice: Vec<f64> = b.iter().map(|value| value * 2.0).collect();
            let scaled = ratio_interval(&a, &twice, 0.95).unwrap();
            prop_assert!((scaled.low - 2.0 * interval.low).abs() < 1e-12);
            prop_assert!(interval.low <= interval.high && interval.low >= 0.5 && interval.high <= 2.0);
        }
    }
}
