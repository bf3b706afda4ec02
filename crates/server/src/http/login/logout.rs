//! `GET` and `POST /oauth2/logout` (OIDC RP-Initiated Logout 1.0), also `/oauth2/sessions/logout`, the
//! path that users of Hydra know; the question `/ui/logout`, and the page that says how it went.

#![expect(unused_qualifications, reason = "in what the macros expand to")]

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderMap;
use signet_oauth::params::Params;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

use super::refusals::PageRefusals;
use super::{Window, absent, client_view};
use crate::app::App;
use crate::flow::Failure;
use crate::flow::logout::{self, Asking, Parting};
use crate::http::body::Form;
use crate::http::pages::cookies::{self, Cookie};
use crate::http::pages::views::{LogoutView, SignedOutView};
use crate::http::pages::{self, Pages};
use crate::http::reply::Refusal;

/// The parameters of a request for a logout.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "a schema: the query is read by `Params`")]
pub struct LogoutParameters {
    /// An ID token of the session that is to end; with it, nobody is asked. It may have expired.
    id_token_hint: Option<String>,
    /// The client, where there is no hint.
    client_id: Option<String>,
    /// Where the browser goes afterwards: one of those registered, character by character.
    post_logout_redirect_uri: Option<String>,
    /// Given back as it came.
    state: Option<String>,
    /// Languages, the best first.
    ui_locales: Option<String>,
}

/// End the session of a user: where the user's browser is sent.
#[utoipa::path(
    get, path = "/oauth2/logout", tag = "OpenID Connect", params(LogoutParameters),
    responses(
        (status = 303, description = "Back to the client, to the question, or to the page that says so"),
        PageRefusals
    )
)]
pub async fn begin(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let window = Window::new(&app, &pages, &headers);
    let query = query.unwrap_or_default();
    let outcome = Box::pin(logout::begin(&app, query.as_bytes(), &window.browser())).await;
    part(&window, outcome)
}

/// The same by a form. The browser is sent on with what it posted, because with a POST from
/// elsewhere it does not send the cookies of a session.
#[utoipa::path(
    post, path = "/oauth2/logout", tag = "OpenID Connect",
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
        Ok(Form(body)) => match logout::got(&app, &body) {
            Ok(url) => pages::see_other(&url),
            Err(failure) => window.error(failure),
        },
        Err(refusal) => window.refusal(refusal),
    }
}

/// The page that asks whether to log out.
#[utoipa::path(
    get, path = "/ui/logout", tag = "Pages",
    params(("flow" = Option<String>, Query, description = "The sealed question; without it, it is asked anew")),
    responses(
        (status = 200, description = "The page", content_type = "text/html", body = String),
        (status = 303, description = "There is nothing to ask"),
        PageRefusals
    )
)]
pub async fn ask(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let window = Window::new(&app, &pages, &headers);
    let query = query.unwrap_or_default();
    let params = match Params::parse(query.as_bytes()) {
        Ok(params) => params,
        Err(error) => return window.error(error.into()),
    };
    let Some(flow) = params.get("flow") else {
        let anew = Box::pin(logout::begin(&app, b"", &window.browser())).await;
        return part(&window, anew);
    };
    match Box::pin(logout::page(&app, flow, &window.browser())).await {
        Ok(Asking::Page(page)) => {
            let view = LogoutView {
                client: page.client.as_deref().map(client_view),
                user: page.username,
                flow: flow.to_owned(),
                onward: page.onward,
            };
            pages.render(&view, window.locale(&page.ui_locales))
        }
        Ok(Asking::On(parting)) => part(&window, Ok(parting)),
        Err(failure) => window.error(failure),
    }
}

/// What the question sends.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the form is read by `Params`")]
pub struct LogoutForm {
    /// The sealed question.
    flow: String,
    /// `confirm` or `cancel`.
    action: Option<String>,
}

/// Somebody logs out, or would rather not.
#[utoipa::path(
    post, path = "/ui/logout", tag = "Pages",
    request_body(content = LogoutForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Back to the client, or to the page that says so"), PageRefusals)
)]
pub async fn answer(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    headers: HeaderMap,
    form: Result<Form, Refusal>,
) -> Response {
    let window = Window::new(&app, &pages, &headers);
    match form {
        Ok(Form(body)) => part(&window, Box::pin(answered(&app, &window, &body)).await),
        Err(refusal) => window.refusal(refusal),
    }
}

async fn answered(app: &Arc<App>, window: &Window<'_>, body: &[u8]) -> Result<Parting, Failure> {
    let form = Params::parse(body)?;
    let flow = form.get("flow").ok_or_else(absent)?;
    let confirms = form.get("action") == Some("confirm");
    logout::answer(app, flow, confirms, &window.browser()).await
}

/// Says whether somebody is logged in here: where a logout ends that leads nowhere else.
#[utoipa::path(
    get, path = "/ui/signed-out", tag = "Pages",
    responses((status = 200, description = "The page", content_type = "text/html", body = String), PageRefusals)
)]
pub async fn outcome(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    headers: HeaderMap,
) -> Response {
    let window = Window::new(&app, &pages, &headers);
    match logout::is_signed_in(&app, &window.browser()).await {
        Ok(kept) => pages.render(&SignedOutView::new(kept), window.locale(&[])),
        Err(failure) => window.error(failure),
    }
}

fn part(window: &Window<'_>, outcome: Result<Parting, Failure>) -> Response {
    let parting = match outcome {
        Ok(parting) => parting,
        Err(failure) => return window.error(failure),
    };
    let mut response = pages::see_other(&parting.url);
    let jar = window.cookies();
    let nonce = parting.nonce.map(|nonce| URL_SAFE_NO_PAD.encode(nonce.0));
    let nonce = nonce.and_then(|text| jar.set(Cookie::Browser, &text, None));
    let session = parting
        .is_over
        .then(|| jar.clear(Cookie::Session))
        .flatten();
    cookies::add(&mut response, nonce.into_iter().chain(session));
    response
}
