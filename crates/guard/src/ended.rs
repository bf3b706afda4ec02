//! The ended set: tokens, families and sessions that ended before they expired.
//!
//! An entry costs between 27 and 37 bytes (`examples/ended_memory.rs` measures it), a lookup one
//! search among few cache lines. Nothing is ever taken out before its time, except by a reload.

use crate::reload::{Reload, Reloadable};
use crate::table::{Key, Lasting};
use signet_oauth::log::EventKey;
use signet_oauth::time::Timestamp;
use std::fmt;

/// What can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One access token, known by [`signet_oauth::log::token_key`].
    Token,
    /// Every token of one authorization, known by the random bits of the family's id.
    Family,
    /// Every token of one login, known by the random bits of the session's id.
    Session,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Token, Self::Family, Self::Session];
}

/// The second at which an ended id stops mattering.
#[derive(Clone, Copy, Default)]
struct Until(u32);

impl Lasting for Until {
    fn until(self) -> u32 {
        self.0
    }

    fn merged(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

/// Seconds as the tables keep them: to the year 2106, and whatever is later stays until then.
pub(crate) fn seconds(at: Timestamp) -> u32 {
    u32::try_from(at.0).unwrap_or(u32::MAX)
}

/// Ids of what has ended, each with the instant at which that stops mattering. Shared by
/// reference between any number of readers and a few writers.
#[derive(Default)]
pub struct EndedSet {
    tokens: Reloadable<Until>,
    families: Reloadable<Until>,
    sessions: Reloadable<Until>,
}

impl EndedSet {
    /// Notes that something has ended. `until` is the instant from which on it does not matter,
    /// because every token that it ends has expired; of two the later counts.
    pub fn insert(&self, kind: Kind, key: EventKey, until: Timestamp) {
        self.of(kind).insert(key, Until(seconds(until)));
    }

    /// Whether it has ended. `false` also for what stopped mattering and was dropped.
    pub fn contains(&self, kind: Kind, key: &EventKey) -> bool {
        self.of(kind).get(key).is_some()
    }

    /// Drops what does not matter any more at `now`, and says how many entries that were. Readers
    /// and writers go on meanwhile; call it every minute or so, away from requests.
    pub fn drop_before(&self, now: Timestamp) -> usize {
        let now = seconds(now);
        let sweep = |kind| self.of(kind).sweep(now);
        Kind::ALL.into_iter().map(sweep).sum()
    }

    /// Entries of all kinds.
    pub fn len(&self) -> usize {
        Kind::ALL.into_iter().map(|kind| self.of(kind).len()).sum()
    }

    /// Whether nothing has ended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes on the heap, without what the allocator adds (below one percent). Walks the tables:
    /// for metrics, not for requests.
    pub fn memory_bytes(&self) -> usize {
        let memory = |kind| self.of(kind).memory();
        Kind::ALL.into_iter().map(memory).sum()
    }

    /// Begins to replace everything. **Begin before reading the state** that will be put in: what
    /// arrives from here on is in the new set too, what arrived earlier must be in that state.
    /// Costs the memory of both sets until it ends.
    pub fn reload(&self) -> EndedReload<'_> {
        EndedReload {
            tokens: self.tokens.reload(),
            families: self.families.reload(),
            sessions: self.sessions.reload(),
        }
    }

    /// Replaces everything at once, keeping what arrives while the entries are read. For a state
    /// that is read in pieces, or was read before, see [`EndedSet::reload`].
    pub fn replace_all(&self, entries: impl IntoIterator<Item = (Kind, EventKey, Timestamp)>) {
        let reload = self.reload();
        for (kind, key, until) in entries {
            reload.insert(kind, key, until);
        }
        reload.commit();
    }

    fn of(&self, kind: Kind) -> &Reloadable<Until> {
        match kind {
            Kind::Token => &self.tokens,
            Kind::Family => &self.families,
            Kind::Session => &self.sessions,
        }
    }
}

impl fmt::Debug for EndedSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndedSet({} entries)", self.len())
    }
}

/// An ended set under construction; dropped without [`EndedReload::commit`], it leaves no trace.
pub struct EndedReload<'a> {
    tokens: Reload<'a, Until>,
    families: Reload<'a, Until>,
    sessions: Reload<'a, Until>,
}

impl EndedReload<'_> {
    /// Puts in an entry of the state.
    pub fn insert(&self, kind: Kind, key: EventKey, until: Timestamp) {
        let of = match kind {
            Kind::Token => &self.tokens,
            Kind::Family => &self.families,
            Kind::Session => &self.sessions,
        };
        of.insert(key, Until(seconds(until)));
    }

    /// Puts the new set in place of the old; `false` where a later reload has begun, which will.
    pub fn commit(self) -> bool {
        // All three, whatever the first says.
        self.tokens.commit() & self.families.commit() & self.sessions.commit()
    }
}

impl fmt::Debug for EndedReload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EndedReload")
    }
}

const _: () = assert!(
    size_of::<(Key, Until)>() == 20,
    "the tables count on 20 bytes"
);
