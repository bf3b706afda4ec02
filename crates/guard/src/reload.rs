//! Replacing a whole map while it is read and written.
//!
//! The new one is built aside. What arrives meanwhile goes into both, so that nothing is missing
//! from the new one that arrived after the state that it is built from was read. Readers see the old
//! one until a single pointer changes: there is no moment at which an entry of both is in neither.

use crate::spread::Spread;
use crate::table::{Key, Lasting};
use arc_swap::ArcSwap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

pub(crate) struct Reloadable<V> {
    live: ArcSwap<Spread<V>>,
    /// Held for reading by whoever writes an entry, for writing when a reload begins or ends.
    aside: RwLock<Option<Arc<Spread<V>>>>,
}

impl<V: Lasting> Default for Reloadable<V> {
    fn default() -> Self {
        Self {
            live: ArcSwap::default(),
            aside: RwLock::default(),
        }
    }
}

impl<V: Lasting> Reloadable<V> {
    pub(crate) fn get(&self, key: &Key) -> Option<V> {
        self.live.load().get(key)
    }

    pub(crate) fn insert(&self, key: Key, value: V) {
        let aside = self.aside.read().unwrap_or_else(PoisonError::into_inner);
        self.live.load().insert(key, value);
        if let Some(next) = &*aside {
            next.insert(key, value);
        }
    }

    pub(crate) fn sweep(&self, now: u32) -> usize {
        self.live.load_full().sweep(now)
    }

    pub(crate) fn len(&self) -> usize {
        self.live.load().len()
    }

    pub(crate) fn memory(&self) -> usize {
        self.live.load().memory()
    }

    /// Begins a reload; one that is under way is thereby abandoned.
    pub(crate) fn reload(&self) -> Reload<'_, V> {
        let next = Arc::new(Spread::default());
        *self.aside() = Some(Arc::clone(&next));
        Reload { of: self, next }
    }

    fn aside(&self) -> RwLockWriteGuard<'_, Option<Arc<Spread<V>>>> {
        self.aside.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A map that is being built to take the place of another. Dropped without
/// [`Reload::commit`], it is abandoned.
pub(crate) struct Reload<'a, V: Lasting> {
    of: &'a Reloadable<V>,
    next: Arc<Spread<V>>,
}

impl<V: Lasting> Reload<'_, V> {
    pub(crate) fn insert(&self, key: Key, value: V) {
        self.next.insert(key, value);
    }

    /// Puts the new map in place; `false` where a later reload has begun and will do so.
    pub(crate) fn commit(self) -> bool {
        let mut aside = self.of.aside();
        let current = self.is_current(aside.as_ref());
        if current {
            self.of.live.store(Arc::clone(&self.next));
            *aside = None;
        }
        current
    }

    fn is_current(&self, aside: Option<&Arc<Spread<V>>>) -> bool {
        aside.is_some_and(|aside| Arc::ptr_eq(aside, &self.next))
    }
}

impl<V: Lasting> Drop for Reload<'_, V> {
    fn drop(&mut self) {
        let mut aside = self.of.aside();
        if self.is_current(aside.as_ref()) {
            *aside = None;
        }
    }
}
