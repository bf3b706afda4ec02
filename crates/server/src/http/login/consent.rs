//! `/ui/consent`: the consent page.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use signet_oauth::params::Params;
use std::sync::Arc;
use utoipa::ToSchema;

use super::refusals::PageRefusals;
use super::{Window, absent, client_view};
use crate::app::App;
use crate::flow::Failure;
use crate::flow::authorize::{self, Answer, Turn, is_optional};
use crate::http::body::Form;
use crate::http::pages::Pages;
use crate::http::pages::views::{ConsentView, ScopeView};
use crate::http::reply::Refusal;

/// The page on which somebody is asked what a client may have.
#[utoipa::path(
    get, path = "/ui/consent", tag = "Pages",
    params(("flow" = String, Query, description = "The sealed state of the login")),
    responses(
        (status = 200, description = "The page", content_type = "text/html", body = String),
        (status = 303, description = "The login begins again"),
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
    let params = match Params::parse(query.as_bytes()) {
        Ok(params) => params,
        Err(error) => return window.error(error.into()),
    };
    let Some(flow) = params.get("flow") else {
        return window.error(absent());
    };
    let shown = Box::pin(authorize::consent_page(&app, flow, &window.browser())).await;
    match shown {
        Ok(Ok(page)) => {
            let scope = |token: &str| ScopeView {
                optional: is_optional(token),
                ..ScopeView::new(token)
            };
            let view = ConsentView {
                client: client_view(&page.client),
                flow: flow.to_owned(),
                user: page.user.username.as_str().to_owned(),
                scopes: page.scope.tokens().map(scope).collect(),
                rememberable: true,
                onward: Some(page.redirect_uri),
            };
            pages.render(&view, window.locale(&page.ui_locales))
        }
        Ok(Err(turn)) => window.turn(Ok(turn)),
        Err(failure) => window.error(failure),
    }
}

/// What the consent page sends.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the form is read pair by pair")]
pub struct ConsentForm {
    /// The sealed state of the login.
    flow: String,
    /// A scope that is allowed; once for each.
    scope: Option<String>,
    /// Whether to remember the answer.
    remember: Option<String>,
    /// `allow` or `deny`.
    action: String,
}

/// Somebody allows something, or nothing.
#[utoipa::path(
    post, path = "/ui/consent", tag = "Pages",
    request_body(content = ConsentForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Back to the client"), PageRefusals)
)]
pub async fn post(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    headers: HeaderMap,
    form: Result<Form, Refusal>,
) -> Response {
    let window = Window::new(&app, &pages, &headers);
    match form {
        Ok(Form(body)) => window.turn(Box::pin(answer(&window, &body)).await),
        Err(refusal) => window.refusal(refusal),
    }
}

/// Boxes that a form may have ticked; no request has as many scopes.
const MAX_BOXES: usize = 1000;

async fn answer(window: &Window<'_>, body: &[u8]) -> Result<Turn, Failure> {
    let (mut flow, mut action, mut remember, mut ticked) = (None, None, false, Vec::new());
    // One box a scope: the form repeats a name, which parameters must not (`Params`).
    for (name, value) in form_urlencoded::parse(body) {
        match &*name {
            "flow" => flow = Some(value),
            "action" => action = Some(value),
            "remember" => remember = !value.is_empty(),
            "scope" if ticked.len() < MAX_BOXES => ticked.push(value.into_owned()),
            _ => {}
        }
    }
    let answer = Answer {
        flow: &flow.ok_or_else(absent)?,
        allows: action.as_deref() == Some("allow"),
        ticked,
        remember,
    };
    authorize::answer(window.app, answer, &window.browser()).await
}
