//! Who may use the admin door: the bearer of the bootstrap token, or of a token of this server's
//! own that carries the admin scope and names this server as its audience.

use signet_oauth::scope::ADMIN_SCOPE;
use signet_oauth::secret::Digest;
use signet_oauth::token::Liveness;
use signet_oauth::{Error, ErrorCode};

use super::{Failure, introspect, userinfo::bearer};
use crate::app::App;

/// Who is behind an admin request, for the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admin {
    /// The bearer of the bootstrap token.
    Bootstrap,
    /// A client or user with the admin scope: the token's subject.
    Token(Box<str>),
}

impl std::fmt::Display for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bootstrap => f.write_str("bootstrap"),
            Self::Token(subject) => f.write_str(subject),
        }
    }
}

/// Checks the `Authorization` header of an admin request (RFC 6750 §2.1).
pub async fn authorize(app: &App, authorization: Option<&[u8]>) -> Result<Admin, Failure> {
    let token = authorization.and_then(bearer).ok_or_else(|| {
        refuse(
            "send the admin token as Authorization: Bearer …",
            "admin_token_absent",
        )
    })?;
    if Digest::of(token.as_bytes()) == app.policy.bootstrap {
        return Ok(Admin::Bootstrap);
    }
    let now = app.clock.now();
    let refused = || {
        refuse(
            "the admin token is not valid, or no longer",
            "admin_token_invalid",
        )
    };
    let found = introspect::find(app, token, now)
        .await?
        .ok_or_else(refused)?;
    if introspect::liveness(app, &found, now).await? != Liveness::Alive {
        return Err(refused().into());
    }
    if !found.token.audience.contains(&app.grants.issuer) {
        return Err(refuse(
            "the token is meant for somebody else: ask for one with the issuer as its resource",
            "admin_token_audience",
        )
        .into());
    }
    if !found.token.scope.contains(ADMIN_SCOPE) {
        return Err(Error::new(
            ErrorCode::InsufficientScope,
            "the token lacks the scope signet:admin",
            "admin_token_scope",
        )
        .into());
    }
    Ok(Admin::Token(found.token.subject.clone()))
}

fn refuse(description: &'static str, reason: &'static str) -> Error {
    Error::new(ErrorCode::InvalidToken, description, reason)
}
