//! What the nodes of a cluster agree on through the database: key, numbers, leases, time.

use super::error::Error;
use super::op::{Outcome, Write};
use super::{Backend, Store, postgres, sqlite};

/// Node numbers come round again after so many.
pub(super) const NODES: i64 = 4096;

/// Whether the cluster key is the one that this database was first used with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedKey {
    /// It was the first, and is remembered.
    Stored,
    /// It is the same.
    Matches,
    /// It is another one: nothing sealed in this database could be opened.
    Differs,
}

impl Store {
    /// Compares a MAC made with the cluster key to the one remembered.
    pub async fn check_cluster_key(&self, mac: [u8; 32]) -> Result<CheckedKey, Error> {
        match self.write(Write::CheckClusterKey { mac }).await? {
            Outcome::CheckedKey(checked) => Ok(checked),
            _ => Err(Error::mixed_up()),
        }
    }

    /// A number for a starting node, 0 to 4095. They come round again: a locator that is taken
    /// is noticed when a token is inserted.
    pub async fn next_node(&self) -> Result<u16, Error> {
        match self.write(Write::NextNode).await? {
            Outcome::Node(node) => Ok(node),
            _ => Err(Error::mixed_up()),
        }
    }

    /// Takes or renews a lease; `true`: `holder` has it for the next `seconds` of database time.
    pub async fn take_lease(&self, name: &str, holder: &str, seconds: u32) -> Result<bool, Error> {
        let write = Write::TakeLease {
            name: name.to_owned(),
            holder: holder.to_owned(),
            seconds,
        };
        match self.write(write).await? {
            Outcome::Lease(taken) => Ok(taken),
            _ => Err(Error::mixed_up()),
        }
    }

    /// The database's clock: milliseconds since 1970.
    pub async fn database_time(&self) -> Result<u64, Error> {
        match &self.backend {
            Backend::Sqlite(db) => self.within(db.read(sqlite::meta::time)).await,
            Backend::Postgres(db) => self.within(postgres::meta::time(db)).await,
        }
    }

    /// A setting that the nodes share.
    pub async fn find_setting(&self, name: &str) -> Result<Option<String>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let name = name.to_owned();
                let read = db.read(move |reader| sqlite::meta::find_setting(reader, &name));
                self.within(read).await
            }
            Backend::Postgres(db) => self.within(postgres::meta::find_setting(db, name)).await,
        }
    }

    /// Writes a setting that the nodes share; the last one wins.
    pub async fn put_setting(&self, name: &str, value: &str) -> Result<(), Error> {
        let write = Write::PutSetting {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        match self.write(write).await? {
            Outcome::SettingPut => Ok(()),
            _ => Err(Error::mixed_up()),
        }
    }
}
