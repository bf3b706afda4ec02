//! Sessions in the store. The browser carries its session itself; the rows are for people who
//! want to see where they are logged in, and for whom to tell when a session ends.

use signet_oauth::consent::Consent;
use signet_oauth::ids::ClientId;
use signet_oauth::session::Session;
use signet_oauth::time::Timestamp;
use signet_oauth::user::UserId;

use crate::store::error::Error;
use crate::store::op::{Outcome, Write};
use crate::store::{Backend, Store, postgres, sqlite};

/// What a login leaves behind: what is new of these.
#[derive(Clone, Debug, Default)]
pub struct NewLogin {
    /// The session; the same id again is the same session.
    pub session: Option<Session>,
    /// The consent; it replaces that of the same user and client.
    pub consent: Option<Consent>,
}

/// A client that takes part in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionClient {
    /// The session.
    pub session: [u8; 16],
    /// The client.
    pub client: ClientId,
    /// When the session expires.
    pub until: Timestamp,
}

impl Store {
    /// Writes a login: session and consent by one durable write.
    pub async fn log_in(&self, login: NewLogin) -> Result<(), Error> {
        match self.write(Write::LogIn(Box::new(login))).await? {
            Outcome::LoggedIn => Ok(()),
            _ => Err(Error::mixed_up()),
        }
    }

    /// The session of this id, where it has not ended. It may have expired.
    pub async fn find_session(&self, id: [u8; 16]) -> Result<Option<Session>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let read = db.read(move |reader| sqlite::people::sessions::find(reader, id));
                self.within(read).await
            }
            Backend::Postgres(db) => self.within(postgres::people::sessions::find(db, id)).await,
        }
    }

    /// The sessions of a user that have not ended, newest first. Some may have expired.
    pub async fn list_sessions(&self, user: &UserId) -> Result<Vec<Session>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let user = user.clone();
                let read = db.read(move |reader| sqlite::people::sessions::list(reader, &user));
                self.within(read).await
            }
            Backend::Postgres(db) => {
                let list = postgres::people::sessions::list(db, user);
                self.within(list).await
            }
        }
    }

    /// The clients that took part in a session, also when it has ended, in the order of their ids.
    pub async fn session_clients(&self, session: [u8; 16]) -> Result<Vec<ClientId>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let read =
                    db.read(move |reader| sqlite::people::sessions::clients(reader, session));
                self.within(read).await
            }
            Backend::Postgres(db) => {
                let list = postgres::people::sessions::clients(db, session);
                self.within(list).await
            }
        }
    }
}
