//! The authorization endpoint and a browser's way through it: a request arrives, somebody logs in,
//! somebody is asked, the client is answered.
//!
//! What must happen next is decided by the law alone ([`signet_oauth::authorize::next_step`]), at
//! every step anew and on the facts of that moment; the state that travels with the browser holds
//! no decision. It knows nothing about pages and cookies but what they carry.

mod challenge;
mod consent;
mod issue;
mod login;
mod pushed;
mod request;
pub mod session;
mod state;

pub use challenge::{
    AcceptConsent, AcceptLogin, ConsentAsked, LoginAsked, Rejection, accept_consent, accept_login,
    consent_asked, login_asked, reject_consent, reject_login,
};
pub use consent::{Answer, ConsentPage, answer, consent_page, is_optional};
pub use login::{Attempt, LoginPage, attempt, login_page};
pub use pushed::{Pushed, push};
pub(super) use request::verify_hint;
pub use state::{Nonce, Notice};

use signet_oauth::Error;
use signet_oauth::authorize::response::{self, Rendered};
use signet_oauth::authorize::{
    AuthorizationRequest, Facts, LoginReason, ResponseTarget, Step as Next, next_step,
};
use signet_oauth::consent::Consent;
use signet_oauth::params::Params;
use signet_oauth::scope::Scope;
use signet_oauth::time::Timestamp;
use std::sync::Arc;

use super::{Failure, Fault};
use crate::app::App;
use crate::cache::CachedClient;
use session::LoggedIn;
use state::{Asked, State, Step, Who};

/// What a browser brings along.
#[derive(Clone, Copy, Debug, Default)]
pub struct Browser<'a> {
    /// By what it is known, where it has been here before and keeps cookies.
    pub nonce: Option<Nonce>,
    /// The session in its cookie, sealed.
    pub session: Option<&'a str>,
}

/// Where a browser goes next, and what it takes along.
#[derive(Debug)]
pub struct Turn {
    /// Where.
    pub going: Going,
    /// By what it is known from now on, where that changes.
    pub nonce: Option<Nonce>,
    /// The session that begins, sealed for the cookie.
    pub session: Option<String>,
}

/// Where a browser goes next.
#[derive(Debug)]
pub enum Going {
    /// To a page: ours, or one that stands in for it.
    Page(String),
    /// Back to the client, with an answer.
    Client(Box<Answered>),
}

/// An answer to a client.
#[derive(Debug)]
pub struct Answered {
    /// The answer.
    pub answer: Rendered,
    /// Whose.
    pub client: Arc<CachedClient>,
    /// The languages that the request wishes for.
    pub ui_locales: Vec<String>,
}

/// Why a step does not lead to the next one.
enum Stop {
    /// The browser is shown an error.
    Failed(Failure),
    /// The client is told an error.
    Refused(Box<Answered>),
}

impl<T: Into<Failure>> From<T> for Stop {
    fn from(failure: T) -> Self {
        Self::Failed(failure.into())
    }
}

fn settle(outcome: Result<Turn, Stop>) -> Result<Turn, Failure> {
    match outcome {
        Ok(turn) => Ok(turn),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Refused(answered)) => Ok(Turn::to(Going::Client(answered))),
    }
}

impl Turn {
    fn to(going: Going) -> Self {
        Self {
            going,
            nonce: None,
            session: None,
        }
    }
}

/// A request with everything that is known at this step.
struct Visit {
    asked: Asked,
    request: AuthorizationRequest,
    client: Arc<CachedClient>,
    nonce: Nonce,
    /// Whether the browser does not know its nonce yet.
    nonce_is_new: bool,
    there: Option<LoggedIn>,
    /// Whether `there` has logged in by this very flow, and is written nowhere yet.
    is_fresh: bool,
    /// Whether the browser is to remember that.
    is_kept: bool,
    now: Timestamp,
}

/// What a user has just allowed.
struct Allowed {
    scope: Scope,
    /// What to remember of it.
    consent: Option<Consent>,
}

