//! Clients on the wire: the fields of RFC 7591 §2 under their names, and a few of our own.

mod login;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use signet_oauth::authorize::ResponseType;
use signet_oauth::client::{
    AuthMethod, Client, ClientLogin, ClientMetadata, ClientSecret, GrantType, Persistence,
    TokenForm, TokenPolicy,
};
use signet_oauth::ids::ClientId;
use signet_oauth::jose::Algorithm;
use signet_oauth::scope::ScopePatterns;
use signet_oauth::secret::Secret;
use signet_oauth::time::Timestamp;
use signet_oauth::{Error, ErrorCode};
use std::collections::BTreeMap;
use utoipa::ToSchema;

use self::login::LoginFields;
use crate::flow::clients::{Draft, SecretChoice};
use crate::hashing::HashSpec;

/// How the access tokens of one grant are made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantTokens {
    /// `jwt` or `opaque`.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token: Option<String>,
    /// `stateless` or `persisted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    persistence: Option<String>,
    /// Seconds that a token lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token_lifetime: Option<u64>,
}

/// The registered fields of a client. What is absent gets its default.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ClientFields {
    /// Its name; drawn where it is absent. Visible ASCII, at most 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_name: Option<String>,
    /// When the secret stops working, in seconds since 1970; 0 for never.
    #[serde(skip_serializing_if = "is_zero")]
    client_secret_expires_at: u64,
    /// Scopes that it may ask for, separated by spaces; `*` at the end stands for anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    /// Resources (RFC 8707) that it may ask tokens for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    audience: Vec<String>,
    /// Default: `client_credentials` for clients with a secret or keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    grant_types: Option<Vec<String>>,
    /// Default: `client_secret_basic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_endpoint_auth_method: Option<String>,
    /// The only algorithm that its assertions may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_endpoint_auth_signing_alg: Option<String>,
    /// Its public keys: a JWK set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    jwks: Option<Value>,
    /// Where its public keys are.
    #[serde(skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<String>,
    /// `jwt` or `opaque`; the server's default where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token: Option<String>,
    /// `stateless` or `persisted`; the server's default where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    persistence: Option<String>,
    /// Seconds that an access token lives, 1 to 86400.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token_lifetime: Option<u64>,
    /// The algorithm that signs its access tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token_signed_response_alg: Option<String>,
    /// The algorithm of its signed introspection answers (RFC 9701 §6).
    #[serde(skip_serializing_if = "Option::is_none")]
    introspection_signed_response_alg: Option<String>,
    /// Exceptions per grant, by `grant_type`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    grant_tokens: BTreeMap<String, GrantTokens>,
    /// Whether a repeated request is answered with the token that is still alive.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reuse_live_token: bool,
    /// A disabled client gets no tokens, and those that it has are dead. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logo_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tos_uri: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contacts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    redirect_uris: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    response_types: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    request_uris: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sector_identifier_uri: Option<String>,
    /// `public`
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_object_signing_alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    userinfo_signed_response_alg: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed_cors_origins: Vec<String>,
    /// Anything of the operator's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A client as it is sent in.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct ClientRequest {
    #[serde(flatten)]
    pub fields: ClientFields,
    #[serde(flatten)]
    login: LoginFields,
    /// A secret of the caller's choosing; one is generated where it is absent.
    client_secret: Option<String>,
    /// How a chosen secret is hashed: `bcrypt:COST`, `argon2id`, `argon2id:m=…,t=…,p=…` or
    /// `pbkdf2-sha256:ITERATIONS`; the configured one where it is absent.
    secret_hash: Option<String>,
    /// An existing hash to import instead of a secret (bcrypt, PBKDF2 or Argon2).
    client_secret_hash: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    rest: Map<String, Value>,
}

/// All registered fields, to be written. They are read apart: of a flattened struct that flattens
/// another, serde does not know which members it took.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AllFields {
    #[serde(flatten)]
    fields: ClientFields,
    #[serde(flatten)]
    login: LoginFields,
}

impl AllFields {
    /// Those of a client.
    pub fn of(client: &Client) -> Self {
        Self {
            fields: ClientFields::of(client),
            login: LoginFields::of(&client.login),
        }
    }
}

/// A client as it is told.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ClientResponse {
    #[serde(flatten)]
    fields: AllFields,
    /// The generated secret, told this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    /// When the client was created, in seconds since 1970.
    client_id_issued_at: u64,
    /// When it was last written.
    updated_at: u64,
    /// Goes up with every write; the `ETag` of the client.
    version: u64,
    /// Goes up with every change that ends the tokens issued before.
    generation: u64,
}

/// What the server tells and does not take back in.
const READ_ONLY: [&str; 5] = [
    "client_id_issued_at",
    "created_at",
    "updated_at",
    "version",
    "generation",
];

