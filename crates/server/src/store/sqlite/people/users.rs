//! Users in `SQLite`.

use rusqlite::{OptionalExtension, Row, params};

use signet_oauth::log::{Event, LogRow, Position, user_key};
use signet_oauth::time::Timestamp;
use signet_oauth::user::{User, UserId, Username};

use super::{families, sessions};
use crate::store::clients::Snapshot;
use crate::store::error::Error;
use crate::store::people::users::{
    CreatedUser, DeletedUser, Ends, Imported, UpdatedUser, UserField, UserPage, UserUpdate,
};
use crate::store::rows::{TENANT, UserColumns, count, number, seconds, user_body, user_from};
use crate::store::sqlite::batch::Batch;
use crate::store::sqlite::{Reader, log};

macro_rules! user_columns {
    ($table:literal) => {
        concat!(
            $table,
            "id, ",
            $table,
            "username, ",
            $table,
            "generation, ",
            $table,
            "session_generation, ",
            $table,
            "version, ",
            $table,
            "locked, ",
            $table,
            "created_at, ",
            $table,
            "updated_at, ",
            $table,
            "body"
        )
    };
}

/// One statement is one snapshot: the head and the user belong together.
const FIND: &str = concat!(
    "SELECT h.position, ",
    user_columns!("u."),
    " FROM log_head h LEFT JOIN users u ON u.tenant = h.tenant AND u.id = ?2 WHERE h.tenant = ?1"
);
const FIND_BY_NAME: &str = concat!(
    "SELECT h.position, ",
    user_columns!("u."),
    " FROM log_head h LEFT JOIN users u ON u.tenant = h.tenant AND u.username = ?2 \
     WHERE h.tenant = ?1"
);

pub(in crate::store) fn find(
    reader: &Reader<'_>,
    id: &UserId,
) -> Result<Snapshot<Option<User>>, Error> {
    find_one(reader, FIND, id.as_str())
}

pub(in crate::store) fn find_by_name(
    reader: &Reader<'_>,
    name: &Username,
) -> Result<Snapshot<Option<User>>, Error> {
    find_one(reader, FIND_BY_NAME, name.as_str())
}

fn find_one(reader: &Reader<'_>, sql: &str, wanted: &str) -> Result<Snapshot<Option<User>>, Error> {
    let (position, row) = reader
        .prepare(sql)?
        .query_row(params![TENANT, wanted], |row| {
            let found = row.get_ref(1)?.as_str().is_ok();
            let columns = found.then(|| columns(row, 1)).transpose()?;
            Ok((row.get(0)?, columns))
        })?;
    Ok(Snapshot {
        head: Position(count(position)),
        value: row.as_ref().map(user_from).transpose()?,
    })
}

fn columns(row: &Row<'_>, first: usize) -> rusqlite::Result<UserColumns> {
    Ok(UserColumns {
        id: row.get(first)?,
        username: row.get(first + 1)?,
        generation: row.get(first + 2)?,
        session_generation: row.get(first + 3)?,
        version: row.get(first + 4)?,
        locked: row.get(first + 5)?,
        created_at: row.get(first + 6)?,
        updated_at: row.get(first + 7)?,
        body: row.get(first + 8)?,
    })
}

macro_rules! list_by {
    ($field:literal) => {
        concat!(
            "SELECT ",
            user_columns!(""),
            " FROM users WHERE tenant = ?1 AND ",
            $field,
            " >= ?2 AND ",
            $field,
            " < ?3 AND (",
            $field,
            ", id) > (?4, ?5) ORDER BY ",
            $field,
            ", id LIMIT ?6"
        )
    };
}

pub(in crate::store) fn list(reader: &Reader<'_>, page: &UserPage) -> Result<Vec<User>, Error> {
    let sql = match page.field {
        UserField::Username => list_by!("username"),
        UserField::Email => list_by!("email"),
        UserField::Name => list_by!("name"),
    };
    let (begin, end) = page.bounds();
    let (value, id) = page.begin();
    let mut statement = reader.prepare(sql)?;
    let first = begin.as_str().max(value);
    let parameters = params![TENANT, first, end, value, id, page.limit];
    let rows = statement.query_and_then(parameters, |row| user_from(&columns(row, 0)?))?;
    rows.collect()
}

pub(super) fn create(
    batch: &mut Batch<'_>,
    user: &User,
    attempt: &[u8; 16],
) -> Result<CreatedUser, Error> {
    let made = match insert(batch, user, attempt)? {
        Some(Made { user, .. }) => Some(user),
        None => created_before(batch, user, attempt)?,
    };
    let Some(user) = made else {
        return Ok(CreatedUser::Exists);
    };
    let row = batch.append(changed(&user.id, user.generation), user.updated_at)?;
    Ok(CreatedUser::Done { user, row })
}

pub(super) fn import(
    batch: &mut Batch<'_>,
    users: &[User],
    attempt: &[u8; 16],
) -> Result<Imported, Error> {
    let mut imported = Imported::default();
    for user in users {
        let Some(Made { user, came_back }) = insert(batch, user, attempt)? else {
            imported.skipped.push(user.id.clone());
            continue;
        };
        imported.created += 1;
        if came_back {
            let event = changed(&user.id, user.generation);
            imported.rows.push(batch.append(event, user.updated_at)?);
        }
    }
    Ok(imported)
}

/// A user that was written.
struct Made {
    user: Box<User>,
    /// An earlier one of the same id was deleted lately.
    came_back: bool,
}

