//! Where a user is logged in, and what the user allowed.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use signet_oauth::consent::Consent;
use signet_oauth::ids::ClientId;
use std::sync::Arc;
use utoipa::ToSchema;

use super::user_id;
use crate::app::App;
use crate::flow::not_found;
use crate::flow::users::access::{self, Used};
use crate::http::reply::{self, ErrorResponse, Refusal, Refusals};

/// A session.
#[derive(Debug, Serialize, ToSchema)]
struct SessionResponse {
    /// Its id, as ID tokens name it.
    sid: String,
    /// When the user last proved who they are, in seconds since 1970.
    auth_time: u64,
    /// How (RFC 8176).
    #[schema(value_type = Vec<String>)]
    amr: Vec<&'static str>,
    /// What that is worth.
    #[serde(skip_serializing_if = "Option::is_none")]
    acr: Option<String>,
    /// When it began.
    created_at: u64,
    /// When it ends by itself.
    expires_at: u64,
    /// Clients that got tokens in it.
    clients: Vec<String>,
}

/// The sessions of a user.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionsResponse {
    /// Newest first.
    sessions: Vec<SessionResponse>,
}

/// How many sessions ended.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionsEndedResponse {
    /// So many.
    ended: usize,
}

/// What a user allows a client.
#[derive(Debug, Serialize, ToSchema)]
struct ConsentResponse {
    /// The client.
    client_id: String,
    /// What it may ask for without asking the user again.
    scope: String,
    /// When that was last allowed, in seconds since 1970.
    granted_at: u64,
    /// When it is forgotten; absent where never.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

/// What a user allows.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ConsentsResponse {
    /// In the order of the clients.
    consents: Vec<ConsentResponse>,
}

impl SessionResponse {
    fn of(used: Used) -> Self {
        let session = used.session;
        Self {
            sid: signet_oauth::token::hex(session.id),
            auth_time: session.auth_time.0,
            amr: session.amr.iter().map(|amr| amr.as_str()).collect(),
            acr: session.acr,
            created_at: session.created_at.0,
            expires_at: session.expires_at.0,
            clients: used.clients.iter().map(ClientId::to_string).collect(),
        }
    }
}

impl ConsentResponse {
    fn of(consent: &Consent) -> Self {
        Self {
            client_id: consent.client.to_string(),
            scope: consent.scope.as_str().to_owned(),
            granted_at: consent.granted_at.0,
            expires_at: consent.expires_at.map(|at| at.0),
        }
    }
}

/// List the sessions in which a user is logged in.
#[utoipa::path(
    get, path = "/admin/users/{id}/sessions", tag = "Users", params(("id" = String, Path,)),
    responses(
        (status = 200, description = "The sessions", body = SessionsResponse),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub(super) async fn sessions(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let found = access::sessions(&app, &user_id(&id)?).await?;
    let sessions = found.into_iter().map(SessionResponse::of).collect();
    let body = SessionsResponse { sessions };
    Ok(reply::value(StatusCode::OK, &body))
}

/// End every session of a user, with the tokens that belong to them. Tokens for offline access live
/// on: withdraw the consent, set another password, or lock the user to end them.
#[utoipa::path(
    delete, path = "/admin/users/{id}/sessions", tag = "Users", params(("id" = String, Path,)),
    responses(
        (status = 200, description = "How many ended", body = SessionsEndedResponse),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub(super) async fn end_sessions(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let ended = access::end_sessions(&app, &user_id(&id)?).await?;
    tracing::info!(target: "audit", user = %id, ended, "user sessions ended");
    let body = SessionsEndedResponse { ended };
    Ok(reply::value(StatusCode::OK, &body))
}

/// End one session of a user, with the tokens that belong to it.
#[utoipa::path(
    delete, path = "/admin/users/{id}/sessions/{sid}", tag = "Users",
    params(("id" = String, Path,), ("sid" = String, Path,)),
    responses(
        (status = 204, description = "It has ended"),
        (status = 404, description = "The user has no such session", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub(super) async fn end_session(
    State(app): State<Arc<App>>,
    Path((id, sid)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let session = signet_oauth::token::unhex(&sid).ok_or_else(|| not_found("session"))?;
    access::end_session(&app, &user_id(&id)?, session).await?;
    tracing::info!(target: "audit", user = %id, "user session ended");
    Ok(reply::nothing())
}

/// List what a user allowed which clients.
#[utoipa::path(
    get, path = "/admin/users/{id}/consents", tag = "Users", params(("id" = String, Path,)),
    responses(
        (status = 200, description = "The consents", body = ConsentsResponse),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub(super) async fn consents(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let found = access::consents(&app, &user_id(&id)?).await?;
    let consents = found.iter().map(ConsentResponse::of).collect();
    let body = ConsentsResponse { consents };
    Ok(reply::value(StatusCode::OK, &body))
}

/// Withdraw what a user allowed a client. Its tokens for the user end, and it must ask again.
#[utoipa::path(
    delete, path = "/admin/users/{id}/consents/{client_id}", tag = "Users",
    params(("id" = String, Path,), ("client_id" = String, Path,)),
    responses(
        (status = 204, description = "It is withdrawn"),
        (status = 404, description = "The user allowed the client nothing", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub(super) async fn withdraw(
    State(app): State<Arc<App>>,
    Path((id, client)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let parsed = ClientId::parse(&client).ok_or_else(|| not_found("consent"))?;
    access::withdraw(&app, &user_id(&id)?, &parsed).await?;
    tracing::info!(target: "audit", user = %id, client = %parsed, "consent withdrawn");
    Ok(reply::nothing())
}
