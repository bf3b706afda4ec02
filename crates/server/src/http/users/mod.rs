//! `/admin/users`: people, as an administrator sees them.

mod access;
mod body;
mod change;
mod import;
mod list;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use signet_oauth::Error;
use signet_oauth::user::{User, UserId};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::body::{UserFields, UserRequest, UserResponse};
use super::body::Json;
use super::clients::{if_match, merge, tagged};
use super::reply::{self, ErrorResponse, Refusal, Refusals};
use crate::app::App;
use crate::flow::Failure;
use crate::flow::users::{self, Draft};

/// What the admin door answers about users.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(create, list::list))
        .routes(routes!(import::import))
        .routes(routes!(get, replace, patch, delete))
        .routes(routes!(change::lock))
        .routes(routes!(change::unlock))
        .routes(routes!(change::password))
        .routes(routes!(change::roles))
        .routes(routes!(access::sessions, access::end_sessions))
        .routes(routes!(access::end_session))
        .routes(routes!(access::consents))
        .routes(routes!(access::withdraw))
}

fn user_id(text: &str) -> Result<UserId, Failure> {
    // A name that no user can have is the name of no user.
    UserId::parse(text).ok_or_else(|| crate::flow::not_found("user"))
}

fn answer(status: StatusCode, user: &User) -> Response {
    tagged(reply::value(status, &UserResponse::of(user)), user.version)
}

/// Create a user.
#[utoipa::path(
    post, path = "/admin/users", tag = "Users",
    request_body = UserRequest,
    responses(
        (status = 201, description = "The user", body = UserResponse),
        (status = 409, description = "A user of this id or username exists", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
async fn create(
    State(app): State<Arc<App>>,
    Json(request): Json<UserRequest>,
) -> Result<Response, Refusal> {
    request.check_members()?;
    let id = request.id()?.unwrap_or_else(|| users::draw_id(&app));
    let password = request.password()?;
    let user = users::create(&app, id, request.draft()?, password).await?;
    tracing::info!(target: "audit", user = %user.id, "user created");
    Ok(answer(StatusCode::CREATED, &user))
}

/// Get a user.
#[utoipa::path(
    get, path = "/admin/users/{id}", tag = "Users", params(("id" = String, Path,)),
    responses(
        (status = 200, description = "The user", body = UserResponse),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
async fn get(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, Refusal> {
    let user = users::get(&app, &user_id(&id)?).await?;
    Ok(answer(StatusCode::OK, &user))
}

/// Replace a user. The password stays, unless another one is sent. A new password or a lock ends
/// every token and session; other roles end every token.
#[utoipa::path(
    put, path = "/admin/users/{id}", tag = "Users",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag of the user that is to be replaced")),
    request_body = UserRequest,
    responses(
        (status = 200, description = "The user", body = UserResponse),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        (status = 409, description = "Another user has the username", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
async fn replace(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(request): Json<UserRequest>,
) -> Result<Response, Refusal> {
    let password = request.password()?;
    let change = |present: &User| described(present, request.clone());
    let expected = if_match(&headers);
    let user = users::update(&app, &user_id(&id)?, (&expected, password), change).await?;
    tracing::info!(target: "audit", user = %user.id, "user replaced");
    Ok(answer(StatusCode::OK, &user))
}

/// Change some fields of a user (JSON Merge Patch, RFC 7396: `null` takes a field away). What ends
/// is the same as with a replacement.
#[utoipa::path(
    patch, path = "/admin/users/{id}", tag = "Users",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag of the user that is to be changed")),
    request_body(content = UserRequest, content_type = "application/merge-patch+json"),
    responses(
        (status = 200, description = "The user", body = UserResponse),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        (status = 409, description = "Another user has the username", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
async fn patch(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(patch): Json<Value>,
) -> Result<Response, Refusal> {
    let password = merged(UserFields::default(), &patch)?.password()?;
    let change = |present: &User| described(present, merged(UserFields::of(present), &patch)?);
    let expected = if_match(&headers);
    let user = users::update(&app, &user_id(&id)?, (&expected, password), change).await?;
    tracing::info!(target: "audit", user = %user.id, "user changed");
    Ok(answer(StatusCode::OK, &user))
}

fn merged(fields: UserFields, patch: &Value) -> Result<UserRequest, Error> {
    let mut merged = serde_json::to_value(fields).unwrap_or_default();
    merge(&mut merged, patch);
    serde_json::from_value(merged)
        .map_err(|error| Error::request(format!("the patch does not fit: {error}"), "json"))
}

fn described(present: &User, request: UserRequest) -> Result<Draft, Error> {
    request.check_members()?;
    if request.id()?.is_some_and(|id| id != present.id) {
        return Err(Error::request("a user keeps its sub", "user_id_changed"));
    }
    request.draft()
}

/// Delete a user. Tokens, sessions and consents are gone.
#[utoipa::path(
    delete, path = "/admin/users/{id}", tag = "Users",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag that the user must still have")),
    responses(
        (status = 204, description = "The user is gone"),
        (status = 404, description = "There is no such user", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    users::delete(&app, &user_id(&id)?, &if_match(&headers)).await?;
    tracing::info!(target: "audit", user = %id, "user deleted");
    Ok(reply::nothing())
}