/// Writes a user; nothing where the id or the name is taken.
fn insert(batch: &Batch<'_>, user: &User, attempt: &[u8; 16]) -> Result<Option<Made>, Error> {
    let mut user = Box::new(user.clone());
    user.version = 1;
    let dead = log::user_tombstone(batch, &user_key(user.id.as_str()))?;
    if let Some(dead) = dead {
        // Above what is left of the earlier one: its sessions' generation was not above this.
        user.generation = user.generation.max(dead.saturating_add(1));
        user.session_generation = user.session_generation.max(dead.saturating_add(1));
    }
    let inserted = batch
        .prepare(
            "INSERT INTO users (tenant, id, username, email, name, generation, \
             session_generation, version, locked, created_at, updated_at, attempt, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?9, ?10, ?11, ?12) \
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            TENANT,
            user.id.as_str(),
            user.username.as_str(),
            UserField::Email.value_of(&user),
            UserField::Name.value_of(&user),
            number(user.generation)?,
            number(user.session_generation)?,
            user.locked,
            seconds(user.created_at),
            seconds(user.updated_at),
            attempt,
            user_body(&user)?
        ])?;
    let came_back = dead.is_some();
    Ok((inserted == 1).then_some(Made { user, came_back }))
}

/// The id or the name is taken: by this very attempt?
fn created_before(
    batch: &Batch<'_>,
    user: &User,
    attempt: &[u8; 16],
) -> Result<Option<Box<User>>, Error> {
    let found: Option<(i64, i64)> = batch
        .prepare(
            "SELECT generation, session_generation FROM users \
             WHERE tenant = ?1 AND id = ?2 AND attempt = ?3 AND version = 1",
        )?
        .query_row(params![TENANT, user.id.as_str(), attempt], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(found.map(|(generation, session_generation)| {
        Box::new(User {
            generation: count(generation),
            session_generation: count(session_generation),
            version: 1,
            ..user.clone()
        })
    }))
}

fn changed(id: &UserId, generation: u64) -> Event {
    Event::UserChanged {
        key: user_key(id.as_str()),
        generation,
    }
}

pub(super) fn update(
    batch: &mut Batch<'_>,
    update: &UserUpdate,
    attempt: &[u8; 16],
) -> Result<UpdatedUser, Error> {
    let mut user = update.user.clone();
    let (tokens, sessions) = update.ends.steps();
    let written: Option<(i64, i64, i64)> = batch
        .prepare(
            "UPDATE users SET username = ?4, email = ?5, name = ?6, \
             generation = generation + ?7, session_generation = session_generation + ?8, \
             version = version + 1, locked = ?9, updated_at = ?10, attempt = ?11, body = ?12 \
             WHERE tenant = ?1 AND id = ?2 AND version = ?3 AND NOT EXISTS (SELECT 1 \
             FROM users WHERE tenant = ?1 AND username = ?4 AND id <> ?2) \
             RETURNING generation, session_generation, version",
        )?
        .query_row(
            params![
                TENANT,
                user.id.as_str(),
                number(update.expected_version)?,
                user.username.as_str(),
                UserField::Email.value_of(&user),
                UserField::Name.value_of(&user),
                tokens,
                sessions,
                user.locked,
                seconds(user.updated_at),
                attempt,
                user_body(&user)?
            ],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    let Some((generation, session_generation, version)) = written else {
        return Ok(match version_of(batch, &user.id)? {
            None => UpdatedUser::Missing,
            Some(version) if version == update.expected_version => UpdatedUser::Taken,
            Some(_) => UpdatedUser::Stale,
        });
    };
    user.generation = count(generation);
    user.session_generation = count(session_generation);
    user.version = count(version);
    let row = end_with(batch, &user, update)?;
    Ok(UpdatedUser::Done { user, row })
}

/// Ends what the change of a user ends, and appends it to the log.
fn end_with(batch: &mut Batch<'_>, user: &User, update: &UserUpdate) -> Result<LogRow, Error> {
    let event = changed(&user.id, user.generation);
    if update.ends == Ends::Nothing {
        return batch.append(event, user.updated_at);
    }
    let key = user_key(user.id.as_str());
    log::raise_user(batch, &key, user.generation, update.until, None)?;
    families::remove_of(batch, &user.id)?;
    if update.ends == Ends::TokensAndSessions {
        sessions::remove_of(batch, &user.id)?;
    }
    batch.append(event, update.until)
}

fn version_of(batch: &Batch<'_>, id: &UserId) -> Result<Option<u64>, Error> {
    let version: Option<i64> = batch
        .prepare("SELECT version FROM users WHERE tenant = ?1 AND id = ?2")?
        .query_row(params![TENANT, id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(version.map(count))
}

pub(super) fn delete(
    batch: &mut Batch<'_>,
    id: &UserId,
    expected_version: Option<u64>,
    until: Timestamp,
    attempt: &[u8; 16],
) -> Result<DeletedUser, Error> {
    let expected = expected_version.map(number).transpose()?;
    let generation: Option<i64> = batch
        .prepare(
            "DELETE FROM users WHERE tenant = ?1 AND id = ?2 \
             AND (?3 IS NULL OR version = ?3) RETURNING generation",
        )?
        .query_row(params![TENANT, id.as_str(), expected], |row| row.get(0))
        .optional()?;
    let Some(generation) = generation else {
        return Ok(match version_of(batch, id)? {
            None => DeletedUser::Missing,
            Some(_) => DeletedUser::Stale,
        });
    };
    let generation = count(generation).saturating_add(1);
    let key = user_key(id.as_str());
    log::raise_user(batch, &key, generation, until, Some(attempt))?;
    families::remove_of(batch, id)?;
    sessions::remove_of(batch, id)?;
    batch
        .prepare("DELETE FROM consents WHERE tenant = ?1 AND subject = ?2")?
        .execute(params![TENANT, id.as_str()])?;
    let row = batch.append(changed(id, generation), until)?;
    Ok(DeletedUser::Done { row })
}
