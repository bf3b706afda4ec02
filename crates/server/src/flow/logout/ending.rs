//! A session ends, with everything that hangs on it: one row of the log, by which every node refuses
//! its tokens and its cookie from then on.

use signet_oauth::session::Session;
use std::sync::Arc;

use super::backchannel;
use crate::app::App;
use crate::flow::Failure;
use crate::store::{Ending, EndingKind};

/// Ends a session; it is durable when this returns. The clients that took part in it are told
/// afterwards, and nobody waits for that.
pub async fn end(app: &Arc<App>, session: &Session) -> Result<(), Failure> {
    let ending = ending(app, session).await?;
    let ended = app.store.end(vec![ending]).await?;
    // Where somebody else was faster, they tell.
    if !ended.rows.is_empty() {
        backchannel::tell(app, session);
    }
    Ok(())
}

/// What the log must say to end a session. It is said for as long as anything may live that hangs on
/// the session: refresh tokens live longer than the session that they came from.
pub async fn ending(app: &App, session: &Session) -> Result<Ending, Failure> {
    let mut longest = app.grants.refresh_token_lifetime;
    for id in app.store.session_clients(session.id).await? {
        let client = app.find_client(&id).await?;
        let own = client.and_then(|client| client.client.login.refresh_token_lifetime);
        longest = longest.max(own.unwrap_or(0));
    }
    Ok(Ending {
        kind: EndingKind::Session,
        key: session.id,
        until: session
            .expires_at
            .max(app.longest_until())
            .max(app.clock.now().plus(longest)),
    })
}
