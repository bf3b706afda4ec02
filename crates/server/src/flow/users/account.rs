//! A person's own account: sessions, applications with access, the password. Whoever acts is logged
//! in, and shows a token that the page gave to this very session for this very deed: no other site
//! can have one (protection against forgery), whatever cookies a browser sends along.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use signet_oauth::consent::Consent;
use signet_oauth::grant::password::wrong;
use signet_oauth::ids::ClientId;
use signet_oauth::secret::Secret;
use signet_oauth::time::Timestamp;
use signet_oauth::user::User;
use std::net::IpAddr;
use std::sync::Arc;

use super::access::{self, Used};
use super::{Draft, PasswordChoice, update};
use crate::app::App;
use crate::cache::CachedClient;
use crate::flow::authorize::session::{self, LoggedIn};
use crate::flow::clients::Expected;
use crate::flow::{Failure, password};
use crate::sealing::Purpose;
use crate::store::NewLogin;

/// What tokens are sealed in, beside the states of logins and sessions.
const CONTEXT: &[u8] = b"account";

/// Seconds for which a page may be open.
const LIFETIME: u64 = 3600;

/// Characters of a password that somebody chooses (NIST SP 800-63B §5.1.1.2).
pub const MIN_PASSWORD: usize = 8;

/// What a form of the page does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Ends the session that looks at the page.
    Logout,
    /// Ends a session.
    EndSession([u8; 16]),
    /// Takes its access from an application.
    Withdraw(ClientId),
    /// Changes the password.
    Password,
    /// Nothing any more: it is done, and the page says so.
    Done(u8),
}

impl Deed {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Logout => vec![0],
            Self::EndSession(id) => [&[1], id.as_slice()].concat(),
            Self::Withdraw(client) => [&[2], client.as_str().as_bytes()].concat(),
            Self::Password => vec![3],
            Self::Done(what) => vec![4, *what],
        }
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        match (kind, rest) {
            (0, []) => Some(Self::Logout),
            (1, id) => Some(Self::EndSession(id.try_into().ok()?)),
            (2, client) => ClientId::parse(str::from_utf8(client).ok()?).map(Self::Withdraw),
            (3, []) => Some(Self::Password),
            (4, [what]) => Some(Self::Done(*what)),
            _ => None,
        }
    }
}

/// The token with which this session, and no other, may do this for a while.
pub fn token(app: &App, there: &LoggedIn, deed: &Deed) -> String {
    let until = app.clock.now().plus(LIFETIME).0.to_be_bytes();
    let plain = [&there.session.id[..], &until[..], &deed.to_bytes()].concat();
    let sealed = app
        .sealing
        .seal(Purpose::BrowserState, CONTEXT, &plain, &app.rng);
    URL_SAFE_NO_PAD.encode(sealed)
}

/// What a token is for. `None`: made up, another session's, or too old.
pub fn read(app: &App, there: &LoggedIn, token: &str) -> Option<Deed> {
    let sealed = URL_SAFE_NO_PAD.decode(token).ok()?;
    let plain = app.sealing.open(Purpose::BrowserState, CONTEXT, &sealed);
    let plain = plain.ok()?;
    let (session, rest) = plain.split_first_chunk::<16>()?;
    let (until, deed) = rest.split_first_chunk::<8>()?;
    let is_fresh = app.clock.now() < Timestamp(u64::from_be_bytes(*until));
    Deed::from_bytes(deed).filter(|_| is_fresh && *session == there.session.id)
}

/// What an account shows.
#[derive(Debug)]
pub struct Account {
    /// The sessions, newest first.
    pub sessions: Vec<Used>,
    /// The applications with access; one that is gone has no client.
    pub applications: Vec<(Consent, Option<Arc<CachedClient>>)>,
}

/// What there is to see.
pub async fn show(app: &App, user: &User) -> Result<Account, Failure> {
    let sessions = access::sessions(app, &user.id).await?;
    let mut applications = Vec::new();
    for consent in access::consents(app, &user.id).await? {
        let client = app.find_client(&consent.client).await?;
        applications.push((consent, client));
    }
    Ok(Account {
        sessions,
        applications,
    })
}

/// Changes the password of somebody who knows it. Every session and token ends; the browser in
/// which that happened gets a new session.
pub async fn change_password(
    app: &App,
    there: &LoggedIn,
    (current, new): (&Secret, Secret),
    address: IpAddr,
) -> Result<LoggedIn, Failure> {
    let known = there.user.username.as_str();
    let user = password::check(app, known, current, address).await?;
    if user.id != there.user.id {
        return Err(wrong().into());
    }
    let same = |present: &User| Ok(Draft::of(present));
    let facts = (&Expected::Any, PasswordChoice::Given(new));
    let user = update(app, &user.id, facts, same).await?;
    tracing::info!(target: "audit", user = %user.id, %address, "user changed the password");
    let fresh = session::begin(app, Arc::new(user), app.clock.now());
    let login = NewLogin {
        session: Some(fresh.session.clone()),
        consent: None,
    };
    app.store.log_in(login).await?;
    Ok(fresh)
}
