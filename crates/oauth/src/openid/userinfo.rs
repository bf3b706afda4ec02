//! Userinfo (OIDC Core §5.3): what the bearer of an access token may learn about its user.

use serde_json::{Map, Value};

use crate::claims::{self, ClaimSet};
use crate::error::{Error, ErrorCode};
use crate::ids::ClientId;
use crate::scope::OPENID;
use crate::token::{AccessToken, Liveness};
use crate::user::User;

/// Decides what to answer to the bearer of `token`. `user` is whom it speaks for, as known now.
pub fn decide(
    token: &AccessToken,
    liveness: Liveness,
    user: Option<&User>,
    issuer: &str,
) -> Result<Map<String, Value>, Error> {
    let refuse = |reason| {
        Err(Error::new(
            ErrorCode::InvalidToken,
            "the access token is not valid here: get a new one with the scope openid",
            reason,
        ))
    };
    match liveness {
        Liveness::Alive => {}
        Liveness::Dead(reason) => return refuse(reason),
        Liveness::Behind => return refuse("token_behind"),
    }
    // A client in its own name is nobody, whatever it is called (RFC 9700 §4.15).
    if token.user_generation.is_none() {
        return refuse("userinfo_of_a_client");
    }
    if !token.audience.iter().any(|one| one == issuer) {
        return refuse("userinfo_audience");
    }
    if !token.scope.contains(OPENID) {
        return Err(Error::new(
            ErrorCode::InsufficientScope,
            "userinfo needs the scope openid",
            "userinfo_scope",
        ));
    }
    let Some(user) = user.filter(|user| *user.id.as_str() == *token.subject && !user.locked) else {
        return refuse("userinfo_user_gone");
    };
    let set = ClaimSet::of_scope(&token.scope).union(token.claims);
    let mut out = claims::about(user, set);
    out.insert("sub".to_owned(), user.id.as_str().into());
    Ok(out)
}

/// The claims of the signed answer (OIDC Core §5.3.2): the same with `iss` and `aud`.
pub fn sign(mut members: Map<String, Value>, issuer: &str, client: &ClientId) -> Vec<u8> {
    members.insert("iss".to_owned(), issuer.into());
    members.insert("aud".to_owned(), client.as_str().into());
    serde_json::to_vec(&members).unwrap_or_default()
}
