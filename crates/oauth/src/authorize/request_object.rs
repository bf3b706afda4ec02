//! Request objects by value (RFC 9101, OIDC Core §6.1): the request as a signed JWT. Whether the
//! signature is right is found out elsewhere; what may sign it, and what it must say, is here.
//! Only what is inside counts (RFC 9101 §6.3).

use serde_json::{Map, Value};

use crate::client::Client;
use crate::error::{Error, ErrorCode};
use crate::ids::ClientId;
use crate::jose::{Algorithm, Claims, Header};
use crate::params::Params;
use crate::time::Timestamp;

/// The algorithms that may sign one.
pub const ALGORITHMS: [Algorithm; 4] = [
    Algorithm::Es256,
    Algorithm::EdDsa,
    Algorithm::Rs256,
    Algorithm::Ps256,
];

/// The longest life that one may claim, in seconds.
const MAX_LIFE: u64 = 3600;
/// Seconds by which the clock of a client may be ahead of ours.
const LEEWAY: u64 = 30;

/// Where the parameters of a request are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// In the request itself.
    Plain,
    /// In this JWT.
    Object(&'a str),
    /// Behind this reference: what [`super::par`] wrote, or nothing that we know.
    Reference(&'a str),
}

/// Finds out where the parameters are.
pub fn find<'a>(params: &'a Params<'_>) -> Result<Source<'a>, Error> {
    match (params.get("request"), params.get("request_uri")) {
        (None, None) => Ok(Source::Plain),
        (Some(jwt), None) => Ok(Source::Object(jwt)),
        (None, Some(uri)) => Ok(Source::Reference(uri)),
        (Some(_), Some(_)) => Err(Error::request(
            "send request or request_uri, not both",
            "request_twice",
        )),
    }
}

/// `request_not_supported` for objects that say `alg: none`, `invalid_request_object` for texts
/// that are no JWT: what to answer where the JWT could not be taken apart.
pub fn unreadable(error: crate::jose::Error) -> Error {
    match error {
        crate::jose::Error::UnknownAlgorithm => Error::new(
            ErrorCode::RequestNotSupported,
            "request objects must be signed, with ES256, EdDSA, RS256 or PS256",
            "request_object_alg",
        ),
        other => invalid("the request object is not a JWT", other.reason()),
    }
}

/// Whether an object with this header may be verified with the client's keys.
pub fn check_header(client: &Client, header: &Header) -> Result<(), Error> {
    let alg = header.algorithm();
    let registered = client.metadata.request_object_signing_alg.as_deref();
    if !ALGORITHMS.contains(&alg) || registered.is_some_and(|only| only != alg.name()) {
        return Err(invalid(
            "the client may not sign request objects with this algorithm",
            "request_object_alg",
        ));
    }
    // A JWT of another kind is not a request (RFC 9101 §10.8, RFC 8725 §3.11).
    let is_request = header.typ().is_none()
        || ["oauth-authz-req+jwt", "JWT"]
            .into_iter()
            .any(|typ| header.is_typ(typ));
    if is_request {
        Ok(())
    } else {
        Err(invalid(
            "the type of the JWT is not oauth-authz-req+jwt",
            "request_object_typ",
        ))
    }
}

/// The parameters inside an object whose signature was verified. `named` is the `client_id` beside
/// it, whose keys verified it.
pub fn open(
    claims: &Claims,
    named: &ClientId,
    issuer: &str,
    now: Timestamp,
) -> Result<Params<'static>, Error> {
    let text = |name| claims.text(name).map_err(malformed);
    if text("client_id")? != Some(named.as_str()) {
        return Err(invalid(
            "client_id inside the request object must be the one beside it",
            "request_object_client",
        ));
    }
    if claims
        .iss()
        .map_err(malformed)?
        .is_some_and(|iss| iss != named.as_str())
    {
        return Err(invalid(
            "iss of a request object is the client_id",
            "request_object_iss",
        ));
    }
    let audience = claims.aud().map_err(malformed)?;
    if !audience.contains(&issuer) {
        return Err(invalid(
            "aud of a request object is the issuer of this server",
            "request_object_aud",
        ));
    }
    if claims.sub().map_err(malformed)? == Some(named.as_str()) {
        // It would pass for an assertion that authenticates the client (RFC 9101 §10.8).
        return Err(invalid(
            "sub of a request object must not be the client_id",
            "request_object_sub",
        ));
    }
    if claims.has("request") || claims.has("request_uri") {
        return Err(invalid(
            "a request object must not hold request or request_uri",
            "request_object_nested",
        ));
    }
    check_times(claims, now)?;
    parameters(claims.members())
}

fn check_times(claims: &Claims, now: Timestamp) -> Result<(), Error> {
    let (expires, not_before) = (
        claims.exp().map_err(malformed)?,
        claims.nbf().map_err(malformed)?,
    );
    if expires.is_some_and(|at| now >= at) {
        return Err(invalid(
            "the request object is expired",
            "request_object_expired",
        ));
    }
    if expires.is_some_and(|at| now.until(at) > MAX_LIFE + LEEWAY) {
        return Err(invalid(
            "a request object lives at most an hour",
            "request_object_exp_far",
        ));
    }
    let issued = claims.iat().map_err(malformed)?;
    let latest = now.plus(LEEWAY);
    if [not_before, issued]
        .into_iter()
        .flatten()
        .any(|at| at > latest)
    {
        return Err(invalid(
            "the request object is not valid yet",
            "request_object_not_yet",
        ));
    }
    Ok(())
}

/// The claims that are about the JWT and not about the request.
const ABOUT_THE_JWT: [&str; 7] = ["iss", "aud", "exp", "nbf", "iat", "jti", "sub"];

fn parameters(claims: &Map<String, Value>) -> Result<Params<'static>, Error> {
    let mut pairs = Vec::with_capacity(claims.len());
    for (name, value) in claims {
        if ABOUT_THE_JWT.contains(&name.as_str()) {
            continue;
        }
        match value {
            Value::Null => {}
            Value::String(text) => pairs.push((name.clone(), text.clone())),
            Value::Number(number) => pairs.push((name.clone(), number.to_string())),
            Value::Bool(flag) => pairs.push((name.clone(), flag.to_string())),
            // `claims` is an object; what is unknown is told apart by its name, not by its shape.
            Value::Object(_) => pairs.push((name.clone(), value.to_string())),
            Value::Array(items) => {
                for item in items {
                    pairs.push((name.clone(), listed(item)?));
                }
            }
        }
    }
    Params::from_pairs(pairs).map_err(|error| {
        Error::new(
            ErrorCode::InvalidRequestObject,
            error.description,
            error.reason,
        )
    })
}

fn listed(item: &Value) -> Result<String, Error> {
    let text = item.as_str().map(str::to_owned);
    text.ok_or_else(|| {
        invalid(
            "a list in a request object holds text",
            "request_object_list",
        )
    })
}

fn malformed(_: crate::jose::Error) -> Error {
    invalid(
        "a claim of the request object has the wrong type",
        "request_object_claim",
    )
}

fn invalid(description: &'static str, reason: &'static str) -> Error {
    Error::new(ErrorCode::InvalidRequestObject, description, reason)
}
