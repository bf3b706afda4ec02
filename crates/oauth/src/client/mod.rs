//! Clients: what is registered (RFC 7591 §2), and what a client is allowed to do.
//!
//! A [`Client`] is valid by construction of its parts and by [`Client::validate`], which looks at
//! the whole on *every* write: a rule that is checked only at creation can be walked around by an
//! update.

mod login;
mod validate;

pub use login::{ClientLogin, RefreshPolicy};

use crate::authorize::ResponseType;
use crate::ids::ClientId;
use crate::jose::Algorithm;
use crate::scope::ScopePatterns;
use crate::time::Timestamp;

/// How a client proves who it is (RFC 7591 §2, `token_endpoint_auth_method`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthMethod {
    /// A public client: it has no secret.
    None,
    /// HTTP Basic (RFC 6749 §2.3.1).
    ClientSecretBasic,
    /// Parameters in the body (RFC 6749 §2.3.1).
    ClientSecretPost,
    /// An assertion signed with the secret (OIDC Core §9).
    ClientSecretJwt,
    /// An assertion signed with a private key (RFC 7523 §2.2).
    PrivateKeyJwt,
}

impl AuthMethod {
    /// All methods, for tables, discovery and documents.
    pub const ALL: [Self; 5] = [
        Self::ClientSecretBasic,
        Self::ClientSecretPost,
        Self::ClientSecretJwt,
        Self::PrivateKeyJwt,
        Self::None,
    ];

    /// The registered name of the method.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::ClientSecretJwt => "client_secret_jwt",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// The method of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == text)
    }

    /// Whether the method rests on a secret that server and client share.
    pub const fn has_secret(self) -> bool {
        matches!(
            self,
            Self::ClientSecretBasic | Self::ClientSecretPost | Self::ClientSecretJwt
        )
    }
}

/// The grants of the token endpoint (RFC 7591 §2, `grant_types`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GrantType {
    /// RFC 6749 §4.4.
    ClientCredentials,
    /// RFC 6749 §4.1.
    AuthorizationCode,
    /// RFC 6749 §6.
    RefreshToken,
    /// RFC 6749 §4.3.
    Password,
    /// RFC 6749 §4.2.
    Implicit,
}

impl GrantType {
    /// All grants that may be registered.
    pub const ALL: [Self; 5] = [
        Self::ClientCredentials,
        Self::AuthorizationCode,
        Self::RefreshToken,
        Self::Password,
        Self::Implicit,
    ];

    /// The name in `grant_type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientCredentials => "client_credentials",
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::Password => "password",
            Self::Implicit => "implicit",
        }
    }

    /// The grant of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grant| grant.as_str() == text)
    }
}

/// What an access token looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenForm {
    /// A signed JWT (RFC 9068).
    Jwt,
    /// A random string that only the server understands.
    Opaque,
}

impl TokenForm {
    /// The name in the client's `access_token` field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Jwt => "jwt",
            Self::Opaque => "opaque",
        }
    }

    /// The form of this name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Jwt, Self::Opaque]
            .into_iter()
            .find(|form| form.as_str() == text)
    }
}

/// What is written when an access token is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Persistence {
    /// Nothing: the token carries all there is to know.
    Stateless,
    /// A row: for validity where the token is opaque, for listing and audit where it is a JWT.
    Persisted,
}

impl Persistence {
    /// The name in the client's `persistence` field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stateless => "stateless",
            Self::Persisted => "persisted",
        }
    }

    /// The persistence of this name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Stateless, Self::Persisted]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// Form, persistence and lifetime of the access tokens of a client, or of one of its grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenPolicy {
    /// What the token looks like.
    pub form: TokenForm,
    /// What is written when it is issued.
    pub persistence: Persistence,
    /// Seconds that a token lives; `None` for the server's default.
    pub lifetime: Option<u64>,
}

/// The secret of a client as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientSecret {
    /// There is none.
    None,
    /// SHA-256 of a secret that the server made of 256 random bits: needs no slow hash.
    Digest(crate::secret::Digest),
    /// A slow hash in its textual form (`$2b$…`, `$argon2id$…`, `$pbkdf2-sha256$…`).
    Hash(String),
    /// A slow hash that another server made, in the same form: made anew here when its secret is used.
    Imported(String),
    /// The secret itself, sealed with the cluster key: only for `client_secret_jwt`.
    Sealed(Vec<u8>),
}

/// A registered client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its name.
    pub id: ClientId,
    /// Goes up by one with every change that must end the tokens issued before.
    pub generation: u64,
    /// Goes up by one with every write; what a conditional write names.
    pub version: u64,
    /// A disabled client gets no tokens, and those that it has are dead.
    pub enabled: bool,
    /// Its secret, as it is kept.
    pub secret: ClientSecret,
    /// When the secret stops working; `None` for never.
    pub secret_expires_at: Option<Timestamp>,
    /// The one way in which it authenticates.
    pub auth_method: AuthMethod,
    /// The only algorithm its assertions may use; `None` for any that its keys allow.
    pub auth_signing_alg: Option<Algorithm>,
    /// The grants that it may use.
    pub grants: Vec<GrantType>,
    /// The scopes that it may ask for.
    pub scope: ScopePatterns,
    /// The resources (RFC 8707) that it may ask tokens for; empty: any that the server knows.
    pub audience: Vec<String>,
    /// Its public keys, a JWK set as JSON text.
    pub jwks: Option<String>,
    /// Where its public keys are.
    pub jwks_uri: Option<String>,
    /// Its access tokens, where no grant says otherwise.
    pub tokens: TokenPolicy,
    /// Exceptions per grant.
    pub grant_tokens: Vec<(GrantType, TokenPolicy)>,
    /// The algorithm that signs its access tokens; `None` for the server's default.
    pub access_token_alg: Option<Algorithm>,
    /// Whether a repeated request is answered with the token that is still alive.
    pub reuse_live_token: bool,
    /// The algorithm of its signed introspection answers (RFC 9701 §6); `None` for the default.
    pub introspection_alg: Option<Algorithm>,
    /// What holds when people log in to it.
    pub login: ClientLogin,
    /// What describes it to people, and the addresses that belong to it.
    pub metadata: ClientMetadata,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}

