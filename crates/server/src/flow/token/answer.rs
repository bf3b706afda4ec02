//! The whole of an answer is made: access token, refresh token, ID token, and what must be
//! written of them before it is sent. Nothing is written here.

use signet_oauth::family::Family;
use signet_oauth::grant::{Issue, Refresh};
use signet_oauth::secret::Secret;
use signet_oauth::time::Timestamp;
use signet_oauth::token::TokenResponse;
use std::borrow::Cow;

use super::mint::{self, Minted};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::id_token::{self, Companions};
use crate::flow::{Failure, refresh};
use crate::store::{Opening, StoredToken};

/// What is sent once everything is written.
pub(super) struct Answer {
    issue: Issue,
    minted: Minted,
    family: Option<Family>,
    refresh_token: Option<Secret>,
    id_token: Option<String>,
}

/// What a new family begins with. Drawn once for a request: where an answer must be made again,
/// because its token's place was taken, the family may have been written already.
#[derive(Clone, Copy)]
pub(super) struct Seed {
    id: [u8; 16],
    secret: [u8; 32],
}

impl Seed {
    /// Random.
    pub(super) fn draw(app: &App) -> Self {
        Self {
            id: app.rng.array(),
            secret: app.rng.array(),
        }
    }
}

/// What an answer carries on.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    /// Nothing yet; where it opens a family, that begins with this.
    New(&'a Seed),
    /// A token of this family.
    Family(&'a Family),
    /// This signed refresh token.
    Signed(&'a str),
}

impl Answer {
    /// An access token alone.
    pub(super) fn of(minted: Minted, issue: Issue) -> Self {
        Self {
            issue,
            minted,
            family: None,
            refresh_token: None,
            id_token: None,
        }
    }

    /// Draws and signs everything that was decided on.
    pub(super) async fn make(
        app: &App,
        client: &CachedClient,
        mut issue: Issue,
        origin: Origin<'_>,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let opens = matches!(issue.refresh, Refresh::Open(_) | Refresh::Sign(_));
        if let (true, None, Origin::New(seed)) = (opens, issue.family, origin) {
            issue.family = Some(seed.id);
        }
        let minted = mint::draw(app, client, &issue, now).await?;
        let id = issue.family.unwrap_or_default();
        let mut family = None;
        let refresh_token = match (&issue.refresh, origin) {
            (Refresh::Open(terms), Origin::New(seed)) => {
                let opened = Family::open(id, seed.secret, terms.clone());
                let token = refresh::render(app, &opened, opened.generation);
                family = Some(opened);
                Some(token)
            }
            (Refresh::Sign(terms), _) => Some(refresh::sign(app, id, terms)),
            (Refresh::Successor(generation), Origin::Family(family)) => {
                Some(refresh::render(app, family, *generation))
            }
            (Refresh::Keep, Origin::Signed(text)) => Some(Secret::new(text)),
            (Refresh::None | Refresh::Open(_) | Refresh::Successor(_) | Refresh::Keep, _) => None,
        };
        let id_token = match &issue.id_token {
            None => None,
            Some(wish) => {
                let beside = Companions {
                    access_token: Some(&minted.text),
                    code: None,
                };
                Some(id_token::issue(app, &client.client, wish, beside).await?)
            }
        };
        Ok(Self {
            issue,
            minted,
            family,
            refresh_token,
            id_token,
        })
    }

    /// The row of the access token, where it is persisted.
    pub(super) fn row(&self) -> Option<StoredToken> {
        mint::row(&self.issue, &self.minted.token)
    }

    /// All that must be written; whether a client takes part in a session is not known here.
    pub(super) fn opening(&self) -> Opening {
        Opening {
            family: self.family.clone(),
            token: self.row(),
            session_client: None,
        }
    }

    /// The JSON of RFC 6749 §5.1.
    pub(super) fn render(&self, app: &App, now: Timestamp) -> Vec<u8> {
        app.metrics
            .tokens_issued(self.issue.form, self.issue.persistence);
        let text = &self.minted.text;
        let response = TokenResponse {
            access_token: text.as_str().into(),
            token_type: "Bearer",
            expires_in: now.until(self.minted.token.expires_at),
            scope: self.issue.scope.as_str().into(),
            refresh_token: self.refresh_token.as_ref().map(|one| one.expose().into()),
            id_token: self.id_token.as_deref().map(Cow::Borrowed),
        };
        let more = self.id_token.as_ref().map_or(0, String::len);
        let mut out = Vec::with_capacity(text.len() + more + 224);
        // Writing plain text into a Vec cannot fail.
        let _infallible = serde_json::to_writer(&mut out, &response);
        out
    }
}
