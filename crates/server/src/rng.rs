//! Randomness: the one place that draws it. Whoever needs some is given an [`Rng`]; tests give one
//! that repeats itself.

use aws_lc_rs::digest;
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of random bytes. Clones draw from the same source.
#[derive(Clone)]
pub struct Rng(Source);

#[derive(Clone)]
enum Source {
    System(SystemRandom),
    Seeded { seed: u64, drawn: Arc<AtomicU64> },
}

impl Rng {
    /// The generator of the cryptographic library, seeded by the operating system.
    pub fn system() -> Self {
        Self(Source::System(SystemRandom::new()))
    }

    /// Bytes that are the same in every run: for tests, and for nothing else.
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seeded {
            seed,
            drawn: Arc::new(AtomicU64::new(0)),
        })
    }

    /// Fills `out`.
    ///
    /// # Panics
    /// Where the system gives no randomness: nothing that a caller did afterwards would be safe.
    pub fn fill(&self, out: &mut [u8]) {
        match &self.0 {
            Source::System(random) => {
                let filled = random.fill(out);
                assert!(filled.is_ok(), "the operating system gives no randomness");
            }
            Source::Seeded { seed, drawn } => {
                for chunk in out.chunks_mut(digest::SHA256_OUTPUT_LEN) {
                    let count = drawn.fetch_add(1, Ordering::Relaxed);
                    let block = [seed.to_be_bytes(), count.to_be_bytes()].concat();
                    let block = digest::digest(&digest::SHA256, &block);
                    chunk.copy_from_slice(&block.as_ref()[..chunk.len()]);
                }
            }
        }
    }

    /// `N` random bytes.
    pub fn array<const N: usize>(&self) -> [u8; N] {
        let mut out = [0; N];
        self.fill(&mut out);
        out
    }
}

impl fmt::Debug for Rng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::System(_) => "Rng(system)",
            Source::Seeded { .. } => "Rng(seeded)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_itself_and_no_other() {
        let draw = |rng: Rng| (rng.array::<40>(), rng.clone().array::<40>());
        assert_eq!(draw(Rng::seeded(7)), draw(Rng::seeded(7)));
        assert_ne!(draw(Rng::seeded(7)), draw(Rng::seeded(8)));
        let (first, second) = draw(Rng::seeded(7));
        assert_ne!(first, second);
    }

    #[test]
    fn the_system_does_not_repeat_itself() {
        assert_ne!(Rng::system().array::<32>(), Rng::system().array::<32>());
    }
}
