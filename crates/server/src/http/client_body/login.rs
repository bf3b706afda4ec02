//! The fields of a client that matter when people log in to it, on the wire.

use serde::{Deserialize, Serialize};
use signet_oauth::Error;
use signet_oauth::client::{ClientLogin, RefreshPolicy};
use signet_oauth::jose::Algorithm;
use std::ops::Not;
use utoipa::ToSchema;

use super::named;

/// What holds when people log in. What is absent gets its default.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that the RFCs register one by one"
)]
pub(super) struct LoginFields {
    /// Where a browser may be sent after a logout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    post_logout_redirect_uris: Vec<String>,
    /// Where the server tells that a session ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    backchannel_logout_uri: Option<String>,
    /// Whether it must be told which session.
    #[serde(skip_serializing_if = "Not::not")]
    backchannel_logout_session_required: bool,
    /// The algorithm that signs its ID tokens. Default: `RS256`.
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token_signed_response_alg: Option<String>,
    /// Whether its authorization requests must be pushed (RFC 9126).
    #[serde(skip_serializing_if = "Not::not")]
    require_pushed_authorization_requests: bool,
    /// Whether its authorization requests must be signed (RFC 9101).
    #[serde(skip_serializing_if = "Not::not")]
    require_signed_request_object: bool,
    /// Seconds that a login may be old where a request does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_max_age: Option<u64>,
    /// Whether ID tokens must tell when the user logged in. They always do.
    #[serde(skip_serializing_if = "Not::not")]
    require_auth_time: bool,
    /// Whether its users are not asked for their consent: a first-party client.
    #[serde(skip_serializing_if = "Not::not")]
    skip_consent: bool,
    /// Whether it must use PKCE. Public clients always must.
    #[serde(skip_serializing_if = "Option::is_none")]
    require_pkce: Option<bool>,
    /// Whether the PKCE method `plain` is tolerated.
    #[serde(skip_serializing_if = "Not::not")]
    allow_plain_pkce: bool,
    /// Seconds that its refresh tokens live, 60 to 31536000; the server's default where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token_lifetime: Option<u64>,
    /// `rotating` or `stateless`. Default: `rotating`.
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token_policy: Option<String>,
}

impl LoginFields {
    /// What they say.
    pub(super) fn parse(&self) -> Result<ClientLogin, Error> {
        let alg = self.id_token_signed_response_alg.as_ref();
        let policy = self.refresh_token_policy.as_ref();
        Ok(ClientLogin {
            post_logout_redirect_uris: self.post_logout_redirect_uris.clone(),
            backchannel_logout_uri: self.backchannel_logout_uri.clone(),
            backchannel_logout_session_required: self.backchannel_logout_session_required,
            id_token_alg: named("id_token_signed_response_alg", alg, Algorithm::parse)?,
            require_pushed_requests: self.require_pushed_authorization_requests,
            require_signed_request_object: self.require_signed_request_object,
            default_max_age: self.default_max_age,
            require_auth_time: self.require_auth_time,
            skip_consent: self.skip_consent,
            require_pkce: self.require_pkce,
            allow_plain_pkce: self.allow_plain_pkce,
            refresh_token_lifetime: self.refresh_token_lifetime,
            refresh_token_policy: named("refresh_token_policy", policy, RefreshPolicy::parse)?
                .unwrap_or_default(),
        })
    }

    /// The fields of a client.
    pub(super) fn of(login: &ClientLogin) -> Self {
        let policy = login.refresh_token_policy;
        Self {
            post_logout_redirect_uris: login.post_logout_redirect_uris.clone(),
            backchannel_logout_uri: login.backchannel_logout_uri.clone(),
            backchannel_logout_session_required: login.backchannel_logout_session_required,
            id_token_signed_response_alg: login.id_token_alg.map(|alg| alg.name().to_owned()),
            require_pushed_authorization_requests: login.require_pushed_requests,
            require_signed_request_object: login.require_signed_request_object,
            default_max_age: login.default_max_age,
            require_auth_time: login.require_auth_time,
            skip_consent: login.skip_consent,
            require_pkce: login.require_pkce,
            allow_plain_pkce: login.allow_plain_pkce,
            refresh_token_lifetime: login.refresh_token_lifetime,
            refresh_token_policy: (policy != RefreshPolicy::default())
                .then(|| policy.as_str().to_owned()),
        }
    }
}
