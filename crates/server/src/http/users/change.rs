//! The changes of a user that end what was issued before: lock, password, roles.

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use signet_oauth::Error;
use signet_oauth::user::User;
use std::sync::Arc;
use utoipa::ToSchema;

use super::body::{UserResponse, choice};
use super::{answer, user_id};
use crate::app::App;
use crate::flow::users::{self, Draft, PasswordChoice};
use crate::http::body::Json;
use crate::http::clients::if_match;
use crate::http::reply::{ErrorResponse, Refusal, Refusals};

/// A new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PasswordRequest {
    /// The password.
    password: Option<String>,
    /// An existing hash to import instead (bcrypt, PBKDF2 or Argon2).
    password_hash: Option<String>,
}

/// New roles.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RolesRequest {
    /// All roles of the user.
    roles: Vec<String>,
}

/// Lock a user: nobody logs in, and every token and session is dead.
#[utoipa::path(
    post, path = "/admin/users/{id}/lock", tag = "Users",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag that the user must still have")),
    responses(
        (status = 200, description = "The user", body = UserResponse),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub(super) async fn lock(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    set_locked(&app, &id, &headers, true).await
}

/// Unlock a user. Tokens and sessions from before stay dead.
#[utoipa::path(
    post, path = "/admin/users/{id}/unlock", tag = "Users",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag that the user must still have")),
    responses(
        (status = 200, description = "The user", body = UserResponse),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub(super) async fn unlock(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    set_locked(&app, &id, &headers, false).await
}

async fn set_locked(
    app: &App,
    id: &str,
    headers: &HeaderMap,
    locked: bool,
) -> Result<Response, Refusal> {
    let change = |present: &User| {
        Ok(Draft {
            locked,
            ..Draft::of(present)
        })
    };
    let facts = (&if_match(headers), PasswordChoice::Unsaid);
    let user = users::update(app, &user_id(id)?, facts, change).await?;
    tracing::info!(target: "audit", user = %id, locked, "user lock");
    Ok(answer(StatusCode::OK, &user))
}

/// Set the password of a user. Every token and session is dead.
#[utoipa::path(
    post, path = "/admin/users/{id}/password", tag = "Users",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag that the user must still have")),
    request_body = PasswordRequest,
    responses(
        (status = 200, description = "The user", body = UserResponse),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub(super) async fn password(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(request): Json<PasswordRequest>,
) -> Result<Response, Refusal> {
    let password = choice(
        request.password.as_deref(),
        request.password_hash.as_deref(),
    )?;
    if matches!(password, PasswordChoice::Unsaid) {
        let description = "send password or password_hash";
        return Err(Error::request(description, "user_password").into());
    }
    let same = |present: &User| Ok(Draft::of(present));
    let facts = (&if_match(&headers), password);
    let user = users::update(&app, &user_id(&id)?, facts, same).await?;
    tracing::info!(target: "audit", user = %id, "user password set");
    Ok(answer(StatusCode::OK, &user))
}

/// Give a user other roles. Every token is dead; sessions live on.
#[utoipa::path(
    put, path = "/admin/users/{id}/roles", tag = "Users",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag that the user must still have")),
    request_body = RolesRequest,
    responses(
        (status = 200, description = "The user", body = UserResponse),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub(super) async fn roles(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(request): Json<RolesRequest>,
) -> Result<Response, Refusal> {
    let change = |present: &User| {
        Ok(Draft {
            roles: request.roles.clone(),
            ..Draft::of(present)
        })
    };
    let facts = (&if_match(&headers), PasswordChoice::Unsaid);
    let user = users::update(&app, &user_id(&id)?, facts, change).await?;
    tracing::info!(target: "audit", user = %id, "user roles set");
    Ok(answer(StatusCode::OK, &user))
}
