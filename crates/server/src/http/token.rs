//! `POST /oauth2/token` (RFC 6749 §3.2).

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use signet_oauth::params::Params;
use std::net::IpAddr;
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
    /// `client_credentials`, `authorization_code`, `refresh_token` or `password`
    grant_type: String,
    /// The code (`authorization_code`).
    code: Option<String>,
    /// Where the code was sent, where the authorization request said so (`authorization_code`).
    redirect_uri: Option<String>,
    /// What the code's challenge was made of (RFC 7636).
    code_verifier: Option<String>,
    /// The refresh token (`refresh_token`).
    refresh_token: Option<String>,
    /// The user's name (`password`).
    username: Option<String>,
    /// The user's password (`password`).
    password: Option<String>,
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
    /// By which the client gets the next one.
    refresh_token: Option<String>,
    /// Who logged in, where the scope has `openid`.
    id_token: Option<String>,
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
    let answered = respond(&app, address, &headers, &body).await;
    // Applications that run in a browser redeem their codes from there.
    if headers.contains_key(header::ORIGIN) {
        return Ok(reply::open_to_scripts(answered.into_response()));
    }
    answered
}

/// What browsers ask first.
pub async fn preflight() -> Response {
    reply::preflight("POST")
}

async fn respond(
    app: &App,
    address: IpAddr,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response, Refusal> {
    let form = Params::parse(body)?;
    let authorization = reply::authorization(headers)?;
    let answer = flow::token::exchange(app, authorization, &form, address).await?;
    Ok(reply::json(StatusCode::OK, answer))
}
