//! The consent page: what it shows, and what comes back from it.

use signet_oauth::authorize::denied;
use signet_oauth::consent::Consent;
use signet_oauth::scope::{OPENID, Scope};
use std::sync::Arc;

use super::session::{self, LoggedIn};
use super::state::{State, Step, Who};
use super::{Allowed, Browser, FORGET, Going, Returned, Stop, Turn, Visit};
use super::{open, proceed, settle, visit, with_parameter};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::Failure;

/// What the consent page shows.
#[derive(Debug)]
pub struct ConsentPage {
    /// Who wants something.
    pub client: Arc<CachedClient>,
    /// Of whom.
    pub user: Arc<signet_oauth::user::User>,
    /// What.
    pub scope: Scope,
    /// Where the browser will be sent in the end.
    pub redirect_uri: String,
    /// The languages that the request wishes for.
    pub ui_locales: Vec<String>,
}

/// What was chosen on the consent page.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The state.
    pub flow: &'a str,
    /// Whether anything is allowed at all.
    pub allows: bool,
    /// Of the scopes that could be left out, those that are allowed.
    pub ticked: Vec<String>,
    /// Whether to ask next time.
    pub remember: bool,
}

/// Whether a scope can be left out: all but the one that says that somebody logs in.
pub fn is_optional(scope: &str) -> bool {
    scope != OPENID
}

/// The page for a state, or where to go instead.
pub async fn consent_page(
    app: &App,
    flow: &str,
    browser: &Browser<'_>,
) -> Result<Result<ConsentPage, Turn>, Failure> {
    if let Some(turn) = elsewhere(app, flow) {
        return Ok(Err(turn));
    }
    match asked_here(app, flow, browser).await {
        Ok(Ok(visit)) => Ok(visit
            .there
            .map(|there| ConsentPage {
                client: visit.client,
                user: there.user,
                scope: visit.request.consent_scope(),
                redirect_uri: visit.request.target.redirect_uri,
                ui_locales: visit.request.ui_locales,
            })
            .ok_or_else(super::unknown)
            .map(Ok)?),
        Ok(Err(turn)) => Ok(Err(turn)),
        Err(stop) => settle(Err(stop)).map(Err),
    }
}

fn elsewhere(app: &App, flow: &str) -> Option<Turn> {
    let url = app.policy.logins.consent_url.as_ref()?;
    let url = with_parameter(url, "consent_challenge", flow);
    Some(Turn::to(Going::Page(url)))
}

/// Somebody has sent the consent page's form.
pub async fn answer(app: &App, answer: Answer<'_>, browser: &Browser<'_>) -> Result<Turn, Failure> {
    if let Some(turn) = elsewhere(app, answer.flow) {
        return Ok(turn);
    }
    settle(answered(app, &answer, browser).await)
}

async fn answered(app: &App, answer: &Answer<'_>, browser: &Browser<'_>) -> Result<Turn, Stop> {
    let visit = match asked_here(app, answer.flow, browser).await? {
        Ok(visit) => visit,
        Err(turn) => return Ok(turn),
    };
    let asked = visit.request.consent_scope();
    let granted = asked
        .filter(|token| !is_optional(token) || answer.ticked.iter().any(|ticked| ticked == token));
    if !answer.allows || granted.is_empty() && !asked.is_empty() {
        return Err(visit.refuse(app, &denied()));
    }
    let memory = if answer.remember {
        Memory::ForEver
    } else {
        Memory::Once
    };
    allow(app, visit, granted, memory).await
}

/// For how long a consent is remembered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Memory {
    /// Not beyond this login.
    Once,
    /// For so many seconds.
    For(u64),
    /// Until it is withdrawn.
    ForEver,
}

/// Goes on with what was allowed.
pub(super) async fn allow(
    app: &App,
    visit: Visit,
    granted: Scope,
    memory: Memory,
) -> Result<Turn, Stop> {
    let lifetime = match memory {
        Memory::For(seconds) => Some(seconds),
        Memory::Once | Memory::ForEver => None,
    };
    let consent = match (&visit.there, memory) {
        (None, _) | (_, Memory::Once) => None,
        (Some(there), _) => Some(remember(app, &visit, there, (&granted, lifetime)).await?),
    };
    let allowed = Allowed {
        scope: granted,
        consent,
    };
    visit.step(app, Some(allowed)).await
}

/// What is remembered: what was allowed before and was not in question now, and what was allowed
/// now.
async fn remember(
    app: &App,
    visit: &Visit,
    there: &LoggedIn,
    (granted, lifetime): (&Scope, Option<u64>),
) -> Result<Consent, Failure> {
    let (user, client) = (&there.user.id, &visit.client.client.id);
    let before = app.store.find_consent(user, client).await?;
    let before = before.filter(|consent| consent.expires_at.is_none_or(|at| visit.now < at));
    let in_question = visit.request.consent_scope();
    let kept = before.map(|before| before.scope.filter(|token| !in_question.contains(token)));
    Ok(Consent {
        user: user.clone(),
        client: client.clone(),
        scope: kept.unwrap_or_default().union(granted),
        granted_at: visit.now,
        expires_at: lifetime.map(|seconds| visit.now.plus(seconds)),
    })
}

/// The visit for which consent is asked, with whom it is asked of; or where to go instead.
async fn asked_here(
    app: &App,
    flow: &str,
    browser: &Browser<'_>,
) -> Result<Result<Visit, Turn>, Stop> {
    match open(app, Step::Consent, flow, browser)? {
        Returned::Good(state) => resume(app, state, browser).await,
        Returned::Expired(asked) | Returned::Foreign(asked) => {
            proceed(app, asked, browser).await.map(Err)
        }
    }
}

/// Takes up a visit for which consent is asked: the user must still be there.
pub(super) async fn resume(
    app: &App,
    state: State,
    browser: &Browser<'_>,
) -> Result<Result<Visit, Turn>, Stop> {
    let mut visit = visit(app, state.asked, browser).await?;
    visit.is_kept = state.outcome != FORGET;
    let is_there = match state.who {
        Who::Fresh(fresh) => {
            visit.there = session::alive(app, fresh, visit.now).await?;
            visit.is_fresh = visit.there.is_some();
            visit.is_fresh
        }
        Who::Known(id) => visit
            .there
            .as_ref()
            .is_some_and(|there| there.session.id == id),
        Who::Nobody => false,
    };
    if is_there {
        return Ok(Ok(visit));
    }
    // Somebody else is there by now, or nobody: as if the request had just arrived. Whoever had
    // logged in here and is locked or logged out since has to log in again.
    visit.is_kept = true;
    visit.step(app, None).await.map(Err)
}
