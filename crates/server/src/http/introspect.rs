//! `POST /oauth2/introspect` (RFC 7662), its signed answer (RFC 9701), and the admin's own.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use signet_oauth::client_auth::Credentials;
use signet_oauth::introspection::{Caller, JWT_MEDIA_TYPE};
use signet_oauth::params::Params;
use std::sync::Arc;
use utoipa::ToSchema;

use super::body::Form;
use super::peer::Peer;
use super::reply::{self, Refusal, Refusals};
use crate::app::App;
use crate::flow::{authenticate, introspect};

/// The parameters of an introspection or revocation request.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the form is read by `Params`")]
pub struct TokenParameter {
    /// The token.
    token: String,
    /// `access_token` or `refresh_token`; the server finds out by itself.
    token_type_hint: Option<String>,
    /// The client, where it does not authenticate with HTTP Basic.
    client_id: Option<String>,
    /// Its secret (`client_secret_post`).
    client_secret: Option<String>,
    /// `urn:ietf:params:oauth:client-assertion-type:jwt-bearer`
    client_assertion_type: Option<String>,
    /// A signed assertion (`private_key_jwt`, `client_secret_jwt`).
    client_assertion: Option<String>,
}

/// What there is to know about a token (RFC 7662 §2.2); only `active` where it is not valid, or
/// not the caller's business.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the answer is written by the law")]
pub struct IntrospectionAnswer {
    /// Whether the token is valid now, for this caller.
    active: bool,
    /// The client that it was issued to.
    client_id: Option<String>,
    /// Whom it speaks for.
    sub: Option<String>,
    /// For whom it is meant: a text, or a list of texts.
    aud: Option<serde_json::Value>,
    /// Who issued it.
    iss: Option<String>,
    /// When it expires, in seconds since 1970.
    exp: Option<u64>,
    /// When it was issued.
    iat: Option<u64>,
    /// When it became valid.
    nbf: Option<u64>,
    /// Its id.
    jti: Option<String>,
    /// What it allows.
    scope: Option<String>,
    /// `Bearer`
    token_type: Option<String>,
}

/// Ask about a token.
#[utoipa::path(
    post, path = "/oauth2/introspect", tag = "OAuth 2.0",
    request_body(content = TokenParameter, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "What there is to know; signed where `Accept` asks for it",
         content((IntrospectionAnswer = "application/json"), (String = "application/token-introspection+jwt"))),
        Refusals
    ),
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
    authenticate::confidential(&client)?;
    let text = introspect::token_parameter(&form)?;
    let caller = Caller::Client(&client.client.id);
    let members = introspect::introspect(&app, caller, text).await?;
    if !wants_jwt(&headers) {
        return Ok(reply::json(StatusCode::OK, members));
    }
    let signed = Box::pin(introspect::signed(&app, &client.client.id, &members)).await?;
    Ok(reply::typed(
        StatusCode::OK,
        HeaderValue::from_static(JWT_MEDIA_TYPE),
        signed,
    ))
}

/// Ask about any token.
#[utoipa::path(
    post, path = "/admin/oauth2/introspect", tag = "Tokens",
    request_body(content = TokenParameter, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "What there is to know", body = IntrospectionAnswer), Refusals),
    security(("admin" = []))
)]
pub async fn admin(State(app): State<Arc<App>>, Form(body): Form) -> Result<Response, Refusal> {
    let form = Params::parse(&body)?;
    let text = introspect::token_parameter(&form)?;
    Ok(reply::json(
        StatusCode::OK,
        introspect::introspect(&app, Caller::Admin, text).await?,
    ))
}

/// RFC 9701 §4: the media type is asked for by name.
fn wants_jwt(headers: &HeaderMap) -> bool {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| {
        let kinds = accept.split(',').filter_map(|kind| kind.split(';').next());
        kinds
            .map(str::trim)
            .any(|kind| kind.eq_ignore_ascii_case(JWT_MEDIA_TYPE))
    })
}
