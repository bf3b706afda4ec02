//! Why a token was refused.

use signet_oauth::jose;
use std::fmt;

/// A refusal. To the client most of them are one and the same `invalid_token` (RFC 6750 §3.1);
/// the label is for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not a signed token, or the signature is wrong.
    Jose(jose::Error),
    /// Signed, but not an access token (RFC 9068 §2.1): an ID token, say.
    NotAnAccessToken,
    /// No key of that name and algorithm. The key set may be old: fetch it and ask again.
    UnknownKey,
    /// Another issuer's.
    Issuer,
    /// A claim is missing or says something impossible.
    Claim(&'static str),
    /// The token is bound to a key (RFC 7800 §3.1), and possession cannot be checked here.
    Bound,
    /// Expired.
    Expired,
    /// Not valid yet, or issued in the future.
    NotYetValid,
    /// Meant for somebody else.
    Audience,
    /// Too little scope: the one refusal that is `insufficient_scope` to the client.
    Scope,
    /// Revoked; the label says what ended it.
    Dead(&'static str),
    /// Decided on newer facts than are known here: catch up with the log and ask again. Still so
    /// after that (a restored backup), it is dead.
    Behind,
}

impl Refusal {
    /// A label for logs and metrics.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Jose(error) => error.reason(),
            Self::NotAnAccessToken => "token_type",
            Self::UnknownKey => "token_unknown_key",
            Self::Issuer => "token_issuer",
            Self::Claim(_) => "token_claim",
            Self::Bound => "token_bound",
            Self::Expired => "token_expired",
            Self::NotYetValid => "token_not_yet_valid",
            Self::Audience => "token_audience",
            Self::Scope => "token_scope",
            Self::Dead(label) => label,
            Self::Behind => "token_behind",
        }
    }
}

impl From<jose::Error> for Refusal {
    fn from(error: jose::Error) -> Self {
        match error {
            jose::Error::Claim(name) => Self::Claim(name),
            other => Self::Jose(other),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jose(error) => error.fmt(f),
            Self::Claim(name) => write!(f, "the claim {name} is missing or impossible"),
            other => f.write_str(other.reason()),
        }
    }
}

impl std::error::Error for Refusal {}
