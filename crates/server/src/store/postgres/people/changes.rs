//! Writes about people that append to the log.

use std::collections::HashMap;

use signet_oauth::ids::ClientId;
use signet_oauth::log::{Event, LogRow, user_key};
use signet_oauth::time::Timestamp;
use signet_oauth::user::{User, UserId};

use super::users::{Made, NewUser};
use super::{consents, families, sessions, users};
use crate::store::error::Error;
use crate::store::log::{Ending, EndingKind};
use crate::store::op::{Outcome, Pending, Write};
use crate::store::people::consents::Withdrawn;
use crate::store::people::users::{
    CreatedUser, DeletedUser, Ends, Imported, UpdatedUser, UserUpdate,
};
use crate::store::postgres::log;
use crate::store::postgres::session::{Session, Trouble};

/// What an operation has done, waiting for the rows of its events.
pub(in crate::store::postgres) enum Half {
    Settled(Outcome),
    Created(Box<User>),
    Imported(Imported),
    Updated(Box<User>),
    Deleted,
    Withdrawn { found: bool },
}

type Events = Vec<(Event, Timestamp)>;

impl Half {
    pub(in crate::store::postgres) fn with(self, mut rows: Vec<LogRow>) -> Result<Outcome, Error> {
        let one = |rows: &mut Vec<LogRow>| rows.pop().ok_or_else(Error::mixed_up);
        Ok(match self {
            Self::Settled(outcome) => outcome,
            Self::Created(user) => {
                let row = one(&mut rows)?;
                Outcome::UserCreated(CreatedUser::Done { user, row })
            }
            Self::Imported(imported) => Outcome::UsersImported(Imported { rows, ..imported }),
            Self::Updated(user) => {
                let row = one(&mut rows)?;
                Outcome::UserUpdated(UpdatedUser::Done { user, row })
            }
            Self::Deleted => Outcome::UserDeleted(DeletedUser::Done {
                row: one(&mut rows)?,
            }),
            Self::Withdrawn { found } => Outcome::ConsentWithdrawn(Withdrawn { found, rows }),
        })
    }
}

/// The first user that a write is about, where it is about users: they are changed in this order.
fn first_user(write: &Write) -> Option<&UserId> {
    match write {
        Write::UpdateUser { update, .. } => Some(&update.user.id),
        Write::DeleteUser { id, .. } => Some(id),
        Write::WithdrawConsent { user, .. } => Some(user),
        _ => None,
    }
}

/// Carries out all writes of a batch that are about people, by their places in it.
pub(in crate::store::postgres) async fn change_all(
    session: &Session,
    batch: &[Pending],
) -> Result<HashMap<usize, (Half, Events)>, Trouble> {
    let mut changed = create_all(session, batch).await?;
    let mut others: Vec<(&UserId, usize)> = batch
        .iter()
        .enumerate()
        .filter_map(|(at, pending)| Some((first_user(&pending.write)?, at)))
        .collect();
    others.sort();
    for (_, at) in others {
        changed.insert(at, change(session, &batch[at].write).await?);
    }
    Ok(changed)
}

async fn create_all(
    session: &Session,
    batch: &[Pending],
) -> Result<HashMap<usize, (Half, Events)>, Trouble> {
    let mut new: Vec<NewUser<'_>> = Vec::new();
    for pending in batch {
        match &pending.write {
            Write::CreateUser { user, attempt } => new.push(NewUser { user, attempt }),
            Write::ImportUsers { users, attempt } => {
                new.extend(users.iter().map(|user| NewUser { user, attempt }));
            }
            _ => {}
        }
    }
    if new.is_empty() {
        return Ok(HashMap::new());
    }
    let mut made = users::create(session, new).await?;
    let mut halves = HashMap::new();
    for (at, pending) in batch.iter().enumerate() {
        match &pending.write {
            Write::CreateUser { user, .. } => {
                halves.insert(at, created(made.remove(&user.id)));
            }
            Write::ImportUsers { users, .. } => {
                halves.insert(at, imported(users, &mut made));
            }
            _ => {}
        }
    }
    Ok(halves)
}

fn created(made: Option<Made>) -> (Half, Events) {
    let Some(Made { user, .. }) = made else {
        let outcome = Outcome::UserCreated(CreatedUser::Exists);
        return (Half::Settled(outcome), Vec::new());
    };
    let event = changed(&user.id, user.generation);
    let until = user.updated_at;
    (Half::Created(Box::new(user)), vec![(event, until)])
}

fn imported(users: &[User], made: &mut HashMap<UserId, Made>) -> (Half, Events) {
    let (mut imported, mut events) = (Imported::default(), Events::new());
    for user in users {
        match made.remove(&user.id) {
            None => imported.skipped.push(user.id.clone()),
            Some(Made { user, came_back }) => {
                imported.created += 1;
                if came_back {
                    events.push((changed(&user.id, user.generation), user.updated_at));
                }
            }
        }
    }
    (Half::Imported(imported), events)
}

fn changed(id: &UserId, generation: u64) -> Event {
    Event::UserChanged {
        key: user_key(id.as_str()),
        generation,
    }
}

async fn change(session: &Session, write: &Write) -> Result<(Half, Events), Trouble> {
    match write {
        Write::UpdateUser {
            update: asked,
            attempt,
        } => update(session, asked, attempt).await,
        Write::DeleteUser {
            id,
            expected_version,
            until,
            attempt,
        } => {
            let deleted = users::delete(session, id, *expected_version, *until, attempt);
            Ok(match deleted.await? {
                Ok(generation) => {
                    families::remove_of(session, id, None).await?;
                    sessions::remove_of(session, id).await?;
                    consents::remove_of(session, id).await?;
                    (Half::Deleted, vec![(changed(id, generation), *until)])
                }
                Err(refused) => (Half::Settled(Outcome::UserDeleted(refused)), Vec::new()),
            })
        }
        Write::WithdrawConsent {
            user,
            client,
            until,
        } => withdraw(session, (user, client), *until).await,
        _ => Err(Error::mixed_up().into()),
    }
}

async fn update(
    session: &Session,
    asked: &UserUpdate,
    attempt: &[u8; 16],
) -> Result<(Half, Events), Trouble> {
    let user = match users::update(session, asked, attempt).await? {
        Ok(user) => user,
        Err(refused) => return Ok((Half::Settled(Outcome::UserUpdated(refused)), Vec::new())),
    };
    let until = match asked.ends {
        Ends::Nothing => user.updated_at,
        Ends::Tokens | Ends::TokensAndSessions => {
            families::remove_of(session, &user.id, None).await?;
            asked.until
        }
    };
    if asked.ends == Ends::TokensAndSessions {
        sessions::remove_of(session, &user.id).await?;
    }
    let event = changed(&user.id, user.generation);
    Ok((Half::Updated(user), vec![(event, until)]))
}

async fn withdraw(
    session: &Session,
    (user, client): (&UserId, &ClientId),
    until: Timestamp,
) -> Result<(Half, Events), Trouble> {
    let families = families::remove_of(session, user, Some(client)).await?;
    let found = consents::remove(session, user, client).await?;
    let ending = |key| Ending {
        kind: EndingKind::Family,
        key,
        until,
    };
    let ended = log::remember(session, families.into_iter().map(ending).collect()).await?;
    let key = user_key(user.as_str());
    let mut events = vec![(Event::ConsentChanged { key }, until)];
    events.extend(ended.iter().map(|ending| (ending.event(), until)));
    Ok((Half::Withdrawn { found }, events))
}
