//! `/ui/account`: what somebody sees of their own account, and may do there.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use signet_oauth::params::Params;
use signet_oauth::secret::Secret;
use signet_oauth::{Error, ErrorCode};
use std::net::IpAddr;
use std::sync::Arc;
use utoipa::ToSchema;

use super::refusals::PageRefusals;
use super::{Window, client_view};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::Failure;
use crate::flow::authorize::session::{self, LoggedIn};
use crate::flow::users::access::{self, Used};
use crate::flow::users::account::{self, Deed, MIN_PASSWORD};
use crate::http::body::Form;
use crate::http::pages::cookies::{self, Cookie};
use crate::http::pages::views::{
    AccountNotice, AccountView, ApplicationView, ClientView, ScopeView, SessionView, SignedOutView,
};
use crate::http::pages::{self, Pages};
use crate::http::peer::Peer;
use crate::http::reply::Refusal;

/// What a form did, when the page is shown again.
const DONE: [AccountNotice; 3] = [
    AccountNotice::SessionEnded,
    AccountNotice::AccessWithdrawn,
    AccountNotice::PasswordChanged,
];

/// The account of whoever is signed in.
#[utoipa::path(
    get, path = "/ui/account", tag = "Pages",
    responses((status = 200, description = "The page", content_type = "text/html", body = String), PageRefusals)
)]
pub async fn get(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let window = Window::new(&app, &pages, &headers);
    let shown = Box::pin(async {
        let there = signed_in(&window).await?;
        let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes())?;
        let done = params
            .get("done")
            .and_then(|text| account::read(&app, &there, text));
        let notice = match done {
            Some(Deed::Done(what)) => DONE.get(usize::from(what)).copied(),
            _ => None,
        };
        show(&window, &there, notice).await
    });
    shown.await.unwrap_or_else(|failure| window.error(failure))
}

/// What the forms of the account send.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "a schema: the form is read by names")]
pub struct AccountForm {
    /// What the page gave for this form.
    token: String,
    /// The password as it is.
    current_password: Option<String>,
    /// The password as it is to be.
    new_password: Option<String>,
    /// The same once more.
    new_password_again: Option<String>,
}

/// Sign out of this browser.
#[utoipa::path(
    post, path = "/ui/account/logout", tag = "Pages",
    request_body(content = AccountForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "Signed out", content_type = "text/html", body = String), PageRefusals)
)]
pub async fn logout(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    Peer(address): Peer,
    headers: HeaderMap,
    form: Result<Form, Refusal>,
) -> Response {
    let wanted = |deed: &Deed| *deed == Deed::Logout;
    act(&Window::new(&app, &pages, &headers), form, address, wanted).await
}

/// End a session.
#[utoipa::path(
    post, path = "/ui/account/sessions/end", tag = "Pages",
    request_body(content = AccountForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Back to the account"), PageRefusals)
)]
pub async fn end_session(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    Peer(address): Peer,
    headers: HeaderMap,
    form: Result<Form, Refusal>,
) -> Response {
    let wanted = |deed: &Deed| matches!(deed, Deed::EndSession(_));
    act(&Window::new(&app, &pages, &headers), form, address, wanted).await
}

/// Take its access from an application.
#[utoipa::path(
    post, path = "/ui/account/applications/withdraw", tag = "Pages",
    request_body(content = AccountForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Back to the account"), PageRefusals)
)]
pub async fn withdraw(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    Peer(address): Peer,
    headers: HeaderMap,
    form: Result<Form, Refusal>,
) -> Response {
    let wanted = |deed: &Deed| matches!(deed, Deed::Withdraw(_));
    act(&Window::new(&app, &pages, &headers), form, address, wanted).await
}

/// Change the password.
#[utoipa::path(
    post, path = "/ui/account/password", tag = "Pages",
    request_body(content = AccountForm, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Back to the account"), PageRefusals)
)]
pub async fn password(
    State(app): State<Arc<App>>,
    Extension(pages): Extension<Arc<Pages>>,
    Peer(address): Peer,
    headers: HeaderMap,
    form: Result<Form, Refusal>,
) -> Response {
    let wanted = |deed: &Deed| *deed == Deed::Password;
    act(&Window::new(&app, &pages, &headers), form, address, wanted).await
}

/// Whoever is signed in in this browser.
async fn signed_in(window: &Window<'_>) -> Result<LoggedIn, Failure> {
    let found = match window.browser().session {
        Some(cookie) => session::find(window.app, cookie, window.app.clock.now()).await?,
        None => None,
    };
    found.ok_or_else(|| {
        let description = "nobody is signed in in this browser: sign in to an application first";
        Error::new(ErrorCode::LoginRequired, description, "account_signed_out").into()
    })
}

async fn act(
    window: &Window<'_>,
    form: Result<Form, Refusal>,
    address: IpAddr,
    wanted: impl Fn(&Deed) -> bool,
) -> Response {
    let body = match form {
        Ok(Form(body)) => body,
        Err(refusal) => return window.refusal(refusal),
    };
    let acted = Box::pin(async {
        let there = signed_in(window).await?;
        let form = Params::parse(&body)?;
        let deed = form
            .get("token")
            .and_then(|text| account::read(window.app, &there, text));
        match deed.filter(wanted) {
            Some(deed) => carry_out(window, &there, deed, (&form, address)).await,
            None => show(window, &there, Some(AccountNotice::Expired)).await,
        }
    });
    acted.await.unwrap_or_else(|failure| window.error(failure))
}

