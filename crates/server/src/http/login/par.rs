//! `POST /oauth2/par` (RFC 9126).

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use signet_oauth::params::Params;
use std::sync::Arc;
use utoipa::ToSchema;

use crate::app::App;
use crate::flow::authorize;
use crate::http::body::Form;
use crate::http::reply::{self, Refusal, Refusals};
use crate::http::transport::peer::Peer;

/// What a client gets for its request.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the answer is written by the law")]
pub struct PushedAnswer {
    /// To be sent to the authorization endpoint, with `client_id`.
    request_uri: String,
    /// Seconds that it is good for.
    expires_in: u64,
}

/// Push an authorization request: the client proves who it is, and the browser carries nothing but
/// a reference.
#[utoipa::path(
    post, path = "/oauth2/par", tag = "OAuth 2.0",
    request_body(content = Object, content_type = "application/x-www-form-urlencoded"),
    responses((status = 201, description = "The reference", body = PushedAnswer), Refusals),
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
    let answer = Box::pin(authorize::push(&app, authorization, &form, address)).await?;
    Ok(reply::json(StatusCode::CREATED, answer))
}
