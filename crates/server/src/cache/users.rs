//! The users who were seen lately, by the key under which the log knows them, and by name.
//!
//! Nothing is remembered about users who do not exist: the log does not say when one is created.

use quick_cache::sync::Cache;
use signet_oauth::log::{EventKey, Position};
use signet_oauth::user::{User, UserId, Username};
use std::sync::Arc;

use super::read_through::{Bounds, ReadThrough};
use crate::clock::Clock;

/// Users by id and by name.
#[derive(Debug)]
pub struct UserCache {
    by_key: ReadThrough<EventKey, User>,
    /// Only where to look: whether the user still has the name is asked of the user.
    names: Cache<Username, UserId>,
}

impl UserCache {
    /// An empty cache.
    pub fn new(bounds: Bounds, clock: Clock) -> Self {
        Self {
            by_key: ReadThrough::new(bounds, clock),
            names: Cache::new(bounds.capacity.max(1)),
        }
    }

    /// The user of this key, from memory or by `load`, which says at which position of the log it
    /// looked.
    pub async fn get<F, E>(&self, key: &EventKey, load: F) -> Result<Option<Arc<User>>, E>
    where
        F: AsyncFnOnce() -> Result<(Position, Option<User>), E>,
    {
        self.by_key.get(key, load).await
    }

    /// The user who had this name when it was last looked up.
    pub fn named(&self, name: &Username) -> Option<UserId> {
        self.names.get(name)
    }

    /// Remembers who has this name.
    pub fn remember_name(&self, user: &User) {
        self.names.insert(user.username.clone(), user.id.clone());
    }

    /// Forgets a user because of the row of the log at `position`.
    pub fn invalidate(&self, key: &EventKey, position: Position) {
        self.by_key.invalidate(key, position);
    }

    /// Forgets everything, as of `position`.
    pub fn clear(&self, position: Position) {
        self.by_key.clear(position);
        self.names.clear();
    }

    /// How many users are in memory.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}
