//! The store: all SQL of the product behind verbs of the domain. One [`Store`], two backends, one
//! contract test that both must pass.
//!
//! Writes are data (`op`): they are queued, and many share one transaction and one wait for the
//! disk (group commit). A write is durable when its method returns. "Not found" is `None`, losing
//! a race is a variant, only faults are errors, and nothing waits longer than the deadline.
//!
//! It knows neither flows, doors, configuration nor caches, and no clock but the database's.

mod assertions;
mod clients;
mod error;
mod keys;
mod log;
mod maintenance;
mod meta;
mod op;
mod people;
mod postgres;
mod random;
mod rows;
mod sqlite;
mod statistics;
mod tokens;
mod url;

use signet_oauth::log::LogRow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

pub use assertions::SingleUse;
pub use clients::{Created, Deleted, Page, Snapshot, Updated};
pub use error::{Error, OpenError};
pub use keys::{KeyInserted, KeyMaterial, KeyRecord, KeyUpdated};
pub use log::{Ended, Ending, EndingKind, Head, StateRow};
pub use maintenance::Expired;
pub use meta::CheckedKey;
pub use people::{
    CreatedUser, DeletedUser, Ends, Imported, LoginFailures, NewLogin, Opened, Opening,
    PushedRequest, Redeemed, Redemption, Rotated, Rotation, SessionClient, UpdatedUser, UserCursor,
    UserField, UserList, UserPage, UserUpdate, Withdrawn,
};
pub use statistics::{Durations, StoreStatistics};
pub use tokens::{Inserted, ListedToken, LiveSlot, LiveToken, StoredToken, TokenPage};
pub use url::StoreUrl;

use op::{Listener, Outcome, Pending, Write};
use statistics::Counters;

/// How a store behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Apply missing migrations; otherwise their absence is an error.
    pub migrate: bool,
    /// How long an operation may take before the answer is [`Error::Unavailable`].
    pub deadline: Duration,
    /// Writes (and, apart from them, reads) that may wait; one more is [`Error::Busy`].
    pub queue: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            migrate: true,
            deadline: Duration::from_secs(5),
            queue: 8192,
        }
    }
}

/// The store. Clones share everything. Its methods may be called from any tokio runtime that has
/// its timer enabled; the work is done on threads of the store.
#[derive(Clone, Debug)]
pub struct Store {
    backend: Backend,
    deadline: Duration,
    counters: Arc<Counters>,
    listener: Arc<Listener>,
}

#[derive(Clone, Debug)]
enum Backend {
    Sqlite(Arc<sqlite::Sqlite>),
    Postgres(Arc<postgres::Postgres>),
}

impl Store {
    /// Opens a store, and applies missing migrations where the options say so. Blocks the thread
    /// while it does.
    pub fn open(url: &StoreUrl, options: StoreOptions) -> Result<Self, OpenError> {
        let counters = Arc::new(Counters::default());
        let backend = match url {
            StoreUrl::Sqlite(path) => {
                let db = sqlite::Sqlite::open(path, options, Arc::clone(&counters))?;
                Backend::Sqlite(Arc::new(db))
            }
            StoreUrl::Memory => {
                let db = sqlite::Sqlite::in_memory(options, Arc::clone(&counters))?;
                Backend::Sqlite(Arc::new(db))
            }
            StoreUrl::Postgres(url) => {
                let db = postgres::Postgres::open(url, options, Arc::clone(&counters))?;
                Backend::Postgres(Arc::new(db))
            }
        };
        Ok(Self {
            backend,
            deadline: options.deadline,
            counters,
            listener: Arc::default(),
        })
    }

    /// Applies missing migrations; returns the schema version before and after.
    pub fn migrate(url: &StoreUrl) -> Result<(i64, i64), OpenError> {
        match url {
            StoreUrl::Sqlite(path) => sqlite::migrate(path),
            StoreUrl::Memory => Ok((0, sqlite::SCHEMA)),
            StoreUrl::Postgres(url) => postgres::migrate(url),
        }
    }

    /// `sqlite`, `memory` or `postgres`.
    pub fn backend_name(&self) -> &'static str {
        match &self.backend {
            Backend::Sqlite(db) => db.name(),
            Backend::Postgres(_) => "postgres",
        }
    }

    /// Carries out what is queued, leaves the database in order and ends the threads. Every later
    /// call on any clone is [`Error::Unavailable`].
    pub async fn close(&self) {
        match &self.backend {
            Backend::Sqlite(db) => db.close().await,
            Backend::Postgres(db) => db.close().await,
        }
    }

    /// Calls `hear` with every row of the log that this store appends: after its commit, before
    /// whoever wrote it hears of that, whether or not anybody still waits. It runs on a thread of
    /// the store and must not block. Only the first listener counts.
    pub fn on_append(&self, hear: impl Fn(&LogRow) + Send + Sync + 'static) {
        self.listener.set(Box::new(hear));
    }

    async fn write(&self, write: Write) -> Result<Outcome, Error> {
        let (answer, answered) = oneshot::channel();
        let pending = Pending {
            write,
            listener: Arc::clone(&self.listener),
            answer,
        };
        match &self.backend {
            Backend::Sqlite(db) => db.submit(pending)?,
            Backend::Postgres(db) => db.submit(pending)?,
        }
        self.within(async { answered.await.map_err(|_| CLOSED)? })
            .await
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        within(self.deadline, work).await
    }
}

/// The store was closed, or its thread is gone.
const CLOSED: Error = Error::Unavailable("the store is closed");

async fn within<T>(
    deadline: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout(deadline, work)
        .await
        .unwrap_or(Err(Error::Unavailable("no answer before the deadline")))
}
