//! Clients as columns: what the server filters by or guards on has its own, the rest is one JSON
//! document. Every field of the document but `secret` has a default, so that a row of an older
//! program stays readable.

use serde::{Deserialize, Serialize};
use signet_oauth::client::{
    AuthMethod, Client, ClientMetadata, ClientSecret, GrantType, Persistence, TokenForm,
    TokenPolicy,
};
use signet_oauth::ids::ClientId;
use signet_oauth::jose::Algorithm;
use signet_oauth::scope::ScopePatterns;
use signet_oauth::secret::Digest;

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

fn metadata_row(metadata: &ClientMetadata) -> MetadataRow {
    let metadata = metadata.clone();
    MetadataRow {
        uri: metadata.uri,
        logo_uri: metadata.logo_uri,
        policy_uri: metadata.policy_uri,
        tos_uri: metadata.tos_uri,
        contacts: metadata.contacts,
        redirect_uris: metadata.redirect_uris,
        response_types: metadata.response_types,
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
        response_types: row.response_types,
        request_uris: row.request_uris,
        sector_identifier_uri: row.sector_identifier_uri,
        subject_type: row.subject_type,
        request_object_signing_alg: row.request_object_signing_alg,
        userinfo_signed_response_alg: row.userinfo_signed_response_alg,
        allowed_cors_origins: row.allowed_cors_origins,
        extra: row.extra,
    }
}
