//! `POST /oauth2/token` (RFC 6749 §3.2).

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use signet_oauth::params::Params;
use std::sync::Arc;
use utoipa::ToSchema;

use super::body::Form;
use super::peer::Peer;
use super::reply::{self, Refusal, Refusals};
use crate::app::App;
use crate::flow;

/// The parameters of a token request.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the form is read by `Params`")]
pub struct TokenRequest {
    /// `client_credentials`
    grant_type: String,
    /// Scopes, separated by spaces; without it, what the client is registered for.
    scope: Option<String>,
    /// The resource that the token is for (RFC 8707). May be repeated.
    resource: Option<String>,
    /// An older name of `resource`. May be repeated.
    audience: Option<String>,
    /// The client, where it does not authenticate with HTTP Basic.
    client_id: Option<String>,
    /// Its secret (`client_secret_post`).
    client_secret: Option<String>,
    /// `urn:ietf:params:oauth:client-assertion-type:jwt-bearer`
    client_assertion_type: Option<String>,
    /// A signed assertion (`private_key_jwt`, `client_secret_jwt`).
    client_assertion: Option<String>,
}

/// An issued token (RFC 6749 §5.1).
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the answer is written by the law")]
pub struct TokenAnswer {
    /// The token.
    access_token: String,
    /// `Bearer`
    token_type: String,
    /// Seconds that it will live.
    expires_in: u64,
    /// What was granted, where it is anything.
    scope: Option<String>,
}

/// Issue a token.
#[utoipa::path(
    post, path = "/oauth2/token", tag = "OAuth 2.0",
    request_body(content = TokenRequest, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "The token", body = TokenAnswer), Refusals),
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
    let answer = flow::token::exchange(&app, authorization, &form, address).await?;
    Ok(reply::json(StatusCode::OK, answer))
}
