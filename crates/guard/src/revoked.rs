//! What the log has revoked, as a guard knows it: the ended set and the generations.

use crate::ended::{EndedReload, EndedSet, Kind};
use crate::generations::{Generations, GenerationsReload};
use crate::verify::Verified;
use signet_oauth::log::{Event, client_key};
use signet_oauth::time::Timestamp;
use signet_oauth::token::Known;

/// Everything by which a token can be dead before it expires. Events may be applied in any order
/// and more than once.
#[derive(Debug, Default)]
pub struct Revoked {
    /// Ended tokens, families and sessions.
    pub ended: EndedSet,
    /// Generations of clients and users.
    pub generations: Generations,
}

impl Revoked {
    /// Applies a row of the log that matters until `until`. What is not kept here (keys, consents)
    /// changes nothing; `ClearAll` neither: the caller reloads, and until then what is known is
    /// better than nothing.
    pub fn apply(&self, event: &Event, until: Timestamp) {
        match event {
            Event::ClientChanged { id, generation } => {
                self.generations.raise(client_key(id), *generation, until);
            }
            Event::UserChanged { key, generation } => {
                self.generations.raise(*key, *generation, until);
            }
            Event::TokenRevoked { key } => self.ended.insert(Kind::Token, *key, until),
            Event::FamilyEnded { key } => self.ended.insert(Kind::Family, *key, until),
            Event::SessionEnded { key } => self.ended.insert(Kind::Session, *key, until),
            Event::KeysChanged | Event::ConsentChanged { .. } | Event::ClearAll => {}
        }
    }

    /// What is known about the things that a token hangs on. A generation that did not change
    /// lately is the token's own.
    pub fn known(&self, verified: &Verified) -> Known {
        let token = verified.token();
        let keys = verified.keys();
        let generation = |key, own| self.generations.known(key).unwrap_or(own);
        let family = token.family.as_ref();
        let session = token.session.as_ref();
        let ended = |kind, key| self.ended.contains(kind, key);
        Known {
            ended: ended(Kind::Token, &keys.token)
                || family.is_some_and(|family| ended(Kind::Family, family))
                || session.is_some_and(|session| ended(Kind::Session, session)),
            client_generation: Some(generation(&keys.client, token.client_generation)),
            user_generation: token.user_generation.map(|own| generation(&keys.user, own)),
        }
    }

    /// Drops what does not matter any more at `now`, and says how many entries that were.
    pub fn drop_before(&self, now: Timestamp) -> usize {
        self.ended.drop_before(now) + self.generations.drop_before(now)
    }

    /// Begins to replace everything, under the rules of [`EndedSet::reload`].
    pub fn reload(&self) -> RevokedReload<'_> {
        RevokedReload {
            ended: self.ended.reload(),
            generations: self.generations.reload(),
        }
    }
}

/// A state under construction; dropped without [`RevokedReload::commit`], it leaves no trace.
#[derive(Debug)]
pub struct RevokedReload<'a> {
    /// The ended set of the new state.
    pub ended: EndedReload<'a>,
    /// The generations of the new state.
    pub generations: GenerationsReload<'a>,
}

impl RevokedReload<'_> {
    /// Puts the new state in place; `false` where a later reload has begun, which will.
    pub fn commit(self) -> bool {
        self.ended.commit() & self.generations.commit()
    }
}
