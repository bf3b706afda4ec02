//! The only place that reads time. Everything else is handed `now`.

use signet_oauth::time::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A source of time: the machine's, or one that tests move by hand.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Frozen(Arc<AtomicU64>),
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands still at `at` until it is moved.
    pub fn frozen(at: Timestamp) -> Self {
        Self(Source::Frozen(Arc::new(AtomicU64::new(at.0))))
    }

    /// Moves a frozen clock on; the machine's clock takes no notice.
    pub fn advance(&self, seconds: u64) {
        if let Source::Frozen(at) = &self.0 {
            at.fetch_add(seconds, Ordering::SeqCst);
        }
    }

    /// The wall clock, in whole seconds.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => {
                let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
                Timestamp(u64::try_from(now.tv_sec).unwrap_or(0))
            }
            Source::Frozen(at) => Timestamp(at.load(Ordering::SeqCst)),
        }
    }

    /// Time since boot, suspended time included: for ages and waits, never compared with `now`.
    pub fn uptime(&self) -> Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
    }
}
