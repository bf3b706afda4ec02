//! `/ui/demo`: where the demo client of a development server takes its users back. Nowhere else.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use signet_oauth::params::Params;
use std::sync::Arc;

use super::Window;
use crate::app::App;
use crate::flow::demo;
use crate::http::pages::Pages;
use crate::http::pages::views::DemoView;
use crate::http::reply;

/// Shows what the demo client was handed.
pub async fn get(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    if !app.policy.logins.demo {
        return reply::no_such_path().await.into_response();
    }
    let window = Window::new(&app, &pages, &headers);
    let query = query.unwrap_or_default();
    let params = match Params::parse(query.as_bytes()) {
        Ok(params) => params,
        Err(error) => return window.error(error.into()),
    };
    // Into a command that people copy goes nothing but what a code consists of.
    let is_code = |text: &&str| {
        text.bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    let issuer = &app.grants.issuer;
    let view = DemoView {
        code: params.get("code").filter(is_code).map(str::to_owned),
        error: params.get("error").unwrap_or("nothing").to_owned(),
        client: demo::LOGIN_CLIENT,
        secret: demo::SECRET,
        redirect_uri: format!("{issuer}/ui/demo"),
        token_endpoint: format!("{issuer}/oauth2/token"),
        again: demo::login_url(issuer),
    };
    pages.render(&view, window.locale(&[]))
}
