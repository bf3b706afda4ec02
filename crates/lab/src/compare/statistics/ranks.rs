//! The Mann-Whitney U test: are the values of two samples exchangeable? Two-sided. It must not know
//! what was measured.
//!
//! It assumes nothing about how the values are distributed, and figures of load tests are skewed and
//! have several peaks. It is computed as Go's benchstat computes it, so that both give the same p:
//! exact for samples of up to 50 values (25 where values are equal), beyond that by the normal
//! distribution, corrected for ties and for continuity.

use super::normal::upper_tail;
use crate::compare::float;

/// The largest sample with an exact p value, without and with equal values.
const EXACT: usize = 50;
const EXACT_WITH_TIES: usize = 25;

/// Both samples in one ranking.
#[derive(Debug)]
struct Ranking {
    /// Twice the rank of each value in ascending order of the values; equal values share the middle
    /// of their ranks, which may end in a half.
    doubled: Vec<usize>,
    /// Whether the value of that place is of the first sample.
    first: Vec<bool>,
    /// Σ (t³ − t) over the groups of t equal values.
    ties: f64,
}

impl Ranking {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let mut values: Vec<(f64, bool)> = a.iter().map(|value| (*value, true)).collect();
        values.extend(b.iter().map(|value| (*value, false)));
        values.sort_by(|x, y| x.0.total_cmp(&y.0));
        let (mut doubled, mut ties) = (Vec::with_capacity(values.len()), 0.0);
        for group in values.chunk_by(|x, y| x.0 >= y.0) {
            let before = doubled.len();
            let rank = 2 * before + group.len() + 1;
            doubled.resize(before + group.len(), rank);
            ties += float(group.len().pow(3) - group.len());
        }
        let first = values.iter().map(|value| value.1).collect();
        Self {
            doubled,
            first,
            ties,
        }
    }

    /// Twice the sum of the ranks of the first sample.
    fn sum(&self) -> usize {
        let ranks = self.doubled.iter().zip(&self.first);
        ranks
            .filter(|(_, first)| **first)
            .map(|(rank, _)| rank)
            .sum()
    }
}

/// What the test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Test {
    /// How often a difference at least this large comes of chance alone.
    pub(crate) p: f64,
    /// The share of pairs, one value of each sample, in which the second sample has the larger value;
    /// equal values count by half.
    pub(crate) second_larger: f64,
}

/// None where there is nothing to test: a sample is empty, or all values are the same.
pub(crate) fn mann_whitney(a: &[f64], b: &[f64]) -> Option<Test> {
    let ranking = Ranking::of(a, b);
    let total = ranking.doubled.len();
    let all_equal = ranking.doubled.first() == ranking.doubled.last();
    if a.is_empty() || b.is_empty() || all_equal {
        return None;
    }
    let pairs = a.len() * b.len();
    // Twice U, the number of pairs in which the first sample has the larger value.
    let doubled_u = ranking.sum() - a.len() * (a.len() + 1);
    let limit = if ranking.ties > 0.0 {
        EXACT_WITH_TIES
    } else {
        EXACT
    };
    let p = if doubled_u == pairs {
        1.0
    } else if a.len().max(b.len()) <= limit {
        let smaller = doubled_u.min(2 * pairs - doubled_u);
        let sum = smaller + a.len() * (a.len() + 1);
        2.0 * arrangements(&ranking.doubled, a.len(), sum) / choose(total, a.len())
    } else {
        let n = float(total);
        let variance = float(pairs) * ((n + 1.0) - ranking.ties / (n * (n - 1.0))) / 12.0;
        let distance = (float(doubled_u) - float(pairs)).abs() / 2.0 - 0.5;
        2.0 * upper_tail(distance / variance.sqrt())
    };
    Some(Test {
        p: p.min(1.0),
        second_larger: 1.0 - float(doubled_u) / float(2 * pairs),
    })
}

/// In how many ways `take` of the ranks, which ascend, can be drawn with a sum of at most `most`.
fn arrangements(ranks: &[usize], take: usize, most: usize) -> f64 {
    // By how many were drawn and by their sum.
    let mut ways = vec![vec![0.0; most + 1]; take + 1];
    ways[0][0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        // What can no longer be filled up to `take` is not worth following, and neither is a sum that
        // the rest, none of which is lower than this rank, would carry above `most`.
        let fewest = take.saturating_sub(ranks.len() - seen);
        for drawn in (fewest..take.min(seen + 1)).rev() {
            let Some(highest) = most.checked_sub(rank * (take - drawn)) else {
                continue;
            };
            let (fewer, more) = ways.split_at_mut(drawn + 1);
            let from = &fewer[drawn][..=highest];
            for (into, from) in more[0][*rank..].iter_mut().zip(from) {
                *into += from;
            }
        }
    }
    ways[take].iter().sum()
}

/// n over k.
fn choose(n: usize, k: usize) -> f64 {
    (1..=k).fold(1.0, |all, i| all * float(n - k + i) / float(i))
}

/// The smallest p value that samples of these sizes can have, however far apart they are.
pub(crate) fn smallest_p(a: usize, b: usize) -> f64 {
    if a == 0 || b == 0 {
        return 1.0;
    }
    (2.0 / choose(a + b, a)).min(1.0)
}

/// How many repeats per side it takes until one row of `family` can be significant at all.
pub(crate) fn repeats_needed(family: usize, alpha: f64) -> usize {
    (1..EXACT)
        .find(|repeats| smallest_p(*repeats, *repeats) * float(family.max(1)) <= alpha)
        .unwrap_or(EXACT)
}

#[cfg(test)]
mod tests;
