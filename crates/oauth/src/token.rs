//! Access tokens: what one says (RFC 9068), whether it is dead or alive, and the answer that
//! carries it (RFC 6749 §5.1).

use crate::claims::ClaimSet;
use crate::ids::{ClientId, TokenId};
use crate::scope::Scope;
use crate::time::Timestamp;
use serde::Serialize;
use std::borrow::Cow;

/// Everything that is known about an access token, whatever its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessToken {
    /// Its id (`jti`).
    pub id: TokenId,
    /// The client that it was issued to.
    pub client: ClientId,
    /// Whom it speaks for; the client's own id where no user is behind it.
    pub subject: Box<str>,
    /// What it allows.
    pub scope: Scope,
    /// For whom it is meant.
    pub audience: Vec<String>,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it stops being valid.
    pub expires_at: Timestamp,
    /// The generation of the client on which the decision to issue rested.
    pub client_generation: u64,
    /// The same of the user, where there is one.
    pub user_generation: Option<u64>,
    /// The family (of refresh tokens) that it belongs to.
    pub family: Option<[u8; 16]>,
    /// The session that it came from.
    pub session: Option<[u8; 16]>,
    /// The claims that userinfo tells for it beyond those of its scope.
    pub claims: ClaimSet,
}

/// What is known about the things that a token hangs on, when it is presented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The token, its family or its session is in the ended set.
    pub ended: bool,
    /// The generation of its client; `None`: there is no such client, or it is disabled.
    pub client_generation: Option<u64>,
    /// The generation of its user; `None`: there is no user behind it, or the user is gone.
    pub user_generation: Option<u64>,
}

/// Dead or alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// The token is valid now.
    Alive,
    /// It is not, for this reason (a label for the log).
    Dead(&'static str),
    /// The token was decided on newer facts than these: catch up and ask again. Still behind
    /// after that (a restored backup): dead.
    Behind,
}

/// Dead or alive by what a token, a code or a family hangs on; expiry was looked at before.
pub(crate) fn generations(client: u64, user: Option<u64>, known: Known) -> Liveness {
    if known.ended {
        return Liveness::Dead("token_ended");
    }
    let Some(known_client) = known.client_generation else {
        return Liveness::Dead("token_client_gone");
    };
    if client < known_client {
        return Liveness::Dead("token_client_generation");
    }
    match (user, known.user_generation) {
        (Some(_), None) => return Liveness::Dead("token_user_gone"),
        (Some(token), Some(known)) if token < known => {
            return Liveness::Dead("token_user_generation");
        }
        (Some(token), Some(known)) if token > known => return Liveness::Behind,
        _ => {}
    }
    if client > known_client {
        Liveness::Behind
    } else {
        Liveness::Alive
    }
}

impl AccessToken {
    /// Dead or alive: the one place that decides it. Signature or digest were checked before.
    pub fn liveness(&self, known: Known, now: Timestamp) -> Liveness {
        if now >= self.expires_at {
            return Liveness::Dead("token_expired");
        }
        generations(self.client_generation, self.user_generation, known)
    }

    /// The claims of the JWT form, as JSON (RFC 9068 §2.2). `cgn`, `ugn`, `fam`, `sid` and `uic`
    /// are ours: the generations and the family by which it can be ended, and what userinfo tells
    /// beyond the scope.
    pub fn render_claims(&self, issuer: &str) -> Vec<u8> {
        let id = self.id.to_string();
        let family = self.family.map(hex);
        let session = self.session.map(hex);
        let claims = ClaimsBody {
            iss: issuer,
            sub: &self.subject,
            aud: match &*self.audience {
                [one] => Audience::One(one),
                many => Audience::Many(many),
            },
            client_id: self.client.as_str(),
            exp: self.expires_at.0,
            iat: self.issued_at.0,
            jti: &id,
            scope: (!self.scope.is_empty()).then(|| self.scope.as_str()),
            cgn: self.client_generation,
            ugn: self.user_generation,
            fam: family.as_deref(),
            sid: session.as_deref(),
            uic: (!self.claims.is_empty()).then(|| self.claims.bits()),
        };
        let mut out = Vec::with_capacity(384);
        // Writing plain text into a Vec cannot fail.
        let _infallible = serde_json::to_writer(&mut out, &claims);
        out
    }
}

/// Lower-case hexadecimal, as families and sessions are written in claims.
pub fn hex(bytes: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(bytes))
}

