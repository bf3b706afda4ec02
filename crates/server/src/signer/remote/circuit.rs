//! When a signing service has failed several times in a row, it is left alone for a moment, and
//! whoever needs it hears so at once. Then one request after the other tries; the first that
//! succeeds ends it.

use std::time::Duration;

/// Failures in a row that open the circuit.
const FAILURES: u32 = 5;
/// How long it stays open.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Circuit {
    failures: u32,
    /// On the clock that the callers use.
    open_until: Option<Duration>,
}

/// What a success or a failure changed, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Opened,
    Closed,
}

impl Circuit {
    /// Whether a request may be sent. After the pause one may, and the next only after another
    /// pause, unless that one succeeds.
    pub(super) fn lets_through(&mut self, now: Duration) -> bool {
        match self.open_until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                self.open_until = Some(now + PAUSE);
                true
            }
        }
    }

    pub(super) fn succeeded(&mut self) -> Change {
        self.failures = 0;
        match self.open_until.take() {
            Some(_) => Change::Closed,
            None => Change::None,
        }
    }

    pub(super) fn failed(&mut self, now: Duration) -> Change {
        self.failures = self.failures.saturating_add(1);
        if self.failures < FAILURES {
            return Change::None;
        }
        match self.open_until.replace(now + PAUSE) {
            Some(_) => Change::None,
            None => Change::Opened,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn failures_in_a_row_open_the_circuit_and_a_success_closes_it() {
        let mut circuit = Circuit::default();
        for _ in 0..4 {
            assert_eq!(circuit.failed(at(0)), Change::None);
        }
        assert_eq!(circuit.succeeded(), Change::None);
        for _ in 0..4 {
            circuit.failed(at(0));
            assert!(circuit.lets_through(at(0)));
        }
        assert_eq!(circuit.failed(at(10)), Change::Opened);
        assert!(!circuit.lets_through(at(11)));
        assert!(!circuit.lets_through(at(1009)));
        assert!(circuit.lets_through(at(1010)), "one tries");
        assert!(!circuit.lets_through(at(1011)), "and only one");
        assert_eq!(circuit.failed(at(1500)), Change::None);
        assert!(!circuit.lets_through(at(2499)));
        assert!(circuit.lets_through(at(2500)));
        assert_eq!(circuit.succeeded(), Change::Closed);
        assert!(circuit.lets_through(at(2501)) && circuit.lets_through(at(2501)));
    }
}
