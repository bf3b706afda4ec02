//! Introspection (RFC 7662) and its signed answer (RFC 9701): who may see which token, and what
//! the answer says.

use crate::family::Terms;
use crate::ids::ClientId;
use crate::token::{AccessToken, Audience, Liveness};
use crate::user::UserId;
use serde::Serialize;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub enum Caller<'a> {
    /// An authenticated client at the public door.
    Client(&'a ClientId),
    /// Somebody at the admin door.
    Admin,
}

/// Whether the caller may learn that this token is active. A client sees tokens issued to it and
/// tokens that name it as audience; about all others it hears only `active: false` (RFC 7662 §4:
/// a protected resource must not be able to probe for other people's tokens).
pub fn may_see(caller: Caller<'_>, token: &AccessToken) -> bool {
    match caller {
        Caller::Admin => true,
        Caller::Client(id) => {
            token.client == *id || token.audience.iter().any(|one| one == id.as_str())
        }
    }
}

/// The answer: `active: false` and nothing else, or all that there is to know.
pub fn decide<'a>(
    caller: Caller<'_>,
    token: Option<&'a AccessToken>,
    liveness: Liveness,
    issuer: &'a str,
) -> IntrospectionResponse<'a> {
    match token {
        Some(token) if liveness == Liveness::Alive && may_see(caller, token) => {
            IntrospectionResponse::active(token, issuer)
        }
        _ => IntrospectionResponse::inactive(),
    }
}

/// The members of RFC 7662 §2.2.
#[derive(Serialize)]
pub struct IntrospectionResponse<'a> {
    /// Whether the token is valid now, for this caller.
    pub active: bool,
    #[serde(flatten)]
    facts: Option<Facts<'a>>,
}

/// The answer about a refresh token, which only the client that it was issued to may see.
/// `is_current` says that the grant would take it: [`crate::family::decide`] for a family's.
pub fn decide_refresh<'a>(
    caller: Caller<'_>,
    terms: &'a Terms,
    liveness: Liveness,
    is_current: bool,
    issuer: &'a str,
) -> IntrospectionResponse<'a> {
    let may_see = match caller {
        Caller::Admin => true,
        Caller::Client(id) => terms.client == *id,
    };
    if !may_see || !is_current || liveness != Liveness::Alive {
        return IntrospectionResponse::inactive();
    }
    let facts = Facts {
        client_id: terms.client.as_str(),
        sub: terms
            .user
            .as_ref()
            .map_or(terms.client.as_str(), UserId::as_str),
        aud: audience(&terms.audience),
        iss: issuer,
        exp: terms.expires_at.0,
        iat: terms.issued_at.0,
        nbf: terms.issued_at.0,
        jti: None,
        scope: terms.scope.as_str(),
        token_type: None,
        token_use: "refresh_token",
    };
    IntrospectionResponse {
        active: true,
        facts: Some(facts),
    }
}

fn audience(list: &[String]) -> Audience<'_> {
    match list {
        [one] => Audience::One(one),
        many => Audience::Many(many),
    }
}

#[derive(Serialize)]
struct Facts<'a> {
    client_id: &'a str,
    sub: &'a str,
    aud: Audience<'a>,
    iss: &'a str,
    exp: u64,
    iat: u64,
    nbf: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    scope: &'a str,
    /// Of access tokens: a refresh token has no type (RFC 6749 §7.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<&'static str>,
    /// Ours, and Hydra's: `access_token` or `refresh_token`.
    token_use: &'static str,
}

impl<'a> IntrospectionResponse<'a> {
    /// `{"active":false}`
    pub fn inactive() -> Self {
        Self {
            active: false,
            facts: None,
        }
    }

    fn active(token: &'a AccessToken, issuer: &'a str) -> Self {
        let facts = Facts {
            client_id: token.client.as_str(),
            sub: &token.subject,
            aud: audience(&token.audience),
            iss: issuer,
            exp: token.expires_at.0,
            iat: token.issued_at.0,
            nbf: token.issued_at.0,
            jti: Some(token.id.to_string()),
            scope: token.scope.as_str(),
            token_type: Some("Bearer"),
            token_use: "access_token",
        };
        Self {
            active: true,
            facts: Some(facts),
        }
    }

    /// The JSON text of the answer.
    pub fn render(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(320);
        // Writing plain text into a Vec cannot fail.
        let _infallible = serde_json::to_writer(&mut out, self);
        out
    }
}

impl std::fmt::Debug for IntrospectionResponse<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IntrospectionResponse(active: {})", self.active)
    }
}

/// The media type of the signed answer (RFC 9701 §4).
pub const JWT_MEDIA_TYPE: &str = "application/token-introspection+jwt";

