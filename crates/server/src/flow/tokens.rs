//! Tokens whose rows the store keeps: listed for audit, and ended one by one by their handles. Nobody
//! keeps the tokens themselves; a handle says where a row lies and that it is this one.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use signet_oauth::client::TokenForm;
use signet_oauth::ids::{ClientId, TokenId};
use signet_oauth::log::EventKey;
use signet_oauth::token::{AccessToken, Liveness};

use super::{Failure, introspect, not_found};
use crate::app::App;
use crate::cache::CachedToken;
use crate::store::{Ending, EndingKind, ListedToken};

/// Looks at the store for one page, at most; each is at a bounded number of rows.
const LOOKS: usize = 8;

/// The name of a row: its place, and the key of the token that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    locator: i64,
    key: EventKey,
}

impl Handle {
    /// Reads what [`Handle::render`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 24];
        let read = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        let (locator, key) = bytes.split_at(8);
        let handle = Self {
            locator: i64::from_be_bytes(locator.try_into().ok()?),
            key: key.try_into().ok()?,
        };
        (read == bytes.len() && handle.locator >= 0).then_some(handle)
    }

    /// 32 characters.
    pub fn render(self) -> String {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.locator.to_be_bytes());
        bytes[8..].copy_from_slice(&self.key);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// A handle that stands for a place alone: where a page ends.
    fn at(locator: i64) -> Self {
        Self {
            locator,
            key: EventKey::default(),
        }
    }

    fn of(token: &ListedToken) -> Self {
        Self {
            locator: token.locator,
            key: token.key,
        }
    }
}

/// A token as it is listed.
#[derive(Clone, Debug)]
pub struct Listed {
    /// By this it can be ended.
    pub handle: Handle,
    /// What it says; its id is not known.
    pub token: AccessToken,
    /// What it looks like.
    pub form: TokenForm,
    /// Whether it is still good.
    pub is_active: bool,
}

/// Tokens of a client, soonest to expire first.
#[derive(Clone, Debug)]
pub struct TokensPage {
    /// At most as many as were asked for; fewer, although there are more, where others' tokens lie
    /// between them.
    pub tokens: Vec<Listed>,
    /// Where the next page begins; `None`: that was all.
    pub next: Option<Handle>,
}

/// A page of the tokens of a client.
pub async fn list(
    app: &App,
    client: &ClientId,
    after: Option<Handle>,
    limit: u32,
) -> Result<TokensPage, Failure> {
    let found = app.find_client(client).await?;
    found.ok_or_else(|| not_found("client"))?;
    let mut page = TokensPage {
        tokens: Vec::new(),
        next: after,
    };
    for _ in 0..LOOKS {
        let missing = limit.saturating_sub(u32::try_from(page.tokens.len()).unwrap_or(limit));
        let after = page.next.map(|handle| handle.locator);
        let found = app.store.list_tokens(client, after, missing).await?;
        for token in found.tokens {
            page.tokens.extend(listed(app, token).await?);
        }
        page.next = found.next.map(Handle::at);
        if page.next.is_none() || page.tokens.len() >= limit as usize {
            break;
        }
    }
    Ok(page)
}

async fn listed(app: &App, row: ListedToken) -> Result<Option<Listed>, Failure> {
    let handle = Handle::of(&row);
    let now = app.clock.now();
    // Rows outlive their tokens for a while.
    if row.expires_at <= now {
        return Ok(None);
    }
    // The random half of the id is nowhere to be found, and life and death do not depend on it.
    let mut bytes = [0; TokenId::LEN];
    bytes[..8].copy_from_slice(&row.locator.to_be_bytes());
    let Some(id) = TokenId::from_bytes(&bytes) else {
        return Ok(None);
    };
    let (token, form) = row.into_token(id);
    let found = CachedToken {
        key: handle.key,
        ..CachedToken::new(token)
    };
    let liveness = introspect::liveness(app, &found, now).await?;
    Ok(Some(Listed {
        handle,
        token: found.token,
        form,
        is_active: liveness == Liveness::Alive,
    }))
}

/// Ends the token of a client that lies there. It is durable, and known here, when this returns.
pub async fn end(app: &App, client: &ClientId, handle: Handle) -> Result<(), Failure> {
    let before = handle.locator - 1;
    let page = app.store.list_tokens(client, Some(before), 1).await?;
    let is_it = |token: &&ListedToken| Handle::of(token) == handle;
    let row = page.tokens.iter().find(is_it);
    let row = row.ok_or_else(|| not_found("token of this client; it may have expired"))?;
    let ending = Ending {
        kind: EndingKind::Token,
        key: handle.key,
        until: row.expires_at,
    };
    app.store.end(vec![ending]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_handle_is_read_as_it_was_written(locator in 0..=i64::MAX, key: [u8; 16]) {
            let handle = Handle { locator, key };
            prop_assert_eq!(Handle::parse(&handle.render()), Some(handle));
            prop_assert_eq!(Handle::parse(&handle.render()[1..]), None);
            let negative = Handle { locator: !locator, key };
            prop_assert_eq!(Handle::parse(&negative.render()), None);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _parsed = Handle::parse(&text);
        }
    }
}
