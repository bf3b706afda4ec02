//! What is registered about logging in to a client (OIDC Registration §2, RFC 7591, 9101, 9126, and
//! the logout specifications).

use crate::jose::Algorithm;

/// How the refresh tokens of a client are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RefreshPolicy {
    /// One use each, in families that are written down; reuse is noticed.
    #[default]
    Rotating,
    /// A signed token, nothing written, no rotation: for clients that prove who they are.
    Stateless,
}

impl RefreshPolicy {
    /// The name in the client's `refresh_token_policy` field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rotating => "rotating",
            Self::Stateless => "stateless",
        }
    }

    /// The policy of this name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Rotating, Self::Stateless]
            .into_iter()
            .find(|policy| policy.as_str() == text)
    }
}

/// What holds when people log in to a client. The default is right for most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that the RFCs register one by one"
)]
pub struct ClientLogin {
    /// `post_logout_redirect_uris` (OIDC RP-Initiated Logout §3.1)
    pub post_logout_redirect_uris: Vec<String>,
    /// `backchannel_logout_uri` (OIDC Back-Channel Logout §2.2)
    pub backchannel_logout_uri: Option<String>,
    /// `backchannel_logout_session_required`: a logout token must name the session.
    pub backchannel_logout_session_required: bool,
    /// `id_token_signed_response_alg`; `None` for RS256.
    pub id_token_alg: Option<Algorithm>,
    /// `require_pushed_authorization_requests` (RFC 9126 §6)
    pub require_pushed_requests: bool,
    /// `require_signed_request_object` (RFC 9101 §10.5)
    pub require_signed_request_object: bool,
    /// `default_max_age`: seconds that a login may be old where the request says nothing.
    pub default_max_age: Option<u64>,
    /// `require_auth_time`. ID tokens always tell it here.
    pub require_auth_time: bool,
    /// `skip_consent`: a first-party client, whose users are not asked.
    pub skip_consent: bool,
    /// `require_pkce`; `None`: public clients must, others may. Public clients always must.
    pub require_pkce: Option<bool>,
    /// `allow_plain_pkce`: whether the PKCE method `plain` is tolerated.
    pub allow_plain_pkce: bool,
    /// `refresh_token_lifetime`: seconds from the login; `None` for the server's default.
    pub refresh_token_lifetime: Option<u64>,
    /// `refresh_token_policy`
    pub refresh_token_policy: RefreshPolicy,
}
