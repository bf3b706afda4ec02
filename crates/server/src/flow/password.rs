//! A password is checked: the one place, for the password grant and for the login page.
//!
//! Whoever guesses is slowed down by user and address together and by address, never by user
//! alone: nobody can keep somebody else out from elsewhere. Whether a user exists shows neither in
//! the answer nor in its time. No outcome is remembered: every login pays its hash.

use signet_oauth::grant::password::wrong;
use signet_oauth::secret::{Digest, Secret};
use signet_oauth::time::Timestamp;
use signet_oauth::user::{PasswordHash, User, Username};
use signet_oauth::{Error, ErrorCode};
use std::net::IpAddr;
use std::sync::Arc;

use super::{Failure, Fault};
use crate::app::App;
use crate::hashing::{self, Origin};
use crate::sealing::Purpose;
use crate::store::{Ends, UpdatedUser, UserUpdate};

/// The user of this name and password, or `invalid_grant`, said no sooner than the timer allows.
/// The reason tells `password_wrong`, `login_locked_out` and `user_locked` (and the password was
/// right) apart; the client hears the same words.
pub async fn check(
    app: &App,
    name: &str,
    password: &Secret,
    address: IpAddr,
) -> Result<Arc<User>, Failure> {
    check_named(app, Username::parse(name).as_ref(), password, address).await
}

/// The same; `None` where no user can be called so.
pub async fn check_named(
    app: &App,
    name: Option<&Username>,
    password: &Secret,
    address: IpAddr,
) -> Result<Arc<User>, Failure> {
    let started = app.clock.uptime();
    let outcome = attempt(app, name, password, address).await;
    if let Err(Failure::Denied(error)) = &outcome {
        app.metrics.security_event(error.reason);
        tracing::info!(target: "audit", %address, reason = error.reason, "password");
        let elapsed = app.clock.uptime().saturating_sub(started);
        tokio::time::sleep(app.failures.until_answer(elapsed)).await;
    }
    outcome
}

async fn attempt(
    app: &App,
    name: Option<&Username>,
    password: &Secret,
    address: IpAddr,
) -> Result<Arc<User>, Failure> {
    let now = app.clock.now();
    let name = name.ok_or_else(wrong)?;
    let origin = Origin {
        client: Digest::labelled("user name", name.as_str().as_bytes()).short(),
        address,
    };
    let keys = FailureKeys::of(app, &origin);
    keys.check(app, &origin, now).await?;
    let user = app.find_user_by_name(name).await?;
    let right = verify(app, user.as_deref(), password, &origin).await?;
    let Some(user) = user.filter(|_| right) else {
        keys.note(app, now).await?;
        return Err(wrong().into());
    };
    app.hashing.succeeded(&origin);
    if user.locked {
        return Err(Error {
            reason: "user_locked",
            ..wrong()
        }
        .into());
    }
    renew(app, &user, password).await;
    Ok(user)
}

/// Under what failures are counted: no name and no address is kept, and nobody can choose a name
/// whose counter takes the place of another.
struct FailureKeys {
    pair: [u8; 16],
    address: [u8; 16],
}

impl FailureKeys {
    fn of(app: &App, origin: &Origin) -> Self {
        let network = origin.network().to_string();
        let key = |user: &[u8]| {
            let data = [user, network.as_bytes()].concat();
            let mac = app.sealing.mac(Purpose::LoginFailure, &data);
            let mut key = [0; 16];
            key.copy_from_slice(&mac[..16]);
            key
        };
        Self {
            pair: key(&origin.client),
            address: key(&[]),
        }
    }

    /// Refuses where too much went wrong before. A user who logged in from this address before is
    /// not kept out by what others do there.
    async fn check(&self, app: &App, origin: &Origin, now: Timestamp) -> Result<(), Failure> {
        let limits = &app.policy.lockout;
        let mut out = failures(app, self.pair, now).await? >= limits.per_user;
        if !out && !app.hashing.knows(origin) {
            out = failures(app, self.address, now).await? >= limits.per_address;
        }
        if out {
            return Err(Error::new(
                ErrorCode::InvalidGrant,
                "too many logins from this address failed: try again later",
                "login_locked_out",
            )
            .into());
        }
        Ok(())
    }

    /// Counts a failure, durably: the other nodes count on.
    async fn note(&self, app: &App, now: Timestamp) -> Result<(), Failure> {
        let window = app.policy.lockout.window;
        let one = async |key| {
            let failures = app.store.note_login_failure(key, now, window).await?;
            app.caches.failures.remember(key, failures.count);
            Ok::<_, Failure>(())
        };
        tokio::try_join!(one(self.pair), one(self.address))?;
        Ok(())
    }
}

/// How often a login under this key failed lately: what this node knows, or a moment old.
async fn failures(app: &App, key: [u8; 16], now: Timestamp) -> Result<u64, Failure> {
    if let Some(count) = app.caches.failures.get(key) {
        return Ok(count);
    }
    let failures = app.store.login_failures(key, now).await?;
    let count = failures.map_or(0, |failures| failures.count);
    app.caches.failures.remember(key, count);
    Ok(count)
}

/// Checks the password in the pool. Who does not exist, or has no password, costs as much.
async fn verify(
    app: &App,
    user: Option<&User>,
    password: &Secret,
    origin: &Origin,
) -> Result<bool, Failure> {
    let stored = match user.map(|user| &user.password) {
        Some(PasswordHash::Hash(hash) | PasswordHash::Imported(hash)) => Some(hash.clone()),
        Some(PasswordHash::None) | None => None,
    };
    let (password, spec, rng) = (password.clone(), app.policy.secret_hash, app.rng.clone());
    let job = move || match stored {
        Some(hash) => hashing::verify(&hash, password.expose()),
        None => hashing::hash(spec, password.expose(), &rng).map(|_| false),
    };
    let verdict = app.hashing.run(origin.clone(), job).await?;
    // A password that cannot be hashed (bcrypt and its 72 bytes) is not one that was set here.
    Ok(verdict.unwrap_or(false))
}

/// A hash that another server made goes once its password is known. Whether or not that works,
/// the login went well; the next one tries again.
async fn renew(app: &App, user: &User, password: &Secret) {
    let PasswordHash::Imported(hash) = &user.password else {
        return;
    };
    if hashing::is_made_by(hash, app.policy.secret_hash) {
        return;
    }
    if let Err(failure) = replace_hash(app, user, password).await {
        tracing::debug!(user = %user.id, ?failure, "an imported hash could not be made anew");
    }
}

async fn replace_hash(app: &App, user: &User, password: &Secret) -> Result<(), Failure> {
    let (password, spec, rng) = (password.clone(), app.policy.secret_hash, app.rng.clone());
    let job = move || hashing::hash(spec, password.expose(), &rng);
    let hash = app.hashing.run_trusted(job).await?;
    let hash = hash.map_err(|error| Fault::lasting(format!("hash of {}: {error}", user.id)))?;
    let renewed = User {
        password: PasswordHash::Hash(hash),
        ..user.clone()
    };
    let update = UserUpdate {
        user: Box::new(renewed),
        expected_version: user.version,
        ends: Ends::Nothing,
        until: app.longest_until(),
    };
    // Somebody else changed the user meanwhile: what they wrote stays.
    match app.store.update_user(update).await? {
        UpdatedUser::Done { .. }
        | UpdatedUser::Stale
        | UpdatedUser::Taken
        | UpdatedUser::Missing => Ok(()),
    }
}