/// Answers an authorization request (RFC 6749 §3.1): `query` as it came.
pub async fn begin(app: &App, query: &[u8], browser: &Browser<'_>) -> Result<Turn, Failure> {
    let params = Params::parse(query)?;
    let outcome = if let Some(verifier) = params.get("login_verifier") {
        challenge::logged_in(app, verifier, browser).await
    } else if let Some(verifier) = params.get("consent_verifier") {
        challenge::consented(app, verifier, browser).await
    } else {
        match request::resolve(app, &params).await {
            Ok(asked) => proceed(app, asked, browser).await,
            Err(stop) => Err(stop),
        }
    };
    settle(outcome)
}

/// The address at which a request that was posted is got: then the cookies come along, which a
/// browser does not send with a POST from elsewhere.
pub fn got(app: &App, form: &[u8]) -> Result<String, Failure> {
    Params::parse(form)?;
    let text = std::str::from_utf8(form)
        .map_err(|_| Error::request("the form is not ASCII", "parameter_utf8"))?;
    if text.len() > MAX_QUERY || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(too_long().into());
    }
    Ok(format!("{}/oauth2/authorize?{text}", app.grants.issuer))
}

/// In the state of a consent: the browser is not to remember who has just logged in.
const FORGET: &str = "forget";

/// Characters of a request that was posted; more would not survive all browsers and proxies.
const MAX_QUERY: usize = 8192;

fn too_long() -> Error {
    Error::request(
        "the request is too long to travel with a browser: push it (RFC 9126), or shorten state, \
         nonce and claims",
        "request_too_long",
    )
}

/// Looks at a request with what the browser brings along, as if it had just arrived.
async fn proceed(app: &App, asked: Asked, browser: &Browser<'_>) -> Result<Turn, Stop> {
    visit(app, asked, browser).await?.step(app, None).await
}

async fn visit(app: &App, asked: Asked, browser: &Browser<'_>) -> Result<Visit, Stop> {
    let now = app.clock.now();
    let (client, request) = request::validate(app, &asked).await?;
    let there = match browser.session {
        Some(cookie) => session::find(app, cookie, now).await?,
        None => None,
    };
    Ok(Visit {
        asked,
        request,
        client,
        nonce: browser.nonce.unwrap_or_else(|| Nonce::draw(app)),
        nonce_is_new: browser.nonce.is_none(),
        there,
        is_fresh: false,
        is_kept: true,
        now,
    })
}

impl Visit {
    /// Asks the law what comes next, and does it.
    async fn step(self, app: &App, allowed: Option<Allowed>) -> Result<Turn, Stop> {
        let consent = match (&self.there, &allowed) {
            (Some(there), None) if !self.client.client.login.skip_consent => {
                let client = &self.client.client.id;
                app.store.find_consent(&there.user.id, client).await?
            }
            _ => None,
        };
        let facts = Facts {
            session: self.there.as_ref().map(|there| &there.session),
            session_ended: false,
            user: self.there.as_ref().map(|there| &*there.user),
            logged_in_here: self.is_fresh,
            consent: consent.as_ref(),
            allowed: allowed.as_ref().map(|allowed| &allowed.scope),
            now: self.now,
        };
        match next_step(&self.request, &self.client.client, &facts) {
            Next::Login { reason } => self.login(app, reason),
            Next::Consent { .. } => self.ask(app),
            Next::Issue => issue::answer(app, self, allowed).await,
            Next::Refuse(error) => Err(self.refuse(app, &error)),
            // Sessions were judged on the newest facts when they were opened.
            Next::Behind => Err(Fault::passing("authorize: a session from the future").into()),
        }
    }

