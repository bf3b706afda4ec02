//! Documents about the server: metadata (RFC 8414, OIDC Discovery), keys (RFC 7517), health and
//! version. Rendered once, answered from memory.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

use super::reply::{self, Refusal, Refusals};
use crate::app::App;
use crate::flow::{keys, operate};

/// What the server offers (RFC 8414).
#[utoipa::path(
    get, path = "/.well-known/oauth-authorization-server", tag = "Discovery",
    responses((status = 200, description = "The metadata", body = Object), Refusals)
)]
pub async fn metadata(State(app): State<Arc<App>>) -> Response {
    reply::document(keys::metadata(&app), &app.policy.documents_kept)
}

/// What the server offers (`OpenID` Connect Discovery).
#[utoipa::path(
    get, path = "/.well-known/openid-configuration", tag = "Discovery",
    responses((status = 200, description = "The metadata", body = Object), Refusals)
)]
pub async fn openid(State(app): State<Arc<App>>) -> Response {
    reply::document(keys::metadata(&app), &app.policy.documents_kept)
}

/// The public keys that verify this server's signatures.
#[utoipa::path(
    get, path = "/.well-known/jwks.json", tag = "Discovery",
    responses((status = 200, description = "A JWK set", body = Object), Refusals)
)]
pub async fn jwks(State(app): State<Arc<App>>) -> Response {
    reply::document(keys::jwks(&app), &app.policy.documents_kept)
}

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
pub struct HealthResponse {
    /// `ok`
    status: &'static str,
}

/// Whether the process is alive.
#[utoipa::path(
    get, path = "/health/alive", tag = "Health",
    responses((status = 200, description = "It is", body = HealthResponse), Refusals)
)]
pub async fn alive() -> Response {
    reply::value(StatusCode::OK, &HealthResponse { status: "ok" })
}

/// Whether the server should get requests: its store answers, it is up to date and not stopping.
#[utoipa::path(
    get, path = "/health/ready", tag = "Health",
    responses((status = 200, description = "It should", body = HealthResponse), Refusals)
)]
pub async fn ready(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    operate::readiness(&app).await?;
    Ok(reply::value(
        StatusCode::OK,
        &HealthResponse { status: "ok" },
    ))
}

/// Which version this is.
#[derive(Debug, Serialize, ToSchema)]
pub struct VersionResponse {
    /// Semantic version.
    version: &'static str,
}

/// The version of the server.
#[utoipa::path(
    get, path = "/version", tag = "Health",
    responses((status = 200, description = "The version", body = VersionResponse), Refusals)
)]
pub async fn version() -> Response {
    reply::value(
        StatusCode::OK,
        &VersionResponse {
            version: env!("CARGO_PKG_VERSION"),
        },
    )
}
