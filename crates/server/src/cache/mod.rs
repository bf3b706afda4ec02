//! Read-through caches of what the store holds: bounded, single flight, kept coherent by the log.
//!
//! An entry is filled from a snapshot whose position in the log is known. Invalidation leaves its
//! position in a slot chosen by the key's hash; a fill that is older than its slot is answered but
//! not kept. Without that, a slow read that began before a change could put the old value back
//! after the change was announced.

pub mod client_keys;
pub mod verified;

use quick_cache::sync::Cache;
use signet_guard::{TokenCache, Weigh};
use signet_oauth::client::Client;
use signet_oauth::ids::ClientId;
use signet_oauth::jose::JwkSet;
use signet_oauth::log::Position;
use signet_oauth::token::AccessToken;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::clock::Clock;

/// A client as the cache holds it, with what is derived from it once.
#[derive(Debug)]
pub struct CachedClient {
    /// The client.
    pub client: Client,
    keys: OnceLock<Option<Arc<JwkSet>>>,
    rendered: OnceLock<bytes::Bytes>,
}

impl CachedClient {
    /// Wraps a client that was just read.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            keys: OnceLock::new(),
            rendered: OnceLock::new(),
        }
    }

    /// The registered keys, parsed at the first use; `None` where there are none by value.
    pub fn keys(&self) -> Option<&Arc<JwkSet>> {
        let parse = || {
            let text = self.client.jwks.as_ref()?;
            JwkSet::parse(text.as_bytes()).ok().map(Arc::new)
        };
        self.keys.get_or_init(parse).as_ref()
    }

    /// The representation that the admin interface answers with, rendered at the first use.
    pub fn rendered(&self, render: impl FnOnce(&Client) -> Vec<u8>) -> bytes::Bytes {
        self.rendered
            .get_or_init(|| render(&self.client).into())
            .clone()
    }
}

/// A verified access token: signature or digest checked, liveness not.
#[derive(Debug)]
pub struct CachedToken {
    /// What it says.
    pub token: AccessToken,
    /// How the log knows it.
    pub key: signet_oauth::log::EventKey,
}

/// The caches that the log keeps coherent.
#[derive(Debug)]
pub struct Caches {
    /// Clients by id.
    pub clients: ClientCache,
    /// Verified tokens by the digest of their text.
    pub tokens: TokenCache<CachedToken>,
}

impl Caches {
    /// Forgets everything, as of `position`.
    pub fn clear(&self, position: Position) {
        self.clients.clear(position);
        self.tokens.clear();
    }
}

impl Weigh for CachedToken {
    fn bytes(&self) -> usize {
        let token = &self.token;
        let audience: usize = token.audience.iter().map(|one| one.len() + 24).sum();
        let text = token.subject.len() + token.client.as_str().len() + token.scope.as_str().len();
        size_of::<Self>() + text + audience + 64
    }
}

struct Entry {
    client: Option<Arc<CachedClient>>,
    filled_at: Duration,
}

/// How many positions of invalidations are remembered. More slots, fewer fills turned away for
/// another key's sake.
const SLOTS: usize = 4096;

/// The clients that were used lately, unknown names included.
pub struct ClientCache {
    entries: Cache<ClientId, Arc<Entry>>,
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
    lifetime: Duration,
    clock: Clock,
}

impl std::fmt::Debug for ClientCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClientCache({} entries)", self.entries.len())
    }
}

impl ClientCache {
    /// A cache of at most `capacity` clients, each kept for at most `lifetime`.
    pub fn new(capacity: usize, lifetime: Duration, clock: Clock) -> Self {
        Self {
            entries: Cache::new(capacity.max(1)),
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
            lifetime,
            clock,
        }
    }

