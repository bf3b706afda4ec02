//! `/admin/keys`: the signing keys, and for Hydra's users `/keys/{set}[/{kid}]`.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use signet_oauth::ids::KeyId;
use signet_oauth::jose::Algorithm;
use signet_oauth::{Error, ErrorCode};
use std::sync::Arc;
use utoipa::ToSchema;

use super::body::Json;
use super::reply::{self, ErrorResponse, Refusal, Refusals};
use crate::app::App;
use crate::flow::keys::{self, KeySource, ListedKey};
use crate::flow::{Failure, not_found};

/// A signing key; its private half is never told.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyResponse {
    /// Its name in the headers of tokens.
    kid: String,
    /// `ES256`, `EdDSA`, `RS256` or `PS256`.
    alg: String,
    /// `local`, or the name of the remote signer that holds it.
    source: String,
    /// `pending` (published, not signing yet), `active`, `retired` (published, signing no more)
    /// or `gone`.
    state: String,
    /// When it signs from, in seconds since 1970.
    active_from: u64,
    /// When it stops signing; absent where that is not settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    retires_at: Option<u64>,
    /// When it leaves the published set.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone_at: Option<u64>,
    /// The public half.
    #[schema(value_type = Object)]
    jwk: Value,
}

impl KeyResponse {
    fn of(key: ListedKey) -> Self {
        Self {
            kid: key.kid.to_string(),
            alg: key.algorithm.name().to_owned(),
            source: key.source,
            state: key.state.to_owned(),
            active_from: key.active_from.0,
            retires_at: key.retires_at.map(|at| at.0),
            gone_at: key.gone_at.map(|at| at.0),
            jwk: serde_json::from_str(&key.public_jwk).unwrap_or_default(),
        }
    }
}

/// The signing keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeysResponse {
    /// All that are known, the retired ones included.
    keys: Vec<KeyResponse>,
}

/// What key to make.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeyRequest {
    /// `ES256`, `EdDSA`, `RS256` or `PS256`; the server's default where it is absent.
    alg: Option<String>,
    /// The name of a configured remote signer that holds the key; local where it is absent.
    remote: Option<String>,
    /// The name of the key at the remote signer.
    kid: Option<String>,
}

impl KeyRequest {
    fn algorithm(&self, app: &App) -> Result<Algorithm, Error> {
        let Some(name) = self.alg.as_deref() else {
            return Ok(app.policy.signing_alg);
        };
        Algorithm::parse(name)
            .filter(|alg| *alg != Algorithm::Hs256)
            .ok_or_else(|| Error::request("alg is ES256, EdDSA, RS256 or PS256", "key_algorithm"))
    }

    fn source(&self) -> Result<KeySource, Error> {
        match (&self.remote, &self.kid) {
            (None, None) => Ok(KeySource::Local),
            (Some(signer), Some(kid)) => {
                let kid = KeyId::parse(kid)
                    .ok_or_else(|| Error::request("kid is visible ASCII", "key_id"))?;
                Ok(KeySource::Remote {
                    signer: signer.clone(),
                    kid,
                })
            }
            _ => Err(Error::request("remote and kid come together", "key_remote")),
        }
    }
}

/// List the signing keys.
#[utoipa::path(
    get, path = "/admin/keys", tag = "Keys",
    responses((status = 200, description = "The keys", body = KeysResponse), Refusals),
    security(("admin" = []))
)]
pub async fn list(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    let keys = keys::list(&app)
        .await?
        .into_iter()
        .map(KeyResponse::of)
        .collect();
    Ok(reply::value(StatusCode::OK, &KeysResponse { keys }))
}

