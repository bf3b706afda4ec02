//! Failed logins, counted for each key. Keys are digests; each has one of a fixed number of
//! places, so that the table is bounded whatever is thrown at it. Where two keys meet in a place
//! the later one takes it.

use signet_oauth::time::Timestamp;

use crate::store::error::Error;
use crate::store::op::{Outcome, Write};
use crate::store::{Backend, Store, postgres, sqlite};

/// Failures of a key that still count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoginFailures {
    /// How many.
    pub count: u64,
    /// The last one.
    pub at: Timestamp,
    /// So long they count, unless another one comes.
    pub until: Timestamp,
}

/// The place of a key: one of about a million.
pub(in crate::store) fn slot_of(key: &[u8; 16]) -> i64 {
    let [a, b, c, ..] = *key;
    i64::from(u32::from_be_bytes([0, a, b, c]) >> 4)
}

/// A failure to be counted.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Failure {
    pub(in crate::store) key: [u8; 16],
    pub(in crate::store) now: Timestamp,
    pub(in crate::store) until: Timestamp,
}

impl Store {
    /// Counts a failure; how many there are now. They are forgotten `window` seconds after the
    /// last one.
    pub async fn note_login_failure(
        &self,
        key: [u8; 16],
        now: Timestamp,
        window: u64,
    ) -> Result<LoginFailures, Error> {
        let until = now.plus(window);
        let write = Write::NoteFailure(Failure { key, now, until });
        match self.write(write).await? {
            Outcome::FailureNoted(failures) => Ok(failures),
            _ => Err(Error::mixed_up()),
        }
    }

    /// The failures of a key that still count.
    pub async fn login_failures(
        &self,
        key: [u8; 16],
        now: Timestamp,
    ) -> Result<Option<LoginFailures>, Error> {
        let found = match &self.backend {
            Backend::Sqlite(db) => {
                let read = db.read(move |reader| sqlite::people::failures::find(reader, key));
                self.within(read).await?
            }
            Backend::Postgres(db) => {
                let find = postgres::people::failures::find(db, key);
                self.within(find).await?
            }
        };
        Ok(found.filter(|failures| failures.until > now))
    }

    /// Forgets the failures of a key: somebody has logged in.
    pub async fn forget_login_failures(&self, key: [u8; 16]) -> Result<(), Error> {
        match self.write(Write::ForgetFailures { key }).await? {
            Outcome::FailuresForgotten => Ok(()),
            _ => Err(Error::mixed_up()),
        }
    }
}
