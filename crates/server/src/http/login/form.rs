//! `/ui/login`: the login page.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use signet_oauth::params::Params;
use signet_oauth::secret::Secret;
use std::net::IpAddr;
use std::sync::Arc;
use utoipa::ToSchema;

use super::refusals::PageRefusals;
use super::{Window, absent, client_view};
use crate::app::App;
use crate::flow::Failure;
use crate::flow::authorize::{self, Attempt, Notice, Turn};
use crate::http::body::Form;
use crate::http::pages::Pages;
use crate::http::pages::views::{LoginNotice, LoginView};
use crate::http::reply::Refusal;
use crate::http::transport::peer::Peer;

/// The page on which somebody logs in.
#[utoipa::path(
    get, path = "/ui/login", tag = "Pages",
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
    let shown = Box::pin(authorize::login_page(&app, flow, &window.browser())).await;
    match shown {
        Ok(Ok(page)) => {
            let view = LoginView {
                client: Some(client_view(&page.client)),
                flow: flow.to_owned(),
                username: page.username,
                notice: notice(page.notice),
                cancel: true,
                onward: Some(page.redirect_uri),
            };
            pages.render(&view, window.locale(&page.ui_locales))
        }
        Ok(Err(turn)) => window.turn(Ok(turn)),
        Err(failure) => window.error(failure),
    }
}

fn notice(notice: Notice) -> Option<LoginNotice> {
    Some(match notice {
        Notice::None => return None,
        Notice::Wrong => LoginNotice::Wrong,
        Notice::Missing => LoginNotice::Missing,
        Notice::Locked => LoginNotice::Locked,
        Notice::Expired => LoginNotice::Expired,
        Notice::Again => LoginNotice::Again,
        Notice::Busy => LoginNotice::Busy,
        Notice::Wait(seconds) => LoginNotice::Wait(seconds.into()),
    })
}

/// What the login page sends.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the form is read by `Params`")]
pub struct LoginForm {
    /// The sealed state of the login.
    flow: String,
    /// The name.
    username: Option<String>,
    /// The password.
    password: Option<String>,
    /// `login` or `cancel`.
    action: Option<String>,
}

/// Somebody logs in, or would rather not.
#[utoipa::path(
    post, path = "/ui/login", tag = "Pages",
    request_body(content = LoginForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "On to the next page, or back to the client"), PageRefusals)
)]
pub async fn post(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    Peer(address): Peer,
    headers: HeaderMap,
    form: Result<Form, Refusal>,
) -> Response {
    let window = Window::new(&app, &pages, &headers);
    match form {
        Ok(Form(body)) => window.turn(Box::pin(attempt(&window, &body, address)).await),
        Err(refusal) => window.refusal(refusal),
    }
}

async fn attempt(window: &Window<'_>, body: &[u8], address: IpAddr) -> Result<Turn, Failure> {
    let form = Params::parse(body)?;
    let text = |name| form.get(name).unwrap_or_default();
    let attempt = Attempt {
        flow: form.get("flow").ok_or_else(absent)?,
        username: text("username"),
        password: Secret::new(text("password")),
        cancels: text("action") == "cancel",
    };
    authorize::attempt(window.app, attempt, &window.browser(), address).await
}
