//! Users are created, read, changed and deleted by an administrator. The whole user is validated on
//! every write; what a change must end, it ends in the same write.

pub mod access;
pub mod account;
pub mod import;

use signet_oauth::secret::Secret;
use signet_oauth::user::{PasswordHash, User, UserClaims, UserId, Username};
use signet_oauth::{Error, ErrorCode};

use super::clients::Expected;
use super::{Failure, Fault, conflict, not_found};
use crate::app::App;
use crate::hashing;
use crate::store::{CreatedUser, DeletedUser, Ends, UpdatedUser, UserUpdate};
pub use crate::store::{UserCursor, UserField, UserList, UserPage};

/// How often a change is tried again when somebody else changed the user meanwhile.
const ATTEMPTS: usize = 50;

/// Bytes of a password: a form may be longer than anything that somebody remembers.
const MAX_PASSWORD: usize = 1024;

/// What the caller says about the password of a user.
#[derive(Clone, Debug)]
pub enum PasswordChoice {
    /// Nothing: none for a new user, an existing one keeps what there is.
    Unsaid,
    /// This password.
    Given(Secret),
    /// This hash, made elsewhere.
    Imported(String),
}

/// A user as the caller describes it; its generations and times are not the caller's.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The name at login.
    pub username: Username,
    /// Whether the user is kept out.
    pub locked: bool,
    /// Names that mean something to the applications.
    pub roles: Vec<String>,
    /// What is known about the person.
    pub claims: UserClaims,
}

impl Draft {
    /// The description of a user as it is.
    pub fn of(user: &User) -> Self {
        Self {
            username: user.username.clone(),
            locked: user.locked,
            roles: user.roles.clone(),
            claims: user.claims.clone(),
        }
    }
}

/// The id of a new user.
pub fn draw_id(app: &App) -> UserId {
    UserId::from_random(app.rng.array())
}

/// A new user, not stored yet.
fn fresh(app: &App, id: UserId, draft: Draft, password: PasswordHash) -> Result<User, Error> {
    let now = app.clock.now();
    let user = User {
        id,
        username: draft.username,
        generation: 0,
        session_generation: 0,
        version: 0,
        locked: draft.locked,
        password,
        roles: draft.roles,
        claims: draft.claims,
        created_at: now,
        updated_at: now,
    };
    user.validate()?;
    Ok(user)
}

/// Creates a user. A taken id or username is `conflict`.
pub async fn create(
    app: &App,
    id: UserId,
    draft: Draft,
    password: PasswordChoice,
) -> Result<User, Failure> {
    // Refused before the hash is paid for.
    let user = fresh(app, id, draft, PasswordHash::None)?;
    let password = kept(app, password).await?.unwrap_or(PasswordHash::None);
    let user = User { password, ..user };
    match app.store.create_user(user, app.rng.array()).await? {
        CreatedUser::Done { user, .. } => Ok(*user),
        CreatedUser::Exists => Err(taken()),
    }
}

/// One user, as it is stored.
pub async fn get(app: &App, id: &UserId) -> Result<User, Failure> {
    let found = app.store.find_user(id).await?.value;
    found.ok_or_else(|| not_found("user"))
}

/// Users whose field begins with a prefix, in its order.
pub async fn list(app: &App, page: UserPage) -> Result<UserList, Failure> {
    Ok(app.store.list_users(page).await?)
}

/// Changes a user: `change` makes the new description from the present one. It is called again when
/// somebody else wrote meanwhile, unless that made it a version that was not `expected`.
pub async fn update(
    app: &App,
    id: &UserId,
    (expected, password): (&Expected, PasswordChoice),
    change: impl Fn(&User) -> Result<Draft, Error> + Send + Sync,
) -> Result<User, Failure> {
    let password = kept(app, password).await?;
    for _ in 0..ATTEMPTS {
        let present = get(app, id).await?;
        if !expected.admits(present.version) {
            return Err(stale());
        }
        let draft = change(&present)?;
        let ends = ends(&present, &draft, password.is_some());
        let user = User {
            username: draft.username,
            locked: draft.locked,
            roles: draft.roles,
            claims: draft.claims,
            password: password.clone().unwrap_or_else(|| present.password.clone()),
            updated_at: app.clock.now(),
            ..present
        };
        user.validate()?;
        if let Some(done) = write(app, user, ends).await? {
            return Ok(done);
        }
    }
    Err(Fault::passing("user: lost every race for the row").into())
}

/// What a change ends. A lock ends everything; what is dead stays so when the user is unlocked.
fn ends(present: &User, draft: &Draft, new_password: bool) -> Ends {
    if new_password || (draft.locked && !present.locked) {
        Ends::TokensAndSessions
    } else if draft.roles != present.roles {
        Ends::Tokens
    } else {
        Ends::Nothing
    }
}

async fn write(app: &App, user: User, ends: Ends) -> Result<Option<User>, Failure> {
    let update = UserUpdate {
        expected_version: user.version,
        user: Box::new(user),
        ends,
        until: app.longest_until(),
    };
    match app.store.update_user(update).await? {
        UpdatedUser::Done { user, .. } => Ok(Some(*user)),
        UpdatedUser::Stale => Ok(None),
        UpdatedUser::Taken => Err(taken()),
        UpdatedUser::Missing => Err(not_found("user")),
    }
}

/// Deletes a user with sessions, consents and tokens. They stay dead, also if a user of the same id
/// is created later.
pub async fn delete(app: &App, id: &UserId, expected: &Expected) -> Result<(), Failure> {
    let version = match expected {
        Expected::Any => None,
        Expected::Versions(_) => {
            let present = get(app, id).await?;
            if !expected.admits(present.version) {
                return Err(stale());
            }
            Some(present.version)
        }
    };
    let until = app.longest_until();
    match app.store.delete_user(id, version, until).await? {
        DeletedUser::Done { .. } => Ok(()),
        DeletedUser::Stale => Err(stale()),
        DeletedUser::Missing => Err(not_found("user")),
    }
}

fn stale() -> Failure {
    Failure::Denied(Error::new(
        ErrorCode::PreconditionFailed,
        "the user changed meanwhile: read it again",
        "user_version",
    ))
}

fn taken() -> Failure {
    conflict("a user of this id or username exists", "user_exists")
}

/// The form in which a password is kept; `None` where nothing was said.
async fn kept(app: &App, choice: PasswordChoice) -> Result<Option<PasswordHash>, Failure> {
    match choice {
        PasswordChoice::Unsaid => Ok(None),
        PasswordChoice::Imported(hash) => match hashing::check(&hash) {
            Ok(()) => Ok(Some(PasswordHash::Imported(hash))),
            Err(error) => Err(refuse(format!("password_hash: {error}")).into()),
        },
        PasswordChoice::Given(password) => {
            if !(1..=MAX_PASSWORD).contains(&password.expose().len()) {
                return Err(refuse("password is 1 to 1024 bytes".to_owned()).into());
            }
            let (spec, rng) = (app.policy.secret_hash, app.rng.clone());
            let job = move || hashing::hash(spec, password.expose(), &rng);
            let made = app.hashing.run_trusted(job).await?;
            let hash = made.map_err(|error| refuse(format!("password: {error}")))?;
            Ok(Some(PasswordHash::Hash(hash)))
        }
    }
}

fn refuse(description: String) -> Error {
    Error::request(description, "user_password")
}
