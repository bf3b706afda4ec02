//! Clients in the store: every write is conditional, and appends to the log.

use signet_oauth::client::Client;
use signet_oauth::ids::ClientId;
use signet_oauth::log::{LogRow, Position};
use signet_oauth::time::Timestamp;

use super::error::Error;
use super::op::{Outcome, Write};
use super::{Backend, Store, postgres, random, sqlite};

/// A value, and the head of the log in the snapshot that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot<T> {
    /// The position of the newest row of the log at that moment.
    pub head: Position,
    /// What was read.
    pub value: T,
}

/// Which clients to list, in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Begin behind this id; costs nothing, however far it is.
    pub after: Option<ClientId>,
    /// Then leave out so many; costs time for each.
    pub offset: u64,
    /// At most so many.
    pub limit: u32,
    /// Only those with exactly this `client_name`.
    pub name: Option<String>,
    /// Only those with exactly this `owner`.
    pub owner: Option<String>,
}

/// What came of a creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// It is there, with the generation and the version that it was given.
    Done {
        /// As it is stored.
        client: Box<Client>,
        /// What tells the others.
        row: LogRow,
    },
    /// The id is taken.
    Exists,
}

/// What came of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Updated {
    /// It is written, with its new version and generation.
    Done {
        /// As it is stored.
        client: Box<Client>,
        /// What tells the others.
        row: LogRow,
    },
    /// Somebody else wrote since that version was read.
    Stale,
    /// There is no such client.
    Missing,
}

/// What came of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// It is gone.
    Done {
        /// What tells the others.
        row: LogRow,
    },
    /// Its version is not the expected one.
    Stale,
    /// There is no such client.
    Missing,
}

/// A conditional write of a client.
#[derive(Clone, Debug)]
pub(super) struct ClientUpdate {
    pub(super) client: Box<Client>,
    pub(super) expected_version: u64,
    pub(super) ends_tokens: bool,
    pub(super) until: Timestamp,
    pub(super) attempt: [u8; 16],
}

impl Store {
    /// The client of this id.
    pub async fn find_client(&self, id: &ClientId) -> Result<Snapshot<Option<Client>>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let id = id.clone();
                let read = db.read(move |reader| sqlite::clients::find(reader, &id));
                self.within(read).await
            }
            Backend::Postgres(db) => self.within(postgres::clients::find(db, id)).await,
        }
    }

    /// Clients in the order of their ids (as bytes).
    pub async fn list_clients(&self, page: Page) -> Result<Vec<Client>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let read = db.read(move |reader| sqlite::clients::list(reader, &page));
                self.within(read).await
            }
            Backend::Postgres(db) => self.within(postgres::clients::list(db, &page)).await,
        }
    }

    /// Creates a client with version 1 and a generation that no token of a deleted client of the
    /// same id has. The same `attempt` again finds what it created before.
    pub async fn create_client(&self, client: Client, attempt: [u8; 16]) -> Result<Created, Error> {
        let client = Box::new(client);
        match self.write(Write::CreateClient { client, attempt }).await? {
            Outcome::Created(created) => Ok(created),
            _ => Err(Error::mixed_up()),
        }
    }

    /// Replaces a client where its version is the expected one. The version goes up by one, the
    /// generation only where the change `ends_tokens`; `until` is when the last token of the old
    /// generation will have expired.
    pub async fn update_client(
        &self,
        client: Client,
        expected_version: u64,
        ends_tokens: bool,
        until: Timestamp,
    ) -> Result<Updated, Error> {
        let update = ClientUpdate {
            client: Box::new(client),
            expected_version,
            ends_tokens,
            until,
            attempt: random::mark()?,
        };
        match self.write(Write::UpdateClient(update)).await? {
            Outcome::Updated(updated) => Ok(updated),
            _ => Err(Error::mixed_up()),
        }
    }

    /// Deletes a client, of the expected version where one is given; its tokens are dead from then
    /// on. `until` is when the last of them will have expired: so long its generation is remembered.
    pub async fn delete_client(
        &self,
        id: &ClientId,
        expected_version: Option<u64>,
        until: Timestamp,
    ) -> Result<Deleted, Error> {
        let write = Write::DeleteClient {
            id: id.clone(),
            expected_version,
            until,
            attempt: random::mark()?,
        };
        match self.write(write).await? {
            Outcome::Deleted(deleted) => Ok(deleted),
            _ => Err(Error::mixed_up()),
        }
    }
}
