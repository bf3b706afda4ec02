//! The only place of the lab that reads time: the monotonic clock of a run, the calendar and the
//! processor time a thread has used. It must not know what is being measured.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds, either since the start of a [`Clock`] or as a length of time.
pub(crate) type Nanos = u64;

/// A monotonic clock that reads zero when it is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    zero: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn start() -> Self {
        Self {
            zero: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        nanos(self.zero.elapsed())
    }
}

/// A length of time in nanoseconds; 584 years and more count as 584 years.
pub(crate) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A length of time in seconds, as every report gives it.
#[expect(
    clippy::cast_precision_loss,
    reason = "53 bits of nanoseconds are 104 days"
)]
pub(crate) fn seconds(ns: Nanos) -> f64 {
    ns as f64 / 1e9
}

/// The calendar time, for the record of a run and the claims of the echo server.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Processor time the calling thread has used so far, in user and kernel mode together.
pub(crate) fn thread_cpu() -> Nanos {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(used).map_or(0, nanos)
}
