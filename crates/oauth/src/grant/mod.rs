//! The token endpoint's grants (RFC 6749 §4). A request is parsed once into an [`Ask`]; each
//! grant decides on its own ask and the facts; what is common to all of them stands here, so that
//! no grant can forget it.

pub mod authorization_code;
pub mod client_credentials;
pub mod code;
pub mod family;
pub mod password;
pub mod refresh_token;
pub mod signed_refresh;
#[cfg(test)]
mod tests;

use crate::claims::ClaimSet;
use crate::client::{AuthMethod, Client, GrantType, Persistence, RefreshPolicy, TokenForm};
use crate::error::{Error, ErrorCode};
use crate::id_token::IdTokenWish;
use crate::params::Params;
use crate::scope::{OPENID, Scope};
use crate::time::Timestamp;

/// What the token endpoint is asked for.
#[derive(Debug)]
pub enum Ask<'a> {
    /// RFC 6749 §4.4.
    ClientCredentials(client_credentials::Ask<'a>),
    /// RFC 6749 §4.1.3.
    AuthorizationCode(authorization_code::Ask<'a>),
    /// RFC 6749 §6.
    RefreshToken(refresh_token::Ask<'a>),
    /// RFC 6749 §4.3.
    Password(password::Ask<'a>),
}

impl<'a> Ask<'a> {
    /// Reads the form of a token request.
    pub fn parse(form: &'a Params<'_>) -> Result<Self, Error> {
        match GrantType::parse(form.require("grant_type")?) {
            Some(GrantType::ClientCredentials) => Ok(Self::ClientCredentials(
                client_credentials::Ask::parse(form),
            )),
            Some(GrantType::AuthorizationCode) => {
                authorization_code::Ask::parse(form).map(Self::AuthorizationCode)
            }
            Some(GrantType::RefreshToken) => {
                refresh_token::Ask::parse(form).map(Self::RefreshToken)
            }
            Some(GrantType::Password) => password::Ask::parse(form).map(Self::Password),
            Some(GrantType::Implicit) | None => Err(unsupported()),
        }
    }

    /// The grant that is asked for.
    pub fn grant_type(&self) -> GrantType {
        match self {
            Self::ClientCredentials(_) => GrantType::ClientCredentials,
            Self::AuthorizationCode(_) => GrantType::AuthorizationCode,
            Self::RefreshToken(_) => GrantType::RefreshToken,
            Self::Password(_) => GrantType::Password,
        }
    }
}

/// What the server's configuration says that grants depend on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The issuer; also the audience of tokens that name no other.
    pub issuer: String,
    /// Seconds that an access token lives where the client says nothing.
    pub access_token_lifetime: u64,
    /// Seconds that a refresh token, rotated or not, lives where the client says nothing.
    pub refresh_token_lifetime: u64,
    /// Seconds that an ID token lives.
    pub id_token_lifetime: u64,
    /// Seconds in which a refresh token that was just used is answered again.
    pub refresh_grace: u64,
}

/// What a decision depends on beside the request and its facts.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What the configuration says.
    pub settings: &'a Settings,
    /// Now.
    pub now: Timestamp,
}

impl Context<'_> {
    /// When a refresh token that is granted now stops being good.
    fn refresh_expiry(&self, client: &Client) -> Timestamp {
        let lifetime = client.login.refresh_token_lifetime;
        self.now
            .plus(lifetime.unwrap_or(self.settings.refresh_token_lifetime))
    }
}

/// An access token to be issued: the decision of a grant, before anything is drawn or signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Whom the token speaks for.
    pub subject: Box<str>,
    /// What it allows.
    pub scope: Scope,
    /// For whom it is meant; never empty (RFC 9068 §2.2).
    pub audience: Vec<String>,
    /// What it looks like.
    pub form: TokenForm,
    /// What is written.
    pub persistence: Persistence,
    /// Seconds that it lives.
    pub lifetime: u64,
    /// The generation of the client that the decision rests on.
    pub client_generation: u64,
    /// Whether a token that is still alive may be the answer.
    pub reuse_live: bool,
    /// The generation of the user that the decision rests on; `None` where a client asks in its
    /// own name.
    pub user_generation: Option<u64>,
    /// The session that it comes from.
    pub session: Option<[u8; 16]>,
    /// The family that it belongs to: the code's, or the refresh token's. `None` with
    /// [`Refresh::Open`] or [`Refresh::Sign`]: the id that is drawn for them.
    pub family: Option<[u8; 16]>,
    /// The claims that userinfo tells beyond those of the scope.
    pub claims: ClaimSet,
    /// The refresh token that goes with it.
    pub refresh: Refresh,
    /// The ID token that goes with it.
    pub id_token: Option<IdTokenWish>,
}

