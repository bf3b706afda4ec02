//! Writes as data: what is queued, batched, run, and run again after a lost connection.

use signet_oauth::client::Client;
use signet_oauth::ids::ClientId;
use signet_oauth::log::{Event, LogRow};
use signet_oauth::time::Timestamp;

use super::assertions::SingleUse;
use super::clients::{ClientUpdate, Created, Deleted, Updated};
use super::error::Error;
use super::keys::{KeyInserted, KeyRecord, KeyUpdated};
use super::log::{Ended, Ending};
use super::maintenance::Expired;
use super::meta::CheckedKey;
use super::tokens::{Inserted, StoredToken};

/// A write. Attempts tell a write that is run again from one of somebody else.
#[derive(Debug)]
pub(super) enum Write {
    CreateClient {
        client: Box<Client>,
        attempt: [u8; 16],
    },
    UpdateClient(ClientUpdate),
    DeleteClient {
        id: ClientId,
        until: Timestamp,
        attempt: [u8; 16],
    },
    InsertToken(Box<StoredToken>),
    UseAssertion {
        key: [u8; 16],
        until: Timestamp,
        attempt: [u8; 16],
    },
    End(Vec<Ending>),
    Append {
        event: Event,
        until: Timestamp,
    },
    InsertKey {
        key: Box<KeyRecord>,
        slot: Option<String>,
        attempt: [u8; 16],
    },
    UpdateKey {
        key: Box<KeyRecord>,
        attempt: [u8; 16],
    },
    CheckClusterKey {
        mac: [u8; 32],
    },
    NextNode,
    TakeLease {
        name: String,
        holder: String,
        seconds: u32,
    },
    PutSetting {
        name: String,
        value: String,
    },
    Expire {
        now: Timestamp,
        skew: u64,
    },
}

/// What came of a write, one variant for each kind.
#[derive(Debug)]
pub(super) enum Outcome {
    Created(Created),
    Updated(Updated),
    Deleted(Deleted),
    Inserted(Inserted),
    SingleUse(SingleUse),
    Ended(Ended),
    Appended(LogRow),
    KeyInserted(KeyInserted),
    KeyUpdated(KeyUpdated),
    CheckedKey(CheckedKey),
    Node(u16),
    Lease(bool),
    SettingPut,
    Expired(Expired),
}

/// A write that somebody waits for.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) write: Write,
    pub(super) answer: tokio::sync::oneshot::Sender<Result<Outcome, Error>>,
}

impl Pending {
    /// Whether whoever asked has given up: the write need not be begun any more.
    pub(super) fn is_forsaken(&self) -> bool {
        self.answer.is_closed()
    }

    pub(super) fn answer(self, result: Result<Outcome, Error>) {
        // Nobody waits any more: the deadline has answered instead.
        let _forsaken = self.answer.send(result);
    }
}
