//! `GET` and `POST /oauth2/authorize` (RFC 6749 §3.1), and `/oauth2/auth`, the path that users of
//! Hydra know.

#![expect(unused_qualifications, reason = "in what the macros expand to")]

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use signet_oauth::ErrorCode;
use std::sync::Arc;
use utoipa::IntoParams;

use super::Window;
use super::refusals::PageRefusals;
use crate::app::App;
use crate::flow::authorize;
use crate::http::body::Form;
use crate::http::pages::{self, Pages};
use crate::http::reply::Refusal;

/// The parameters of an authorization request.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "a schema: the query is read by `Params`")]
pub struct AuthorizeRequest {
    /// The client.
    client_id: String,
    /// `code`; where the client is registered for it, also `token`, `id_token` and what they make
    /// together.
    response_type: Option<String>,
    /// Where the answer goes: one of those registered, character by character.
    redirect_uri: Option<String>,
    /// Scopes, separated by spaces.
    scope: Option<String>,
    /// Given back as it came.
    state: Option<String>,
    /// Repeated in ID tokens.
    nonce: Option<String>,
    /// The PKCE challenge (RFC 7636).
    code_challenge: Option<String>,
    /// `S256`
    code_challenge_method: Option<String>,
    /// `query`, `fragment` or `form_post`.
    response_mode: Option<String>,
    /// `none`, or some of `login`, `consent` and `select_account`.
    prompt: Option<String>,
    /// Seconds that a login may be old.
    max_age: Option<String>,
    /// What the login should be worth.
    acr_values: Option<String>,
    /// Claims that are asked for by name (OIDC Core §5.5), as JSON.
    claims: Option<String>,
    /// An ID token of the user who is meant.
    id_token_hint: Option<String>,
    /// What the user might type in as their name.
    login_hint: Option<String>,
    /// Languages, the best first.
    ui_locales: Option<String>,
    /// The resource that tokens are for (RFC 8707). May be repeated.
    resource: Option<String>,
    /// The request as a signed JWT (RFC 9101).
    request: Option<String>,
    /// A reference to a pushed request (RFC 9126).
    request_uri: Option<String>,
}

/// Ask a user for a login: where the user's browser is sent.
#[utoipa::path(
    get, path = "/oauth2/authorize", tag = "OAuth 2.0", params(AuthorizeRequest),
    responses(
        (status = 200, description = "A page with a form that posts the answer to the client (`form_post`)", content_type = "text/html", body = String),
        (status = 303, description = "On to the login or the consent page, or back to the client"),
        PageRefusals
    )
)]
pub async fn get(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let window = Window::new(&app, &pages, &headers);
    let query = query.unwrap_or_default();
    let outcome = Box::pin(authorize::begin(&app, query.as_bytes(), &window.browser())).await;
    window.turn(outcome)
}

/// The same by a form. The browser is sent on with what it posted, because with a POST from
/// elsewhere it does not send the cookies of a session.
#[utoipa::path(
    post, path = "/oauth2/authorize", tag = "OAuth 2.0",
    request_body(content = Object, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "On to the same request by GET"), PageRefusals)
)]
pub async fn post(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    headers: HeaderMap,
    form: Result<Form, Refusal>,
) -> Response {
    let window = Window::new(&app, &pages, &headers);
    match form {
        Ok(Form(body)) => match authorize::got(&app, &body) {
            Ok(url) => pages::see_other(&url),
            Err(failure) => window.error(failure),
        },
        Err(refusal) => window.refusal(refusal),
    }
}

/// Says what an error code means that somebody was sent here with. Only codes that there are: no
/// text from outside is shown.
#[utoipa::path(
    get, path = "/ui/error", tag = "Pages",
    params(("error" = Option<String>, Query, description = "An error code")),
    responses((status = "4XX", description = "The page", content_type = "text/html", body = String), PageRefusals)
)]
pub async fn error(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let window = Window::new(&app, &pages, &headers);
    let query = query.unwrap_or_default();
    let named = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "error");
    let named = named.map(|(_, code)| code.into_owned()).unwrap_or_default();
    let code = ErrorCode::ALL
        .into_iter()
        .find(|code| code.as_str() == named);
    let told = signet_oauth::Error::new(
        code.unwrap_or(ErrorCode::InvalidRequest),
        "the application was told more about it",
        "error_page",
    );
    window.error(told.into())
}
