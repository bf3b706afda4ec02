//! What the pages show: one struct a page, filled in by the doors. Templates see the fields by
//! their names here. Nothing in them is HTML, and no link in them runs a script.

mod account;
mod demo;
mod leaving;
mod login;

pub use account::{AccountNotice, AccountView, ApplicationView, SessionView};
pub use demo::DemoView;
pub use leaving::{ErrorKind, ErrorView, FieldView, FormPostView, LogoutView, SignedOutView};
pub use login::{ConsentView, LoginNotice, LoginView, ScopeView};

use http::StatusCode;
use serde::Serialize;
use std::fmt::Debug;

use super::write::Head;
use crate::http::reply::Reason;

/// A page.
pub trait View: Serialize + Debug {
    /// The name of its template.
    const TEMPLATE: &'static str;

    /// What the writer must know of it.
    #[doc(hidden)]
    fn frame(&self) -> Frame<'_>;

    /// What went wrong, for the access log.
    fn reason(&self) -> Option<Reason> {
        None
    }
}

/// What goes with a page besides its text.
#[derive(Debug)]
pub struct Frame<'a>(pub(super) Head<'a>);

impl<'a> Frame<'a> {
    /// A page that needs nothing.
    fn plain(status: StatusCode) -> Self {
        Self(Head {
            status,
            needs: super::policy::Needs::default(),
            retry_after: None,
            alone: false,
        })
    }

    /// The logo of the application is shown.
    fn showing(mut self, client: Option<&'a ClientView>) -> Self {
        let logo = client.and_then(|client| client.logo.as_deref());
        self.0.needs.images.extend(logo);
        self
    }

    /// A form of the page leads there in the end.
    fn leading_to(mut self, url: Option<&'a str>) -> Self {
        self.0.needs.onward.extend(url);
        self
    }
}

/// An application, as people are shown it. Links that are not on the web are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientView {
    name: String,
    logo: Option<String>,
    policy: Option<String>,
    tos: Option<String>,
}

impl ClientView {
    /// An application of this name: `client_name`, or the `client_id` where it has none.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            logo: None,
            policy: None,
            tos: None,
        }
    }

    /// Shows its `logo_uri`.
    #[must_use]
    pub fn logo(mut self, url: Option<&str>) -> Self {
        self.logo = url.and_then(web);
        self
    }

    /// Links to its `policy_uri`.
    #[must_use]
    pub fn policy(mut self, url: Option<&str>) -> Self {
        self.policy = url.and_then(web);
        self
    }

    /// Links to its `tos_uri`.
    #[must_use]
    pub fn tos(mut self, url: Option<&str>) -> Self {
        self.tos = url.and_then(web);
        self
    }
}

/// The URL, where it leads to the web; others could run scripts (`javascript:`).
fn web(url: &str) -> Option<String> {
    let starts = |prefix: &str| {
        let start = url.get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    (starts("https://") || starts("http://")).then(|| url.to_owned())
}
