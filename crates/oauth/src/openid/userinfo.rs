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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claim;
    use crate::ids::{Locator, TokenId};
    use crate::scope::Scope;
    use crate::time::Timestamp;
    use crate::user::{UserClaims, example};

    const ISSUER: &str = "https://i.example";

    fn jane() -> User {
        User {
            claims: UserClaims {
                name: Some("Jane".into()),
                email: Some("jane@example.com".into()),
                ..UserClaims::default()
            },
            ..example()
        }
    }

    fn token(scope: &str) -> AccessToken {
        AccessToken {
            id: TokenId::new(Locator::new(Timestamp(2000), 0, 1), [7; 16]),
            client: ClientId::parse("app").unwrap(),
            subject: "usr_jane".into(),
            scope: Scope::parse(scope).unwrap(),
            audience: vec!["https://api.example".into(), ISSUER.into()],
            issued_at: Timestamp(1000),
            expires_at: Timestamp(2000),
            client_generation: 0,
            user_generation: Some(5),
            family: None,
            session: None,
            claims: ClaimSet::EMPTY,
        }
    }

    fn names(token: &AccessToken) -> Vec<String> {
        let told = decide(token, Liveness::Alive, Some(&jane()), ISSUER).unwrap();
        told.keys().cloned().collect()
    }

    #[test]
    fn the_scope_and_the_claims_parameter_say_what_is_told() {
        assert_eq!(names(&token("openid")), ["sub"]);
        assert_eq!(names(&token("openid email")), ["email", "sub"]);
        let asked = AccessToken {
            claims: [Claim::Name, Claim::Picture].into_iter().collect(),
            ..token("openid")
        };
        assert_eq!(names(&asked), ["name", "sub"]);
    }

    #[test]
    fn whoever_may_not_learn_anything_hears_why() {
        let jane = jane();
        let other = User {
            id: crate::user::UserId::parse("usr_joe").unwrap(),
            ..example()
        };
        let locked = User {
            locked: true,
            ..example()
        };
        let foreign = AccessToken {
            audience: vec!["https://api.example".into()],
            ..token("openid")
        };
        for (token, liveness, user, reason) in [
            (
                &token("openid"),
                Liveness::Dead("token_expired"),
                Some(&jane),
                "token_expired",
            ),
            (
                &token("openid"),
                Liveness::Behind,
                Some(&jane),
                "token_behind",
            ),
            (
                &token("email"),
                Liveness::Alive,
                Some(&jane),
                "userinfo_scope",
            ),
            (&foreign, Liveness::Alive, Some(&jane), "userinfo_audience"),
            (
                &token("openid"),
                Liveness::Alive,
                None,
                "userinfo_user_gone",
            ),
            (
                &token("openid"),
                Liveness::Alive,
                Some(&other),
                "userinfo_user_gone",
            ),
            (
                &token("openid"),
                Liveness::Alive,
                Some(&locked),
                "userinfo_user_gone",
            ),
        ] {
            let refused = decide(token, liveness, user, ISSUER).map_err(|error| error.reason);
            assert_eq!(refused, Err(reason));
        }
    }

    #[test]
    fn rfc9700_a_client_is_never_taken_for_a_user() {
        // A client that managed to be called like a user, with a token in its own name.
        let token = AccessToken {
            client: ClientId::parse("usr_jane").unwrap(),
            user_generation: None,
            ..token("openid profile")
        };
        let refused = decide(&token, Liveness::Alive, Some(&jane()), ISSUER);
        assert_eq!(
            refused.map_err(|error| error.reason),
            Err("userinfo_of_a_client")
        );
        let client = crate::client::Client {
            id: token.client,
            ..crate::client::example()
        };
        assert_eq!(
            client.validate().map_err(|error| error.reason),
            Err("client_id_reserved")
        );
    }

    #[test]
    fn the_signed_answer_names_issuer_and_client() {
        let told = decide(&token("openid"), Liveness::Alive, Some(&jane()), ISSUER).unwrap();
        let signed = sign(told, ISSUER, &ClientId::parse("app").unwrap());
        let signed: Value = serde_json::from_slice(&signed).unwrap();
        assert_eq!(
            (&signed["iss"], &signed["aud"]),
            (&ISSUER.into(), &"app".into())
        );
        assert_eq!(signed["sub"], "usr_jane");
    }
}