/// The claims of the signed answer (RFC 9701 §5), around the rendered members.
pub fn render_signed_claims(issuer: &str, caller: &ClientId, iat: u64, members: &[u8]) -> Vec<u8> {
    #[derive(Serialize)]
    struct ClaimsBody<'a> {
        iss: &'a str,
        aud: &'a str,
        iat: u64,
        token_introspection: &'a serde_json::value::RawValue,
    }
    let mut out = Vec::with_capacity(members.len() + 160);
    if let Ok(token_introspection) = serde_json::from_slice(members) {
        let claims = ClaimsBody {
            iss: issuer,
            aud: caller.as_str(),
            iat,
            token_introspection,
        };
        let _infallible = serde_json::to_writer(&mut out, &claims);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Locator, TokenId};
    use crate::scope::Scope;
    use crate::time::Timestamp;

    fn token(client: &str, audience: &[&str]) -> AccessToken {
        AccessToken {
            id: TokenId::new(Locator::new(Timestamp(2000), 0, 1), [7; 16]),
            client: ClientId::parse(client).unwrap(),
            subject: client.into(),
            scope: Scope::parse("a").unwrap(),
            audience: audience.iter().map(|text| (*text).to_owned()).collect(),
            issued_at: Timestamp(1000),
            expires_at: Timestamp(2000),
            client_generation: 0,
            user_generation: None,
            family: None,
            session: None,
            claims: crate::claims::ClaimSet::EMPTY,
        }
    }

    #[test]
    fn a_client_sees_its_own_tokens_and_those_meant_for_it() {
        let me = ClientId::parse("me").unwrap();
        for (client, audience, seen) in [
            ("me", vec!["x"], true),
            ("other", vec!["x", "me"], true),
            ("other", vec!["x"], false),
            ("other", vec!["me2"], false),
        ] {
            let token = token(client, &audience);
            let answer = decide(Caller::Client(&me), Some(&token), Liveness::Alive, "i");
            assert_eq!(answer.active, seen, "{client} {audience:?}");
            let all = decide(Caller::Admin, Some(&token), Liveness::Alive, "i");
            assert!(all.active);
        }
    }

    #[test]
    fn an_inactive_answer_says_nothing_else() {
        let token = token("me", &[]);
        for (token, liveness) in [
            (None, Liveness::Alive),
            (Some(&token), Liveness::Dead("x")),
            (Some(&token), Liveness::Behind),
        ] {
            let answer = decide(Caller::Admin, token, liveness, "i").render();
            assert_eq!(answer, br#"{"active":false}"#);
        }
    }

    #[test]
    fn an_active_answer_has_the_members_of_the_rfc() {
        let token = token("me", &["https://api"]);
        let answer = decide(Caller::Admin, Some(&token), Liveness::Alive, "https://i").render();
        let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["active"], true);
        assert_eq!(answer["aud"], "https://api");
        assert_eq!(answer["exp"], 2000);
        assert_eq!(answer["token_type"], "Bearer");
    }

    #[test]
    fn only_its_own_client_sees_a_refresh_token() {
        let terms = crate::family::example().terms;
        let (app, other) = (
            ClientId::parse("app").unwrap(),
            ClientId::parse("x").unwrap(),
        );
        for (caller, liveness, is_current, active) in [
            (Caller::Client(&app), Liveness::Alive, true, true),
            (Caller::Admin, Liveness::Alive, true, true),
            (Caller::Client(&other), Liveness::Alive, true, false),
            (Caller::Client(&app), Liveness::Dead("x"), true, false),
            (Caller::Client(&app), Liveness::Alive, false, false),
        ] {
            let answer = decide_refresh(caller, &terms, liveness, is_current, "https://i");
            assert_eq!(answer.active, active);
            let text: serde_json::Value = serde_json::from_slice(&answer.render()).unwrap();
            assert_eq!(text.get("token_use").is_some(), active);
            assert!(text.get("token_type").is_none());
        }
    }

    #[test]
    fn rfc9700_a_foreign_audience_sees_nothing() {
        let token = token("app", &["https://api.example"]);
        let foreign = ClientId::parse("https://other.example").unwrap();
        let named = ClientId::parse("https://api.example").unwrap();
        let seen = |id| decide(Caller::Client(id), Some(&token), Liveness::Alive, "i").active;
        assert!(seen(&named));
        assert!(!seen(&foreign));
    }

    #[test]
    fn the_signed_answer_wraps_the_members() {
        let caller = ClientId::parse("rs").unwrap();
        let claims = render_signed_claims("https://i", &caller, 5, br#"{"active":false}"#);
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(claims["token_introspection"]["active"], false);
        assert_eq!(claims["aud"], "rs");
        assert!(
            claims.get("exp").is_none(),
            "RFC 9701 section 5 forbids exp"
        );
    }
}
