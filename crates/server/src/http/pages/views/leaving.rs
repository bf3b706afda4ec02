//! The ways out: back to the application by a form, logout, errors.

use http::StatusCode;
use serde::Serialize;

use super::{ClientView, Frame, View, web};
use crate::flow::Failure;
use crate::http::reply::{self, Reason};

/// Brings parameters to the application by a form (`response_mode=form_post`): sent by our script,
/// and by its button where scripts do not run.
#[derive(Clone, Debug, Serialize)]
pub struct FormPostView {
    /// Who gets them.
    pub client: ClientView,
    /// The redirect URI.
    pub action: String,
    /// What it gets.
    pub fields: Vec<FieldView>,
}

/// A parameter.
#[derive(Clone, Debug, Serialize)]
pub struct FieldView {
    /// `code`
    pub name: String,
    /// Its value.
    pub value: String,
}

impl View for FormPostView {
    const TEMPLATE: &'static str = "form_post.html";

    fn frame(&self) -> Frame<'_> {
        let mut frame = Frame::plain(StatusCode::OK)
            .showing(Some(&self.client))
            .leading_to(Some(&self.action));
        frame.0.needs.script = true;
        frame
    }
}

/// Asks whether to sign out. Sends `flow` and `action`, `confirm` or `cancel`, to `/ui/logout`.
#[derive(Clone, Debug, Serialize)]
pub struct LogoutView {
    /// Who asks for it, if somebody does.
    pub client: Option<ClientView>,
    /// Who is signed in, if that is known.
    pub user: Option<String>,
    /// The sealed request.
    pub flow: String,
    /// The post-logout redirect URI.
    #[serde(skip)]
    pub onward: Option<String>,
}

impl View for LogoutView {
    const TEMPLATE: &'static str = "logout.html";

    fn frame(&self) -> Frame<'_> {
        Frame::plain(StatusCode::OK)
            .showing(self.client.as_ref())
            .leading_to(self.onward.as_deref())
    }
}

/// Says that the session has ended, or that it goes on.
#[derive(Clone, Debug, Serialize)]
pub struct SignedOutView {
    /// Whose login it was.
    pub client: Option<ClientView>,
    /// Where to go on.
    back: Option<String>,
    /// Whether the person chose to stay signed in.
    pub kept: bool,
}

impl SignedOutView {
    /// The session has ended, or goes on when it is `kept`.
    pub fn new(kept: bool) -> Self {
        Self {
            client: None,
            back: None,
            kept,
        }
    }

    /// Shows a way back.
    #[must_use]
    pub fn back(mut self, url: &str) -> Self {
        self.back = web(url);
        self
    }
}

impl View for SignedOutView {
    const TEMPLATE: &'static str = "signed_out.html";

    fn frame(&self) -> Frame<'_> {
        Frame::plain(StatusCode::OK).showing(self.client.as_ref())
    }
}

/// What people are told of an error; the code and the description are for developers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The application sent a bad request.
    Request,
    /// The page was open for too long, or belongs to another browser.
    Expired,
    /// Not allowed.
    Denied,
    /// There is no such page.
    Missing,
    /// Not now.
    Busy,
    /// Our fault.
    Broken,
}

/// Says that it does not go on, because nobody can be sent back with it.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorView {
    kind: ErrorKind,
    code: String,
    description: String,
    client: Option<ClientView>,
    back: Option<String>,
    #[serde(skip)]
    status: StatusCode,
    #[serde(skip)]
    reason: Option<Reason>,
}

impl ErrorView {
    /// A failure: its code and description are shown, its reason goes to the access log.
    pub fn of(failure: impl Into<Failure>) -> Self {
        let (code, description, reason) = reply::explain(failure.into());
        let status = StatusCode::from_u16(code.status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self {
            kind: match status.as_u16() {
                403 => ErrorKind::Denied,
                404 | 405 => ErrorKind::Missing,
                408 | 429 | 503 => ErrorKind::Busy,
                500.. => ErrorKind::Broken,
                _ => ErrorKind::Request,
            },
            code: code.as_str().to_owned(),
            description,
            client: None,
            back: None,
            status,
            reason: Some(reason),
        }
    }

    /// Tells people something else than follows from the code.
    #[must_use]
    pub fn kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// Shows the application that is to blame.
    #[must_use]
    pub fn client(mut self, client: Option<ClientView>) -> Self {
        self.client = client;
        self
    }

    /// Shows a way back, to the application's own page (`client_uri`): never to what stood in a bad
    /// request.
    #[must_use]
    pub fn back(mut self, url: Option<&str>) -> Self {
        self.back = url.and_then(web);
        self
    }
}

impl View for ErrorView {
    const TEMPLATE: &'static str = "error.html";

    fn frame(&self) -> Frame<'_> {
        let mut frame = Frame::plain(self.status).showing(self.client.as_ref());
        frame.0.retry_after = (self.kind == ErrorKind::Busy).then_some(1);
        frame
    }

    fn reason(&self) -> Option<Reason> {
        self.reason.clone()
    }
}
