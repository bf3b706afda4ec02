//! The account: sessions, applications with access, the password.

use http::StatusCode;
use serde::{Serialize, Serializer};
use signet_oauth::time::Timestamp;

use super::{ClientView, Frame, ScopeView, View};

/// What a person's account shows. Every form sends the `token` that it was given, which says what
/// it is for; no other field but those of the password is needed.
#[derive(Clone, Debug, Serialize)]
pub struct AccountView {
    /// The username.
    pub user: String,
    /// What the last form did.
    pub notice: Option<AccountNotice>,
    /// For `/ui/account/logout`.
    pub logout_token: String,
    /// The sessions, the current one first.
    pub sessions: Vec<SessionView>,
    /// The applications with access.
    pub applications: Vec<ApplicationView>,
    /// For `/ui/account/password`, with `current_password`, `new_password` and
    /// `new_password_again`; nothing where the password cannot be changed here.
    pub password_token: Option<String>,
    /// The characters that a new password has at least.
    pub password_length: usize,
}

/// A session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionView {
    /// For `/ui/account/sessions/end`.
    pub token: String,
    /// Whether it is the one that looks at the page.
    pub current: bool,
    /// When the person signed in.
    #[serde(serialize_with = "seconds")]
    pub signed_in_at: Timestamp,
    /// When it ends by itself.
    #[serde(serialize_with = "seconds")]
    pub expires_at: Timestamp,
    /// The names of the applications that used it.
    pub applications: Vec<String>,
}

/// An application with access.
#[derive(Clone, Debug, Serialize)]
pub struct ApplicationView {
    /// For `/ui/account/applications/withdraw`.
    pub token: String,
    /// Who it is.
    pub client: ClientView,
    /// What it may do.
    pub scopes: Vec<ScopeView>,
    /// Since when.
    #[serde(serialize_with = "seconds")]
    pub granted_at: Timestamp,
}

/// What the last form did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountNotice {
    /// A session was ended.
    SessionEnded,
    /// An application lost its access.
    AccessWithdrawn,
    /// The password was changed.
    PasswordChanged,
    /// The current password is wrong.
    PasswordWrong,
    /// The new passwords differ.
    PasswordDiffers,
    /// The new password is too short.
    PasswordShort,
    /// The page was open for too long.
    Expired,
    /// Too many attempts.
    Wait,
    /// Not now.
    Busy,
}

impl AccountNotice {
    fn status(self) -> StatusCode {
        match self {
            Self::SessionEnded | Self::AccessWithdrawn | Self::PasswordChanged => StatusCode::OK,
            Self::PasswordWrong => StatusCode::FORBIDDEN,
            Self::PasswordDiffers | Self::PasswordShort | Self::Expired => StatusCode::BAD_REQUEST,
            Self::Wait => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl View for AccountView {
    const TEMPLATE: &'static str = "account.html";

    fn frame(&self) -> Frame<'_> {
        let status = self.notice.map_or(StatusCode::OK, AccountNotice::status);
        let mut frame = Frame::plain(status);
        for application in &self.applications {
            frame = frame.showing(Some(&application.client));
        }
        frame.0.alone = true;
        frame
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference to what serialises a field"
)]
fn seconds<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(at.0)
}
