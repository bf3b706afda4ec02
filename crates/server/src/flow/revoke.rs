//! A token is revoked: the row is committed before anybody is told.

use signet_oauth::revocation::{self, Caller, Verdict};

use super::{Failure, introspect};
use crate::app::{App, CLOCK_SKEW};
use crate::store::{Ending, EndingKind};

/// Ends the token that the text turns out to be. Unknown and foreign tokens are no error
/// (RFC 7009 §2.2); the label says what happened, for the audit log.
pub async fn revoke(app: &App, caller: Caller<'_>, text: &str) -> Result<&'static str, Failure> {
    let now = app.clock.now();
    let found = introspect::find(app, text, now).await?;
    let (kind, key, until) =
        match revocation::decide(caller, found.as_ref().map(|found| &found.token), now) {
            Verdict::Nothing(why) => return Ok(why),
            Verdict::End { key, until } => (EndingKind::Token, key, until),
            Verdict::EndFamily { key, until } => (EndingKind::Family, key, until),
        };
    app.store.end(vec![Ending { kind, key, until }]).await?;
    Ok("token_revoked")
}

/// Removes what has expired, all of it at once.
pub async fn flush(app: &App) -> Result<(), Failure> {
    while app.store.flush(app.clock.now(), CLOCK_SKEW).await?.more {}
    Ok(())
}
