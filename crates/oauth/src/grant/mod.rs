//! The token endpoint's grants (RFC 6749 §4). A request is parsed once into an [`Ask`]; each
//! grant decides on its own ask and the facts; what is common to all of them stands here, so that
//! no grant can forget it.

pub mod client_credentials;

use crate::client::{Client, GrantType, Persistence, TokenForm};
use crate::error::{Error, ErrorCode};
use crate::params::Params;
use crate::scope::Scope;

/// What the token endpoint is asked for.
#[derive(Debug)]
pub enum Ask<'a> {
    /// RFC 6749 §4.4.
    ClientCredentials(client_credentials::Ask<'a>),
}

impl<'a> Ask<'a> {
    /// Reads the form of a token request.
    pub fn parse(form: &'a Params<'_>) -> Result<Self, Error> {
        match GrantType::parse(form.require("grant_type")?) {
            Some(GrantType::ClientCredentials) => Ok(Self::ClientCredentials(
                client_credentials::Ask::parse(form),
            )),
            _ => Err(Error::new(
                ErrorCode::UnsupportedGrantType,
                "this server's token endpoint takes grant_type=client_credentials",
                "grant_unsupported",
            )),
        }
    }

    /// The grant that is asked for.
    pub fn grant_type(&self) -> GrantType {
        match self {
            Self::ClientCredentials(_) => GrantType::ClientCredentials,
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
