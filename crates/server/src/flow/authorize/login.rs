//! The login page: what it shows, and what comes back from it.

use signet_oauth::authorize::denied;
use signet_oauth::secret::Secret;
use std::net::IpAddr;
use std::sync::Arc;

use super::state::{Notice, State, Step};
use super::{Browser, Going, Returned, Stop, Turn, Visit, open, request, session, settle, visit};
use super::{Nonce, proceed, with_parameter};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::{Failure, password};

/// What the login page shows.
#[derive(Debug)]
pub struct LoginPage {
    /// Who wants to know who the user is.
    pub client: Arc<CachedClient>,
    /// Where the browser will be sent in the end.
    pub redirect_uri: String,
    /// What to say.
    pub notice: Notice,
    /// The name to begin with.
    pub username: String,
    /// The languages that the request wishes for.
    pub ui_locales: Vec<String>,
}

/// What was typed into the login page.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// The state.
    pub flow: &'a str,
    /// The name.
    pub username: &'a str,
    /// The password.
    pub password: Secret,
    /// Whether the user would rather not.
    pub cancels: bool,
}

/// The page for a state, or where to go instead. It may be shown in any browser: it tells nothing
/// but what the request says, and what comes back from it is judged then.
pub async fn login_page(
    app: &App,
    flow: &str,
    browser: &Browser<'_>,
) -> Result<Result<LoginPage, Turn>, Failure> {
    let state = State::open(app, Step::Login, flow).ok_or_else(super::unknown)?;
    if let Some(turn) = elsewhere(app, flow) {
        return Ok(Err(turn));
    }
    if app.clock.now() >= state.expires_at {
        return settle(proceed(app, state.asked, browser).await).map(Err);
    }
    match request::validate(app, &state.asked).await {
        Ok((client, request)) => Ok(Ok(LoginPage {
            client,
            redirect_uri: request.target.redirect_uri,
            notice: state.notice,
            username: state.username,
            ui_locales: request.ui_locales,
        })),
        Err(stop) => settle(Err(stop)).map(Err),
    }
}

/// Where people log in on a page that is not ours, ours is not a way around it.
fn elsewhere(app: &App, flow: &str) -> Option<Turn> {
    let url = app.policy.logins.login_url.as_ref()?;
    let url = with_parameter(url, "login_challenge", flow);
    Some(Turn::to(Going::Page(url)))
}

/// Somebody has sent the login page's form.
pub async fn attempt(
    app: &App,
    attempt: Attempt<'_>,
    browser: &Browser<'_>,
    address: IpAddr,
) -> Result<Turn, Failure> {
    if let Some(turn) = elsewhere(app, attempt.flow) {
        return Ok(turn);
    }
    let outcome = match open(app, Step::Login, attempt.flow, browser)? {
        Returned::Good(state) => log_in(app, state, &attempt, (browser, address)).await,
        Returned::Foreign(asked) => proceed(app, asked, browser).await,
        Returned::Expired(asked) => match visit(app, asked, browser).await {
            Ok(visit) => visit.show_login(app, Notice::Expired, attempt.username.to_owned()),
            Err(stop) => Err(stop),
        },
    };
    settle(outcome)
}

async fn log_in(
    app: &App,
    state: State,
    attempt: &Attempt<'_>,
    (browser, address): (&Browser<'_>, IpAddr),
) -> Result<Turn, Stop> {
    let visit = visit(app, state.asked, browser).await?;
    if attempt.cancels {
        return Err(visit.refuse(app, &denied()));
    }
    // What is too long to be a name is not carried along either.
    let name: String = attempt.username.chars().take(MAX_NAME).collect();
    if name.trim().is_empty() || attempt.password.expose().is_empty() {
        return visit.show_login(app, Notice::Missing, name);
    }
    match password::check(app, attempt.username, &attempt.password, address).await {
        Ok(user) => {
            let now = app.clock.now();
            let there = session::begin(app, user, now);
            tracing::info!(target: "audit", user = %there.user.id, client = %visit.client.client.id, %address, "login");
            fresh(app, visit, there).step(app, None).await
        }
        Err(Failure::Denied(error)) => {
            let notice = match error.reason {
                "login_locked_out" => Notice::Wait(wait(app)),
                "user_locked" => Notice::Locked,
                _ => Notice::Wrong,
            };
            visit.show_login(app, notice, name)
        }
        Err(Failure::Fault(fault)) if fault.passing => {
            tracing::warn!(fault = fault.context, "a password was not checked");
            visit.show_login(app, Notice::Busy, name)
        }
        Err(failure) => Err(failure.into()),
    }
}

/// Characters of a name that are kept for the next attempt.
const MAX_NAME: usize = 255;

/// So long a user is told to wait.
fn wait(app: &App) -> u32 {
    u32::try_from(app.policy.lockout.window).unwrap_or(u32::MAX)
}

/// The visit of somebody who has just logged in. From here on the browser is known by another
/// nonce: one that somebody may have planted before is worth nothing (session fixation).
pub(super) fn fresh(app: &App, visit: Visit, there: session::LoggedIn) -> Visit {
    Visit {
        now: visit.now.max(there.session.created_at),
        there: Some(there),
        is_fresh: true,
        nonce: Nonce::draw(app),
        nonce_is_new: true,
        ..visit
    }
}
