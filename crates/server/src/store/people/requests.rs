//! Pushed authorization requests (RFC 9126) that do not fit into a URL: rows for authenticated
//! clients only, gone when they expire. The body arrives sealed or not: it is not known here.

use signet_oauth::ids::ClientId;
use signet_oauth::time::Timestamp;

use crate::store::error::Error;
use crate::store::op::{Outcome, Write};
use crate::store::{Backend, Store, postgres, sqlite};

/// A request that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedRequest {
    /// Random.
    pub id: [u8; 16],
    /// When it expires: a part of its name.
    pub expires_at: Timestamp,
    /// Who pushed it.
    pub client: ClientId,
    /// What it says.
    pub body: Vec<u8>,
}

impl Store {
    /// Keeps a request. It is durable when this returns.
    pub async fn push_request(&self, request: PushedRequest) -> Result<(), Error> {
        match self.write(Write::PushRequest(Box::new(request))).await? {
            Outcome::RequestPushed => Ok(()),
            _ => Err(Error::mixed_up()),
        }
    }

    /// The request of this id that expires at this instant. Its single use is that of
    /// [`Store::use_assertion`].
    pub async fn find_request(
        &self,
        id: [u8; 16],
        expires_at: Timestamp,
    ) -> Result<Option<PushedRequest>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let read =
                    db.read(move |reader| sqlite::people::requests::find(reader, id, expires_at));
                self.within(read).await
            }
            Backend::Postgres(db) => {
                let find = postgres::people::requests::find(db, id, expires_at);
                self.within(find).await
            }
        }
    }
}
