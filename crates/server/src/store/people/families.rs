//! Families of tokens: opened by a code or a password, rotated by refresh tokens. Of everything
//! that races for a code or a generation one wins, by one guarded statement; the row stores its
//! attempt, so that a retry after an unknown outcome finds its own victory.

use signet_oauth::family::Family;
use signet_oauth::time::Timestamp;

use super::sessions::SessionClient;
use crate::store::error::Error;
use crate::store::op::{Outcome, Write};
use crate::store::tokens::StoredToken;
use crate::store::{Backend, Store, postgres, sqlite};

/// What is written when a grant is answered, all of it by one durable write.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The family, where there is a refresh token that rotates.
    pub family: Option<Family>,
    /// The access token, where it is persisted. Its `live` slot does not count here.
    pub token: Option<StoredToken>,
    /// The client, where it takes part in a session.
    pub session_client: Option<SessionClient>,
}

/// A code that is to be redeemed.
#[derive(Clone, Debug)]
pub struct Redemption {
    /// Its id, which is that of the family.
    pub code_id: [u8; 16],
    /// When it expires: sealed into it with the id, so that a replayed one cannot change either.
    pub expires_at: Timestamp,
    /// Names this redemption: the same one again has won again.
    pub attempt: [u8; 16],
    /// What is written where it wins; nothing where the code is only burned.
    pub opening: Opening,
}

/// What came of a redemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redeemed {
    /// This attempt redeemed it, and everything is written.
    Won,
    /// This attempt redeemed it, but another token lies at the locator of its token: redeem it
    /// again by the same attempt with another token.
    TokenTaken,
    /// Another attempt was before.
    Replayed {
        /// The family that came of the code.
        family: [u8; 16],
    },
    /// It has expired by the database's clock: whether it was redeemed is not remembered.
    Expired,
}

/// What came of an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Everything is written.
    Done,
    /// All but the token, whose locator another one has: open it again with another token.
    TokenTaken,
}

/// What came of a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rotated {
    /// This attempt rotated it; as it is now.
    Done(Box<Family>),
    /// The same, but another token lies at the locator of the token: rotate again from the same
    /// generation by the same attempt with another token.
    TokenTaken,
    /// Its generation is another one: as it is now; `None`: there is no such family, or it has
    /// ended.
    Lost(Option<Box<Family>>),
}

/// A rotation that is tried.
#[derive(Clone, Debug)]
pub struct Rotation {
    /// The family.
    pub id: [u8; 16],
    /// The generation that it was found with.
    pub from: u32,
    /// When it was found alive; when its successor was made, where this wins.
    pub now: Timestamp,
    /// The access token that goes with the successor, where it is persisted.
    pub token: Option<StoredToken>,
    /// Names this rotation: the same one again has won again, until the next one.
    pub attempt: [u8; 16],
}

impl Store {
    /// Redeems a code: its id is used up, and family, token and participation are written, all of
    /// it by one durable write.
    pub async fn redeem_code(&self, redemption: Redemption) -> Result<Redeemed, Error> {
        let write = Write::RedeemCode(Box::new(redemption));
        match self.write(write).await? {
            Outcome::Redeemed(redeemed) => Ok(redeemed),
            _ => Err(Error::mixed_up()),
        }
    }

    /// Writes what a grant without a code opens. The same family again is the same family.
    pub async fn open_family(&self, opening: Opening) -> Result<Opened, Error> {
        match self.write(Write::OpenFamily(Box::new(opening))).await? {
            Outcome::Opened(opened) => Ok(opened),
            _ => Err(Error::mixed_up()),
        }
    }

    /// The family of this id, where it has not ended. It may have expired.
    pub async fn find_family(&self, id: [u8; 16]) -> Result<Option<Family>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let read = db.read(move |reader| sqlite::people::families::find(reader, id));
                self.within(read).await
            }
            Backend::Postgres(db) => self.within(postgres::people::families::find(db, id)).await,
        }
    }

    /// Rotates a family where its generation is still the one that was found, and writes the token
    /// that goes with it, by one durable write. That the family expired is not asked again.
    pub async fn rotate_family(&self, rotation: Rotation) -> Result<Rotated, Error> {
        let write = Write::RotateFamily(Box::new(rotation));
        match self.write(write).await? {
            Outcome::Rotated(rotated) => Ok(rotated),
            _ => Err(Error::mixed_up()),
        }
    }
}
