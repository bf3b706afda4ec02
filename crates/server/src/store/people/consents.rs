//! Consents in the store: what a user allowed a client. They are written with the login.

use signet_oauth::consent::Consent;
use signet_oauth::ids::ClientId;
use signet_oauth::log::LogRow;
use signet_oauth::time::Timestamp;
use signet_oauth::user::UserId;

use crate::store::error::Error;
use crate::store::op::{Outcome, Write};
use crate::store::{Backend, Store, postgres, sqlite};

/// What came of a withdrawal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withdrawn {
    /// There was a consent.
    pub found: bool,
    /// What tells the others: the change, and the end of each family.
    pub rows: Vec<LogRow>,
}

impl Store {
    /// What a user allowed a client. It may have expired.
    pub async fn find_consent(
        &self,
        user: &UserId,
        client: &ClientId,
    ) -> Result<Option<Consent>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let (user, client) = (user.clone(), client.clone());
                let read =
                    db.read(move |reader| sqlite::people::consents::find(reader, &user, &client));
                self.within(read).await
            }
            Backend::Postgres(db) => {
                let find = postgres::people::consents::find(db, user, client);
                self.within(find).await
            }
        }
    }

    /// What a user allowed, in the order of the clients.
    pub async fn list_consents(&self, user: &UserId) -> Result<Vec<Consent>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let user = user.clone();
                let read = db.read(move |reader| sqlite::people::consents::list(reader, &user));
                self.within(read).await
            }
            Backend::Postgres(db) => {
                let list = postgres::people::consents::list(db, user);
                self.within(list).await
            }
        }
    }

    /// Withdraws what a user allowed a client, and ends the families of tokens that the client
    /// has of the user. `until` is when the last of their tokens will have expired.
    pub async fn withdraw_consent(
        &self,
        user: &UserId,
        client: &ClientId,
        until: Timestamp,
    ) -> Result<Withdrawn, Error> {
        let write = Write::WithdrawConsent {
            user: user.clone(),
            client: client.clone(),
            until,
        };
        match self.write(write).await? {
            Outcome::ConsentWithdrawn(withdrawn) => Ok(withdrawn),
            _ => Err(Error::mixed_up()),
        }
    }
}
