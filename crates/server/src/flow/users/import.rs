//! Many users at once, from another server: who is there already stays as it is, so that an import
//! that broke off can be run again.

use signet_oauth::Error;
use signet_oauth::user::{User, UserId};

use super::{Draft, PasswordChoice, fresh, kept};
use crate::app::App;
use crate::flow::Failure;

/// Users that are written by one transaction: others wait for it.
const BATCH: usize = 1000;

/// A user to be imported.
#[derive(Clone, Debug)]
pub struct Newcomer {
    /// In which line it stands.
    pub line: usize,
    /// The id that it had, or a new one.
    pub id: UserId,
    /// The description.
    pub draft: Draft,
    /// The password.
    pub password: PasswordChoice,
}

/// What came of an import.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// Users that are there now because of it.
    pub created: u64,
    /// Users whose id or username was there before.
    pub skipped: u64,
    /// Users that are not acceptable, and in which lines they stand.
    pub refused: Vec<(usize, Error)>,
}

/// Imports users, whole batches at a time.
pub async fn run(app: &App, newcomers: Vec<Newcomer>) -> Result<Imported, Failure> {
    let mut done = Imported::default();
    let mut users = Vec::new();
    for newcomer in newcomers {
        let line = newcomer.line;
        match prepare(app, newcomer).await {
            Ok(user) => users.push(user),
            Err(Failure::Denied(error)) => done.refused.push((line, error)),
            Err(fault) => return Err(fault),
        }
    }
    while !users.is_empty() {
        let rest = users.split_off(users.len().min(BATCH));
        let batch = std::mem::replace(&mut users, rest);
        let imported = app.store.import_users(batch).await?;
        done.created += imported.created;
        done.skipped += imported.skipped.len() as u64;
    }
    Ok(done)
}

async fn prepare(app: &App, newcomer: Newcomer) -> Result<User, Failure> {
    let user = fresh(
        app,
        newcomer.id,
        newcomer.draft,
        signet_oauth::user::PasswordHash::None,
    )?;
    match kept(app, newcomer.password).await? {
        Some(password) => Ok(User { password, ..user }),
        None => Ok(user),
    }
}
