//! The only place of the bench that reads time. It must not know what is timed.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Runs from its making.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    pub(crate) fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// The calendar time in UTC, to the second: `2026-01-31T09:30:00Z`.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn utc() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Asks every millisecond until there is an answer or the time is over.
pub(crate) fn poll<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let waited = Stopwatch::start();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if waited.elapsed() > patience {
            return None;
        }
        thread::sleep(Duration::from_millis(1));
    }
}
