//! A presented token is found and judged: opaque or JWT, here or at any other door.

use signet_guard::TokenDigest;
use signet_oauth::ids::ClientId;
use signet_oauth::introspection::{self, Caller, IntrospectionResponse};
use signet_oauth::time::Timestamp;
use signet_oauth::token::Liveness;
use signet_oauth::{Error, opaque};
use std::sync::Arc;

use super::liveness::{self, Ties};
use super::{Failure, refresh};
use crate::app::App;
use crate::cache::CachedToken;

/// What a presented text turned out to be, whether or not it is still valid.
pub async fn find(
    app: &App,
    text: &str,
    now: Timestamp,
) -> Result<Option<Arc<CachedToken>>, Failure> {
    let digest = TokenDigest::of(text);
    if let Some(known) = app.caches.tokens.get(&digest) {
        return Ok(Some(known));
    }
    let token = if let Some(id) = opaque::parse(text) {
        Box::pin(app.store.find_token(id))
            .await?
            .map(|(token, _)| token)
    } else {
        app.verifier
            .verify(text, now)
            .ok()
            .map(|verified| verified.token().clone())
    };
    Ok(token.map(|token| {
        let token = Arc::new(CachedToken::new(token));
        app.caches.tokens.insert(digest, Arc::clone(&token));
        token
    }))
}

/// Dead or alive, on everything that this node knows.
pub async fn liveness(app: &App, found: &CachedToken, now: Timestamp) -> Result<Liveness, Failure> {
    let law = |known| found.token.liveness(known, now);
    liveness::decide(app, Ties::of_token(found), law).await
}

/// The JSON of RFC 7662 §2.2 for this caller.
pub async fn introspect(app: &App, caller: Caller<'_>, text: &str) -> Result<Vec<u8>, Failure> {
    let now = app.clock.now();
    let Some(found) = find(app, text, now).await? else {
        return Box::pin(introspect_refresh(app, caller, text, now)).await;
    };
    let liveness = liveness(app, &found, now).await?;
    Ok(introspection::decide(caller, Some(&found.token), liveness, &app.grants.issuer).render())
}

/// The same of a refresh token, or of nothing at all.
async fn introspect_refresh(
    app: &App,
    caller: Caller<'_>,
    text: &str,
    now: Timestamp,
) -> Result<Vec<u8>, Failure> {
    let Some(presented) = refresh::find(app, text).await? else {
        return Ok(IntrospectionResponse::inactive().render());
    };
    let liveness = presented.liveness(app, now).await?;
    let current = presented.is_current(app, now);
    let (terms, issuer) = (presented.terms(), &app.grants.issuer);
    let answer = introspection::decide_refresh(caller, terms, liveness, current, issuer);
    Ok(answer.render())
}

/// The signed answer of RFC 9701 around the members.
pub async fn signed(app: &App, caller: &ClientId, members: &[u8]) -> Result<String, Failure> {
    let now = app.clock.now();
    let claims = introspection::render_signed_claims(&app.grants.issuer, caller, now.0, members);
    let client = app.find_client(caller).await?;
    let algorithm = client.and_then(|client| client.client.introspection_alg);
    Ok(app
        .signer
        .sign(algorithm, "token-introspection+jwt", &claims, now)
        .await?)
}

/// The token parameter of introspection and revocation; absurdly long ones are not tokens.
pub fn token_parameter<'a>(form: &'a signet_oauth::params::Params<'_>) -> Result<&'a str, Error> {
    form.require("token")
}
