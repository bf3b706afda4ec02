//! The way in: login and consent.

use http::StatusCode;
use serde::Serialize;

use super::{ClientView, Frame, View};

/// Asks for username and password. Sends `flow`, `username`, `password` and `action`, which is
/// `login` or `cancel`, to `/ui/login`.
#[derive(Clone, Debug, Serialize)]
pub struct LoginView {
    /// Who wants to know; nothing for a login to the account page.
    pub client: Option<ClientView>,
    /// The sealed state of the login.
    pub flow: String,
    /// What stands in the first field: `login_hint`, or what was entered before.
    pub username: String,
    /// What is said above the fields.
    pub notice: Option<LoginNotice>,
    /// Whether there is a way back without a login.
    pub cancel: bool,
    /// The redirect URI: browsers refuse to follow a form to where its page does not allow.
    #[serde(skip)]
    pub onward: Option<String>,
}

/// What is said above the fields of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "NoticeFields")]
pub enum LoginNotice {
    /// Username or password is wrong. The same for accounts that do not exist.
    Wrong,
    /// A field is empty.
    Missing,
    /// The account is locked. Only for those who know its password.
    Locked,
    /// Too many attempts: wait so many seconds.
    Wait(u64),
    /// The page was open for too long.
    Expired,
    /// The application wants to be sure (`prompt=login`, `max_age`): no failure.
    Again,
    /// No slow hash can be computed now.
    Busy,
    /// The password was changed: no failure.
    PasswordChanged,
}

/// [`LoginNotice`] as templates see it.
#[derive(Debug, Serialize)]
struct NoticeFields {
    kind: &'static str,
    unit: &'static str,
    count: u64,
}

impl From<LoginNotice> for NoticeFields {
    fn from(notice: LoginNotice) -> Self {
        let kind = match notice {
            LoginNotice::Wrong => "wrong",
            LoginNotice::Missing => "missing",
            LoginNotice::Locked => "locked",
            LoginNotice::Wait(_) => "wait",
            LoginNotice::Expired => "expired",
            LoginNotice::Again => "again",
            LoginNotice::Busy => "busy",
            LoginNotice::PasswordChanged => "password_changed",
        };
        let (unit, count) = match notice {
            LoginNotice::Wait(seconds) if seconds > 90 => ("minutes", seconds.div_ceil(60)),
            LoginNotice::Wait(seconds) => ("seconds", seconds.max(1)),
            _ => ("", 0),
        };
        Self { kind, unit, count }
    }
}

impl LoginNotice {
    fn status(self) -> StatusCode {
        match self {
            Self::Again | Self::PasswordChanged => StatusCode::OK,
            // Not 401, which must come with a challenge; any refusal tells password managers that
            // what was entered is not worth keeping.
            Self::Wrong | Self::Locked => StatusCode::FORBIDDEN,
            Self::Missing | Self::Expired => StatusCode::BAD_REQUEST,
            Self::Wait(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl View for LoginView {
    const TEMPLATE: &'static str = "login.html";

    fn frame(&self) -> Frame<'_> {
        let status = self.notice.map_or(StatusCode::OK, LoginNotice::status);
        let mut frame = Frame::plain(status)
            .showing(self.client.as_ref())
            .leading_to(self.onward.as_deref());
        frame.0.retry_after = match self.notice {
            Some(LoginNotice::Wait(seconds)) => Some(seconds.max(1)),
            Some(LoginNotice::Busy) => Some(1),
            _ => None,
        };
        frame
    }
}

/// Asks whether an application may have what it asks for. Sends `flow`, `action` (`allow` or
/// `deny`), a `scope` for each optional one that is granted, and `remember=1`, to `/ui/consent`.
#[derive(Clone, Debug, Serialize)]
pub struct ConsentView {
    /// Who asks.
    pub client: ClientView,
    /// The sealed state of the login.
    pub flow: String,
    /// Whom it asks: the username.
    pub user: String,
    /// What it asks for.
    pub scopes: Vec<ScopeView>,
    /// Whether the decision can be remembered.
    pub rememberable: bool,
    /// The redirect URI.
    #[serde(skip)]
    pub onward: Option<String>,
}

/// One scope. Texts say what the standard ones mean, and those that an operator wrote a text for.
#[derive(Clone, Debug, Serialize)]
pub struct ScopeView {
    /// The scope as it was asked for.
    pub name: String,
    /// What it means, where no text says so.
    pub description: Option<String>,
    /// Whether it can be left out: then it has a box to untick.
    pub optional: bool,
}

impl ScopeView {
    /// A scope that comes with the rest.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            optional: false,
        }
    }
}

impl View for ConsentView {
    const TEMPLATE: &'static str = "consent.html";

    fn frame(&self) -> Frame<'_> {
        Frame::plain(StatusCode::OK)
            .showing(Some(&self.client))
            .leading_to(self.onward.as_deref())
    }
}
