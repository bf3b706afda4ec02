//! Signing keys in the store. Private parts arrive sealed; what they are sealed with is not known
//! here.

use signet_oauth::ids::KeyId;
use signet_oauth::jose::Algorithm;
use signet_oauth::log::LogRow;
use signet_oauth::time::Timestamp;

use super::clients::Snapshot;
use super::error::Error;
use super::op::{Outcome, Write};
use super::{Backend, Store, postgres, random, sqlite};

/// A signing key and its life: created, published, signing, published still, gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its name.
    pub kid: KeyId,
    /// The only algorithm that it signs with.
    pub algorithm: Algorithm,
    /// The public JWK as JSON text.
    pub public_jwk: String,
    /// What signs.
    pub material: KeyMaterial,
    /// What it is for.
    pub purpose: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is in the JWKS; `None`: from the beginning.
    pub publish_at: Option<Timestamp>,
    /// From when on it signs.
    pub active_from: Timestamp,
    /// When it stops signing.
    pub retires_at: Option<Timestamp>,
    /// When it leaves the JWKS.
    pub gone_at: Option<Timestamp>,
    /// Goes up by one with every write.
    pub version: u64,
}

/// What signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyMaterial {
    /// A private key, sealed with the cluster key.
    Sealed(Vec<u8>),
    /// A reference to a key that a signing service holds.
    Remote(String),
}

/// What came of an insertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyInserted {
    /// It is there, with version 1.
    Done {
        /// What tells the others.
        row: LogRow,
    },
    /// Another node made the key of this slot: load the keys again and use that one.
    SlotTaken,
    /// The name is taken.
    Exists,
}

/// What came of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyUpdated {
    /// It is written, with the next version.
    Done {
        /// What tells the others.
        row: LogRow,
    },
    /// Somebody else wrote since that version was read.
    Stale,
    /// There is no such key.
    Missing,
}

impl Store {
    /// All keys, oldest first.
    pub async fn list_keys(&self) -> Result<Snapshot<Vec<KeyRecord>>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => self.within(db.read(sqlite::keys::list)).await,
            Backend::Postgres(db) => self.within(postgres::keys::list(db)).await,
        }
    }

    /// Writes a new key. Of several with the same `slot` only the first is taken.
    pub async fn insert_key(
        &self,
        key: KeyRecord,
        slot: Option<String>,
    ) -> Result<KeyInserted, Error> {
        let write = Write::InsertKey {
            key: Box::new(key),
            slot,
            attempt: random::mark()?,
        };
        match self.write(write).await? {
            Outcome::KeyInserted(inserted) => Ok(inserted),
            _ => Err(Error::mixed_up()),
        }
    }

    /// Replaces a key where its version is the one that `key` names.
    pub async fn update_key(&self, key: KeyRecord) -> Result<KeyUpdated, Error> {
        let write = Write::UpdateKey {
            key: Box::new(key),
            attempt: random::mark()?,
        };
        match self.write(write).await? {
            Outcome::KeyUpdated(updated) => Ok(updated),
            _ => Err(Error::mixed_up()),
        }
    }
}
