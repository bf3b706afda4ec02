//! The one decision of a login: what must happen before a request is answered (OIDC Core §3.1.2.3,
//! §3.1.2.4). It is asked anew at every step, on the facts of that moment.

use super::{AuthorizationRequest, Prompt};
use crate::client::Client;
use crate::consent::{self, Consent};
use crate::error::{Error, ErrorCode};
use crate::scope::Scope;
use crate::session::{ACR_VALUES, Session};
use crate::time::Timestamp;
use crate::token::Liveness;
use crate::user::User;

/// What is known when the decision is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// The session of this browser, as its cookie says.
    pub session: Option<&'a Session>,
    /// Whether the id of that session is in the ended set.
    pub session_ended: bool,
    /// The user of that session.
    pub user: Option<&'a User>,
    /// Whether the session was made, or renewed, by a login in this very flow.
    pub logged_in_here: bool,
    /// What the user has allowed this client before.
    pub consent: Option<&'a Consent>,
    /// What the user has allowed in this very flow.
    pub allowed: Option<&'a Scope>,
    /// Now.
    pub now: Timestamp,
}

/// Why somebody must log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoginReason {
    /// Nobody is logged in.
    NoSession,
    /// The client asked for it (`prompt=login`).
    Prompt,
    /// The client wants the user to choose (`prompt=select_account`).
    SelectAccount,
    /// The login is too old (`max_age`).
    MaxAge,
    /// The login is not good enough (`acr`).
    Acr,
    /// Somebody else is logged in than the client asked for (`id_token_hint`, `claims`).
    OtherUser,
}

/// What must happen next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The login page.
    Login {
        /// Why.
        reason: LoginReason,
    },
    /// The consent page.
    Consent {
        /// What to ask about.
        scopes: Scope,
    },
    /// Nothing: [`super::grant()`] says what to answer.
    Issue,
    /// The request is refused: this error goes back to the client.
    Refuse(Error),
    /// The session was made on newer facts than these: catch up and ask again. Still behind after
    /// that: ask with `session_ended`.
    Behind,
}

/// Decides what must happen before `request` is answered.
pub fn next_step(request: &AuthorizationRequest, client: &Client, facts: &Facts<'_>) -> Step {
    let session = match facts.session {
        None => None,
        Some(session) => match session.liveness(facts.user, facts.session_ended, facts.now) {
            Liveness::Alive => Some(session),
            Liveness::Dead(_) => None,
            Liveness::Behind => return Step::Behind,
        },
    };
    let silent = request.prompts.contains(Prompt::None);
    let Some((session, user)) = session.zip(facts.user) else {
        return login(silent, LoginReason::NoSession);
    };
    if let Some(step) = login_needed(request, session, facts) {
        return match step {
            Step::Login { reason } => login(silent, reason),
            other => other,
        };
    }
    if facts.allowed.is_some() {
        return Step::Issue;
    }
    match consent::needed(request, client, &user.id, facts.consent, facts.now) {
        None => Step::Issue,
        Some(_) if silent => Step::Refuse(Error::new(
            ErrorCode::ConsentRequired,
            "the user has not allowed all of this yet, and prompt=none forbids to ask",
            "consent_required",
        )),
        Some(scopes) => Step::Consent { scopes },
    }
}

fn login(silent: bool, reason: LoginReason) -> Step {
    if !silent {
        return Step::Login { reason };
    }
    Step::Refuse(Error::new(
        ErrorCode::LoginRequired,
        "the user must log in, and prompt=none forbids to ask",
        "login_required",
    ))
}

/// Why a session that is alive does not do.
fn login_needed(
    request: &AuthorizationRequest,
    session: &Session,
    facts: &Facts<'_>,
) -> Option<Step> {
    let again = |reason| Some(Step::Login { reason });
    let fresh = facts.logged_in_here;
    if !fresh && request.prompts.contains(Prompt::Login) {
        return again(LoginReason::Prompt);
    }
    if !fresh && request.prompts.contains(Prompt::SelectAccount) {
        return again(LoginReason::SelectAccount);
    }
    let too_old = |age| age == 0 || session.auth_time.until(facts.now) > age;
    if !fresh && request.max_age.is_some_and(too_old) {
        return again(LoginReason::MaxAge);
    }
    let is_other = request
        .subject
        .as_ref()
        .is_some_and(|wanted| *wanted != session.user);
    if is_other && fresh {
        // The client asked about somebody else: nobody must be shown to it in their place.
        return Some(Step::Refuse(Error::new(
            ErrorCode::LoginRequired,
            "somebody else logged in than the client asked for",
            "login_other_user",
        )));
    }
    if is_other {
        return again(LoginReason::OtherUser);
    }
    acr_needed(request, session, fresh)
}

fn acr_needed(request: &AuthorizationRequest, session: &Session, fresh: bool) -> Option<Step> {
    let reached = |value: &String| session.acr.as_ref() == Some(value);
    if !request.acr_essential || request.acr_values.iter().any(reached) {
        return None;
    }
    let possible = |value: &String| ACR_VALUES.contains(&value.as_str());
    if !fresh && request.acr_values.iter().any(possible) {
        return Some(Step::Login {
            reason: LoginReason::Acr,
        });
    }
    Some(Step::Refuse(Error::new(
        ErrorCode::UnmetAuthenticationRequirements,
        "none of the acr values that the client must have can be reached here",
        "acr_unmet",
    )))
}

/// The answer when the user says no, at login or at consent.
pub fn denied() -> Error {
    Error::new(
        ErrorCode::AccessDenied,
        "the user did not allow it",
        "user_denied",
    )
}
