//! Seeded randomness, so that a run which found something can be tried again. Knows nothing else.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::time::Duration;

/// A generator of random numbers (splitmix64).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that nobody chose.
    pub(crate) fn any_seed() -> u64 {
        RandomState::new().build_hasher().finish() >> 32
    }

    /// Another generator, whose numbers have nothing to do with those of this one.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.number())
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below the bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap();
        usize::try_from(self.number() % bound).unwrap()
    }

    /// True once in so many throws.
    pub(crate) fn once_in(&mut self, throws: usize) -> bool {
        self.below(throws) == 0
    }

    pub(crate) fn millis(&mut self, range: Range<u64>) -> Duration {
        let micros = (range.end - range.start) * 1000;
        Duration::from_micros(range.start * 1000 + self.number() % micros.max(1))
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.number().to_be_bytes()[0])
    }
}
