//! `POST /oauth2/revoke` (RFC 7009), and the admin's own.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use signet_oauth::client_auth::Credentials;
use signet_oauth::params::Params;
use signet_oauth::revocation::Caller;
use std::sync::Arc;

use super::body::Form;
use super::introspect::TokenParameter;
use super::peer::Peer;
use super::reply::{self, Refusal, Refusals};
use crate::app::App;
use crate::flow::{authenticate, introspect, revoke};

/// Revoke a token of one's own.
#[utoipa::path(
    post, path = "/oauth2/revoke", tag = "OAuth 2.0",
    request_body(content = TokenParameter, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "The token is dead, or never was the caller's", body = Object), Refusals),
    security((), ("client" = []))
)]
pub async fn post(
    State(app): State<Arc<App>>,
    Peer(address): Peer,
    headers: HeaderMap,
    Form(body): Form,
) -> Result<Response, Refusal> {
    let form = Params::parse(&body)?;
    let authorization = reply::authorization(&headers)?;
    let credentials = Credentials::find(authorization, &form)?;
    let now = app.clock.now();
    let client = authenticate::client(&app, &credentials, address, now).await?;
    let text = introspect::token_parameter(&form)?;
    let caller = Caller::Client(&client.client.id);
    let outcome = revoke::revoke(&app, caller, text).await?;
    tracing::info!(target: "audit", client = %client.client.id, outcome, "revoke");
    Ok(reply::json(StatusCode::OK, "{}"))
}

/// Revoke any token.
#[utoipa::path(
    post, path = "/admin/oauth2/revoke", tag = "Tokens",
    request_body(content = TokenParameter, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "The token is dead, or never was one", body = Object), Refusals),
    security(("admin" = []))
)]
pub async fn admin(State(app): State<Arc<App>>, Form(body): Form) -> Result<Response, Refusal> {
    let form = Params::parse(&body)?;
    let text = introspect::token_parameter(&form)?;
    let outcome = revoke::revoke(&app, Caller::Admin, text).await?;
    tracing::info!(target: "audit", admin = true, outcome, "revoke");
    Ok(reply::json(StatusCode::OK, "{}"))
}
