//! Login and consent on pages that are not ours. The browser is sent to them with a challenge,
//! which is the sealed state; whoever stands behind those pages asks about it and answers it at the
//! admin door; the browser comes back with a verifier, which is the next sealed state. Nothing is
//! stored. A verifier is as good as its challenge: in the browser in which the login began, once
//! its page is due.

use serde::{Deserialize, Serialize};
use signet_oauth::authorize::AuthorizationRequest;
use signet_oauth::scope::Scope;
use signet_oauth::session::{Amr, Session};
use signet_oauth::user::{User, UserId};
use signet_oauth::{Error, ErrorCode};
use std::sync::Arc;

use super::consent::Memory;
use super::session;
use super::state::{State, Step, Who};
use super::{Browser, FORGET, Returned, Stop, Turn, Visit};
use super::{consent, login, open, proceed, request, visit};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::{Failure, not_found};

/// What a login page is told.
#[derive(Debug)]
pub struct LoginAsked {
    /// Who wants to know who the user is.
    pub client: Arc<CachedClient>,
    /// What it asks for.
    pub request: AuthorizationRequest,
    /// The request as an address.
    pub request_url: String,
    /// The name to begin with.
    pub username: String,
}

/// What a consent page is told.
#[derive(Debug)]
pub struct ConsentAsked {
    /// Who wants something.
    pub client: Arc<CachedClient>,
    /// What.
    pub request: AuthorizationRequest,
    /// The request as an address.
    pub request_url: String,
    /// Of whom.
    pub subject: String,
    /// In which session.
    pub session: Option<[u8; 16]>,
    /// What the login is worth.
    pub acr: Option<String>,
}

/// Somebody has logged in.
#[derive(Debug)]
pub struct AcceptLogin {
    /// Who.
    pub subject: String,
    /// Whether the browser is to remember it.
    pub remember: bool,
    /// For how many seconds; 0: as long as sessions live.
    pub remember_for: u64,
    /// What the login is worth.
    pub acr: Option<String>,
    /// How they proved who they are.
    pub amr: Vec<String>,
}

/// Somebody has allowed something.
#[derive(Debug)]
pub struct AcceptConsent {
    /// What; all that was asked for where it does not say.
    pub scope: Option<Vec<String>>,
    /// Whether to ask next time.
    pub remember: bool,
    /// For how many seconds it is remembered; 0: for ever.
    pub remember_for: u64,
}

/// Somebody said no, or something went wrong.
#[derive(Debug)]
pub struct Rejection {
    /// One of the codes of the authorization endpoint; `access_denied` where it is none.
    pub error: String,
    /// What the client is told about it.
    pub description: String,
}

