//! Clients as columns: what the server filters by or guards on has its own, the rest is one JSON
//! document. Every field of the document but `secret` has a default, so that a row of an older
//! program stays readable.

use serde::{Deserialize, Serialize};
use signet_oauth::authorize::ResponseType;
use signet_oauth::client::{
    AuthMethod, Client, ClientLogin, ClientMetadata, ClientSecret, GrantType, Persistence,
    RefreshPolicy, TokenForm, TokenPolicy,
};
use signet_oauth::ids::ClientId;
use signet_oauth::jose::Algorithm;
use signet_oauth::scope::ScopePatterns;
use signet_oauth::secret::Digest;
use std::ops::Not;

use super::{count, timestamp};
use crate::store::error::Error;

/// The columns of a client, as they are read.
#[derive(Clone, Debug)]
pub(in crate::store) struct ClientColumns {
    pub(in crate::store) id: String,
    pub(in crate::store) generation: i64,
    pub(in crate::store) version: i64,
    pub(in crate::store) enabled: bool,
    pub(in crate::store) name: Option<String>,
    pub(in crate::store) owner: Option<String>,
    pub(in crate::store) created_at: i64,
    pub(in crate::store) updated_at: i64,
    pub(in crate::store) body: String,
}

#[derive(Serialize, Deserialize)]
struct BodyRow {
    secret: SecretRow,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret_expires_at: Option<u64>,
    auth_method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    auth_signing_alg: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    grants: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    scope: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    audience: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jwks: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<String>,
    tokens: PolicyRow,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    grant_tokens: Vec<(String, PolicyRow)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    access_token_alg: Option<String>,
    #[serde(default)]
    reuse_live_token: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    introspection_alg: Option<String>,
    #[serde(default)]
    login: LoginRow,
    #[serde(default)]
    metadata: MetadataRow,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SecretRow {
    None,
    Digest([u8; 32]),
    Hash(String),
    Imported(String),
    Sealed(Vec<u8>),
}

#[derive(Serialize, Deserialize)]
struct PolicyRow {
    form: String,
    persistence: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lifetime: Option<u64>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches that the RFCs register one by one"
)]
struct LoginRow {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    post_logout_redirect_uris: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backchannel_logout_uri: Option<String>,
    #[serde(skip_serializing_if = "Not::not")]
    backchannel_logout_session_required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token_alg: Option<String>,
    #[serde(skip_serializing_if = "Not::not")]
    require_pushed_requests: bool,
    #[serde(skip_serializing_if = "Not::not")]
    require_signed_request_object: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_max_age: Option<u64>,
    #[serde(skip_serializing_if = "Not::not")]
    require_auth_time: bool,
    #[serde(skip_serializing_if = "Not::not")]
    skip_consent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    require_pkce: Option<bool>,
    #[serde(skip_serializing_if = "Not::not")]
    allow_plain_pkce: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token_lifetime: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token_policy: Option<String>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct MetadataRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_object_signing_alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    userinfo_signed_response_alg: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed_cors_origins: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<String>,
}

fn name_of(alg: Option<Algorithm>) -> Option<String> {
    alg.map(|alg| alg.name().to_owned())
}

/// The JSON document of a client.
pub(in crate::store) fn body_of(client: &Client) -> Result<String, Error> {
    let body = BodyRow {
        secret: match &client.secret {
            ClientSecret::None => SecretRow::None,
            ClientSecret::Digest(digest) => SecretRow::Digest(digest.0),
            ClientSecret::Hash(hash) => SecretRow::Hash(hash.clone()),
            ClientSecret::Imported(hash) => SecretRow::Imported(hash.clone()),
            ClientSecret::Sealed(sealed) => SecretRow::Sealed(sealed.clone()),
        },
        secret_expires_at: client.secret_expires_at.map(|at| at.0),
        auth_method: client.auth_method.as_str().to_owned(),
        auth_signing_alg: name_of(client.auth_signing_alg),
        grants: client
            .grants
            .iter()
            .map(|g| g.as_str().to_owned())
            .collect(),
        scope: client.scope.as_str().to_owned(),
        audience: client.audience.clone(),
        jwks: client.jwks.clone(),
        jwks_uri: client.jwks_uri.clone(),
        tokens: policy_row(&client.tokens),
        grant_tokens: client
            .grant_tokens
            .iter()
            .map(|(grant, policy)| (grant.as_str().to_owned(), policy_row(policy)))
            .collect(),
        access_token_alg: name_of(client.access_token_alg),
        reuse_live_token: client.reuse_live_token,
        introspection_alg: name_of(client.introspection_alg),
        login: login_row(&client.login),
        metadata: metadata_row(&client.metadata),
    };
    serde_json::to_string(&body).map_err(|fault| Error::Fault(fault.to_string()))
}

fn policy_row(policy: &TokenPolicy) -> PolicyRow {
    PolicyRow {
        form: policy.form.as_str().to_owned(),
        persistence: policy.persistence.as_str().to_owned(),
        lifetime: policy.lifetime,
    }
}

