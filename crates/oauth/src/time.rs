//! Instants and durations as the protocols write them: whole seconds since 1970 (RFC 7519 §2,
//! `NumericDate`). It knows no clock; whoever needs `now` is given it.

use std::fmt;

/// Seconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The instant `seconds` later; stays at the end of time instead of wrapping.
    #[must_use]
    pub fn plus(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    /// The instant `seconds` earlier; stays at 1970 instead of wrapping.
    #[must_use]
    pub fn minus(self, seconds: u64) -> Self {
        Self(self.0.saturating_sub(seconds))
    }

    /// Seconds from `self` until `later`; zero when `later` is not later.
    pub fn until(self, later: Self) -> u64 {
        later.0.saturating_sub(self.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
