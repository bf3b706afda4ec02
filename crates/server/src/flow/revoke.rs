//! A token is revoked: the row is committed before anybody is told.

use signet_oauth::revocation::{self, Caller, Verdict};
use signet_oauth::time::Timestamp;

use super::{Failure, introspect, refresh};
use crate::app::{App, CLOCK_SKEW};
use crate::store::{Ending, EndingKind};

/// Ends the token that the text turns out to be. Unknown and foreign tokens are no error
/// (RFC 7009 §2.2); the label says what happened, for the audit log.
pub async fn revoke(app: &App, caller: Caller<'_>, text: &str) -> Result<&'static str, Failure> {
    let now = app.clock.now();
    let verdict = match introspect::find(app, text, now).await? {
        Some(found) => revocation::decide(caller, Some(&found.token), now),
        None => Box::pin(of_refresh(app, caller, text, now)).await?,
    };
    let (kind, key, until, done) = match verdict {
        Verdict::Nothing(why) => return Ok(why),
        Verdict::End { key, until } => (EndingKind::Token, key, until, "token_revoked"),
        Verdict::EndFamily { key, until } => (EndingKind::Family, key, until, "family_revoked"),
    };
    app.store.end(vec![Ending { kind, key, until }]).await?;
    Ok(done)
}

async fn of_refresh(
    app: &App,
    caller: Caller<'_>,
    text: &str,
    now: Timestamp,
) -> Result<Verdict, Failure> {
    Ok(match refresh::find(app, text).await? {
        Some(token) => revocation::decide_refresh(caller, *token.id(), token.terms(), now),
        None => revocation::decide(caller, None, now),
    })
}

/// Removes what has expired, all of it at once.
pub async fn flush(app: &App) -> Result<(), Failure> {
    while app.store.flush(app.clock.now(), CLOCK_SKEW).await?.more {}
    Ok(())
}