    fn login(self, app: &App, reason: LoginReason) -> Result<Turn, Stop> {
        let again = matches!(
            reason,
            LoginReason::Prompt | LoginReason::MaxAge | LoginReason::Acr
        );
        let known = self.there.as_ref().filter(|_| again);
        if let Some(name) = known.map(|there| there.user.username.as_str().to_owned()) {
            return self.show_login(app, Notice::Again, name);
        }
        let hint = self.request.login_hint.clone().unwrap_or_default();
        self.show_login(app, Notice::None, hint)
    }

    fn show_login(self, app: &App, notice: Notice, username: String) -> Result<Turn, Stop> {
        let logins = &app.policy.logins;
        let text = self.seal(app, Step::Login, (notice, username), Who::Nobody)?;
        Ok(self.page(match &logins.login_url {
            None => format!("{}/ui/login?flow={text}", app.grants.issuer),
            Some(url) => with_parameter(url, "login_challenge", &text),
        }))
    }

    fn ask(self, app: &App) -> Result<Turn, Stop> {
        let who = match &self.there {
            Some(there) if self.is_fresh => Who::Fresh(there.session.clone()),
            Some(there) => Who::Known(there.session.id),
            None => return Err(Fault::lasting("authorize: nobody to ask").into()),
        };
        let text = self.seal(app, Step::Consent, (Notice::None, String::new()), who)?;
        Ok(self.page(match &app.policy.logins.consent_url {
            None => format!("{}/ui/consent?flow={text}", app.grants.issuer),
            Some(url) => with_parameter(url, "consent_challenge", &text),
        }))
    }

    fn seal(
        &self,
        app: &App,
        step: Step,
        (notice, username): (Notice, String),
        who: Who,
    ) -> Result<String, Stop> {
        let state = State {
            asked: self.asked.clone(),
            browser: self.nonce.name(),
            expires_at: self.now.plus(app.policy.logins.page_lifetime),
            notice,
            username,
            who,
            outcome: if self.is_kept { "" } else { FORGET }.to_owned(),
        };
        state
            .seal(app, step)
            .ok_or_else(|| self.refuse(app, &too_long()))
    }

    fn page(self, url: String) -> Turn {
        Turn {
            nonce: self.nonce_is_new.then_some(self.nonce),
            ..Turn::to(Going::Page(url))
        }
    }

    /// The client is told an error.
    fn refuse(&self, app: &App, error: &Error) -> Stop {
        let target = &self.request.target;
        let locales = &self.request.ui_locales;
        refused(app, &self.client, (target, locales), error)
    }
}

fn refused(
    app: &App,
    client: &Arc<CachedClient>,
    (target, ui_locales): (&ResponseTarget, &[String]),
    error: &Error,
) -> Stop {
    Stop::Refused(Box::new(Answered {
        answer: response::error(target, &app.grants.issuer, error),
        client: Arc::clone(client),
        ui_locales: ui_locales.to_vec(),
    }))
}

fn with_parameter(url: &str, name: &str, value: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{name}={value}")
}

/// A state that came back from a browser, judged.
enum Returned {
    /// It is this browser's, and in time.
    Good(State),
    /// It is too late for it.
    Expired(Asked),
    /// It is another browser's, or of the time before somebody logged in here.
    Foreign(Asked),
}

/// Opens a state that a browser brings to a step.
fn open(app: &App, step: Step, text: &str, browser: &Browser<'_>) -> Result<Returned, Error> {
    let state = State::open(app, step, text).ok_or_else(unknown)?;
    let nonce = browser.nonce.ok_or_else(|| {
        Error::request(
            "the browser sent no cookie: allow cookies for this site and start again",
            "cookie_absent",
        )
    })?;
    Ok(if nonce.name() != state.browser {
        Returned::Foreign(state.asked)
    } else if app.clock.now() >= state.expires_at {
        Returned::Expired(state.asked)
    } else {
        Returned::Good(state)
    })
}

/// What a text says that is no state of ours, or one of another step.
fn unknown() -> Error {
    Error::request(
        "this page is no part of a login that began here: go back to the application and start \
         again",
        "state_unknown",
    )
}
