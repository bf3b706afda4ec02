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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claim;
    use crate::user::{UserClaims, example};

    fn wish() -> IdTokenWish {
        IdTokenWish {
            user: UserId::parse("usr_jane").unwrap(),
            client: ClientId::parse("app").unwrap(),
            nonce: Some("n".into()),
            auth_time: Some(Timestamp(1000)),
            acr: Some("a".into()),
            amr: vec![Amr::Password],
            session: Some([3; 16]),
            claims: ClaimSet::EMPTY,
        }
    }

    fn writing() -> Writing<'static> {
        Writing {
            issuer: "https://i.example",
            now: Timestamp(2000),
            lifetime: 600,
            algorithm: Algorithm::Rs256,
            user: None,
            access_token: None,
            code: None,
        }
    }

    fn written(wish: &IdTokenWish, writing: &Writing<'_>) -> Value {
        serde_json::from_slice(&render(wish, writing)).unwrap()
    }

    #[test]
    fn an_id_token_says_what_is_known_and_nothing_empty() {
        let expected = serde_json::json!({
            "iss": "https://i.example", "sub": "usr_jane", "aud": "app", "exp": 2600, "iat": 2000,
            "auth_time": 1000, "nonce": "n", "acr": "a", "amr": ["pwd"],
            "sid": "03030303030303030303030303030303",
        });
        assert_eq!(written(&wish(), &writing()), expected);
        let bare = IdTokenWish {
            nonce: None,
            auth_time: None,
            acr: Some(String::new()),
            amr: vec![],
            session: None,
            ..wish()
        };
        let names: Vec<String> = match written(&bare, &writing()) {
            Value::Object(members) => members.keys().cloned().collect(),
            other => panic!("{other}"),
        };
        assert_eq!(names, ["aud", "exp", "iat", "iss", "sub"]);
    }

    #[test]
    fn hashes_are_those_of_the_specification() {
        // OIDC Core appendix A.3 and A.4.
        let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
        let code = "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk";
        let both = Writing {
            access_token: Some(token),
            code: Some(code),
            ..writing()
        };
        let written = written(&wish(), &both);
        assert_eq!(written["at_hash"], "77QmUPtjPfzWtF2AnpK9RQ");
        assert_eq!(written["c_hash"], "LDktKdoQak3Pk0cnXxCltA");
        assert_eq!(
            half_hash(Algorithm::EdDsa, code).len(),
            43,
            "half of SHA-512"
        );
    }

    #[test]
    fn claims_about_the_user_are_told_and_replace_none_of_the_token() {
        let jane = User {
            claims: UserClaims {
                name: Some("Jane".into()),
                ..UserClaims::default()
            },
            ..example()
        };
        let asked = IdTokenWish {
            claims: [Claim::Name].into_iter().collect(),
            ..wish()
        };
        let with = |user| Writing { user, ..writing() };
        assert_eq!(written(&asked, &with(Some(&jane)))["name"], "Jane");
        assert!(written(&wish(), &with(Some(&jane))).get("name").is_none());
        let joe = User {
            id: UserId::parse("usr_joe").unwrap(),
            ..jane.clone()
        };
        assert!(
            written(&asked, &with(Some(&joe))).get("name").is_none(),
            "another's claims"
        );
    }

    fn read(typ: Option<&str>, claims: &Value) -> Result<Hint, &'static str> {
        let header = Header::new(Algorithm::Rs256);
        let header = match typ {
            None => header,
            Some(typ) => header.with_typ(typ),
        };
        let claims = Claims::parse(claims.to_string().as_bytes()).unwrap();
        hint(&header, &claims, "https://i.example").map_err(|error| error.reason)
    }

    #[test]
    fn an_expired_id_token_is_a_good_hint() {
        let expected = Hint {
            user: UserId::parse("usr_jane").unwrap(),
            client: ClientId::parse("app").unwrap(),
            session: Some([3; 16]),
        };
        let mut claims = written(&wish(), &writing());
        claims["exp"] = 1.into();
        assert_eq!(read(Some(TYPE), &claims), Ok(expected.clone()));
        assert_eq!(read(None, &claims), Ok(expected));
    }

    #[test]
    fn nothing_but_an_id_token_of_ours_is_a_hint() {
        let good = written(&wish(), &writing());
        for (name, value) in [
            ("iss", "https://other.example".into()),
            ("iss", Value::Null),
            ("sub", Value::Null),
            ("sub", "".into()),
            ("aud", serde_json::json!(["app", "other"])),
            ("sid", "03".into()),
            ("scope", "openid".into()),
            ("client_id", "app".into()),
            ("events", serde_json::json!({})),
        ] {
            let mut bad = good.clone();
            bad[name] = value;
            assert_eq!(read(Some(TYPE), &bad), Err("id_token_hint"), "{name}");
        }
        for typ in ["at+jwt", "logout+jwt", "rt+jwt"] {
            assert_eq!(read(Some(typ), &good), Err("id_token_hint"), "{typ}");
        }
    }

    #[test]
    fn a_hint_of_another_client_tells_nothing() {
        let hint = Hint {
            user: UserId::parse("usr_jane").unwrap(),
            client: ClientId::parse("other").unwrap(),
            session: None,
        };
        let mine = Hint {
            client: ClientId::parse("app").unwrap(),
            ..hint.clone()
        };
        let request = crate::authorize::example();
        assert!(request.clone().hint(&hint).is_err());
        let read = request.hint(&mine).unwrap();
        assert_eq!(read.subject, Some(mine.user.clone()));
        let twice = AuthorizationRequest {
            subject: UserId::parse("usr_joe"),
            ..read
        };
        assert!(
            twice.hint(&mine).is_err(),
            "claims ask for one, the hint for another"
        );
    }
}
