//! Revocation (RFC 7009): whose token may be revoked by whom. A token that is unknown, expired or
//! somebody else's is answered like a revoked one (§2.2): the caller wants it gone, and it learns
//! nothing about tokens that are not its own.

use crate::family::Terms;
use crate::ids::ClientId;
use crate::log::{EventKey, token_key};
use crate::time::Timestamp;
use crate::token::AccessToken;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub enum Caller<'a> {
    /// An authenticated client at the public door.
    Client(&'a ClientId),
    /// Somebody at the admin door.
    Admin,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// End this token; it would have lived until then.
    End {
        /// How the log knows it.
        key: EventKey,
        /// When it expires.
        until: Timestamp,
    },
    /// End this family and all that it carries (RFC 7009 §2.1: with a refresh token, the access
    /// tokens of its grant).
    EndFamily {
        /// How the log knows it: its id.
        key: EventKey,
        /// Until when that must be remembered.
        until: Timestamp,
    },
    /// Nothing: answer 200 all the same (RFC 7009 §2.2).
    Nothing(&'static str),
}

/// Decides on a revocation request. `token` is what the presented text turned out to be.
pub fn decide(caller: Caller<'_>, token: Option<&AccessToken>, now: Timestamp) -> Verdict {
    let Some(token) = token else {
        return Verdict::Nothing("token_unknown");
    };
    if let Caller::Client(id) = caller
        && token.client != *id
    {
        return Verdict::Nothing("token_of_another_client");
    }
    if now >= token.expires_at {
        return Verdict::Nothing("token_expired");
    }
    Verdict::End {
        key: token_key(token.id),
        until: token.expires_at,
    }
}

/// Decides on the revocation of a refresh token, signed or of a family: `family` is its id, and
/// the MAC or signature was right. Which generation it is does not matter: its owner wants it gone.
pub fn decide_refresh(
    caller: Caller<'_>,
    family: [u8; 16],
    terms: &Terms,
    now: Timestamp,
) -> Verdict {
    if let Caller::Client(id) = caller
        && terms.client != *id
    {
        return Verdict::Nothing("token_of_another_client");
    }
    if now >= terms.ended_until() {
        return Verdict::Nothing("token_expired");
    }
    Verdict::EndFamily {
        key: family,
        until: terms.ended_until(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Locator, TokenId};
    use crate::scope::Scope;

    #[test]
    fn revocation_table() {
        let me = ClientId::parse("me").unwrap();
        let other = ClientId::parse("other").unwrap();
        let token = AccessToken {
            id: TokenId::new(Locator::new(Timestamp(2000), 0, 1), [7; 16]),
            client: me.clone(),
            subject: "me".into(),
            scope: Scope::default(),
            audience: vec![],
            issued_at: Timestamp(1000),
            expires_at: Timestamp(2000),
            client_generation: 0,
            user_generation: None,
            family: None,
            session: None,
            claims: crate::claims::ClaimSet::EMPTY,
        };
        let end = Verdict::End {
            key: token_key(token.id),
            until: Timestamp(2000),
        };
        for (caller, token, now, expected) in [
            (Caller::Client(&me), Some(&token), 1500, end),
            (Caller::Admin, Some(&token), 1500, end),
            (
                Caller::Client(&other),
                Some(&token),
                1500,
                Verdict::Nothing("token_of_another_client"),
            ),
            (
                Caller::Client(&me),
                Some(&token),
                2000,
                Verdict::Nothing("token_expired"),
            ),
            (
                Caller::Client(&me),
                None,
                1500,
                Verdict::Nothing("token_unknown"),
            ),
        ] {
            assert_eq!(decide(caller, token, Timestamp(now)), expected);
        }
    }

    #[test]
    fn a_revoked_refresh_token_takes_its_family_with_it() {
        let family = crate::family::example();
        let (app, other) = (
            ClientId::parse("app").unwrap(),
            ClientId::parse("x").unwrap(),
        );
        let until = family.terms.ended_until();
        let end = Verdict::EndFamily {
            key: family.id,
            until,
        };
        for (caller, now, expected) in [
            (Caller::Client(&app), Timestamp(2000), end),
            (Caller::Admin, Timestamp(2000), end),
            // Expired itself, but an access token of it may still be out.
            (Caller::Client(&app), family.terms.expires_at, end),
            (
                Caller::Client(&app),
                until,
                Verdict::Nothing("token_expired"),
            ),
            (
                Caller::Client(&other),
                Timestamp(2000),
                Verdict::Nothing("token_of_another_client"),
            ),
        ] {
            assert_eq!(
                decide_refresh(caller, family.id, &family.terms, now),
                expected
            );
        }
    }
}