impl ClientRequest {
    /// The members that this server does not know.
    pub fn unknown(&self) -> Option<&str> {
        self.rest
            .keys()
            .map(String::as_str)
            .find(|name| !READ_ONLY.contains(name))
    }

    /// Makes a draft for the client `id`.
    pub fn draft(self, id: ClientId, defaults: TokenPolicy) -> Result<Draft, Error> {
        let secret = self.secret_choice()?;
        Ok(Draft {
            client: Client {
                login: self.login.parse()?,
                ..self.fields.client(id, defaults)?
            },
            secret,
        })
    }

    fn secret_choice(&self) -> Result<SecretChoice, Error> {
        let spec = self.secret_hash.as_deref().map(HashSpec::parse).transpose();
        let spec = spec.map_err(|error| refuse(format!("secret_hash: {error}")))?;
        match (&self.client_secret, &self.client_secret_hash) {
            (None, None) => Ok(SecretChoice::Unsaid),
            (Some(secret), None) if secret.is_empty() => Ok(SecretChoice::Unsaid),
            (Some(secret), None) => Ok(SecretChoice::Given(Secret::new(secret.as_str()), spec)),
            (None, Some(hash)) => Ok(SecretChoice::Imported(hash.clone())),
            (Some(_), Some(_)) => Err(refuse("send client_secret or client_secret_hash, not both")),
        }
    }
}

fn refuse(description: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(
        ErrorCode::InvalidClientMetadata,
        description,
        "client_field",
    )
}