/// Create a key that becomes active once its publication has reached everybody.
#[utoipa::path(
    post, path = "/admin/keys", tag = "Keys", request_body = KeyRequest,
    responses(
        (status = 201, description = "The key", body = KeyResponse),
        (status = 404, description = "There is no such remote signer or key", body = ErrorResponse),
        (status = 409, description = "The key is known already", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn create(
    State(app): State<Arc<App>>,
    Json(request): Json<KeyRequest>,
) -> Result<Response, Refusal> {
    let key = keys::create(&app, request.algorithm(&app)?, request.source()?).await?;
    tracing::info!(target: "audit", kid = %key.kid, "key created");
    Ok(reply::value(StatusCode::CREATED, &KeyResponse::of(key)))
}

/// Replace the active key of an algorithm: the next one is published now and signs from the moment
/// at which it is known everywhere.
#[utoipa::path(
    post, path = "/admin/keys/rotate", tag = "Keys", request_body = KeyRequest,
    responses(
        (status = 201, description = "The next key", body = KeyResponse),
        (status = 404, description = "There is no such remote signer or key", body = ErrorResponse),
        (status = 409, description = "The key is known already", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn rotate(
    State(app): State<Arc<App>>,
    Json(request): Json<KeyRequest>,
) -> Result<Response, Refusal> {
    let key = keys::rotate(&app, request.algorithm(&app)?, request.source()?).await?;
    tracing::info!(target: "audit", kid = %key.kid, "key rotated");
    Ok(reply::value(StatusCode::CREATED, &KeyResponse::of(key)))
}

/// Retire a key at once: it signs no more, and stays published until its tokens are dead.
#[utoipa::path(
    post, path = "/admin/keys/{kid}/retire", tag = "Keys", params(("kid" = String, Path,)),
    responses(
        (status = 200, description = "The key", body = KeyResponse),
        (status = 404, description = "There is no such key", body = ErrorResponse),
        (status = 409, description = "No other key could sign in its place", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn retire(
    State(app): State<Arc<App>>,
    Path(kid): Path<String>,
) -> Result<Response, Refusal> {
    let key = keys::retire(&app, &key_id(&kid)?).await?;
    tracing::info!(target: "audit", kid = %key.kid, "key retired");
    Ok(reply::value(StatusCode::OK, &KeyResponse::of(key)))
}

/// Withdraw a key whose private half may be known to others: every token that it signed is dead.
#[utoipa::path(
    delete, path = "/admin/keys/{kid}", tag = "Keys", params(("kid" = String, Path,)),
    responses(
        (status = 204, description = "The key is in the key set no more"),
        (status = 404, description = "There is no such key", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn withdraw(
    State(app): State<Arc<App>>,
    Path(kid): Path<String>,
) -> Result<Response, Refusal> {
    keys::withdraw(&app, &key_id(&kid)?).await?;
    tracing::info!(target: "audit", kid, "key withdrawn");
    Ok(reply::nothing())
}

fn key_id(text: &str) -> Result<KeyId, Failure> {
    KeyId::parse(text).ok_or_else(|| not_found("key"))
}

/// The published keys of a set, as Hydra's users know it. There is one set; its names there are
/// accepted.
pub async fn set_alias(
    State(app): State<Arc<App>>,
    Path(set): Path<String>,
) -> Result<Response, Refusal> {
    known_set(&set)?;
    let keys: Vec<Value> = published(&app).await?;
    Ok(reply::value(StatusCode::OK, &json!({ "keys": keys })))
}

/// One published key of a set.
pub async fn key_alias(
    State(app): State<Arc<App>>,
    Path((set, kid)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    known_set(&set)?;
    let keys: Vec<Value> = published(&app)
        .await?
        .into_iter()
        .filter(|key| key["kid"] == kid.as_str())
        .collect();
    if keys.is_empty() {
        return Err(not_found("key").into());
    }
    Ok(reply::value(StatusCode::OK, &json!({ "keys": keys })))
}

async fn published(app: &App) -> Result<Vec<Value>, Failure> {
    let keys = keys::list(app).await?.into_iter();
    let listed = keys.filter(|key| key.state != "gone");
    Ok(listed
        .filter_map(|key| serde_json::from_str(&key.public_jwk).ok())
        .collect())
}

fn known_set(set: &str) -> Result<(), Failure> {
    match set {
        "hydra.openid.id-token" | "hydra.jwt.access-token" | "signet" => Ok(()),
        _ => Err(Error::new(ErrorCode::NotFound, "there is no such key set", "key_set").into()),
    }
}
