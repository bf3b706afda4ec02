//! `GET` and `POST /userinfo` (OIDC Core §5.3): the token in the header or in a form, never in the
//! query (RFC 9700 §2.2).

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;
use signet_oauth::params::Params;
use signet_oauth::{Error, ErrorCode};
use std::sync::Arc;
use utoipa::ToSchema;

use super::body::AnyForm;
use super::reply::{self, Refusal, Refusals};
use crate::app::App;
use crate::flow::userinfo::{self, UserInfo};

/// The media type of the signed answer (OIDC Core §5.3.2).
const JWT: HeaderValue = HeaderValue::from_static("application/jwt");

/// The token, where it does not come in the `Authorization` header.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the form is read by `Params`")]
pub struct UserInfoRequest {
    /// An access token with the scope `openid`.
    access_token: Option<String>,
}

/// What the token allows to be known of its user.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the answer is written by the law")]
pub struct UserInfoAnswer {
    /// Who.
    sub: String,
    /// Claims of the scopes `profile`, `email`, `address` and `phone`, and those asked for by name.
    #[schema(additional_properties)]
    claims: std::collections::HashMap<String, Value>,
}

/// Who the user is.
#[utoipa::path(
    get, path = "/userinfo", tag = "OpenID Connect",
    responses(
        (status = 200, description = "Claims about the user; signed where the client is registered so",
         content((UserInfoAnswer = "application/json"), (String = "application/jwt"))),
        Refusals
    ),
    security(("user" = []))
)]
pub async fn get(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    answer(&app, &headers, &AnyForm(None)).await
}

/// The same by POST.
#[utoipa::path(
    post, path = "/userinfo", tag = "OpenID Connect",
    request_body(content = UserInfoRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "Claims about the user; signed where the client is registered so",
         content((UserInfoAnswer = "application/json"), (String = "application/jwt"))),
        Refusals
    ),
    security((), ("user" = []))
)]
pub async fn post(State(app): State<Arc<App>>, headers: HeaderMap, form: AnyForm) -> Response {
    answer(&app, &headers, &form).await
}

/// What browsers ask first.
pub async fn preflight() -> Response {
    reply::preflight("GET, POST")
}

async fn answer(app: &App, headers: &HeaderMap, form: &AnyForm) -> Response {
    let answered = match respond(app, headers, form).await {
        Ok(UserInfo::Plain(body)) => reply::json(StatusCode::OK, body),
        Ok(UserInfo::Signed(token)) => reply::typed(StatusCode::OK, JWT, token),
        Err(refusal) => reply::bearer_refusal(refusal),
    };
    reply::open_to_scripts(answered)
}

async fn respond(app: &App, headers: &HeaderMap, form: &AnyForm) -> Result<UserInfo, Refusal> {
    let in_header = match reply::authorization(headers)? {
        None => None,
        Some(header) => Some(userinfo::bearer(header).ok_or_else(absent)?),
    };
    let form = form.0.as_deref().map(Params::parse).transpose()?;
    let in_form = form.as_ref().and_then(|form| form.get("access_token"));
    let token = match (in_header, in_form) {
        (Some(token), None) | (None, Some(token)) => token,
        (None, None) => return Err(absent().into()),
        (Some(_), Some(_)) => {
            return Err(Error::request(
                "send the token in one place: the Authorization header",
                "bearer_twice",
            )
            .into());
        }
    };
    Ok(userinfo::find(app, token).await?)
}

fn absent() -> Error {
    Error::new(
        ErrorCode::InvalidToken,
        "send an access token with the scope openid as Authorization: Bearer …",
        "bearer_absent",
    )
}
