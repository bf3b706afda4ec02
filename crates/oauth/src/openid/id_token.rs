//! ID tokens (OIDC Core §2, §3.1.3.6, §3.3.2.11), and what one says when a client shows it again
//! as a hint.

use aws_lc_rs::digest;
use serde_json::{Map, Value};

use crate::authorize::AuthorizationRequest;
use crate::claims::{self, ClaimSet};
use crate::error::Error;
use crate::ids::ClientId;
use crate::jose::{Algorithm, Claims, Header, base64url};
use crate::session::Amr;
use crate::time::Timestamp;
use crate::token::{hex, unhex};
use crate::user::{User, UserId};

/// The `typ` of ID tokens.
pub const TYPE: &str = "JWT";

/// That an ID token is to be issued, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdTokenWish {
    /// `sub`
    pub user: UserId,
    /// `aud`
    pub client: ClientId,
    /// `nonce`, where the request had one; never on refresh (OIDC Core §12.2).
    pub nonce: Option<String>,
    /// `auth_time`
    pub auth_time: Option<Timestamp>,
    /// `acr`
    pub acr: Option<String>,
    /// `amr`
    pub amr: Vec<Amr>,
    /// `sid`
    pub session: Option<[u8; 16]>,
    /// The claims about the user that it carries: the user is needed only where there are some.
    pub claims: ClaimSet,
}

/// What an ID token is written with.
#[derive(Clone, Copy, Debug)]
pub struct Writing<'a> {
    /// `iss`
    pub issuer: &'a str,
    /// `iat`
    pub now: Timestamp,
    /// Seconds that it lives.
    pub lifetime: u64,
    /// The algorithm that signs it: the hashes below are computed with its own.
    pub algorithm: Algorithm,
    /// The user, where [`IdTokenWish::claims`] is not empty.
    pub user: Option<&'a User>,
    /// The access token that goes with it: `at_hash`.
    pub access_token: Option<&'a str>,
    /// The code that goes with it: `c_hash`.
    pub code: Option<&'a str>,
}

/// The claims of an ID token, as JSON. `azp` is left out: the audience is the client alone.
pub fn render(wish: &IdTokenWish, writing: &Writing<'_>) -> Vec<u8> {
    let mut out = match writing.user {
        Some(user) if user.id == wish.user => claims::about(user, wish.claims),
        _ => Map::new(),
    };
    // After the claims about the user: none of them may stand in for one of these.
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    let amr: Vec<&str> = wish.amr.iter().map(|amr| amr.as_str()).collect();
    put("iss", Some(writing.issuer.into()));
    put("sub", Some(wish.user.as_str().into()));
    put("aud", Some(wish.client.as_str().into()));
    put("exp", Some(writing.now.plus(writing.lifetime).0.into()));
    put("iat", Some(writing.now.0.into()));
    put("auth_time", wish.auth_time.map(|at| at.0.into()));
    put("nonce", wish.nonce.as_deref().map(Value::from));
    let acr = wish.acr.as_deref().filter(|acr| !acr.is_empty());
    put("acr", acr.map(Value::from));
    put("amr", (!amr.is_empty()).then(|| amr.into()));
    put("sid", wish.session.map(|id| hex(id).into()));
    let hash = |text| Value::from(half_hash(writing.algorithm, text));
    put("at_hash", writing.access_token.map(hash));
    put("c_hash", writing.code.map(hash));
    serde_json::to_vec(&out).unwrap_or_default()
}

/// The left half of the digest that belongs to the algorithm, in base64url (OIDC Core §3.1.3.6).
/// Ed25519 hashes with SHA-512.
pub fn half_hash(algorithm: Algorithm, text: &str) -> String {
    let kind = match algorithm {
        Algorithm::EdDsa => &digest::SHA512,
        _ => &digest::SHA256,
    };
    let digest = digest::digest(kind, text.as_bytes());
    let half = digest.as_ref().len() / 2;
    base64url::encode(&digest.as_ref()[..half])
}

/// What an ID token of ours says that comes back as a hint: expired or not, it says whom it was
/// about (OIDC Core §3.1.2.1, RP-Initiated Logout §2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The user.
    pub user: UserId,
    /// The client.
    pub client: ClientId,
    /// The session.
    pub session: Option<[u8; 16]>,
}

/// Reads a hint whose signature one of our keys verified. Its expiry does not matter; that it is
/// an ID token, and ours, does.
pub fn hint(header: &Header, claims: &Claims, issuer: &str) -> Result<Hint, Error> {
    let is_id_token = header.typ().is_none() || header.is_typ(TYPE);
    // Access tokens and logout tokens are signed by the same keys.
    let is_other = ["client_id", "events", "scope", "cgn"]
        .into_iter()
        .any(|name| claims.has(name));
    if !is_id_token || is_other || !matches!(claims.iss(), Ok(Some(iss)) if iss == issuer) {
        return Err(bad_hint());
    }
    let user = claims.sub().ok().flatten().and_then(UserId::parse);
    let audience = claims.aud().unwrap_or_default();
    let client = match *audience {
        [only] => ClientId::parse(only),
        _ => None,
    };
    let (Some(user), Some(client)) = (user, client) else {
        return Err(bad_hint());
    };
    let session = match claims.text("sid") {
        Ok(None) => None,
        Ok(Some(text)) => Some(unhex(text).ok_or_else(bad_hint)?),
        Err(_) => return Err(bad_hint()),
    };
    Ok(Hint {
        user,
        client,
        session,
    })
}

/// What is refused where a hint is not an ID token of ours.
pub fn bad_hint() -> Error {
    Error::request(
        "id_token_hint is not an ID token that this server issued",
        "id_token_hint",
    )
}

impl AuthorizationRequest {
    /// Takes the verified `id_token_hint` into account: the user whom it names is the only one
    /// that will do. A hint that was issued to another client is refused, or any client could
    /// find out with tokens of others who is logged in.
    pub fn hint(mut self, hint: &Hint) -> Result<Self, Error> {
        let is_other = self
            .subject
            .as_ref()
            .is_some_and(|wanted| *wanted != hint.user);
        if hint.client != self.client || is_other {
            return Err(bad_hint());
        }
        self.subject = Some(hint.user.clone());
        Ok(self)
    }
}
