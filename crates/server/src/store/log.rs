//! The log's tail and the state beside it: what ended, and which generations are behind.

use signet_oauth::ids::{ClientId, Locator};
use signet_oauth::log::{Event, EventKey, LogRow, Position};
use signet_oauth::time::Timestamp;

use super::error::Error;
use super::op::{Outcome, Write};
use super::{Backend, Store, postgres, sqlite};

/// What can be ended by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndingKind {
    /// One access token.
    Token,
    /// A family of tokens.
    Family,
    /// A session.
    Session,
}

/// An end to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ending {
    /// What ends.
    pub kind: EndingKind,
    /// Its key in the log.
    pub key: EventKey,
    /// When everything that ends with it will have expired.
    pub until: Timestamp,
}

impl Ending {
    /// The ending that an event stands for, where it does.
    pub(super) fn of(event: &Event, until: Timestamp) -> Option<Self> {
        let (kind, key) = match event {
            Event::TokenRevoked { key } => (EndingKind::Token, key),
            Event::FamilyEnded { key } => (EndingKind::Family, key),
            Event::SessionEnded { key } => (EndingKind::Session, key),
            _ => return None,
        };
        let key = *key;
        Some(Self { kind, key, until })
    }

    /// The column that keeps rows together which expire together: that of the end for tokens; 0
    /// for families and sessions, whose end may be moved.
    pub(super) fn bucket(&self) -> i64 {
        match self.kind {
            EndingKind::Token => Locator::bucket_of(self.until),
            EndingKind::Family | EndingKind::Session => 0,
        }
    }

    /// What the log says about it.
    pub fn event(&self) -> Event {
        match self.kind {
            EndingKind::Token => Event::TokenRevoked { key: self.key },
            EndingKind::Family => Event::FamilyEnded { key: self.key },
            EndingKind::Session => Event::SessionEnded { key: self.key },
        }
    }
}

/// What came of endings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// A row for each that had not ended before (or only until an earlier instant).
    pub rows: Vec<LogRow>,
}

/// One entry of the state that a starting node loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateRow {
    /// This has ended.
    Ended(Ending),
    /// Tokens of this client below this generation are dead.
    ClientGeneration {
        /// The client.
        id: ClientId,
        /// The lowest generation that may live.
        generation: u64,
        /// When the last token below it will have expired.
        until: Timestamp,
    },
    /// The same for a user.
    UserGeneration {
        /// The user's key in the log.
        key: EventKey,
        /// The lowest generation that may live.
        generation: u64,
        /// When the last token below it will have expired.
        until: Timestamp,
    },
}

/// The newest row of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its position; zero where the log is empty.
    pub position: Position,
    /// Its mark; `None` where the log is empty.
    pub mark: Option<[u8; 16]>,
}

impl Store {
    /// Ends tokens, families or sessions. Durable when this returns; ending again changes nothing.
    pub async fn end(&self, endings: Vec<Ending>) -> Result<Ended, Error> {
        match self.write(Write::End(endings)).await? {
            Outcome::Ended(ended) => Ok(ended),
            _ => Err(Error::mixed_up()),
        }
    }

    /// Appends an event, and records the state that it stands for.
    pub async fn append(&self, event: Event, until: Timestamp) -> Result<LogRow, Error> {
        match self.write(Write::Append { event, until }).await? {
            Outcome::Appended(row) => Ok(row),
            _ => Err(Error::mixed_up()),
        }
    }

    /// The newest row.
    pub async fn head(&self) -> Result<Head, Error> {
        match &self.backend {
            Backend::Sqlite(db) => self.within(db.read(sqlite::log::head)).await,
            Backend::Postgres(db) => self.within(postgres::log::head(db)).await,
        }
    }

    /// Rows from this position on, including it. An event of a kind that this program does not
    /// know reads as [`Event::ClearAll`]: load the state again, never skip.
    pub async fn read_log(&self, from: Position, limit: u32) -> Result<Vec<LogRow>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let read = db.read(move |reader| sqlite::log::read(reader, from, limit));
                self.within(read).await
            }
            Backend::Postgres(db) => self.within(postgres::log::read(db, from, limit)).await,
        }
    }

    /// Streams the whole state into `sink` from one snapshot; returns the snapshot's head. The
    /// sink runs on a thread of the store and must not block. When this fails, the sink has seen
    /// a part. Deadline: sixty times that of an operation.
    pub async fn load_state(
        &self,
        sink: impl FnMut(StateRow) + Send + 'static,
    ) -> Result<Position, Error> {
        let deadline = self.deadline.saturating_mul(60);
        match &self.backend {
            Backend::Sqlite(db) => {
                let load = db.read_long(move |reader| sqlite::log::load_state(reader, sink));
                super::within(deadline, load).await
            }
            Backend::Postgres(db) => {
                let load = postgres::log::load_state(db, Box::new(sink));
                super::within(deadline, load).await
            }
        }
    }
}
