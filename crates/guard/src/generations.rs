//! The generations of clients and users, as far as they changed lately.
//!
//! A token carries the generations that it was decided on. Whatever is lower than the one known
//! here is dead. A client or user that is not here has not changed for longer than any token lives.

use crate::ended::seconds;
use crate::reload::{Reload, Reloadable};
use crate::table::Lasting;
use signet_oauth::log::EventKey;
use signet_oauth::time::Timestamp;
use std::fmt;

#[derive(Clone, Copy, Default)]
struct Generation {
    number: u64,
    until: u32,
}

impl Lasting for Generation {
    fn until(self) -> u32 {
        self.until
    }

    fn merged(self, other: Self) -> Self {
        Self {
            number: self.number.max(other.number),
            until: self.until.max(other.until),
        }
    }
}

/// The highest known generation of each client and user that changed lately, under
/// [`signet_oauth::log::client_key`] and [`signet_oauth::log::user_key`]: digests with different
/// labels, so that both kinds share one map and no name is held.
#[derive(Default)]
pub struct Generations(Reloadable<Generation>);

impl Generations {
    /// Notes a generation, which matters until `until`. Of two the higher counts, in whatever order
    /// they arrive.
    pub fn raise(&self, key: EventKey, generation: u64, until: Timestamp) {
        let until = seconds(until);
        let number = generation;
        self.0.insert(key, Generation { number, until });
    }

    /// The highest known generation; `None` where nothing changed lately.
    pub fn known(&self, key: &EventKey) -> Option<u64> {
        self.0.get(key).map(|generation| generation.number)
    }

    /// Drops what does not matter any more at `now`, and says how many entries that were.
    pub fn drop_before(&self, now: Timestamp) -> usize {
        self.0.sweep(seconds(now))
    }

    /// Clients and users that are known.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes on the heap, without what the allocator adds: 43 to 57 an entry.
    pub fn memory_bytes(&self) -> usize {
        self.0.memory()
    }

    /// Begins to replace everything, under the rules of [`crate::EndedSet::reload`]. Only so can a
    /// generation become lower: the database was restored.
    pub fn reload(&self) -> GenerationsReload<'_> {
        GenerationsReload(self.0.reload())
    }
}

impl fmt::Debug for Generations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Generations({} entries)", self.len())
    }
}

/// Generations under construction; dropped without [`GenerationsReload::commit`], they leave no
/// trace.
pub struct GenerationsReload<'a>(Reload<'a, Generation>);

impl GenerationsReload<'_> {
    /// Puts in an entry of the state.
    pub fn raise(&self, key: EventKey, generation: u64, until: Timestamp) {
        let until = seconds(until);
        let number = generation;
        self.0.insert(key, Generation { number, until });
    }

    /// Puts the new generations in place; `false` where a later reload has begun, which will.
    pub fn commit(self) -> bool {
        self.0.commit()
    }
}

impl fmt::Debug for GenerationsReload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GenerationsReload")
    }
}
