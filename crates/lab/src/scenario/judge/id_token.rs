//! An ID token as a relying party must judge it (OIDC Core sections 3.1.3.7, 3.1.3.8 and
//! 12.2). It must not know how it came.

use super::answer::wrong;
use super::token::{Time, in_time, issued_by, names_audience};
use crate::call::Wrong;
use crate::scenario::jose::claims::Claims;
use crate::scenario::jose::jwk::KeySet;
use crate::scenario::jose::jws::{Algorithm, BadToken, Compact};

#[derive(Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    /// The key of HS256, where that is the algorithm.
    pub(crate) client_secret: &'a str,
    /// The algorithm that the client registered; any with a public key where it did not.
    pub(crate) algorithm: Option<Algorithm>,
    /// What was sent, and must come back; not judged where nothing was.
    pub(crate) nonce: Option<&'a str>,
    pub(crate) access_token: &'a str,
    pub(crate) needs_at_hash: bool,
    pub(crate) code: Option<&'a str>,
    /// Seconds since the user logged in, at most; `auth_time` must be there.
    pub(crate) max_age: Option<u64>,
    /// Who it was in an earlier token.
    pub(crate) subject: Option<&'a str>,
    pub(crate) keys: &'a KeySet,
    pub(crate) time: Time,
}

/// The subject of a token that is right.
pub(crate) fn judge(token: &str, expected: &Expected<'_>) -> Result<String, Wrong> {
    let signature = |bad: BadToken| wrong("signature", format!("ID token: {bad}"));
    let token = Compact::parse(token).map_err(signature)?;
    let algorithm = verify(&token, expected).map_err(signature)?;
    let claims = Claims::of(&token).map_err(signature)?;
    issued_by(&claims, expected.issuer)?;
    names_audience(&claims, expected.client_id)?;
    authorized_party(&claims, expected.client_id)?;
    in_time(&claims, expected.time)?;
    if expected.nonce.is_some() && claims.nonce.as_deref() != expected.nonce {
        let came = if claims.nonce.is_some() {
            "another"
        } else {
            "none"
        };
        return Err(wrong("nonce", format!("not what was sent: {came} came")));
    }
    hashes(&claims, algorithm, expected)?;
    recent(&claims, expected)?;
    match claims.sub {
        None => Err(wrong("subject", "the ID token has no sub")),
        Some(sub) if sub.is_empty() => Err(wrong("subject", "the sub is empty")),
        Some(sub) if expected.subject.is_some_and(|known| known != sub) => {
            Err(wrong("subject", "another user's than before"))
        }
        Some(sub) => Ok(sub),
    }
}

fn verify(token: &Compact<'_>, expected: &Expected<'_>) -> Result<Algorithm, BadToken> {
    if expected.algorithm == Some(Algorithm::Hs256) {
        return token.verify_shared(expected.client_secret.as_bytes());
    }
    let algorithm = expected.keys.verify(token)?;
    match expected.algorithm {
        Some(registered) if registered != algorithm => Err(BadToken::Algorithm(format!(
            "{algorithm:?} instead of {registered:?}"
        ))),
        _ => Ok(algorithm),
    }
}

fn authorized_party(claims: &Claims, client_id: &str) -> Result<(), Wrong> {
    match claims.azp.as_deref() {
        Some(azp) if azp == client_id => Ok(()),
        Some(_) => Err(wrong("azp", "the token was issued to another client")),
        None if claims.audiences().len() > 1 => Err(wrong(
            "azp",
            "several audiences, and no azp to tell the client",
        )),
        None => Ok(()),
    }
}

fn hashes(claims: &Claims, algorithm: Algorithm, expected: &Expected<'_>) -> Result<(), Wrong> {
    match &claims.at_hash {
        Some(hash) if *hash == algorithm.half_hash(expected.access_token) => {}
        Some(_) => return Err(wrong("at_hash", "it is not the access token's")),
        None if expected.needs_at_hash => return Err(wrong("at_hash", "the ID token has none")),
        None => {}
    }
    let (Some(hash), Some(code)) = (&claims.c_hash, expected.code) else {
        return Ok(());
    };
    if *hash == algorithm.half_hash(code) {
        return Ok(());
    }
    Err(wrong("c_hash", "it is not the code's"))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "seconds since 1970 have 31 bits"
)]
fn recent(claims: &Claims, expected: &Expected<'_>) -> Result<(), Wrong> {
    let Some(max_age) = expected.max_age else {
        return Ok(());
    };
    let Some(at) = claims.auth_time else {
        return Err(wrong(
            "auth_time",
            "max_age was asked for, and there is none",
        ));
    };
    let oldest = expected
        .time
        .now
        .saturating_sub(max_age + expected.time.leeway);
    let newest = expected.time.now + expected.time.leeway;
    if at < oldest as f64 || at > newest as f64 {
        return Err(wrong(
            "auth_time",
            "the login is older than max_age, or ahead of now",
        ));
    }
    Ok(())
}
