//! Revocation (RFC 7009): whose token may be revoked by whom. A token that is unknown, expired or
//! somebody else's is answered like a revoked one (§2.2): the caller wants it gone, and it learns
//! nothing about tokens that are not its own.

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
}