async fn carry_out(
    window: &Window<'_>,
    there: &LoggedIn,
    deed: Deed,
    (form, address): (&Params<'_>, IpAddr),
) -> Result<Response, Failure> {
    let (app, user) = (window.app, &there.user.id);
    match deed {
        Deed::Logout => end(window, there, there.session.id).await,
        Deed::EndSession(id) => end(window, there, id).await,
        Deed::Withdraw(client) => {
            gone(access::withdraw(app, user, &client).await)?;
            tracing::info!(target: "audit", %user, %client, "user withdrew a consent");
            Ok(back(window, there, 1))
        }
        Deed::Password => change(window, there, (form, address)).await,
        Deed::Done(_) => show(window, there, Some(AccountNotice::Expired)).await,
    }
}

/// What is gone already, somebody ended meanwhile: that is what was wanted.
fn gone(outcome: Result<(), Failure>) -> Result<(), Failure> {
    match outcome {
        Err(Failure::Denied(error)) if error.code == ErrorCode::NotFound => Ok(()),
        other => other,
    }
}

async fn end(
    window: &Window<'_>,
    there: &LoggedIn,
    session: [u8; 16],
) -> Result<Response, Failure> {
    let user = &there.user.id;
    gone(access::end_session(window.app, user, session).await)?;
    tracing::info!(target: "audit", %user, "user ended a session");
    if session != there.session.id {
        return Ok(back(window, there, 0));
    }
    let view = SignedOutView::new(false);
    let mut response = window.pages.render(&view, window.locale(&[]));
    cookies::add(&mut response, window.cookies().clear(Cookie::Session));
    Ok(response)
}

async fn change(
    window: &Window<'_>,
    there: &LoggedIn,
    (form, address): (&Params<'_>, IpAddr),
) -> Result<Response, Failure> {
    let text = |name| form.get(name).unwrap_or_default();
    let new = text("new_password");
    let refused = if new != text("new_password_again") {
        Some(AccountNotice::PasswordDiffers)
    } else if new.chars().count() < MIN_PASSWORD {
        Some(AccountNotice::PasswordShort)
    } else {
        None
    };
    if refused.is_some() {
        return show(window, there, refused).await;
    }
    let passwords = (&Secret::new(text("current_password")), Secret::new(new));
    match account::change_password(window.app, there, passwords, address).await {
        Ok(fresh) => {
            let mut response = back(window, &fresh, 2);
            let sealed = session::seal(window.app, &fresh.session);
            let cookie = window.cookies().set(Cookie::Session, &sealed, None);
            cookies::add(&mut response, cookie);
            Ok(response)
        }
        Err(Failure::Denied(error)) if error.reason == "login_locked_out" => {
            show(window, there, Some(AccountNotice::Wait)).await
        }
        Err(Failure::Denied(error)) if error.code == ErrorCode::InvalidGrant => {
            show(window, there, Some(AccountNotice::PasswordWrong)).await
        }
        Err(Failure::Fault(fault)) if fault.passing => {
            tracing::warn!(fault = fault.context, "a password was not changed");
            show(window, there, Some(AccountNotice::Busy)).await
        }
        Err(failure) => Err(failure),
    }
}

/// Back to the page, which says what was done: a reload does not do it again.
fn back(window: &Window<'_>, there: &LoggedIn, done: u8) -> Response {
    let done = account::token(window.app, there, &Deed::Done(done));
    let issuer = window.app.grants.issuer.trim_end_matches('/');
    pages::see_other(&format!("{issuer}/ui/account?done={done}"))
}

async fn show(
    window: &Window<'_>,
    there: &LoggedIn,
    notice: Option<AccountNotice>,
) -> Result<Response, Failure> {
    let app = window.app;
    let found = account::show(app, &there.user).await?;
    let token = |deed: &Deed| account::token(app, there, deed);
    let mut sessions = Vec::new();
    for used in &found.sessions {
        let id = used.session.id;
        sessions.push(SessionView {
            token: token(&Deed::EndSession(id)),
            current: id == there.session.id,
            signed_in_at: used.session.auth_time,
            expires_at: used.session.expires_at,
            applications: names(app, used).await?,
        });
    }
    sessions.sort_by_key(|session| !session.current);
    let applications = found.applications.iter().map(|(consent, client)| {
        let scopes = consent.scope.tokens().map(ScopeView::new).collect();
        ApplicationView {
            token: token(&Deed::Withdraw(consent.client.clone())),
            client: shown(consent.client.as_str(), client.as_deref()),
            scopes,
            granted_at: consent.granted_at,
        }
    });
    let view = AccountView {
        user: there.user.username.as_str().to_owned(),
        notice,
        logout_token: token(&Deed::Logout),
        sessions,
        applications: applications.collect(),
        password_token: Some(token(&Deed::Password)),
        password_length: MIN_PASSWORD,
    };
    Ok(window.pages.render(&view, window.locale(&[])))
}

/// A client as people know it; one that is gone, by its id.
fn shown(id: &str, client: Option<&CachedClient>) -> ClientView {
    client.map_or_else(|| ClientView::new(id), client_view)
}

/// The names of the applications that a session was used for.
async fn names(app: &App, used: &Used) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for id in &used.clients {
        let client = app.find_client(id).await?;
        let name = client.and_then(|client| client.client.metadata.name.clone());
        names.push(name.unwrap_or_else(|| id.to_string()));
    }
    Ok(names)
}
