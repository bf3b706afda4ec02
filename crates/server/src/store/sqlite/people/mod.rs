//! People in `SQLite`: users, sessions, consents, families, and what expires soon.

pub(in crate::store) mod consents;
pub(in crate::store) mod failures;
pub(in crate::store) mod families;
pub(in crate::store) mod requests;
pub(in crate::store) mod sessions;
pub(in crate::store) mod users;

use super::batch::Batch;
use crate::store::error::Error;
use crate::store::op::{Outcome, Write};

/// Carries out a write about people.
pub(super) fn execute(batch: &mut Batch<'_>, write: &Write) -> Result<Outcome, Error> {
    Ok(match write {
        Write::CreateUser { user, attempt } => {
            Outcome::UserCreated(users::create(batch, user, attempt)?)
        }
        Write::ImportUsers { users, attempt } => {
            Outcome::UsersImported(users::import(batch, users, attempt)?)
        }
        Write::UpdateUser { update, attempt } => {
            Outcome::UserUpdated(users::update(batch, update, attempt)?)
        }
        Write::DeleteUser {
            id,
            expected_version,
            until,
            attempt,
        } => Outcome::UserDeleted(users::delete(
            batch,
            id,
            *expected_version,
            *until,
            attempt,
        )?),
        Write::WithdrawConsent {
            user,
            client,
            until,
        } => Outcome::ConsentWithdrawn(consents::withdraw(batch, user, client, *until)?),
        Write::LogIn(login) => {
            sessions::log_in(batch, login)?;
            Outcome::LoggedIn
        }
        Write::OpenFamily(opening) => Outcome::Opened(families::open(batch, opening)?),
        Write::RedeemCode(redemption) => Outcome::Redeemed(families::redeem(batch, redemption)?),
        Write::RotateFamily(rotation) => Outcome::Rotated(families::rotate(batch, rotation)?),
        Write::NoteFailure(failure) => Outcome::FailureNoted(failures::note(batch, failure)?),
        Write::ForgetFailures { key } => {
            failures::forget(batch, key)?;
            Outcome::FailuresForgotten
        }
        Write::PushRequest(request) => {
            requests::push(batch, request)?;
            Outcome::RequestPushed
        }
        _ => return Err(Error::mixed_up()),
    })
}