fn named<T>(
    field: &str,
    text: Option<&String>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Error> {
    text.map(|text| parse(text).ok_or_else(|| refuse(format!("{field}: there is no {text:?}"))))
        .transpose()
}

impl GrantTokens {
    fn policy(&self, base: TokenPolicy) -> Result<TokenPolicy, Error> {
        let form = named("access_token", self.access_token.as_ref(), TokenForm::parse)?;
        let persistence = named("persistence", self.persistence.as_ref(), Persistence::parse)?;
        let form = form.unwrap_or(base.form);
        Ok(TokenPolicy {
            form,
            // An opaque token is always persisted; to say so would only be a formality.
            persistence: persistence.unwrap_or(match form {
                TokenForm::Opaque => Persistence::Persisted,
                TokenForm::Jwt => base.persistence,
            }),
            lifetime: self.access_token_lifetime.or(base.lifetime),
        })
    }

    fn of(policy: TokenPolicy) -> Self {
        Self {
            access_token: Some(policy.form.as_str().to_owned()),
            persistence: Some(policy.persistence.as_str().to_owned()),
            access_token_lifetime: policy.lifetime,
        }
    }
}

impl ClientFields {
    fn client(self, id: ClientId, defaults: TokenPolicy) -> Result<Client, Error> {
        let method = self.token_endpoint_auth_method.as_ref();
        let auth_method = named("token_endpoint_auth_method", method, AuthMethod::parse)?
            .unwrap_or(AuthMethod::ClientSecretBasic);
        let alg = |field, text: &Option<String>| named(field, text.as_ref(), Algorithm::parse);
        let tokens = GrantTokens {
            access_token: self.access_token.clone(),
            persistence: self.persistence.clone(),
            access_token_lifetime: self.access_token_lifetime,
        };
        let tokens = tokens.policy(defaults)?;
        Ok(Client {
            id,
            generation: 0,
            version: 0,
            enabled: self.enabled.unwrap_or(true),
            secret: ClientSecret::None,
            secret_expires_at: Some(self.client_secret_expires_at)
                .filter(|at| *at != 0)
                .map(Timestamp),
            auth_method,
            auth_signing_alg: alg(
                "token_endpoint_auth_signing_alg",
                &self.token_endpoint_auth_signing_alg,
            )?,
            grants: grants(self.grant_types.as_deref(), auth_method)?,
            scope: ScopePatterns::parse(self.scope.as_deref().unwrap_or_default())
                .map_err(|error| refuse(format!("scope: {}", error.description)))?,
            access_token_alg: alg(
                "access_token_signed_response_alg",
                &self.access_token_signed_response_alg,
            )?,
            introspection_alg: alg(
                "introspection_signed_response_alg",
                &self.introspection_signed_response_alg,
            )?,
            tokens,
            grant_tokens: self.grant_policies(tokens)?,
            reuse_live_token: self.reuse_live_token,
            jwks: self.jwks.as_ref().map(Value::to_string),
            jwks_uri: self.jwks_uri.clone(),
            audience: self.audience.clone(),
            login: ClientLogin::default(),
            metadata: self.metadata()?,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        })
    }

    fn grant_policies(&self, base: TokenPolicy) -> Result<Vec<(GrantType, TokenPolicy)>, Error> {
        let policies = self.grant_tokens.iter().map(|(name, tokens)| {
            let grant = named("grant_tokens", Some(name), GrantType::parse)?;
            let grant = grant.ok_or_else(|| refuse("grant_tokens: a grant without a name"))?;
            Ok((grant, tokens.policy(base)?))
        });
        policies.collect()
    }

    fn metadata(self) -> Result<ClientMetadata, Error> {
        let mut response_types = Vec::new();
        for name in &self.response_types {
            let kind = named("response_types", Some(name), ResponseType::parse)?;
            response_types.extend(kind.filter(|kind| !response_types.contains(kind)));
        }
        Ok(ClientMetadata {
            name: self.client_name,
            uri: self.client_uri,
            logo_uri: self.logo_uri,
            policy_uri: self.policy_uri,
            tos_uri: self.tos_uri,
            owner: self.owner,
            contacts: self.contacts,
            redirect_uris: self.redirect_uris,
            response_types,
            request_uris: self.request_uris,
            sector_identifier_uri: self.sector_identifier_uri,
            subject_type: self.subject_type,
            request_object_signing_alg: self.request_object_signing_alg,
            userinfo_signed_response_alg: self.userinfo_signed_response_alg,
            allowed_cors_origins: self.allowed_cors_origins,
            extra: self.metadata.map(|map| Value::Object(map).to_string()),
        })
    }

    /// The fields of a client.
    fn of(client: &Client) -> Self {
        let text = |text: &str| Some(text.to_owned());
        let metadata = client.metadata.clone();
        let tokens = GrantTokens::of(client.tokens);
        let policies = client.grant_tokens.iter();
        Self {
            client_id: text(client.id.as_str()),
            client_name: metadata.name,
            client_secret_expires_at: client.secret_expires_at.map_or(0, |at| at.0),
            scope: text(client.scope.as_str()).filter(|scope| !scope.is_empty()),
            audience: client.audience.clone(),
            grant_types: Some(
                client
                    .grants
                    .iter()
                    .map(|g| g.as_str().to_owned())
                    .collect(),
            ),
            token_endpoint_auth_method: text(client.auth_method.as_str()),
            token_endpoint_auth_signing_alg: client.auth_signing_alg.and_then(|a| text(a.name())),
            jwks: client
                .jwks
                .as_deref()
                .and_then(|text| serde_json::from_str(text).ok()),
            jwks_uri: client.jwks_uri.clone(),
            access_token: tokens.access_token,
            persistence: tokens.persistence,
            access_token_lifetime: tokens.access_token_lifetime,
            access_token_signed_response_alg: client.access_token_alg.and_then(|a| text(a.name())),
            introspection_signed_response_alg: client
                .introspection_alg
                .and_then(|a| text(a.name())),
            grant_tokens: policies
                .map(|(grant, policy)| (grant.as_str().to_owned(), GrantTokens::of(*policy)))
                .collect(),
            reuse_live_token: client.reuse_live_token,
            enabled: Some(client.enabled),
            owner: metadata.owner,
            client_uri: metadata.uri,
            logo_uri: metadata.logo_uri,
            policy_uri: metadata.policy_uri,
            tos_uri: metadata.tos_uri,
            contacts: metadata.contacts,
            redirect_uris: metadata.redirect_uris,
            response_types: metadata
                .response_types
                .iter()
                .map(|kind| kind.as_str().to_owned())
                .collect(),
            request_uris: metadata.request_uris,
            sector_identifier_uri: metadata.sector_identifier_uri,
            subject_type: metadata.subject_type,
            request_object_signing_alg: metadata.request_object_signing_alg,
            userinfo_signed_response_alg: metadata.userinfo_signed_response_alg,
            allowed_cors_origins: metadata.allowed_cors_origins,
            metadata: metadata
                .extra
                .and_then(|text| serde_json::from_str(&text).ok()),
        }
    }
}

/// Without `grant_types`, a client that can prove who it is gets client credentials: what every
/// service wants. A public client gets the code grant, the only one that is good for it.
fn grants(named_grants: Option<&[String]>, method: AuthMethod) -> Result<Vec<GrantType>, Error> {
    let Some(names) = named_grants else {
        return Ok(vec![match method {
            AuthMethod::None => GrantType::AuthorizationCode,
            _ => GrantType::ClientCredentials,
        }]);
    };
    let mut grants = Vec::new();
    for name in names {
        let grant = named("grant_types", Some(name), GrantType::parse)?;
        grants.extend(grant.filter(|grant| !grants.contains(grant)));
    }
    Ok(grants)
}

impl ClientResponse {
    /// Tells a client, and its secret where one was just generated.
    pub fn of(client: &Client, secret: Option<&Secret>) -> Self {
        Self {
            fields: AllFields::of(client),
            client_secret: secret.map(|secret| secret.expose().to_owned()),
            client_id_issued_at: client.created_at.0,
            updated_at: client.updated_at.0,
            version: client.version,
            generation: client.generation,
        }
    }
}
