//! Users in the store: every write is conditional; all but imports append to the log.

use signet_oauth::log::LogRow;
use signet_oauth::time::Timestamp;
use signet_oauth::user::{User, UserId, Username};

use crate::store::clients::Snapshot;
use crate::store::error::Error;
use crate::store::op::{Outcome, Write};
use crate::store::{Backend, Store, postgres, random, sqlite};

/// What came of a creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreatedUser {
    /// It is there, with the generations and the version that it was given.
    Done {
        /// As it is stored.
        user: Box<User>,
        /// What tells the others.
        row: LogRow,
    },
    /// The id or the username is taken.
    Exists,
}

/// What a change of a user ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Nothing: a change of a claim, a hash made anew.
    Nothing,
    /// Every token that was issued before: a change of roles.
    Tokens,
    /// These, and every session: a change of the password, a lock.
    TokensAndSessions,
}

impl Ends {
    /// How much the generation of tokens and that of sessions go up.
    pub(in crate::store) fn steps(self) -> (i32, i32) {
        match self {
            Self::Nothing => (0, 0),
            Self::Tokens => (1, 0),
            Self::TokensAndSessions => (1, 1),
        }
    }
}

/// A conditional write of a user.
#[derive(Clone, Debug)]
pub struct UserUpdate {
    /// What is to be there; its generations and its version do not count.
    pub user: Box<User>,
    /// The version that was read.
    pub expected_version: u64,
    /// What ends with it.
    pub ends: Ends,
    /// When the last token of the old generation will have expired.
    pub until: Timestamp,
}

/// What came of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdatedUser {
    /// It is written, with its new version and generations.
    Done {
        /// As it is stored.
        user: Box<User>,
        /// What tells the others.
        row: LogRow,
    },
    /// Somebody else wrote since that version was read.
    Stale,
    /// Another user has the new username.
    Taken,
    /// There is no such user.
    Missing,
}

/// What came of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeletedUser {
    /// The user is gone, and so are its sessions, consents and families.
    Done {
        /// What tells the others.
        row: LogRow,
    },
    /// Its version is not the expected one.
    Stale,
    /// There is no such user.
    Missing,
}

/// What came of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Users that are there now because of it.
    pub created: u64,
    /// Those whose id or username was taken, in the order in which they came.
    pub skipped: Vec<UserId>,
    /// Users of whom an earlier one was deleted lately: what tells the others.
    pub rows: Vec<LogRow>,
}

/// By which field users are searched, and in whose order they are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserField {
    /// The username.
    #[default]
    Username,
    /// The claim `email`; users without one are left out.
    Email,
    /// The claim `name`; users without one are left out.
    Name,
}

/// Which users to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserPage {
    /// Searched by and sorted by this field.
    pub field: UserField,
    /// The field begins with this; case does not count.
    pub prefix: String,
    /// Begin behind this user; costs nothing, however far it is.
    pub after: Option<UserCursor>,
    /// At most so many.
    pub limit: u32,
}

/// A place in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCursor {
    /// The field as it is sorted: in lower case.
    pub value: String,
    /// The user.
    pub id: UserId,
}

/// A part of the users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserList {
    /// In the order of the field.
    pub users: Vec<User>,
    /// Go on here; `None`: that was all.
    pub next: Option<UserCursor>,
}

impl UserPage {
    /// First text that begins with the prefix, and one behind all that do.
    pub(in crate::store) fn bounds(&self) -> (String, String) {
        let prefix = self.prefix.to_lowercase();
        let end = format!("{prefix}\u{10ffff}");
        (prefix, end)
    }

    /// The value and the id behind which to begin.
    pub(in crate::store) fn begin(&self) -> (&str, &str) {
        match &self.after {
            Some(cursor) => (&cursor.value, cursor.id.as_str()),
            // Before everything: no user has an empty id.
            None => ("", ""),
        }
    }

    /// What was found, and where to go on.
    pub(in crate::store) fn list(&self, users: Vec<User>) -> UserList {
        let full = u32::try_from(users.len()).is_ok_and(|found| found >= self.limit);
        let next = users.last().filter(|_| full).map(|user| UserCursor {
            value: self.field.value_of(user).unwrap_or_default(),
            id: user.id.clone(),
        });
        UserList { users, next }
    }
}

