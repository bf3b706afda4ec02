//! The doors through which people log in: the authorization endpoint, the pages behind it, and what
//! stands in for the pages. A door reads what the browser sent, has `flow::authorize` decide, and
//! writes the page, the redirection and the cookies.

pub mod account;
pub mod authorize;
pub mod challenges;
pub mod consent;
pub mod demo;
pub mod form;
pub mod logout;
pub mod par;
pub mod refusals;

use axum::response::Response;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, StatusCode};
use signet_oauth::authorize::response::Rendered;
use signet_oauth::{Error, ErrorCode};
use std::sync::Arc;

use super::pages::cookies::{self, Cookie, Cookies};
use super::pages::views::{ClientView, ErrorKind, ErrorView, FieldView, FormPostView};
use super::pages::{self, Locale, Pages};
use super::reply::Refusal;
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::Failure;
use crate::flow::authorize::{Browser, Going, Nonce, Turn};

/// What a handler needs to answer a browser.
struct Window<'a> {
    app: &'a Arc<App>,
    pages: &'a Pages,
    headers: &'a HeaderMap,
}

impl<'a> Window<'a> {
    fn new(app: &'a Arc<App>, pages: &'a Arc<Pages>, headers: &'a HeaderMap) -> Self {
        Self {
            app,
            pages,
            headers,
        }
    }

    fn cookies(&self) -> Cookies {
        Cookies::of(&self.app.grants.issuer)
    }

    /// What the browser brings along.
    fn browser(&self) -> Browser<'a> {
        let cookies = self.cookies();
        let nonce = cookies.read(self.headers, Cookie::Browser);
        Browser {
            nonce: nonce.and_then(read_nonce),
            session: cookies.read(self.headers, Cookie::Session),
        }
    }

    fn locale(&self, ui_locales: &[String]) -> Locale {
        self.pages.locale(Some(&ui_locales.join(" ")), self.headers)
    }

    /// Sends the browser where it goes next.
    fn turn(&self, outcome: Result<Turn, Failure>) -> Response {
        let turn = match outcome {
            Ok(turn) => turn,
            Err(failure) => return self.error(failure),
        };
        let mut response = match turn.going {
            Going::Page(url) => pages::see_other(&url),
            Going::Client(answered) => match answered.answer {
                Rendered::Redirect(url) => pages::see_other(&url),
                Rendered::FormPost { action, fields } => {
                    let field = |(name, value): (&'static str, String)| FieldView {
                        name: name.to_owned(),
                        value,
                    };
                    let view = FormPostView {
                        client: client_view(&answered.client),
                        action,
                        fields: fields.into_iter().map(field).collect(),
                    };
                    self.pages.render(&view, self.locale(&answered.ui_locales))
                }
            },
        };
        let jar = self.cookies();
        let nonce = turn.nonce.map(|nonce| URL_SAFE_NO_PAD.encode(nonce.0));
        let nonce = nonce.and_then(|text| jar.set(Cookie::Browser, &text, None));
        let session = turn.session.as_deref();
        let session = session.and_then(|text| jar.set(Cookie::Session, text, None));
        cookies::add(&mut response, nonce.into_iter().chain(session));
        response
    }

    /// Shows what went wrong.
    fn error(&self, failure: Failure) -> Response {
        let lost = matches!(&failure, Failure::Denied(error)
            if ["state_unknown", "cookie_absent"].contains(&error.reason));
        let mut view = ErrorView::of(failure);
        if lost {
            view = view.kind(ErrorKind::Expired);
        }
        let mut response = self.pages.render(&view, self.locale(&[]));
        if response.status() == StatusCode::UNAUTHORIZED {
            // A page asks nobody for credentials, which is what 401 would mean.
            *response.status_mut() = StatusCode::BAD_REQUEST;
        }
        response
    }

    fn refusal(&self, refusal: Refusal) -> Response {
        self.error(refusal.0)
    }
}

fn read_nonce(text: &str) -> Option<Nonce> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    Some(Nonce(bytes.try_into().ok()?))
}

/// A client as people are shown it.
fn client_view(client: &CachedClient) -> ClientView {
    let (id, about) = (&client.client.id, &client.client.metadata);
    ClientView::new(about.name.as_deref().unwrap_or(id.as_str()))
        .logo(about.logo_uri.as_deref())
        .policy(about.policy_uri.as_deref())
        .tos(about.tos_uri.as_deref())
}

/// What a page without its state says: somebody typed the address, or kept it.
fn absent() -> Failure {
    Error::new(
        ErrorCode::InvalidRequest,
        "this page belongs to a login: go back to the application and start there",
        "state_unknown",
    )
    .into()
}
