//! How often logins failed lately, for a moment: the store knows it exactly, and need not be asked
//! before every login. What this node notes itself is known here at once; what others note, when
//! the moment is over, so that a guesser gains a few guesses per node and no more.

use quick_cache::sync::Cache;
use signet_oauth::time::Timestamp;

use crate::clock::Clock;

/// Seconds for which a count is believed.
const MOMENT: u64 = 2;

/// Counts of failed logins.
pub struct FailureCounts {
    counts: Cache<[u8; 16], (u64, Timestamp)>,
    clock: Clock,
}

impl std::fmt::Debug for FailureCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FailureCounts({})", self.counts.len())
    }
}

impl FailureCounts {
    /// At most `capacity` counts.
    pub fn new(capacity: usize, clock: Clock) -> Self {
        Self {
            counts: Cache::new(capacity.max(1)),
            clock,
        }
    }

    /// The count, where it was read or noted a moment ago.
    pub fn get(&self, key: [u8; 16]) -> Option<u64> {
        let (count, at) = self.counts.get(&key)?;
        let now = self.clock.now();
        (at <= now && now < at.plus(MOMENT)).then_some(count)
    }

    /// Remembers a count that was just read or noted.
    pub fn remember(&self, key: [u8; 16], count: u64) {
        self.counts.insert(key, (count, self.clock.now()));
    }
}
