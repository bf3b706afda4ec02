//! What a user of a closed loop does when nobody is there: it waits before it tries again, longer each
//! time. Without that a dead port is asked as fast as the machine can, which measures nothing and takes
//! the processor from whoever is coming back. Pure. It must not know connections or clocks.

use crate::clock::Nanos;
use crate::sample::Outcome;
use crate::wire::Kind;

const FIRST: Nanos = 1_000_000;
/// Short enough that a target that comes back is seen at once.
pub(crate) const LONGEST: Nanos = 250_000_000;

/// How often nobody was there, one pass after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patience {
    refusals: u32,
}

impl Patience {
    /// Takes in what came of a pass.
    pub(crate) fn learn(&mut self, outcome: Outcome) {
        self.refusals = match outcome {
            Outcome::Failed(Kind::Lookup | Kind::Connect | Kind::Tls) => {
                self.refusals.saturating_add(1)
            }
            _ => 0,
        };
    }

    /// The pause before the next pass.
    pub(crate) fn pause(self) -> Nanos {
        match self.refusals {
            0 => 0,
            refusals => FIRST
                .saturating_mul(1 << (refusals - 1).min(20))
                .min(LONGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Outcome = Outcome::Failed(Kind::Connect);

    #[test]
    fn pauses_double_up_to_the_longest_and_end_with_an_answer() {
        let mut patience = Patience::default();
        assert_eq!(patience.pause(), 0);
        let pauses = [1, 2, 4, 8, 16, 32, 64, 128, 250, 250];
        for pause in pauses {
            patience.learn(NOBODY);
            assert_eq!(patience.pause(), pause * 1_000_000);
        }
        patience.learn(Outcome::Right { status: 503 });
        assert_eq!(patience.pause(), 0);
    }

    #[test]
    fn only_who_found_nobody_waits() {
        for (kind, waits) in [
            (Kind::Lookup, true),
            (Kind::Tls, true),
            (Kind::Timeout, false),
            (Kind::Reset, false),
            (Kind::Protocol, false),
        ] {
            let mut patience = Patience::default();
            patience.learn(Outcome::Failed(kind));
            assert_eq!(patience.pause() > 0, waits, "{kind}");
        }
    }

    #[test]
    fn no_number_of_refusals_is_too_many() {
        let mut patience = Patience { refusals: u32::MAX };
        patience.learn(NOBODY);
        assert_eq!(patience.pause(), LONGEST);
    }
}
