//! Which of several flows a pass takes: by weight, exactly. It must not know flows.

use rand::RngExt as _;

use super::user::{random, room};

/// The weights of a mix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mix {
    /// Sums of the weights, divided by what they have in common.
    ends: Vec<u64>,
    seed: u64,
    population: u64,
}

impl Mix {
    /// Every weight is at least 1.
    pub(crate) fn new(weights: &[u32], (seed, population): (u64, u64)) -> Self {
        let common = weights.iter().fold(0, |a, b| divisor(a, u64::from(*b)));
        let mut end = 0;
        let sum = |weight: &u32| {
            end += u64::from(*weight) / common.max(1);
            end
        };
        Self {
            ends: weights.iter().map(sum).collect(),
            seed,
            population,
        }
    }

    /// The flow of pass `ordinal`, counted over the population. Every block of as many passes as the
    /// weights add up to has exactly the right number of each; the order differs from block to block,
    /// lest a flow always meets the same rows of a feed.
    pub(crate) fn flow(&self, ordinal: u64) -> usize {
        let size = self.ends.last().copied().unwrap_or(1).max(1);
        if size == 1 {
            return 0;
        }
        let mut random = random(self.seed, room::MIX, self.population, ordinal / size);
        let offset = random.random_range(0..size);
        let mut factor = random.random_range(1..size);
        // A factor that shares no divisor with the size makes a permutation; 1 never does.
        while divisor(factor, size) != 1 {
            factor = factor % size + 1;
        }
        let slot = u128::from(factor) * u128::from(ordinal % size) + u128::from(offset);
        let slot = slot % u128::from(size);
        self.ends.partition_point(|end| u128::from(*end) <= slot)
    }
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_single_flow_is_always_taken() {
        let mix = Mix::new(&[7], (1, 0));
        assert!((0..50).all(|ordinal| mix.flow(ordinal) == 0));
    }

    #[test]
    fn percentages_are_exact_in_every_few_passes() {
        let mix = Mix::new(&[80, 15, 5], (1, 0));
        for block in 0..50 {
            let mut counts = [0; 3];
            for ordinal in block * 20..(block + 1) * 20 {
                counts[mix.flow(ordinal)] += 1;
            }
            assert_eq!(counts, [16, 3, 1], "block {block}");
        }
    }

    #[test]
    fn the_order_changes_from_block_to_block() {
        let mix = Mix::new(&[3, 2], (1, 0));
        let block = |n: u64| (n * 5..n * 5 + 5).map(|k| mix.flow(k)).collect::<Vec<_>>();
        assert!((1..50).any(|n| block(n) != block(0)));
    }

    proptest! {
        #[test]
        fn every_block_has_its_exact_counts(
            weights in proptest::collection::vec(1..40_u32, 1..6),
            seed in any::<u64>(),
            block in 0..1_000_000_u64,
        ) {
            let mix = Mix::new(&weights, (seed, 3));
            let size = *mix.ends.last().unwrap();
            let mut counts = vec![0_u64; weights.len()];
            for ordinal in block * size..(block + 1) * size {
                counts[mix.flow(ordinal)] += 1;
            }
            let sum = u64::from(weights.iter().sum::<u32>());
            for (count, weight) in counts.iter().zip(&weights) {
                prop_assert_eq!(count * sum, u64::from(*weight) * size);
            }
        }
    }
}
