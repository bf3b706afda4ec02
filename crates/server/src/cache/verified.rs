//! Client secrets at memory speed: the first use of a secret pays its slow hash, later uses are
//! answered by a keyed digest (docs/security.md has the threat model).
//!
//! Only secrets that were right are remembered, so wrong ones neither become fast to guess nor
//! push out good entries. A digest covers the stored hash, so it says nothing once the secret has
//! changed, whatever the log does. The key is drawn at start and never leaves the process.

use aws_lc_rs::{constant_time, hmac};
use quick_cache::sync::Cache;
use signet_oauth::ids::ClientId;
use signet_oauth::secret::Secret;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::OnceCell;

use crate::clock::Clock;
use crate::rng::Rng;

#[derive(Clone)]
struct Entry {
    digest: [u8; 32],
    verified_at: Duration,
}

/// Whether a secret is right, once that is known. Where whoever computes it gives up, the next
/// one who waits computes it.
pub type Flight = OnceCell<bool>;

/// Remembers which secrets were verified.
pub struct VerifiedSecrets {
    key: hmac::Key,
    entries: Option<Cache<ClientId, Entry>>,
    flights: Mutex<HashMap<[u8; 32], Weak<Flight>>>,
    lifetime: Duration,
    clock: Clock,
}

impl std::fmt::Debug for VerifiedSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VerifiedSecrets(…)")
    }
}

impl VerifiedSecrets {
    /// At most `capacity` clients, each for at most `lifetime`; a capacity of zero switches it off.
    pub fn new(capacity: usize, lifetime: Duration, clock: Clock, rng: &Rng) -> Self {
        let mut key = zeroize::Zeroizing::new([0; 32]);
        rng.fill(&mut *key);
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &*key),
            entries: (capacity > 0).then(|| Cache::new(capacity)),
            flights: Mutex::default(),
            lifetime,
            clock,
        }
    }

    /// Whether this very secret was verified against this very hash lately.
    pub fn knows(&self, client: &ClientId, hash: &str, secret: &Secret) -> bool {
        let Some(entry) = self
            .entries
            .as_ref()
            .and_then(|entries| entries.get(client))
        else {
            return false;
        };
        let age = self.clock.uptime().saturating_sub(entry.verified_at);
        let same = constant_time::verify_slices_are_equal(
            &entry.digest,
            &self.digest(client, hash, secret),
        );
        age < self.lifetime && same.is_ok()
    }

    /// The check of this very secret against this very hash that is under way now, or a new one.
    /// A hundred requests that come at once with one secret are one guess, right or wrong: it is
    /// computed once. Nothing is remembered when the last of them has been answered.
    pub fn flight(&self, client: &ClientId, hash: &str, secret: &Secret) -> Arc<Flight> {
        let digest = self.digest(client, hash, secret);
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(&digest).and_then(Weak::upgrade) {
            return flight;
        }
        flights.retain(|_, flight| flight.strong_count() > 0);
        let flight = Arc::new(Flight::new());
        flights.insert(digest, Arc::downgrade(&flight));
        flight
    }

    /// Remembers a secret that has just passed its slow hash.
    pub fn remember(&self, client: &ClientId, hash: &str, secret: &Secret) {
        if let Some(entries) = &self.entries {
            let digest = self.digest(client, hash, secret);
            let entry = Entry {
                digest,
                verified_at: self.clock.uptime(),
            };
            entries.insert(client.clone(), entry);
        }
    }

    /// Forgets a client.
    pub fn forget(&self, client: &ClientId) {
        if let Some(entries) = &self.entries {
            entries.remove(client);
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        if let Some(entries) = &self.entries {
            entries.clear();
        }
    }

    /// How many clients are remembered.
    pub fn len(&self) -> usize {
        self.entries.as_ref().map_or(0, Cache::len)
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn digest(&self, client: &ClientId, hash: &str, secret: &Secret) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [client.as_str(), hash, secret.expose()] {
            context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            context.update(part.as_bytes());
        }
        let mut out = [0; 32];
        out.copy_from_slice(context.sign().as_ref());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified(capacity: usize) -> VerifiedSecrets {
        VerifiedSecrets::new(
            capacity,
            Duration::from_mins(1),
            Clock::system(),
            &Rng::seeded(1),
        )
    }

    fn client(text: &str) -> ClientId {
        ClientId::parse(text).unwrap()
    }

    #[test]
    fn knows_only_what_was_verified() {
        let verified = verified(10);
        let (app, good) = (client("app"), Secret::new("good"));
        assert!(!verified.knows(&app, "hash", &good));
        verified.remember(&app, "hash", &good);
        assert!(verified.knows(&app, "hash", &good));
        assert!(!verified.knows(&app, "hash", &Secret::new("bad")));
        assert!(
            !verified.knows(&app, "other hash", &good),
            "a new hash means a new secret"
        );
        assert!(!verified.knows(&client("other"), "hash", &good));
        verified.forget(&app);
        assert!(!verified.knows(&app, "hash", &good));
    }

    #[tokio::test]
    async fn requests_at_once_with_one_secret_are_one_check() {
        let verified = verified(10);
        let (app, secret) = (client("app"), Secret::new("s"));
        let first = verified.flight(&app, "hash", &secret);
        let second = verified.flight(&app, "hash", &secret);
        assert!(Arc::ptr_eq(&first, &second));
        assert!(!Arc::ptr_eq(
            &first,
            &verified.flight(&app, "hash", &Secret::new("t"))
        ));
        assert!(!*first.get_or_init(async || false).await);
        assert_eq!(second.get(), Some(&false));
        drop((first, second));
        let later = verified.flight(&app, "hash", &secret);
        assert!(!later.initialized(), "a wrong secret is not remembered");
    }

    #[test]
    fn memory_is_bounded_and_can_be_switched_off() {
        let bounded = verified(100);
        let off = verified(0);
        for i in 0..10_000 {
            bounded.remember(&client(&format!("app{i}")), "hash", &Secret::new("s"));
            off.remember(&client("app"), "hash", &Secret::new("s"));
        }
        assert!(bounded.len() <= 100);
        assert!(!off.knows(&client("app"), "hash", &Secret::new("s")));
    }
}
