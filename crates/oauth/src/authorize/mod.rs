//! The authorization endpoint (RFC 6749 §3.1, §4.1, §4.2; OIDC Core §3): what a request asks for,
//! what must happen before it is answered, and what the answer says.
//!
//! The order of a flow: the client is found ([`client_id`]), a request object is opened
//! ([`request_object`]), the request is read ([`parse()`]), [`next_step`] is asked until it says
//! [`Step::Issue`], [`grant()`] decides what is issued, and [`response`] writes the way back.

mod ask;
pub mod par;
mod parse;
pub mod pkce;
pub mod redirect;
pub mod request_object;
pub mod response;
mod step;
#[cfg(test)]
mod tests;
mod verdict;

pub use ask::{Display, Prompt, Prompts, ResponseMode, ResponseType};
pub use parse::{AuthorizeError, client_id, parse, unknown_client};
pub use response::ResponseTarget;
pub use step::{Facts, LoginReason, Step, denied, next_step};
pub use verdict::{Granted, grant};

use crate::claims::{Claim, ClaimsRequest};
use crate::ids::ClientId;
use crate::scope::Scope;
use crate::user::UserId;
use pkce::Challenge;

/// An authorization request that was read and found good; nobody has logged in for it yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationRequest {
    /// Who asks.
    pub client: ClientId,
    /// For what.
    pub response_type: ResponseType,
    /// Where the answer goes, and how.
    pub target: ResponseTarget,
    /// Whether `redirect_uri` was sent: then the token request must repeat it (RFC 6749 §4.1.3).
    pub redirect_uri_sent: bool,
    /// The scope, all of which the client may have.
    pub scope: Scope,
    /// For whom the tokens will be meant (RFC 8707); never empty.
    pub audience: Vec<String>,
    /// `nonce`, to be repeated in ID tokens.
    pub nonce: Option<String>,
    /// The PKCE challenge (RFC 7636).
    pub challenge: Option<Challenge>,
    /// `prompt`
    pub prompts: Prompts,
    /// Seconds that a login may be old; the client's default where the request says nothing.
    pub max_age: Option<u64>,
    /// `acr_values`, and those that the `claims` parameter asks for, the best first.
    pub acr_values: Vec<String>,
    /// Whether one of `acr_values` must be reached (OIDC Core §5.5.1.1).
    pub acr_essential: bool,
    /// The claims that are asked for by name (OIDC Core §5.5).
    pub claims: ClaimsRequest,
    /// The only user that will do: of the `claims` parameter, or of the verified `id_token_hint`.
    pub subject: Option<UserId>,
    /// `id_token_hint` as it came: to be verified, then told to [`AuthorizationRequest::hint`].
    pub id_token_hint: Option<String>,
    /// `login_hint`
    pub login_hint: Option<String>,
    /// `ui_locales`, the best first.
    pub ui_locales: Vec<String>,
    /// `display`
    pub display: Display,
}

impl AuthorizationRequest {
    /// Whether this is an `OpenID` Connect request.
    pub fn is_openid(&self) -> bool {
        self.scope.contains(crate::scope::OPENID)
    }

    /// What the user is asked about: the scope, and the scopes to which the claims belong that
    /// are asked for by name. Nobody learns by the one way what was not allowed by the other.
    pub fn consent_scope(&self) -> Scope {
        let claims = self.claims.id_token.union(self.claims.userinfo);
        let of_claims: Vec<&str> = claims.iter().map(Claim::scope).collect();
        let of_claims = Scope::parse(&of_claims.join(" ")).unwrap_or_default();
        self.scope.union(&of_claims)
    }
}

/// How the request came, which a client may have to do in one way only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// It was pushed (RFC 9126).
    pub pushed: bool,
    /// It was in a signed request object (RFC 9101).
    pub signed: bool,
}

/// A request to start from in tests.
#[cfg(test)]
pub(crate) fn example() -> AuthorizationRequest {
    tests::code_request("")
}