    /// The client, from memory or by `load`, which says at which position of the log it looked.
    /// Callers that ask for the same client meanwhile wait for the one load.
    pub async fn get<F, E>(&self, id: &ClientId, load: F) -> Result<Option<Arc<CachedClient>>, E>
    where
        F: AsyncFnOnce() -> Result<(Position, Option<Client>), E>,
    {
        if let Some(entry) = self.entries.get(id) {
            if self.clock.uptime().saturating_sub(entry.filled_at) < self.lifetime {
                return Ok(entry.client.clone());
            }
            self.entries
                .remove_if(id, |known| Arc::ptr_eq(known, &entry));
        }
        let guard = match self.entries.get_value_or_guard_async(id).await {
            Ok(entry) => return Ok(entry.client.clone()),
            Err(guard) => guard,
        };
        let filled_at = self.clock.uptime();
        let (position, client) = load().await?;
        let client = client.map(|client| Arc::new(CachedClient::new(client)));
        let entry = Arc::new(Entry {
            client: client.clone(),
            filled_at,
        });
        if guard.insert(Arc::clone(&entry)).is_ok()
            && self.slot(id).load(Ordering::SeqCst) > position.0
        {
            // Invalidated while it was read, or between the two lines above.
            self.entries
                .remove_if(id, |known| Arc::ptr_eq(known, &entry));
        }
        Ok(client)
    }

    /// Forgets a client because of the row of the log at `position`.
    pub fn invalidate(&self, id: &ClientId, position: Position) {
        self.slot(id).fetch_max(position.0, Ordering::SeqCst);
        self.entries.remove(id);
        // A fill that holds the guard now began before the slot was raised and sees it after.
    }

    /// Forgets everything, as of `position`.
    pub fn clear(&self, position: Position) {
        for slot in &self.slots {
            slot.fetch_max(position.0, Ordering::SeqCst);
        }
        self.entries.clear();
    }

    /// How many clients are in memory.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn slot(&self, id: &ClientId) -> &AtomicU64 {
        let hash = usize::try_from(self.hasher.hash_one(id) % SLOTS as u64).unwrap_or(0);
        &self.slots[hash]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use tokio::sync::Notify;

    fn cache() -> ClientCache {
        ClientCache::new(100, Duration::from_mins(1), Clock::system())
    }

    fn id() -> ClientId {
        ClientId::parse("app").unwrap()
    }

    async fn fill(cache: &ClientCache, position: u64, loads: &AtomicUsize) {
        let load = async || {
            loads.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            Ok::<_, ()>((Position(position), None))
        };
        assert!(cache.get(&id(), load).await.unwrap().is_none());
    }

    async fn fill_shared(cache: Arc<ClientCache>, loads: Arc<AtomicUsize>) {
        fill(&cache, 1, &loads).await;
    }

    #[tokio::test]
    async fn callers_of_one_key_share_one_load() {
        let cache = Arc::new(cache());
        let loads = Arc::new(AtomicUsize::new(0));
        let one = |_| tokio::spawn(fill_shared(Arc::clone(&cache), Arc::clone(&loads)));
        let tasks: Vec<_> = (0..50).map(one).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(loads.load(Ordering::SeqCst), 1);
    }

    /// A fill that began at position 4, says so, and is slow.
    async fn fill_slowly(cache: Arc<ClientCache>, reading: Arc<Notify>, go_on: Arc<Notify>) {
        let load = async || {
            reading.notify_one();
            go_on.notified().await;
            Ok::<_, ()>((Position(4), None))
        };
        assert!(cache.get(&id(), load).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_fill_older_than_the_invalidation_is_not_kept() {
        let cache = Arc::new(cache());
        let (reading, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let filling = fill_slowly(Arc::clone(&cache), Arc::clone(&reading), Arc::clone(&go_on));
        let slow = tokio::spawn(filling);
        reading.notified().await;
        cache.invalidate(&id(), Position(5));
        go_on.notify_one();
        slow.await.unwrap();
        let loads = AtomicUsize::new(0);
        fill(&cache, 5, &loads).await;
        fill(&cache, 5, &loads).await;
        assert_eq!(loads.load(Ordering::SeqCst), 1, "the old fill was kept");
    }

    #[tokio::test]
    async fn a_failed_load_is_not_remembered() {
        let cache = cache();
        let failed = cache
            .get(&id(), async || Err::<(Position, Option<Client>), _>("down"))
            .await;
        assert_eq!(failed.unwrap_err(), "down");
        let loads = AtomicUsize::new(0);
        fill(&cache, 1, &loads).await;
        assert_eq!(loads.load(Ordering::SeqCst), 1);
    }
}
