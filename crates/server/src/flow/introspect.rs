//! A presented token is found and judged: opaque or JWT, here or at any other door.

use signet_guard::Kind;
use signet_guard::TokenDigest;
use signet_oauth::ids::ClientId;
use signet_oauth::introspection::{self, Caller, IntrospectionResponse};
use signet_oauth::log::EventKey;
use signet_oauth::time::Timestamp;
use signet_oauth::token::{Known, Liveness};
use signet_oauth::{Error, log, opaque};
use std::sync::Arc;

use super::{Failure, operate};
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
        let key = log::token_key(token.id);
        let token = Arc::new(CachedToken { token, key });
        app.caches.tokens.insert(digest, Arc::clone(&token));
        token
    }))
}

/// Dead or alive, on everything that this node knows.
pub async fn liveness(app: &App, found: &CachedToken, now: Timestamp) -> Result<Liveness, Failure> {
    operate::fresh(app)?;
    let first = found.token.liveness(known(app, found).await?, now);
    if first != Liveness::Behind {
        return Ok(first);
    }
    // The token was decided on newer facts than ours: read the log to its end and look again.
    Box::pin(app.follower.catch_up(&app.store)).await?;
    app.caches
        .clients
        .invalidate(&found.token.client, app.follower.position());
    Ok(match found.token.liveness(known(app, found).await?, now) {
        Liveness::Behind => Liveness::Dead("token_from_the_future"),
        decided => decided,
    })
}

async fn known(app: &App, found: &CachedToken) -> Result<Known, Failure> {
    let client = app.find_client(&found.token.client).await?;
    let client_generation = client
        .filter(|c| c.client.enabled)
        .map(|c| c.client.generation);
    let of = |kind, key: &EventKey| app.revoked.ended.contains(kind, key);
    let ended = of(Kind::Token, &found.key)
        || found
            .token
            .family
            .is_some_and(|family| of(Kind::Family, &family))
        || found
            .token
            .session
            .is_some_and(|session| of(Kind::Session, &session));
    Ok(Known {
        ended,
        client_generation,
        user_generation: None,
    })
}

/// The JSON of RFC 7662 §2.2 for this caller.
pub async fn introspect(app: &App, caller: Caller<'_>, text: &str) -> Result<Vec<u8>, Failure> {
    let now = app.clock.now();
    let Some(found) = find(app, text, now).await? else {
        return Ok(IntrospectionResponse::inactive().render());
    };
    let liveness = liveness(app, &found, now).await?;
    Ok(introspection::decide(caller, Some(&found.token), liveness, &app.grants.issuer).render())
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