impl UserField {
    /// The field of a user as it is sorted and searched.
    pub(in crate::store) fn value_of(self, user: &User) -> Option<String> {
        match self {
            Self::Username => Some(user.username.as_str().to_owned()),
            Self::Email => user.claims.email.as_deref().map(str::to_lowercase),
            Self::Name => user.claims.name.as_deref().map(str::to_lowercase),
        }
    }
}

impl Store {
    /// The user of this id.
    pub async fn find_user(&self, id: &UserId) -> Result<Snapshot<Option<User>>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let id = id.clone();
                let read = db.read(move |reader| sqlite::people::users::find(reader, &id));
                self.within(read).await
            }
            Backend::Postgres(db) => self.within(postgres::people::users::find(db, id)).await,
        }
    }

    /// The user of this name.
    pub async fn find_user_by_name(
        &self,
        name: &Username,
    ) -> Result<Snapshot<Option<User>>, Error> {
        match &self.backend {
            Backend::Sqlite(db) => {
                let name = name.clone();
                let read =
                    db.read(move |reader| sqlite::people::users::find_by_name(reader, &name));
                self.within(read).await
            }
            Backend::Postgres(db) => {
                let find = postgres::people::users::find_by_name(db, name);
                self.within(find).await
            }
        }
    }

    /// Users whose field begins with a prefix, in its order (as bytes).
    pub async fn list_users(&self, page: UserPage) -> Result<UserList, Error> {
        let users = match &self.backend {
            Backend::Sqlite(db) => {
                let asked = page.clone();
                let read = db.read(move |reader| sqlite::people::users::list(reader, &asked));
                self.within(read).await?
            }
            Backend::Postgres(db) => {
                self.within(postgres::people::users::list(db, &page))
                    .await?
            }
        };
        Ok(page.list(users))
    }

    /// Creates a user with version 1 and generations that nothing of a deleted user of the same
    /// id has. The same `attempt` again finds what it created before.
    pub async fn create_user(&self, user: User, attempt: [u8; 16]) -> Result<CreatedUser, Error> {
        let user = Box::new(user);
        match self.write(Write::CreateUser { user, attempt }).await? {
            Outcome::UserCreated(created) => Ok(created),
            _ => Err(Error::mixed_up()),
        }
    }

    /// Creates many users at once: all in one transaction, so a thousand are a good number.
    /// Those whose id or name is taken are left out, so that an import can be run again.
    pub async fn import_users(&self, users: Vec<User>) -> Result<Imported, Error> {
        let write = Write::ImportUsers {
            users,
            attempt: random::mark()?,
        };
        match self.write(write).await? {
            Outcome::UsersImported(imported) => Ok(imported),
            _ => Err(Error::mixed_up()),
        }
    }

    /// Replaces a user where its version is the expected one. The version goes up by one, the
    /// generations where the change ends something. What ends is gone: families of tokens, and
    /// rows of sessions.
    pub async fn update_user(&self, update: UserUpdate) -> Result<UpdatedUser, Error> {
        let attempt = random::mark()?;
        match self.write(Write::UpdateUser { update, attempt }).await? {
            Outcome::UserUpdated(updated) => Ok(updated),
            _ => Err(Error::mixed_up()),
        }
    }

    /// Deletes a user, of the expected version where one is given, with everything it had: its
    /// tokens and sessions are dead from then on. `until` is when the last of them will have
    /// expired: so long its generation is remembered.
    pub async fn delete_user(
        &self,
        id: &UserId,
        expected_version: Option<u64>,
        until: Timestamp,
    ) -> Result<DeletedUser, Error> {
        let write = Write::DeleteUser {
            id: id.clone(),
            expected_version,
            until,
            attempt: random::mark()?,
        };
        match self.write(write).await? {
            Outcome::UserDeleted(deleted) => Ok(deleted),
            _ => Err(Error::mixed_up()),
        }
    }
}
