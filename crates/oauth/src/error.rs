//! Errors of the protocols: one closed list of codes, and the only table from code to status
//! (RFC 6749 §5.2, 6750 §3.1, 7009 §2.2.1, 7591 §3.2.2, 8707 §2).

use std::borrow::Cow;

/// What went wrong, as the client reads it in `error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The request is malformed (RFC 6749 §5.2).
    InvalidRequest,
    /// Client authentication failed (RFC 6749 §5.2).
    InvalidClient,
    /// The grant is invalid, expired, revoked or somebody else's (RFC 6749 §5.2).
    InvalidGrant,
    /// This client may not use this grant (RFC 6749 §5.2).
    UnauthorizedClient,
    /// The server does not know this grant (RFC 6749 §5.2).
    UnsupportedGrantType,
    /// The scope is unknown, malformed or too wide (RFC 6749 §5.2).
    InvalidScope,
    /// The resource is unknown or malformed (RFC 8707 §2).
    InvalidTarget,
    /// The bearer token is missing, expired, revoked or malformed (RFC 6750 §3.1).
    InvalidToken,
    /// The bearer token lacks a scope (RFC 6750 §3.1).
    InsufficientScope,
    /// The server does not revoke tokens of this type (RFC 7009 §2.2.1).
    UnsupportedTokenType,
    /// The client's metadata is not acceptable (RFC 7591 §3.2.2).
    InvalidClientMetadata,
    /// A redirect URI is not acceptable (RFC 7591 §3.2.2).
    InvalidRedirectUri,
    /// The user or the server said no (RFC 6749 §4.1.2.1).
    AccessDenied,
    /// The client may not use this response type (RFC 6749 §4.1.2.1).
    UnsupportedResponseType,
    /// The user must log in, and no page may be shown (OIDC Core §3.1.2.6).
    LoginRequired,
    /// The user must allow it, and no page may be shown (OIDC Core §3.1.2.6).
    ConsentRequired,
    /// The user must do something else, and no page may be shown (OIDC Core §3.1.2.6).
    InteractionRequired,
    /// The user must choose an account, and no page may be shown (OIDC Core §3.1.2.6).
    AccountSelectionRequired,
    /// The login is not as good as the client must have it (Core Error Code
    /// `unmet_authentication_requirements`).
    UnmetAuthenticationRequirements,
    /// The `request_uri` is unknown, used or expired (RFC 9101 §6.2, RFC 9126 §4).
    InvalidRequestUri,
    /// The request object is malformed, or not signed as it must be (RFC 9101 §6.2).
    InvalidRequestObject,
    /// Request objects of this kind are not taken (OIDC Core §3.1.2.6).
    RequestNotSupported,
    /// Requests by reference are not taken (OIDC Core §3.1.2.6).
    RequestUriNotSupported,
    /// `registration` is not taken (OIDC Core §3.1.2.6).
    RegistrationNotSupported,
    /// There is nothing of this name (admin interface).
    NotFound,
    /// The name is taken, or the thing is not in a state for this (admin interface).
    Conflict,
    /// The thing is not what the caller saw: `If-Match` says so (RFC 9110 §13.1.1).
    PreconditionFailed,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The body is larger than this endpoint takes.
    PayloadTooLarge,
    /// The body is not of a type that this endpoint reads.
    UnsupportedMediaType,
    /// The request did not arrive in time.
    RequestTimeout,
    /// The server met something unexpected; its log says what.
    ServerError,
    /// The server cannot answer now; trying again later may help.
    TemporarilyUnavailable,
}

