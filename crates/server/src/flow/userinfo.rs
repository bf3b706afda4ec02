//! Userinfo (OIDC Core §5.3): the facts about a presented token and its user; the law decides what
//! the bearer may learn.

use signet_oauth::jose::Algorithm;
use signet_oauth::user::User;
use signet_oauth::{Error, ErrorCode, userinfo};
use std::sync::Arc;

use super::{Failure, introspect, keys};
use crate::app::App;
use crate::cache::CachedToken;

/// The answer, in the form that the client is registered for.
#[derive(Debug)]
pub enum UserInfo {
    /// JSON.
    Plain(Vec<u8>),
    /// A JWT (OIDC Core §5.3.2).
    Signed(String),
}

/// What the bearer of this token may learn.
pub async fn find(app: &App, text: &str) -> Result<UserInfo, Failure> {
    let now = app.clock.now();
    let found = introspect::find(app, text, now).await?.ok_or_else(|| {
        Error::new(
            ErrorCode::InvalidToken,
            "this is no access token of this server, or no longer one",
            "token_unknown",
        )
    })?;
    let liveness = introspect::liveness(app, &found, now).await?;
    let user = user(app, &found).await?;
    let issuer = &app.grants.issuer;
    let members = userinfo::decide(&found.token, liveness, user.as_deref(), issuer)?;
    let client = &found.token.client;
    let Some(algorithm) = algorithm(app, &found).await? else {
        let text = serde_json::to_vec(&members).unwrap_or_default();
        return Ok(UserInfo::Plain(text));
    };
    let claims = userinfo::sign(members, issuer, client);
    let signed = keys::sign(app, algorithm, "JWT", &claims).await?;
    Ok(UserInfo::Signed(signed))
}

async fn user(app: &App, found: &CachedToken) -> Result<Option<Arc<User>>, Failure> {
    let Some(key) = &found.user else {
        return Ok(None);
    };
    Ok(app.find_user_by_key(key, &found.token.subject).await?)
}

async fn algorithm(app: &App, found: &CachedToken) -> Result<Option<Algorithm>, Failure> {
    let client = app.find_client(&found.token.client).await?;
    let name = client.and_then(|found| {
        let name = &found.client.metadata.userinfo_signed_response_alg;
        name.as_deref().and_then(Algorithm::parse)
    });
    Ok(name)
}

/// The token of an `Authorization: Bearer` header (RFC 6750 §2.1).
pub fn bearer(header: &[u8]) -> Option<&str> {
    let (scheme, token) = header.split_at_checked(7)?;
    let token = std::str::from_utf8(token).ok()?.trim();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}
