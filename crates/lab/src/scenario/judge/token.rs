//! The answer of the token endpoint (RFC 6749 section 5.1) and a signed access token in it (RFC 9068).
//! It must not know which grant it was.

use std::borrow::Cow;

use aws_lc_rs::digest::{SHA256, digest};
use http::header;
use serde::Deserialize;

use super::answer::{self, shown, wrong};
use crate::call::{Reply, Wrong};
use crate::scenario::jose::claims::Claims;
use crate::scenario::jose::jwk::KeySet;
use crate::scenario::jose::jws::{Compact, is_compact};

#[derive(Deserialize)]
pub(crate) struct TokenResponse<'a> {
    #[serde(borrow)]
    pub(crate) access_token: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) token_type: Cow<'a, str>,
    pub(crate) expires_in: Option<f64>,
    #[serde(borrow)]
    pub(crate) scope: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) refresh_token: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) id_token: Option<Cow<'a, str>>,
}

/// Whether access tokens are to be signed ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TokenForm {
    #[default]
    Any,
    Jwt,
    Opaque,
}

/// What an access token is judged by.
#[derive(Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) audience: Option<&'a str>,
    /// The words that were asked for.
    pub(crate) scope: Option<&'a str>,
    pub(crate) form: TokenForm,
    pub(crate) keys: &'a KeySet,
    pub(crate) time: Time,
}

/// Now, and by how much the server's clock may differ, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    pub(crate) now: u64,
    pub(crate) leeway: u64,
}

/// The first 64 bits of the digest of the access token in an answer, if there is one.
pub(crate) fn fingerprint(reply: &Reply) -> Option<u64> {
    #[derive(Deserialize)]
    struct AccessTokenResponse<'a> {
        #[serde(borrow)]
        access_token: Cow<'a, str>,
    }
    let response: AccessTokenResponse<'_> = serde_json::from_slice(&reply.body).ok()?;
    let digest = digest(&SHA256, response.access_token.as_bytes());
    let first = digest.as_ref().first_chunk()?;
    Some(u64::from_be_bytes(*first))
}

/// The members and their types.
pub(crate) fn shape(reply: &Reply) -> Result<TokenResponse<'_>, Wrong> {
    answer::status(reply, &[200])?;
    let response: TokenResponse<'_> = answer::json(reply)?;
    if response.access_token.is_empty() {
        return Err(wrong("access_token", "it is empty"));
    }
    if !response.token_type.eq_ignore_ascii_case("bearer") {
        let came = shown(&response.token_type);
        return Err(wrong(
            "token_type",
            format!("Bearer expected, {came:?} came"),
        ));
    }
    if response.expires_in.is_some_and(|seconds| seconds <= 0.0) {
        return Err(wrong("expires_in", "the token is dead on arrival"));
    }
    Ok(response)
}

/// What only a sceptic checks.
pub(crate) fn full(
    reply: &Reply,
    response: &TokenResponse<'_>,
    expected: &Expected<'_>,
) -> Result<(), Wrong> {
    let kept = reply.headers.get_all(header::CACHE_CONTROL);
    let is_kept_private = |value: &http::HeaderValue| {
        let text = value.to_str().unwrap_or_default();
        text.to_ascii_lowercase().contains("no-store")
    };
    if !kept.iter().any(is_kept_private) {
        return Err(wrong("cache-control", "a token answer says no-store"));
    }
    if let (Some(asked), Some(granted)) = (expected.scope, &response.scope) {
        covers(asked, &granted.split(' ').collect::<Vec<_>>())?;
    }
    let is_signed = is_compact(&response.access_token);
    match (expected.form, is_signed) {
        (TokenForm::Jwt, false) => Err(wrong("access_token", "a JWT expected, another form came")),
        (TokenForm::Opaque, true) => Err(wrong("access_token", "opaque expected, a JWT came")),
        (_, true) => access_token(&response.access_token, expected),
        (_, false) => Ok(()),
    }
}

fn covers(asked: &str, granted: &[&str]) -> Result<(), Wrong> {
    let mut asked = asked.split_whitespace();
    match asked.find(|word| !granted.contains(word)) {
        None => Ok(()),
        Some(word) => Err(wrong("scope", format!("{word:?} was not granted"))),
    }
}

fn access_token(token: &str, expected: &Expected<'_>) -> Result<(), Wrong> {
    let signature = |bad: crate::scenario::jose::jws::BadToken| {
        wrong("signature", format!("access token: {bad}"))
    };
    let token = Compact::parse(token).map_err(signature)?;
    expected.keys.verify(&token).map_err(signature)?;
    let claims = Claims::of(&token).map_err(signature)?;
    issued_by(&claims, expected.issuer)?;
    if let Some(audience) = expected.audience {
        names_audience(&claims, audience)?;
    }
    let client = claims.client_id.as_ref().or(claims.azp.as_ref());
    if client.is_some_and(|client| client != expected.client_id) {
        return Err(wrong("client_id", "the access token is another client's"));
    }
    if let (Some(asked), Some(granted)) = (expected.scope, claims.scopes()) {
        covers(asked, &granted)?;
    }
    in_time(&claims, expected.time)
}

pub(super) fn issued_by(claims: &Claims, issuer: &str) -> Result<(), Wrong> {
    match claims.iss.as_deref() {
        Some(iss) if iss == issuer => Ok(()),
        came => {
            let came = came.map(shown);
            Err(wrong(
                "issuer",
                format!("{issuer:?} expected, {came:?} came"),
            ))
        }
    }
}

pub(super) fn names_audience(claims: &Claims, audience: &str) -> Result<(), Wrong> {
    if claims.audiences().iter().any(|one| one == audience) {
        return Ok(());
    }
    Err(wrong(
        "audience",
        format!(
            "{audience:?} is not among {} audiences",
            claims.audiences().len()
        ),
    ))
}

/// `exp`, `iat` and `nbf` (RFC 7519 section 4.1).
#[expect(
    clippy::cast_precision_loss,
    reason = "seconds since 1970 have 31 bits"
)]
pub(super) fn in_time(claims: &Claims, time: Time) -> Result<(), Wrong> {
    let (now, leeway) = (time.now as f64, time.leeway as f64);
    let Some(expiry) = claims.exp else {
        return Err(wrong("expiry", "the token has no exp"));
    };
    if expiry + leeway <= now {
        return Err(wrong(
            "expiry",
            format!("the token expired {} s ago", now - expiry),
        ));
    }
    let Some(issued) = claims.iat else {
        return Err(wrong("issued_at", "the token has no iat"));
    };
    if issued > now + leeway || issued >= expiry {
        return Err(wrong(
            "issued_at",
            format!("iat is {} s ahead", issued - now),
        ));
    }
    if claims.nbf.is_some_and(|from| from > now + leeway) {
        return Err(wrong("not_before", "the token is not valid yet"));
    }
    Ok(())
}