/// Which refresh token goes with an access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// None.
    None,
    /// The first one of a new family, to be written with the access token.
    Open(family::Terms),
    /// A signed one that says this; nothing is written.
    Sign(family::Terms),
    /// The one of this generation of the family that was presented.
    Successor(u32),
    /// The signed one that was presented: it does not rotate.
    Keep,
}

/// What is refused where a grant is not served.
pub fn unsupported() -> Error {
    Error::new(
        ErrorCode::UnsupportedGrantType,
        "this server's token endpoint does not take this grant_type: its metadata lists those \
         that it takes",
        "grant_unsupported",
    )
}

/// Whether the client may use the grant at all.
pub fn allowed(client: &Client, grant: GrantType) -> Result<(), Error> {
    if client.grants.contains(&grant) {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::UnauthorizedClient,
        "the client is not registered for this grant_type",
        "grant_not_registered",
    ))
}

/// The audience of the token: the resources asked for (RFC 8707 §2), if the client may have
/// them; without any, those that the client is registered for; failing that, the issuer itself.
pub fn audience<'a>(
    client: &Client,
    asked: impl Iterator<Item = &'a str>,
    settings: &Settings,
) -> Result<Vec<String>, Error> {
    let refuse = |description, reason| Error::new(ErrorCode::InvalidTarget, description, reason);
    let mut audience: Vec<String> = Vec::new();
    for resource in asked {
        if !crate::client::is_resource(resource) {
            return Err(refuse(
                "a resource is an absolute URI without a fragment",
                "resource_malformed",
            ));
        }
        let registered = client.audience.iter().any(|known| known == resource);
        if !registered && resource != settings.issuer {
            return Err(refuse(
                "the client is not registered for this resource: add it to its audience",
                "resource_not_registered",
            ));
        }
        if !audience.iter().any(|known| known == resource) {
            audience.push(resource.to_owned());
        }
    }
    if audience.is_empty() {
        audience.clone_from(&client.audience);
    }
    if audience.is_empty() {
        audience.push(settings.issuer.clone());
    }
    Ok(audience)
}

/// A token that opens userinfo is meant for this server as well.
pub(crate) fn add_issuer(audience: &mut Vec<String>, scope: &Scope, settings: &Settings) {
    if scope.contains(OPENID) && !audience.contains(&settings.issuer) {
        audience.push(settings.issuer.clone());
    }
}

/// The part of a granted audience that is asked for (RFC 8707 §2.2); all of it where nothing is.
fn narrow(
    granted: &[String],
    asked: &[&str],
    scope: &Scope,
    context: &Context<'_>,
) -> Result<Vec<String>, Error> {
    let mut audience: Vec<String> = Vec::new();
    for resource in asked {
        if !granted.iter().any(|known| known == resource) {
            return Err(Error::new(
                ErrorCode::InvalidTarget,
                "this resource was not granted before",
                "resource_not_granted",
            ));
        }
        if !audience.iter().any(|known| known == resource) {
            audience.push((*resource).to_owned());
        }
    }
    if audience.is_empty() {
        audience = granted.to_vec();
    }
    add_issuer(&mut audience, scope, context.settings);
    Ok(audience)
}

/// The first refresh token, for clients that are registered for the grant. A public client's
/// rotates whatever is registered (RFC 9700 §2.2.2).
fn open_refresh(client: &Client, terms: family::Terms) -> Refresh {
    if !client.grants.contains(&GrantType::RefreshToken) {
        return Refresh::None;
    }
    let is_public = client.auth_method == AuthMethod::None;
    match client.login.refresh_token_policy {
        RefreshPolicy::Stateless if !is_public => Refresh::Sign(terms),
        _ => Refresh::Open(terms),
    }
}
