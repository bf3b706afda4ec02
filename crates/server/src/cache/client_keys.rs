//! The keys of clients that publish them (`jwks_uri`): fetched when first needed, kept for a
//! while, fetched again when an assertion names a key that is not among them.

use quick_cache::sync::Cache;
use signet_oauth::jose::{Algorithm, JwkSet, VerificationKey};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::fetch::{FetchError, Fetcher};

/// So long a fetched set is used.
const LIFETIME: Duration = Duration::from_mins(10);
/// Between two fetches of one set, whatever assertions claim: they come from strangers.
const PAUSE: Duration = Duration::from_secs(10);
/// Sets that are kept.
const CAPACITY: usize = 10_000;

#[derive(Clone)]
struct Entry {
    /// `None`: the last fetch failed.
    keys: Option<Arc<JwkSet>>,
    fetched_at: Duration,
}

/// Fetched key sets, by their URL.
pub struct ClientKeys {
    entries: Cache<String, Entry>,
    fetcher: Fetcher,
    clock: Clock,
}

impl std::fmt::Debug for ClientKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClientKeys({} sets)", self.entries.len())
    }
}

impl ClientKeys {
    /// No sets yet.
    pub fn new(clock: Clock, fetcher: Fetcher) -> Self {
        Self {
            entries: Cache::new(CAPACITY),
            fetcher,
            clock,
        }
    }

    /// The key of this name at this URL. Callers that need the same set wait for one fetch.
    pub async fn find(
        &self,
        url: &str,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Option<Arc<VerificationKey>> {
        for _ in 0..2 {
            let entry = self.entry(url).await;
            let found = entry
                .keys
                .as_ref()
                .and_then(|keys| keys.find(kid, algorithm).cloned());
            let age = self.clock.uptime().saturating_sub(entry.fetched_at);
            if (found.is_some() && age < LIFETIME) || age < PAUSE {
                return found;
            }
            // Too old, or without the key: forget it, and look once more.
            self.entries
                .remove_if(url, |known| known.fetched_at == entry.fetched_at);
        }
        None
    }

    async fn entry(&self, url: &str) -> Entry {
        match self.entries.get_value_or_guard_async(url).await {
            Ok(entry) => entry,
            Err(guard) => {
                let keys = match self.fetch(url).await {
                    Ok(keys) => Some(Arc::new(keys)),
                    Err(error) => {
                        tracing::warn!(url, %error, "cannot fetch the keys of a client");
                        None
                    }
                };
                let entry = Entry {
                    keys,
                    fetched_at: self.clock.uptime(),
                };
                // The guard is lost only when the cache was cleared meanwhile.
                drop(guard.insert(entry.clone()));
                entry
            }
        }
    }

    async fn fetch(&self, url: &str) -> Result<JwkSet, FetchError> {
        let body = self.fetcher.get(url).await?;
        JwkSet::parse(&body).map_err(|error| FetchError::Failed(error.reason().to_owned()))
    }
}