/// What a page that is not ours has decided, as it travels.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remember: Option<u64>,
    /// Whether the browser is not to remember the login before.
    forget: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl Outcome {
    fn render(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// What is asked behind a login challenge.
pub async fn login_asked(app: &App, challenge: &str) -> Result<LoginAsked, Failure> {
    let state = challenged(app, Step::Login, challenge)?;
    let request_url = request_url(app, &state);
    let (client, request) = valid(app, &state).await?;
    Ok(LoginAsked {
        client,
        request,
        request_url,
        username: state.username,
    })
}

/// What is asked behind a consent challenge.
pub async fn consent_asked(app: &App, challenge: &str) -> Result<ConsentAsked, Failure> {
    let state = challenged(app, Step::Consent, challenge)?;
    let request_url = request_url(app, &state);
    let (client, request) = valid(app, &state).await?;
    let session = match state.who {
        Who::Fresh(session) => Some(session),
        Who::Known(id) => app.store.find_session(id).await?,
        Who::Nobody => None,
    };
    let session = session.ok_or_else(|| not_found("challenge: its session has ended"))?;
    Ok(ConsentAsked {
        client,
        request,
        request_url,
        subject: session.user.as_str().to_owned(),
        session: Some(session.id),
        acr: session.acr,
    })
}

/// A challenge is answered: where the page must send the browser.
pub async fn accept_login(
    app: &App,
    challenge: &str,
    accept: &AcceptLogin,
) -> Result<String, Failure> {
    let state = challenged(app, Step::Login, challenge)?;
    let unknown = || {
        Error::request(
            "subject is not the id of a user: create the user first (POST /admin/users)",
            "challenge_subject",
        )
    };
    let id = UserId::parse(&accept.subject).ok_or_else(unknown)?;
    let user = app.find_user(&id).await?.ok_or_else(unknown)?;
    let session = described(app, &user, accept)?;
    let outcome = Outcome {
        remember: accept.remember.then_some(accept.remember_for),
        ..Outcome::default()
    };
    let done = State {
        who: Who::Fresh(session),
        outcome: outcome.render(),
        ..state
    };
    back(app, Step::LoginDone, "login_verifier", &done)
}

fn described(app: &App, user: &Arc<User>, accept: &AcceptLogin) -> Result<Session, Error> {
    let methods: Option<Vec<Amr>> = accept.amr.iter().map(|amr| Amr::parse(amr)).collect();
    let amr = methods.ok_or_else(|| {
        let known = Amr::ALL.map(Amr::as_str).join(", ");
        Error::request(format!("amr knows: {known}"), "challenge_amr")
    })?;
    let acr = accept.acr.clone().filter(|acr| !acr.is_empty());
    if acr.as_ref().is_some_and(|acr| acr.len() > 255) {
        return Err(Error::request(
            "acr has at most 255 characters",
            "challenge_acr",
        ));
    }
    let begun = session::begin(app, Arc::clone(user), app.clock.now()).session;
    let longest = app.policy.logins.session_lifetime;
    let lifetime = match accept.remember_for {
        0 => longest,
        seconds => seconds.min(longest),
    };
    Ok(Session {
        expires_at: begun.created_at.plus(lifetime),
        amr,
        acr,
        ..begun
    })
}

/// A challenge is answered: where the page must send the browser.
pub async fn accept_consent(
    app: &App,
    challenge: &str,
    accept: &AcceptConsent,
) -> Result<String, Failure> {
    let state = challenged(app, Step::Consent, challenge)?;
    let (_, request) = valid(app, &state).await?;
    let scope = match &accept.scope {
        None => request.consent_scope(),
        Some(tokens) => {
            let scope = Scope::parse(&tokens.join(" "))?;
            request
                .consent_scope()
                .filter(|token| scope.contains(token))
        }
    };
    let outcome = Outcome {
        scope: Some(scope.as_str().to_owned()),
        forget: state.outcome == FORGET,
        remember: accept.remember.then_some(accept.remember_for),
        ..Outcome::default()
    };
    let done = State {
        outcome: outcome.render(),
        ..state
    };
    back(app, Step::ConsentDone, "consent_verifier", &done)
}

/// A login challenge is refused: where the page must send the browser.
pub fn reject_login(app: &App, challenge: &str, rejection: &Rejection) -> Result<String, Failure> {
    let state = challenged(app, Step::Login, challenge)?;
    reject(app, state, "login_verifier", rejection)
}

/// A consent challenge is refused: where the page must send the browser.
pub fn reject_consent(
    app: &App,
    challenge: &str,
    rejection: &Rejection,
) -> Result<String, Failure> {
    let state = challenged(app, Step::Consent, challenge)?;
    reject(app, state, "consent_verifier", rejection)
}

fn reject(
    app: &App,
    state: State,
    parameter: &str,
    rejection: &Rejection,
) -> Result<String, Failure> {
    let outcome = Outcome {
        error: Some(rejection.error.clone()),
        description: Some(rejection.description.chars().take(255).collect()),
        ..Outcome::default()
    };
    let done = State {
        outcome: outcome.render(),
        ..state
    };
    back(app, Step::Rejected, parameter, &done)
}

/// Where a browser brings the verifier.
fn back(app: &App, step: Step, parameter: &str, done: &State) -> Result<String, Failure> {
    let text = done.seal(app, step).ok_or_else(super::too_long)?;
    Ok(format!(
        "{}/oauth2/authorize?{parameter}={text}",
        app.grants.issuer
    ))
}

fn challenged(app: &App, step: Step, challenge: &str) -> Result<State, Failure> {
    let state = State::open(app, step, challenge);
    let state = state.filter(|state| app.clock.now() < state.expires_at);
    state.ok_or_else(|| not_found("challenge, or it has expired"))
}

fn request_url(app: &App, state: &State) -> String {
    format!(
        "{}/oauth2/authorize?{}",
        app.grants.issuer, state.asked.form
    )
}

async fn valid(
    app: &App,
    state: &State,
) -> Result<(Arc<CachedClient>, AuthorizationRequest), Failure> {
    match request::validate(app, &state.asked).await {
        Ok(found) => Ok(found),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Refused(_)) => Err(not_found("challenge: its request is not valid any more")),
    }
}

/// A browser brings the verifier of a login.
pub(super) async fn logged_in(
    app: &App,
    verifier: &str,
    browser: &Browser<'_>,
) -> Result<Turn, Stop> {
    if let Some(turn) = rejected(app, verifier, browser).await? {
        return Ok(turn);
    }
    let state = match open(app, Step::LoginDone, verifier, browser)? {
        Returned::Good(state) => state,
        Returned::Expired(asked) | Returned::Foreign(asked) => {
            return proceed(app, asked, browser).await;
        }
    };
    let outcome = Outcome::read(&state.outcome);
    let visit = visit(app, state.asked, browser).await?;
    let Who::Fresh(drawn) = state.who else {
        return Err(super::unknown().into());
    };
    // Whoever brings the verifier a second time is as logged in as after the first, and not if the
    // session has ended since.
    let Some(there) = session::alive(app, drawn, visit.now).await? else {
        return visit.step(app, None).await;
    };
    let visit = Visit {
        is_kept: outcome.remember.is_some(),
        ..login::fresh(app, visit, there)
    };
    visit.step(app, None).await
}

/// A browser brings the verifier of a consent.
pub(super) async fn consented(
    app: &App,
    verifier: &str,
    browser: &Browser<'_>,
) -> Result<Turn, Stop> {
    if let Some(turn) = rejected(app, verifier, browser).await? {
        return Ok(turn);
    }
    let state = match open(app, Step::ConsentDone, verifier, browser)? {
        Returned::Good(state) => state,
        Returned::Expired(asked) | Returned::Foreign(asked) => {
            return proceed(app, asked, browser).await;
        }
    };
    let outcome = Outcome::read(&state.outcome);
    match consent::resume(app, state, browser).await? {
        Err(turn) => Ok(turn),
        Ok(visit) => {
            let visit = Visit {
                is_kept: !outcome.forget,
                ..visit
            };
            let granted = Scope::parse(&outcome.scope.unwrap_or_default())?;
            let memory = match outcome.remember {
                None => Memory::Once,
                Some(0) => Memory::ForEver,
                Some(seconds) => Memory::For(seconds),
            };
            consent::allow(app, visit, granted, memory).await
        }
    }
}

/// The client is told that a page said no, if the verifier says so.
async fn rejected(app: &App, verifier: &str, browser: &Browser<'_>) -> Result<Option<Turn>, Stop> {
    if State::open(app, Step::Rejected, verifier).is_none() {
        return Ok(None);
    }
    let state = match open(app, Step::Rejected, verifier, browser)? {
        Returned::Good(state) => state,
        Returned::Expired(asked) | Returned::Foreign(asked) => {
            return proceed(app, asked, browser).await.map(Some);
        }
    };
    let outcome = Outcome::read(&state.outcome);
    let named = outcome.error.unwrap_or_default();
    let code = CODES.into_iter().find(|code| code.as_str() == named);
    let error = Error::new(
        code.unwrap_or(ErrorCode::AccessDenied),
        outcome.description.unwrap_or_default(),
        "challenge_rejected",
    );
    let visit = visit(app, state.asked, browser).await?;
    Err(visit.refuse(app, &error))
}

/// What a page may tell a client.
const CODES: [ErrorCode; 8] = [
    ErrorCode::AccessDenied,
    ErrorCode::LoginRequired,
    ErrorCode::ConsentRequired,
    ErrorCode::InteractionRequired,
    ErrorCode::AccountSelectionRequired,
    ErrorCode::UnmetAuthenticationRequirements,
    ErrorCode::ServerError,
    ErrorCode::TemporarilyUnavailable,
];
