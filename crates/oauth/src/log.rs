//! The one log, its law: what an event says, that events commute, and that the watermark never
//! passes a hole and never goes back.
//!
//! Every revocation and every change that a cache must forget is one row of the log, appended in
//! the transaction that makes the change. Rows are numbered without gaps in commit order. How
//! rows are stored and carried is not known here.

use crate::ids::{ClientId, TokenId};
use crate::secret::Digest;
use crate::time::Timestamp;
use std::collections::BTreeSet;

/// The number of a row: gapless, in commit order, beginning with 1. Zero is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    /// The position after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Sixteen bytes that name a token, family, session, client or user in the log.
pub type EventKey = [u8; 16];

/// What a row of the log says. The enum is closed: a node that meets a kind that it does not know
/// reloads everything instead of skipping it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client was created, changed or deleted; tokens of lower generations are dead.
    ClientChanged {
        /// The client.
        id: ClientId,
        /// The generation that it has now.
        generation: u64,
    },
    /// A user was changed; tokens of lower generations are dead.
    UserChanged {
        /// [`user_key`] of the user.
        key: EventKey,
        /// The generation that the user has now.
        generation: u64,
    },
    /// The signing keys changed: load them again.
    KeysChanged,
    /// The consents of a user changed.
    ConsentChanged {
        /// [`user_key`] of the user.
        key: EventKey,
    },
    /// One token was revoked.
    TokenRevoked {
        /// [`token_key`] of its id.
        key: EventKey,
    },
    /// A family of tokens ended.
    FamilyEnded {
        /// The random bits of its id.
        key: EventKey,
    },
    /// A session ended.
    SessionEnded {
        /// The random bits of its id.
        key: EventKey,
    },
    /// Forget everything and load the state again.
    ClearAll,
}

/// A row of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// Its number.
    pub position: Position,
    /// Random: tells this row from another that a restored database put in its place.
    pub mark: [u8; 16],
    /// When it was written, by the database's clock.
    pub at: Timestamp,
    /// What it says.
    pub event: Event,
    /// When it stops mattering: the tokens that it speaks of have expired by then.
    pub until: Timestamp,
}

/// The key by which the log, the store and the guards know a token. It is a digest because the id
/// of an opaque token is all that there is to the token.
pub fn token_key(id: TokenId) -> EventKey {
    Digest::labelled("token", &id.to_bytes()).short()
}

/// The key by which guards know a client: they hold digests, not names.
pub fn client_key(id: &ClientId) -> EventKey {
    Digest::labelled("client", id.as_str().as_bytes()).short()
}

/// The key by which the log and the guards know a user.
pub fn user_key(subject: &str) -> EventKey {
    Digest::labelled("user", subject.as_bytes()).short()
}

/// What an arriving position means to the watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It was the next one (and perhaps closed a hole): the watermark moved.
    Advanced,
    /// Rows before it are missing; it waits.
    Waiting,
    /// It was known already.
    Known,
}

/// Everything up to the watermark has been applied; later rows may have been, too.
#[derive(Clone, Debug, Default)]
pub struct Watermark {
    applied: Position,
    ahead: BTreeSet<Position>,
}

impl Watermark {
    /// A watermark at the position of a loaded state.
    pub fn at(position: Position) -> Self {
        Self {
            applied: position,
            ahead: BTreeSet::new(),
        }
    }

    /// Everything up to here has been applied.
    pub fn position(&self) -> Position {
        self.applied
    }

    /// Whether rows are missing between the watermark and what has arrived.
    pub fn has_hole(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Takes note of an applied row.
    pub fn offer(&mut self, position: Position) -> Offered {
        if position <= self.applied || self.ahead.contains(&position) {
            return Offered::Known;
        }
        if position != self.applied.next() {
            self.ahead.insert(position);
            return Offered::Waiting;
        }
        self.applied = position;
        while self.ahead.remove(&self.applied.next()) {
            self.applied = self.applied.next();
        }
        Offered::Advanced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_watermark_never_passes_a_hole_and_never_goes_back(order in proptest::collection::vec(1u64..30, 0..80)) {
            let mut mark = Watermark::default();
            let mut seen = BTreeSet::new();
            for position in order {
                let before = mark.position();
                mark.offer(Position(position));
                seen.insert(position);
                let gapless = (1..=30).take_while(|p| seen.contains(p)).last().unwrap_or(0);
                prop_assert_eq!(mark.position(), Position(gapless));
                prop_assert!(mark.position() >= before);
                prop_assert_eq!(mark.has_hole(), seen.iter().any(|p| *p > gapless));
            }
        }
    }
}
