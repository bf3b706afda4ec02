//! One read-through cache: bounded, single flight, kept coherent by the log. It knows neither what
//! it holds nor where that comes from.

use quick_cache::sync::Cache;
use signet_oauth::log::Position;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Clock;

struct Entry<V> {
    value: Option<Arc<V>>,
    filled_at: Duration,
}

/// How many positions of invalidations are remembered. More slots, fewer fills turned away for
/// another key's sake.
const SLOTS: usize = 4096;

/// How much a cache holds, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Entries at most.
    pub capacity: usize,
    /// How long an entry stays although nothing was heard of a change: should the log ever fail
    /// us, this bounds the damage.
    pub lifetime: Duration,
    /// Whether it is remembered that there is nothing of a name. Only where the log says when that
    /// changes.
    pub keeps_absent: bool,
}

/// The values that were used lately.
pub struct ReadThrough<K, V> {
    entries: Cache<K, Arc<Entry<V>>>,
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
    bounds: Bounds,
    clock: Clock,
}

impl<K, V> std::fmt::Debug for ReadThrough<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReadThrough(at most {})", self.bounds.capacity)
    }
}

impl<K: Clone + Eq + Hash, V> ReadThrough<K, V> {
    /// An empty cache.
    pub fn new(bounds: Bounds, clock: Clock) -> Self {
        Self {
            entries: Cache::new(bounds.capacity.max(1)),
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
            bounds,
            clock,
        }
    }

    /// The value, from memory or by `load`, which says at which position of the log it looked.
    /// Callers that ask for the same one meanwhile wait for the one load.
    pub async fn get<F, E>(&self, id: &K, load: F) -> Result<Option<Arc<V>>, E>
    where
        F: AsyncFnOnce() -> Result<(Position, Option<V>), E>,
    {
        if let Some(entry) = self.entries.get(id) {
            if self.clock.uptime().saturating_sub(entry.filled_at) < self.bounds.lifetime {
                return Ok(entry.value.clone());
            }
            self.entries
                .remove_if(id, |known| Arc::ptr_eq(known, &entry));
        }
        let guard = match self.entries.get_value_or_guard_async(id).await {
            Ok(entry) => return Ok(entry.value.clone()),
            Err(guard) => guard,
        };
        let filled_at = self.clock.uptime();
        let (position, value) = load().await?;
        if value.is_none() && !self.bounds.keeps_absent {
            return Ok(None);
        }
        let value = value.map(Arc::new);
        let entry = Arc::new(Entry {
            value: value.clone(),
            filled_at,
        });
        if guard.insert(Arc::clone(&entry)).is_ok()
            && self.slot(id).load(Ordering::SeqCst) > position.0
        {
            // Invalidated while it was read, or between the two lines above.
            self.entries
                .remove_if(id, |known| Arc::ptr_eq(known, &entry));
        }
        Ok(value)
    }

    /// Forgets a value because of the row of the log at `position`.
    pub fn invalidate(&self, id: &K, position: Position) {
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

    /// How many entries are in memory.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn slot(&self, id: &K) -> &AtomicU64 {
        let hash = usize::try_from(self.hasher.hash_one(id) % SLOTS as u64).unwrap_or(0);
        &self.slots[hash]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use tokio::sync::Notify;

    type Texts = ReadThrough<&'static str, ()>;

    fn cache() -> Texts {
        keeping(true)
    }

    fn keeping(keeps_absent: bool) -> Texts {
        let bounds = Bounds {
            capacity: 100,
            lifetime: Duration::from_mins(1),
            keeps_absent,
        };
        ReadThrough::new(bounds, Clock::system())
    }

    fn id() -> &'static str {
        "app"
    }

    async fn fill(cache: &Texts, position: u64, loads: &AtomicUsize) {
        let load = async || {
            loads.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            Ok::<_, ()>((Position(position), None))
        };
        assert!(cache.get(&id(), load).await.unwrap().is_none());
    }

    async fn fill_shared(cache: Arc<Texts>, loads: Arc<AtomicUsize>) {
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
    async fn fill_slowly(cache: Arc<Texts>, reading: Arc<Notify>, go_on: Arc<Notify>) {
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
            .get(&id(), async || Err::<(Position, Option<()>), _>("down"))
            .await;
        assert_eq!(failed.unwrap_err(), "down");
        let loads = AtomicUsize::new(0);
        fill(&cache, 1, &loads).await;
        assert_eq!(loads.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn what_is_not_there_is_asked_for_again_where_nobody_would_say_that_it_came() {
        let cache = keeping(false);
        let loads = AtomicUsize::new(0);
        fill(&cache, 1, &loads).await;
        fill(&cache, 1, &loads).await;
        assert_eq!(loads.load(Ordering::SeqCst), 2);
        assert!(cache.is_empty());
    }
}