fn login_row(login: &ClientLogin) -> LoginRow {
    let policy = login.refresh_token_policy;
    LoginRow {
        post_logout_redirect_uris: login.post_logout_redirect_uris.clone(),
        backchannel_logout_uri: login.backchannel_logout_uri.clone(),
        backchannel_logout_session_required: login.backchannel_logout_session_required,
        id_token_alg: name_of(login.id_token_alg),
        require_pushed_requests: login.require_pushed_requests,
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

fn metadata_row(metadata: &ClientMetadata) -> MetadataRow {
    let metadata = metadata.clone();
    MetadataRow {
        uri: metadata.uri,
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
        extra: metadata.extra,
    }
}

/// The client of these columns.
pub(in crate::store) fn client_from(row: ClientColumns) -> Result<Client, Error> {
    let unreadable = |what| Error::unreadable(&format!("{what} of client {}", row.id));
    let body: BodyRow =
        serde_json::from_str(&row.body).map_err(|fault| unreadable(fault.to_string()))?;
    let field = |what: &str| unreadable(what.to_owned());
    let alg = |name: Option<String>| match name {
        None => Ok(None),
        Some(name) => Algorithm::parse(&name)
            .map(Some)
            .ok_or_else(|| field("algorithm")),
    };
    let grant = |name: &str| GrantType::parse(name).ok_or_else(|| field("grant"));
    let policy = |row: &PolicyRow| policy_from(row).ok_or_else(|| field("token policy"));
    Ok(Client {
        id: ClientId::parse(&row.id).ok_or_else(|| field("id"))?,
        generation: count(row.generation),
        version: count(row.version),
        enabled: row.enabled,
        secret: match body.secret {
            SecretRow::None => ClientSecret::None,
            SecretRow::Digest(digest) => ClientSecret::Digest(Digest(digest)),
            SecretRow::Hash(hash) => ClientSecret::Hash(hash),
            SecretRow::Imported(hash) => ClientSecret::Imported(hash),
            SecretRow::Sealed(sealed) => ClientSecret::Sealed(sealed),
        },
        secret_expires_at: body.secret_expires_at.map(signet_oauth::time::Timestamp),
        auth_method: AuthMethod::parse(&body.auth_method).ok_or_else(|| field("method"))?,
        auth_signing_alg: alg(body.auth_signing_alg)?,
        grants: body
            .grants
            .iter()
            .map(|name| grant(name))
            .collect::<Result<_, _>>()?,
        scope: ScopePatterns::parse(&body.scope).map_err(|_| field("scope"))?,
        audience: body.audience,
        jwks: body.jwks,
        jwks_uri: body.jwks_uri,
        tokens: policy(&body.tokens)?,
        grant_tokens: body
            .grant_tokens
            .iter()
            .map(|(name, row)| Ok((grant(name)?, policy(row)?)))
            .collect::<Result<_, Error>>()?,
        access_token_alg: alg(body.access_token_alg)?,
        reuse_live_token: body.reuse_live_token,
        introspection_alg: alg(body.introspection_alg)?,
        login: login_from(body.login).ok_or_else(|| field("login"))?,
        metadata: metadata_from(body.metadata, row.name, row.owner),
        created_at: timestamp(row.created_at),
        updated_at: timestamp(row.updated_at),
    })
}

fn policy_from(row: &PolicyRow) -> Option<TokenPolicy> {
    Some(TokenPolicy {
        form: TokenForm::parse(&row.form)?,
        persistence: Persistence::parse(&row.persistence)?,
        lifetime: row.lifetime,
    })
}

fn login_from(row: LoginRow) -> Option<ClientLogin> {
    let alg = |name: String| Algorithm::parse(&name);
    let policy = |name: String| RefreshPolicy::parse(&name);
    Some(ClientLogin {
        post_logout_redirect_uris: row.post_logout_redirect_uris,
        backchannel_logout_uri: row.backchannel_logout_uri,
        backchannel_logout_session_required: row.backchannel_logout_session_required,
        id_token_alg: match row.id_token_alg {
            None => None,
            Some(name) => Some(alg(name)?),
        },
        require_pushed_requests: row.require_pushed_requests,
        require_signed_request_object: row.require_signed_request_object,
        default_max_age: row.default_max_age,
        require_auth_time: row.require_auth_time,
        skip_consent: row.skip_consent,
        require_pkce: row.require_pkce,
        allow_plain_pkce: row.allow_plain_pkce,
        refresh_token_lifetime: row.refresh_token_lifetime,
        refresh_token_policy: match row.refresh_token_policy {
            None => RefreshPolicy::default(),
            Some(name) => policy(name)?,
        },
    })
}

fn metadata_from(row: MetadataRow, name: Option<String>, owner: Option<String>) -> ClientMetadata {
    ClientMetadata {
        name,
        owner,
        uri: row.uri,
        logo_uri: row.logo_uri,
        policy_uri: row.policy_uri,
        tos_uri: row.tos_uri,
        contacts: row.contacts,
        redirect_uris: row.redirect_uris,
        // Names that an older program took without reading them give no right to anything.
        response_types: row
            .response_types
            .iter()
            .filter_map(|name| ResponseType::parse(name))
            .collect(),
        request_uris: row.request_uris,
        sector_identifier_uri: row.sector_identifier_uri,
        subject_type: row.subject_type,
        request_object_signing_alg: row.request_object_signing_alg,
        userinfo_signed_response_alg: row.userinfo_signed_response_alg,
        allowed_cors_origins: row.allowed_cors_origins,
        extra: row.extra,
    }
}
