//! Signed refresh tokens (policy `stateless`): a JWT of a type of its own that says its terms.
//! Nothing is written when it is issued; it ends by time, by its family id in the ended set, and
//! by the generations of client and user.

use serde_json::{Map, Value};

use super::family::Terms;
use crate::claims::ClaimSet;
use crate::ids::ClientId;
use crate::jose::{Claims, Header};
use crate::scope::Scope;
use crate::session::Amr;
use crate::token::hex;
use crate::user::UserId;

/// The `typ` of signed refresh tokens: no door that takes another kind takes them.
pub const TYPE: &str = "rt+jwt";

/// The claims, as JSON. The audience is the issuer alone: nobody else has any use for it.
pub fn render(id: [u8; 16], terms: &Terms, issuer: &str) -> Vec<u8> {
    let mut out = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    put("iss", Some(issuer.into()));
    put("aud", Some(issuer.into()));
    put("client_id", Some(terms.client.as_str().into()));
    put("sub", terms.user.as_ref().map(|user| user.as_str().into()));
    put("exp", Some(terms.expires_at.0.into()));
    put("iat", Some(terms.issued_at.0.into()));
    put("fam", Some(hex(id).into()));
    put("sid", terms.session.map(|session| hex(session).into()));
    put("scope", Some(terms.scope.as_str().into()));
    put("res", Some(terms.audience.clone().into()));
    put(
        "uic",
        (!terms.claims.is_empty()).then(|| terms.claims.bits().into()),
    );
    put("cgn", Some(terms.client_generation.into()));
    put("ugn", terms.user_generation.map(Value::from));
    put("auth_time", terms.auth_time.map(|at| at.0.into()));
    put("acr", terms.acr.clone().map(Value::from));
    let amr: Vec<&str> = terms.amr.iter().map(|amr| amr.as_str()).collect();
    put("amr", Some(amr.into()));
    serde_json::to_vec(&out).unwrap_or_default()
}

/// Reads a token whose signature one of our keys verified; `None` where it is not a refresh token
/// of this issuer.
pub fn read(header: &Header, claims: &Claims, issuer: &str) -> Option<([u8; 16], Terms)> {
    let is_ours =
        header.is_typ(TYPE) && claims.iss().ok()? == Some(issuer) && claims.aud().ok()? == [issuer];
    if !is_ours {
        return None;
    }
    let id = |name| match claims.text(name).ok()? {
        None => Some(None),
        Some(text) => crate::token::unhex(text).map(Some),
    };
    let terms = Terms {
        client: ClientId::parse(claims.text("client_id").ok()??)?,
        user: match claims.sub().ok()? {
            None => None,
            Some(sub) => Some(UserId::parse(sub)?),
        },
        session: id("sid")?,
        scope: Scope::parse(claims.text("scope").ok()??).ok()?,
        audience: texts(claims, "res")?,
        claims: match claims.whole("uic").ok()? {
            None => ClaimSet::EMPTY,
            Some(bits) => ClaimSet::from_bits(u32::try_from(bits).ok()?),
        },
        client_generation: claims.whole("cgn").ok()??,
        user_generation: claims.whole("ugn").ok()?,
        auth_time: claims.instant("auth_time").ok()?,
        acr: claims.text("acr").ok()?.map(str::to_owned),
        amr: texts(claims, "amr")?
            .iter()
            .map(|name| Amr::parse(name))
            .collect::<Option<_>>()?,
        issued_at: claims.iat().ok()??,
        expires_at: claims.exp().ok()??,
    };
    // A user without a generation could never be locked out.
    let is_whole = terms.user.is_some() == terms.user_generation.is_some();
    is_whole.then_some((id("fam")??, terms))
}

fn texts(claims: &Claims, name: &str) -> Option<Vec<String>> {
    let items = claims.members().get(name)?.as_array()?;
    items
        .iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect()
}
