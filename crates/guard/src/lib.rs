//! The gatekeeper: verify a presented token anywhere.
//!
//! It is told the issuer's keys and what the log revoked, and answers from memory. It knows no
//! database, no clock and no HTTP framework: `now` is an argument, and layers are built around it.
#![warn(missing_docs)]

mod cache;
mod ended;
mod generations;
mod keys;
mod need;
mod refusal;
mod reload;
mod revoked;
mod spread;
mod table;
mod verify;

#[cfg(test)]
mod tests;

pub use cache::{TokenCache, TokenDigest, Weigh};
pub use ended::{EndedReload, EndedSet, Kind};
pub use generations::{Generations, GenerationsReload};
pub use keys::KeySet;
pub use need::Need;
pub use refusal::Refusal;
pub use revoked::{Revoked, RevokedReload};
pub use verify::{AccessTokenVerifier, Verified};

use signet_oauth::time::Timestamp;
use signet_oauth::token::{AccessToken, Liveness};
use std::sync::Arc;

/// Checks presented tokens of one issuer.
#[derive(Debug)]
pub struct Guard {
    verifier: AccessTokenVerifier,
    revoked: Arc<Revoked>,
    cache: TokenCache<Cached>,
}

/// A verified token and the edition of the key set that it was verified under.
#[derive(Debug)]
struct Cached {
    verified: Verified,
    edition: u64,
}

impl Weigh for Cached {
    fn bytes(&self) -> usize {
        self.verified.memory()
    }
}

/// Whoever presented a token that is alive and answers the need.
#[derive(Clone, Debug)]
pub struct Principal(Arc<Cached>);

impl Principal {
    /// What the token says.
    pub fn token(&self) -> &AccessToken {
        self.0.verified.token()
    }
}

impl Guard {
    /// A guard whose cache of verified tokens occupies about this many bytes at most.
    pub fn new(verifier: AccessTokenVerifier, revoked: Arc<Revoked>, cache_bytes: usize) -> Self {
        Self {
            verifier,
            revoked,
            cache: TokenCache::new(cache_bytes),
        }
    }

    /// Checks a token at `now`. A token that was verified before costs a digest and four lookups;
    /// its times, the need and what was revoked are asked every time.
    ///
    /// # Errors
    /// Any [`Refusal`]. On `UnknownKey` and `Behind` the caller may catch up and ask once more.
    pub fn check(
        &self,
        presented: &str,
        need: &Need,
        now: Timestamp,
    ) -> Result<Principal, Refusal> {
        let cached = self.verify(presented, now)?;
        let verified = &cached.verified;
        need.check(verified)?;
        // The law allows no leeway in `exp`; the verifier, which does, has looked at it already.
        let known = self.revoked.known(verified);
        let asked_at = now.minus(self.verifier.leeway);
        match verified.token().liveness(known, asked_at) {
            Liveness::Alive => Ok(Principal(cached)),
            Liveness::Dead(label) => Err(Refusal::Dead(label)),
            Liveness::Behind => Err(Refusal::Behind),
        }
    }

    /// The token from the cache or verified now.
    fn verify(&self, presented: &str, now: Timestamp) -> Result<Arc<Cached>, Refusal> {
        let digest = TokenDigest::of(presented);
        let edition = self.verifier.keys.edition();
        if let Some(cached) = self.cache.get(&digest)
            && cached.edition == edition.number
        {
            let times = self.verifier.check_times(&cached.verified, now);
            if times == Err(Refusal::Expired) {
                self.cache.remove(&digest);
            }
            return times.map(|()| cached);
        }
        let verified = self.verifier.verify_form(presented, &edition)?;
        self.verifier.check_times(&verified, now)?;
        let cached = Arc::new(Cached {
            verified,
            edition: edition.number,
        });
        self.cache.insert(digest, Arc::clone(&cached));
        Ok(cached)
    }
}