impl ErrorCode {
    /// All codes, for tables and documents.
    pub const ALL: [Self; 33] = [
        Self::InvalidRequest,
        Self::InvalidClient,
        Self::InvalidGrant,
        Self::UnauthorizedClient,
        Self::UnsupportedGrantType,
        Self::InvalidScope,
        Self::InvalidTarget,
        Self::InvalidToken,
        Self::InsufficientScope,
        Self::UnsupportedTokenType,
        Self::InvalidClientMetadata,
        Self::InvalidRedirectUri,
        Self::AccessDenied,
        Self::UnsupportedResponseType,
        Self::LoginRequired,
        Self::ConsentRequired,
        Self::InteractionRequired,
        Self::AccountSelectionRequired,
        Self::UnmetAuthenticationRequirements,
        Self::InvalidRequestUri,
        Self::InvalidRequestObject,
        Self::RequestNotSupported,
        Self::RequestUriNotSupported,
        Self::RegistrationNotSupported,
        Self::NotFound,
        Self::Conflict,
        Self::PreconditionFailed,
        Self::MethodNotAllowed,
        Self::PayloadTooLarge,
        Self::UnsupportedMediaType,
        Self::RequestTimeout,
        Self::ServerError,
        Self::TemporarilyUnavailable,
    ];

    /// The code as it goes over the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::UnsupportedTokenType => "unsupported_token_type",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::AccessDenied => "access_denied",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::LoginRequired => "login_required",
            Self::ConsentRequired => "consent_required",
            Self::InteractionRequired => "interaction_required",
            Self::AccountSelectionRequired => "account_selection_required",
            Self::UnmetAuthenticationRequirements => "unmet_authentication_requirements",
            Self::InvalidRequestUri => "invalid_request_uri",
            Self::InvalidRequestObject => "invalid_request_object",
            Self::RequestNotSupported => "request_not_supported",
            Self::RequestUriNotSupported => "request_uri_not_supported",
            Self::RegistrationNotSupported => "registration_not_supported",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::PreconditionFailed => "precondition_failed",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::PayloadTooLarge => "payload_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::RequestTimeout => "request_timeout",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
        }
    }

    /// The HTTP status that goes with the code. The only such table.
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidRequest
            | Self::InvalidGrant
            | Self::UnauthorizedClient
            | Self::UnsupportedGrantType
            | Self::InvalidScope
            | Self::InvalidTarget
            | Self::UnsupportedTokenType
            | Self::InvalidClientMetadata
            | Self::InvalidRedirectUri
            | Self::UnsupportedResponseType
            | Self::LoginRequired
            | Self::ConsentRequired
            | Self::InteractionRequired
            | Self::AccountSelectionRequired
            | Self::UnmetAuthenticationRequirements
            | Self::InvalidRequestUri
            | Self::InvalidRequestObject
            | Self::RequestNotSupported
            | Self::RequestUriNotSupported
            | Self::RegistrationNotSupported => 400,
            Self::InvalidClient | Self::InvalidToken => 401,
            Self::InsufficientScope | Self::AccessDenied => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::RequestTimeout => 408,
            Self::Conflict => 409,
            Self::PreconditionFailed => 412,
            Self::PayloadTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::ServerError => 500,
            Self::TemporarilyUnavailable => 503,
        }
    }
}

/// A refusal: `description` goes to the client, `reason` to the log and to a metric label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What the client can act on.
    pub code: ErrorCode,
    /// One sentence for the developer of the client: what to do about it.
    pub description: Cow<'static, str>,
    /// A short fixed label; never text that came from the request.
    pub reason: &'static str,
}

impl Error {
    /// A refusal with a description that says what to do, and a label for the log.
    pub fn new(
        code: ErrorCode,
        description: impl Into<Cow<'static, str>>,
        reason: &'static str,
    ) -> Self {
        Self {
            code,
            description: description.into(),
            reason,
        }
    }

    /// `invalid_request`, the most common one.
    pub fn request(description: impl Into<Cow<'static, str>>, reason: &'static str) -> Self {
        Self::new(ErrorCode::InvalidRequest, description, reason)
    }

    /// `invalid_client`, always in the same words: it must not tell which part was wrong.
    pub fn client(reason: &'static str) -> Self {
        Self::new(
            ErrorCode::InvalidClient,
            "client authentication failed: check the client id, its credentials and the method \
             that it is registered for",
            reason,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_name_and_an_error_status() {
        let mut names: Vec<_> = ErrorCode::ALL.iter().map(|c| c.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
        assert!(
            ErrorCode::ALL
                .iter()
                .all(|c| (400..=503).contains(&c.status()))
        );
    }
}
