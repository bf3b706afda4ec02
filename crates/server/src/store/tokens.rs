//! Access tokens in the store: rows lie in the order in which they expire, and are found by the
//! locator in their id. The id itself is never stored, only its key.

use signet_oauth::claims::ClaimSet;
use signet_oauth::client::TokenForm;
use signet_oauth::ids::{ClientId, TokenId};
use signet_oauth::log::EventKey;
use signet_oauth::scope::Scope;
use signet_oauth::time::Timestamp;
use signet_oauth::token::AccessToken;

use super::error::Error;
use super::op::{Outcome, Write};
use super::{Backend, Store, postgres, sqlite};

/// Rows that one call of [`Store::list_tokens`] looks at, at most.
pub(super) const SCAN_BUDGET: i64 = 20_000;

/// A token to be written.
#[derive(Clone, Debug)]
pub struct StoredToken {
    /// What it says.
    pub token: AccessToken,
    /// What it looks like.
    pub form: TokenForm,
    /// Where it is to be the one that repeated requests are answered with.
    pub live: Option<LiveSlot>,
}

/// A claim to be the live token of a kind of request (`reuse_live_token`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSlot {
    /// Digest of everything that makes two requests the same.
    pub key: [u8; 16],
    /// The locator of a live token that the caller knows to be dead; it is replaced.
    pub replace: Option<i64>,
    /// A live token that expires at this instant or earlier is replaced.
    pub now: Timestamp,
}

/// The token that repeated requests are answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveToken {
    /// Where its row lies.
    pub locator: i64,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// The generation of its client.
    pub generation: u64,
}

/// What came of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The row is durable.
    Done,
    /// Another token lies at this locator: take another one.
    Taken,
    /// Somebody was faster: this is the live token, nothing was written.
    LiveExists(LiveToken),
}

/// A token as it is listed: all but its id, which nobody keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedToken {
    /// Where its row lies.
    pub locator: i64,
    /// By this it can be ended.
    pub key: EventKey,
    /// The client that it was issued to.
    pub client: ClientId,
    /// Whom it speaks for.
    pub subject: Box<str>,
    /// What it allows.
    pub scope: Scope,
    /// For whom it is meant.
    pub audience: Vec<String>,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// What it looks like.
    pub form: TokenForm,
    /// The generation of its client on which the decision to issue rested.
    pub client_generation: u64,
    /// The same of its user.
    pub user_generation: Option<u64>,
    /// Its family.
    pub family: Option<[u8; 16]>,
    /// Its session.
    pub session: Option<[u8; 16]>,
    /// The claims that userinfo tells for it beyond those of its scope.
    pub claims: ClaimSet,
}

impl ListedToken {
    /// The token, for who knows its id.
    pub fn into_token(self, id: TokenId) -> (AccessToken, TokenForm) {
        let token = AccessToken {
            id,
            client: self.client,
            subject: self.subject,
            scope: self.scope,
            audience: self.audience,
            issued_at: self.issued_at,
            expires_at: self.expires_at,
            client_generation: self.client_generation,
            user_generation: self.user_generation,
            family: self.family,
            session: self.session,
            claims: self.claims,
        };
        (token, self.form)
    }
}

/// A part of a client's tokens, soonest to expire first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenPage {
    /// What was found; perhaps nothing, although there is more.
    pub tokens: Vec<ListedToken>,
    /// Go on behind this locator; `None`: that was all.
    pub next: Option<i64>,
}

impl Store {
    /// Writes a token. It is durable when this returns.
    pub async fn insert_token(&self, token: StoredToken) -> Result<Inserted, Error> {
        match self.write(Write::InsertToken(Box::new(token))).await? {
            Outcome::Inserted(inserted) => Ok(inserted),
            _ => Err(Error::mixed_up()),
        }
    }

    /// The token of this id. A row may be gone from the moment it expires.
    pub async fn find_token(&self, id: TokenId) -> Result<Option<(AccessToken, TokenForm)>, Error> {
        let read = match &self.backend {
            Backend::Sqlite(db) => {
                let read = db.read(move |reader| sqlite::tokens::find(reader, id));
                self.within(read).await
            }
            Backend::Postgres(db) => self.within(postgres::tokens::find(db, id)).await,
        };
        Ok(read?.map(|listed| listed.into_token(id)))
    }

    /// Tokens of a client behind a locator. One call looks at a bounded number of rows and may
    /// find none of them to be the client's: go on while there is a `next`.
    pub async fn list_tokens(
        &self,
        client: &ClientId,
        after: Option<i64>,
        limit: u32,
    ) -> Result<TokenPage, Error> {
        let after = after.unwrap_or(-1);
        match &self.backend {
            Backend::Sqlite(db) => {
                let client = client.clone();
                let list =
                    db.read(move |reader| sqlite::tokens::list(reader, &client, after, limit));
                self.within(list).await
            }
            Backend::Postgres(db) => {
                let list = postgres::tokens::list(db, client, after, limit);
                self.within(list).await
            }
        }
    }

    /// The live token of a kind of request; it may have expired.
    pub async fn find_live(&self, key: [u8; 16]) -> Result<Option<LiveToken>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let read = db.read(move |reader| sqlite::tokens::find_live(reader, key));
                self.within(read).await
            }
            Backend::Postgres(db) => self.within(postgres::tokens::find_live(db, key)).await,
        }
    }
}