/// Registered fields (RFC 7591 §2, OIDC Registration §2) that describe a client to people, or
/// that belong to the flows in which people log in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientMetadata {
    /// `client_name`
    pub name: Option<String>,
    /// `client_uri`
    pub uri: Option<String>,
    /// `logo_uri`
    pub logo_uri: Option<String>,
    /// `policy_uri`
    pub policy_uri: Option<String>,
    /// `tos_uri`
    pub tos_uri: Option<String>,
    /// `owner`
    pub owner: Option<String>,
    /// `contacts`
    pub contacts: Vec<String>,
    /// `redirect_uris`
    pub redirect_uris: Vec<String>,
    /// `response_types`; empty: `code` where the client has that grant.
    pub response_types: Vec<ResponseType>,
    /// `request_uris`
    pub request_uris: Vec<String>,
    /// `sector_identifier_uri`
    pub sector_identifier_uri: Option<String>,
    /// `subject_type`
    pub subject_type: Option<String>,
    /// `request_object_signing_alg`
    pub request_object_signing_alg: Option<String>,
    /// `userinfo_signed_response_alg`
    pub userinfo_signed_response_alg: Option<String>,
    /// `allowed_cors_origins`
    pub allowed_cors_origins: Vec<String>,
    /// `metadata`: any JSON object of the operator's own, as text.
    pub extra: Option<String>,
}

/// Characters that one text of a client's metadata may have.
const MAX_TEXT: usize = 2048;
/// Entries that one list of a client's metadata may have.
const MAX_LIST: usize = 100;
/// The longest life of an access token that may be registered: a day.
pub const MAX_TOKEN_LIFETIME: u64 = 86_400;
/// The longest life of a refresh token that may be registered: a year.
pub const MAX_REFRESH_LIFETIME: u64 = 31_536_000;

impl Client {
    /// The token policy that holds for a grant.
    pub fn token_policy(&self, grant: GrantType) -> TokenPolicy {
        let exception = self.grant_tokens.iter().find(|(of, _)| *of == grant);
        exception.map_or(self.tokens, |(_, policy)| *policy)
    }

    /// Whether it may ask for this response type: registered by name, and its grants with it
    /// (OIDC Registration §2). Without any it is `code`, so that implicit and hybrid flows are
    /// switched on and never just there.
    pub fn may_ask_for(&self, kind: ResponseType) -> bool {
        let registered = &self.metadata.response_types;
        let is_named = registered.contains(&kind);
        let is_named = is_named || (registered.is_empty() && kind == ResponseType::Code);
        is_named && self.has_grants_of(kind)
    }

    fn has_grants_of(&self, kind: ResponseType) -> bool {
        let has = |grant| self.grants.contains(&grant);
        (!kind.has_code() || has(GrantType::AuthorizationCode))
            && (!kind.is_front() || has(GrantType::Implicit))
    }

    /// The algorithm of its ID tokens (OIDC Registration §2).
    pub fn id_token_alg(&self) -> Algorithm {
        self.login.id_token_alg.unwrap_or(Algorithm::Rs256)
    }
}

/// Whether a text is an absolute URI without a fragment (RFC 8707 §2, RFC 6749 §3.1.2).
pub fn is_resource(text: &str) -> bool {
    let scheme_char = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    text.len() <= MAX_TEXT
        && text
            .bytes()
            .all(|b| b.is_ascii_graphic() && !b"#\"<>\\^`{|}".contains(&b))
        && text.split_once(':').is_some_and(|(scheme, rest)| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(scheme_char)
                && !rest.is_empty()
                && rest != "//"
        })
}

/// A client to start from in tests.
#[cfg(test)]
pub(crate) fn example() -> Client {
    Client {
        id: ClientId::parse("app").unwrap(),
        generation: 0,
        version: 0,
        enabled: true,
        secret: ClientSecret::Digest(crate::secret::Digest::of(b"secret")),
        secret_expires_at: None,
        auth_method: AuthMethod::ClientSecretBasic,
        auth_signing_alg: None,
        grants: vec![GrantType::ClientCredentials],
        scope: ScopePatterns::default(),
        audience: vec![],
        jwks: None,
        jwks_uri: None,
        tokens: TokenPolicy {
            form: TokenForm::Jwt,
            persistence: Persistence::Stateless,
            lifetime: None,
        },
        grant_tokens: vec![],
        access_token_alg: None,
        reuse_live_token: false,
        introspection_alg: None,
        login: ClientLogin::default(),
        metadata: ClientMetadata::default(),
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_uris_are_told_from_the_rest() {
        for good in [
            "https://a",
            "urn:example:x",
            "com.example.app:/cb",
            "http://[::1]:80/x?y",
        ] {
            assert!(is_resource(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "/a",
            "https:",
            "https://",
            "https://a#f",
            "https://a b",
            ":x",
            "1a:x",
        ] {
            assert!(!is_resource(bad), "{bad}");
        }
    }
}
