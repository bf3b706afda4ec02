//! Failures are answered on a timer, so that their time tells nothing: neither whether a client
//! exists, nor where a check gave up.

use std::time::Duration;

/// Answers failures at multiples of a delay, counted from the start of the request.
#[derive(Clone, Copy, Debug)]
pub struct FailureTimer {
    delay: Duration,
}

impl FailureTimer {
    /// A delay of zero answers at once.
    pub const fn new(delay: Duration) -> Self {
        Self { delay }
    }

    /// How long to wait with the answer of a request that has failed after `elapsed`. The caller
    /// sleeps; a failure that took longer than one delay is answered at the next multiple.
    pub fn until_answer(&self, elapsed: Duration) -> Duration {
        let delay = self.delay.as_nanos();
        if delay == 0 {
            return Duration::ZERO;
        }
        let elapsed = elapsed.as_nanos();
        let answer = elapsed.div_ceil(delay).max(1) * delay;
        Duration::from_nanos(u64::try_from(answer - elapsed).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    #[test]
    fn failures_are_answered_at_multiples_of_the_delay() {
        let timer = FailureTimer::new(Duration::from_millis(50));
        for (elapsed, wait) in [
            (0, 50),
            (1, 49),
            (49, 1),
            (50, 0),
            (51, 49),
            (100, 0),
            (130, 20),
        ] {
            let waited = timer.until_answer(Duration::from_millis(elapsed));
            assert_eq!(waited, Duration::from_millis(wait), "after {elapsed} ms");
        }
        let at_once = FailureTimer::new(Duration::ZERO);
        assert_eq!(at_once.until_answer(Duration::from_secs(1)), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn waits_end_on_a_multiple_and_never_exceed_one_delay(delay in 1u64..10_000, elapsed in 0u64..100_000) {
            let wait = FailureTimer::new(Duration::from_micros(delay))
                .until_answer(Duration::from_micros(elapsed));
            let answered = u64::try_from(wait.as_micros()).unwrap() + elapsed;
            prop_assert_eq!(answered % delay, 0);
            prop_assert!(answered >= delay && wait <= Duration::from_micros(delay));
        }
    }
}