/// Reads what [`hex`] writes, and nothing else.
pub fn unhex(text: &str) -> Option<[u8; 16]> {
    let digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    let is_hex = text.len() == 32 && text.bytes().all(digit);
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex)?;
    Some(number.to_be_bytes())
}

#[derive(Serialize)]
struct ClaimsBody<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: Audience<'a>,
    client_id: &'a str,
    exp: u64,
    iat: u64,
    jti: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
    cgn: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ugn: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fam: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uic: Option<u32>,
}

/// One audience is written as a string, several as a list (RFC 7519 §4.1.3).
#[derive(Serialize)]
#[serde(untagged)]
pub enum Audience<'a> {
    /// The only one.
    One(&'a str),
    /// All of them.
    Many(&'a [String]),
}

impl std::fmt::Debug for Audience<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::One(one) => write!(f, "{one}"),
            Self::Many(many) => write!(f, "{many:?}"),
        }
    }
}

/// The successful answer of the token endpoint (RFC 6749 §5.1).
#[derive(Serialize)]
pub struct TokenResponse<'a> {
    /// The token.
    pub access_token: Cow<'a, str>,
    /// Always `Bearer` here (RFC 6750).
    pub token_type: &'static str,
    /// Seconds that it will live.
    pub expires_in: u64,
    /// What was granted.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub scope: Cow<'a, str>,
    /// The refresh token that goes with it (RFC 6749 §6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Cow<'a, str>>,
    /// The ID token that goes with it (OIDC Core §3.1.3.3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<Cow<'a, str>>,
}

impl std::fmt::Debug for TokenResponse<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TokenResponse({} s, {:?})", self.expires_in, self.scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Locator;

    fn token() -> AccessToken {
        AccessToken {
            id: TokenId::new(Locator::new(Timestamp(2000), 0, 1), [7; 16]),
            client: ClientId::parse("app").unwrap(),
            subject: "app".into(),
            scope: Scope::parse("a b").unwrap(),
            audience: vec!["https://api.example".into()],
            issued_at: Timestamp(1000),
            expires_at: Timestamp(2000),
            client_generation: 3,
            user_generation: None,
            family: None,
            session: None,
            claims: ClaimSet::EMPTY,
        }
    }

    #[test]
    fn dead_or_alive_table() {
        let known = |ended, client| Known {
            ended,
            client_generation: client,
            user_generation: None,
        };
        for (case, known, now, expected) in [
            ("alive", known(false, Some(3)), 1999, Liveness::Alive),
            (
                "expired",
                known(false, Some(3)),
                2000,
                Liveness::Dead("token_expired"),
            ),
            (
                "ended",
                known(true, Some(3)),
                1500,
                Liveness::Dead("token_ended"),
            ),
            (
                "client gone",
                known(false, None),
                1500,
                Liveness::Dead("token_client_gone"),
            ),
            (
                "older",
                known(false, Some(4)),
                1500,
                Liveness::Dead("token_client_generation"),
            ),
            ("newer", known(false, Some(2)), 1500, Liveness::Behind),
        ] {
            assert_eq!(token().liveness(known, Timestamp(now)), expected, "{case}");
        }
    }

    #[test]
    fn a_token_with_a_user_dies_with_the_user() {
        let token = AccessToken {
            user_generation: Some(5),
            ..token()
        };
        let known = |user| Known {
            ended: false,
            client_generation: Some(3),
            user_generation: user,
        };
        for (user, expected) in [
            (Some(5), Liveness::Alive),
            (Some(6), Liveness::Dead("token_user_generation")),
            (Some(4), Liveness::Behind),
            (None, Liveness::Dead("token_user_gone")),
        ] {
            assert_eq!(
                token.liveness(known(user), Timestamp(1500)),
                expected,
                "{user:?}"
            );
        }
    }

    #[test]
    fn claims_are_those_of_the_profile() {
        let claims: serde_json::Value =
            serde_json::from_slice(&token().render_claims("https://issuer.example")).unwrap();
        for name in [
            "iss",
            "sub",
            "aud",
            "client_id",
            "exp",
            "iat",
            "jti",
            "scope",
            "cgn",
        ] {
            assert!(claims.get(name).is_some(), "{name}");
        }
        assert_eq!(claims["aud"], "https://api.example");
        assert!(claims.get("ugn").is_none());
    }
}
