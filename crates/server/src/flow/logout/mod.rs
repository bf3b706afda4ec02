//! Logout: a client sends the browser here (OIDC RP-Initiated Logout 1.0), or somebody comes by
//! themselves. What is to happen is decided by the law ([`signet_oauth::logout`]); here the facts
//! are loaded, the question travels sealed with the browser, and the session is ended.
//!
//! It knows nothing about pages and cookies but what they carry.

mod backchannel;
mod ending;
mod question;

pub use ending::{end, ending};

use signet_oauth::Error;
use signet_oauth::ids::ClientId;
use signet_oauth::logout::{LogoutRequest, LogoutStep, LogoutTarget};
use signet_oauth::params::Params;
use std::sync::Arc;

use super::Failure;
use super::authorize::session::{self, LoggedIn};
use super::authorize::{Browser, Nonce, verify_hint};
use crate::app::App;
use crate::cache::CachedClient;
use question::Question;

/// Characters of a request that was posted; more would not survive all browsers and proxies.
const MAX_QUERY: usize = 8192;

/// Where a browser goes next, and what it takes along.
#[derive(Debug)]
pub struct Parting {
    /// Where.
    pub url: String,
    /// By what it is known from now on, where that changes.
    pub nonce: Option<Nonce>,
    /// Whether it must forget its session.
    pub is_over: bool,
}

/// What the question page tells.
#[derive(Debug)]
pub struct LogoutPage {
    /// The client that asks for it.
    pub client: Option<Arc<CachedClient>>,
    /// The name of who is logged in.
    pub username: Option<String>,
    /// Where the browser goes afterwards.
    pub onward: Option<String>,
    /// The languages that the request wishes for.
    pub ui_locales: Vec<String>,
}

/// Whether somebody is to be asked, or sent on.
#[derive(Debug)]
pub enum Asking {
    /// Asked.
    Page(Box<LogoutPage>),
    /// Sent on.
    On(Parting),
}

/// A request with everything that is known about it.
struct Visit {
    request: LogoutRequest,
    client: Option<Arc<CachedClient>>,
    there: Option<LoggedIn>,
    step: LogoutStep,
}

/// Answers a request for a logout: `query` as it came.
pub async fn begin(
    app: &Arc<App>,
    query: &[u8],
    browser: &Browser<'_>,
) -> Result<Parting, Failure> {
    let request = LogoutRequest::parse(&Params::parse(query)?)?;
    let visit = visit(app, request, browser).await?;
    match visit.step {
        LogoutStep::End(target) => part(app, visit.there, target).await,
        LogoutStep::Ask(_) => {
            let client = visit.client.as_ref().map(|client| &client.client.id);
            let nonce = browser.nonce.unwrap_or_else(|| Nonce::draw(app));
            let text = Question::new(app, &visit.request, client, nonce).seal(app)?;
            Ok(Parting {
                url: format!("{}/ui/logout?flow={text}", app.grants.issuer),
                nonce: browser.nonce.is_none().then_some(nonce),
                is_over: false,
            })
        }
    }
}

/// The address at which a request that was posted is got: then the cookies come along, which a
/// browser does not send with a POST from elsewhere.
pub fn got(app: &App, form: &[u8]) -> Result<String, Failure> {
    Params::parse(form)?;
    let text = std::str::from_utf8(form).ok();
    let text = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()));
    let text = text.filter(|text| text.len() <= MAX_QUERY);
    Ok(again(app, text.ok_or_else(too_long)?))
}

/// What the question page shows.
pub async fn page(app: &Arc<App>, flow: &str, browser: &Browser<'_>) -> Result<Asking, Failure> {
    let question = match Question::open(app, flow, browser)? {
        Ok(question) => question,
        Err(restart) => return Ok(Asking::On(restart)),
    };
    let visit = visit(app, question.request()?, browser).await?;
    Ok(match visit.step {
        LogoutStep::End(target) => Asking::On(part(app, visit.there, target).await?),
        LogoutStep::Ask(target) => Asking::Page(Box::new(LogoutPage {
            client: visit.client,
            username: visit
                .there
                .map(|there| there.user.username.as_str().to_owned()),
            onward: target.map(|target| target.url),
            ui_locales: visit.request.ui_locales,
        })),
    })
}

/// Somebody has answered the question.
pub async fn answer(
    app: &Arc<App>,
    flow: &str,
    confirms: bool,
    browser: &Browser<'_>,
) -> Result<Parting, Failure> {
    let question = match Question::open(app, flow, browser)? {
        Ok(question) => question,
        Err(restart) => return Ok(restart),
    };
    if !confirms {
        return Ok(Parting::to(outcome_page(app)));
    }
    let visit = visit(app, question.request()?, browser).await?;
    let (LogoutStep::Ask(target) | LogoutStep::End(target)) = visit.step;
    part(app, visit.there, target).await
}

/// Whether somebody is logged in at this browser.
pub async fn is_signed_in(app: &App, browser: &Browser<'_>) -> Result<bool, Failure> {
    Ok(there(app, browser).await?.is_some())
}

async fn there(app: &App, browser: &Browser<'_>) -> Result<Option<LoggedIn>, Failure> {
    match browser.session {
        Some(cookie) => session::find(app, cookie, app.clock.now()).await,
        None => Ok(None),
    }
}

async fn visit(app: &App, request: LogoutRequest, browser: &Browser<'_>) -> Result<Visit, Failure> {
    let hint = request.id_token_hint.as_deref();
    let hint = hint.map(|text| verify_hint(app, text)).transpose()?;
    let client = find(app, request.client(hint.as_ref())?).await?;
    let there = there(app, browser).await?;
    let step = request.decide(
        hint.as_ref(),
        client.as_ref().map(|client| &client.client),
        there.as_ref().map(|there| &there.session),
    )?;
    Ok(Visit {
        request,
        client,
        there,
        step,
    })
}

/// The client that is named, where there is one.
async fn find(app: &App, id: Option<&ClientId>) -> Result<Option<Arc<CachedClient>>, Failure> {
    let Some(id) = id else {
        return Ok(None);
    };
    let found = app.find_client(id).await?;
    Ok(found.filter(|found| found.client.enabled))
}

/// Ends the session, where there is one, and sends the browser on. It is known by another number
/// from then on: a page that was open before is of no use to whoever sits down next.
async fn part(
    app: &Arc<App>,
    there: Option<LoggedIn>,
    target: Option<LogoutTarget>,
) -> Result<Parting, Failure> {
    if let Some(there) = there {
        end(app, &there.session).await?;
    }
    Ok(Parting {
        url: target.map_or_else(|| outcome_page(app), |target| target.url),
        nonce: Some(Nonce::draw(app)),
        is_over: true,
    })
}

/// The page that says how it went.
fn outcome_page(app: &App) -> String {
    format!("{}/ui/signed-out", app.grants.issuer)
}

/// The address of a request.
fn again(app: &App, query: &str) -> String {
    let separator = if query.is_empty() { "" } else { "?" };
    format!("{}/oauth2/logout{separator}{query}", app.grants.issuer)
}

fn too_long() -> Error {
    Error::request(
        "the request for a logout is too long to travel with a browser: shorten state",
        "logout_too_long",
    )
}

impl Parting {
    fn to(url: String) -> Self {
        Self {
            url,
            nonce: None,
            is_over: false,
        }
    }
}
