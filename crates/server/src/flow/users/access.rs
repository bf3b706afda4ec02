//! Where a user is logged in, and what the user allowed: told, ended and withdrawn.

use signet_oauth::consent::Consent;
use signet_oauth::ids::ClientId;
use signet_oauth::session::Session;
use signet_oauth::token::Liveness;
use signet_oauth::user::UserId;
use std::sync::Arc;

use super::get;
use crate::app::App;
use crate::flow::{Failure, logout, not_found};

/// A session, and the clients that took part in it.
#[derive(Clone, Debug)]
pub struct Used {
    /// The session.
    pub session: Session,
    /// Who got tokens in it, in the order of their ids.
    pub clients: Vec<ClientId>,
}

/// The sessions in which a user is logged in now, newest first.
pub async fn sessions(app: &App, id: &UserId) -> Result<Vec<Used>, Failure> {
    let mut used = Vec::new();
    for session in alive(app, id).await? {
        let clients = app.store.session_clients(session.id).await?;
        used.push(Used { session, clients });
    }
    Ok(used)
}

async fn alive(app: &App, id: &UserId) -> Result<Vec<Session>, Failure> {
    let user = get(app, id).await?;
    let now = app.clock.now();
    // The rows of ended sessions are gone; those of expired ones go later.
    let mut sessions = app.store.list_sessions(id).await?;
    sessions.retain(|session| session.liveness(Some(&user), false, now) == Liveness::Alive);
    Ok(sessions)
}

/// Ends one session of a user, with the tokens that belong to it; its clients are told.
pub async fn end_session(app: &Arc<App>, id: &UserId, session: [u8; 16]) -> Result<(), Failure> {
    let found = app.store.find_session(session).await?;
    let found = found.filter(|session| session.user == *id);
    let session = found.ok_or_else(|| not_found("session"))?;
    logout::end(app, &session).await
}

/// Ends every session of a user, with the tokens that belong to them; how many there were. Their
/// clients are told.
pub async fn end_sessions(app: &Arc<App>, id: &UserId) -> Result<usize, Failure> {
    let sessions = alive(app, id).await?;
    for session in &sessions {
        logout::end(app, session).await?;
    }
    Ok(sessions.len())
}

/// What a user allows, in the order of the clients.
pub async fn consents(app: &App, id: &UserId) -> Result<Vec<Consent>, Failure> {
    get(app, id).await?;
    let now = app.clock.now();
    let mut consents = app.store.list_consents(id).await?;
    consents.retain(|consent| consent.expires_at.is_none_or(|at| now < at));
    Ok(consents)
}

/// Withdraws what a user allowed a client, and ends the tokens that the client refreshes.
pub async fn withdraw(app: &App, id: &UserId, client: &ClientId) -> Result<(), Failure> {
    let until = app.longest_until();
    let withdrawn = app.store.withdraw_consent(id, client, until).await?;
    if withdrawn.found {
        Ok(())
    } else {
        Err(not_found("consent"))
    }
}
