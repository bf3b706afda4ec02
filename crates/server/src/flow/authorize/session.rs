//! The session that a browser carries sealed in a cookie: opened, judged, begun. What is written of
//! it in the store is for people who want to see where they are logged in, and is not read here.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use signet_guard::Kind;
use signet_oauth::log::user_key;
use signet_oauth::session::{ACR_PASSWORD, Amr, Session};
use signet_oauth::time::Timestamp;
use signet_oauth::token::Liveness;
use signet_oauth::user::User;
use std::sync::Arc;

use super::state::decode;
use crate::app::App;
use crate::flow::{Failure, operate};
use crate::sealing::Purpose;

/// What sessions are sealed in, beside the states of logins.
const CONTEXT: &[u8] = b"session";

/// Somebody who is logged in.
#[derive(Clone, Debug)]
pub struct LoggedIn {
    /// The session.
    pub session: Session,
    /// Whose.
    pub user: Arc<User>,
}

/// The value of the cookie.
pub fn seal(app: &App, session: &Session) -> String {
    let bytes = session.to_bytes();
    let sealed = app
        .sealing
        .seal(Purpose::BrowserState, CONTEXT, &bytes, &app.rng);
    URL_SAFE_NO_PAD.encode(sealed)
}

/// What was sealed, dead or alive. `None`: tampered with, cut, or of another installation.
fn open(app: &App, cookie: &str) -> Option<Session> {
    let sealed = decode(cookie)?;
    let opened = app.sealing.open(Purpose::BrowserState, CONTEXT, &sealed);
    Session::from_bytes(&opened.ok()?)
}

/// Who is logged in by this cookie now.
pub async fn find(app: &App, cookie: &str, now: Timestamp) -> Result<Option<LoggedIn>, Failure> {
    match open(app, cookie) {
        Some(session) => alive(app, session, now).await,
        None => Ok(None),
    }
}

/// The session with its user, where it is alive.
pub async fn alive(
    app: &App,
    session: Session,
    now: Timestamp,
) -> Result<Option<LoggedIn>, Failure> {
    operate::fresh(app)?;
    let (user, first) = judge(app, &session, now).await?;
    let (user, liveness) = match first {
        Liveness::Behind => {
            // It began on newer facts than ours: read the log to its end and look again.
            app.follower.catch_up(&app.store).await?;
            let key = user_key(session.user.as_str());
            app.caches.users.invalidate(&key, app.follower.position());
            judge(app, &session, now).await?
        }
        decided => (user, decided),
    };
    let alive = liveness == Liveness::Alive;
    Ok(user
        .filter(|_| alive)
        .map(|user| LoggedIn { session, user }))
}

async fn judge(
    app: &App,
    session: &Session,
    now: Timestamp,
) -> Result<(Option<Arc<User>>, Liveness), Failure> {
    let ended = app.revoked.ended.contains(Kind::Session, &session.id);
    let user = app.find_user(&session.user).await?;
    let liveness = session.liveness(user.as_deref(), ended, now);
    Ok((user, liveness))
}

/// A session of a user who has just shown a password. Its id is drawn now: nothing that the browser
/// brought along lives on in it.
pub fn begin(app: &App, user: Arc<User>, now: Timestamp) -> LoggedIn {
    let session = Session {
        id: app.rng.array(),
        user: user.id.clone(),
        user_session_generation: user.session_generation,
        auth_time: now,
        amr: vec![Amr::Password],
        acr: Some(ACR_PASSWORD.to_owned()),
        created_at: now,
        expires_at: now.plus(app.policy.logins.session_lifetime),
    };
    LoggedIn { session, user }
}
