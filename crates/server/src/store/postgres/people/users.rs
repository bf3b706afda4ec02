//! Users in `PostgreSQL`.

use std::collections::HashMap;

use tokio_postgres::Row;

use signet_oauth::log::{Position, user_key};
use signet_oauth::time::Timestamp;
use signet_oauth::user::{User, UserId, Username};

use super::column;
use crate::store::clients::Snapshot;
use crate::store::error::Error;
use crate::store::people::users::{DeletedUser, UpdatedUser, UserField, UserPage, UserUpdate};
use crate::store::postgres::Postgres;
use crate::store::postgres::session::{Session, Trouble};
use crate::store::rows::{UserColumns, count, number, seconds, user_body, user_from};

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
macro_rules! find_by {
    ($field:literal) => {
        concat!(
            "SELECT h.position, ",
            user_columns!("u."),
            " FROM log_head h LEFT JOIN users u ON u.tenant = h.tenant AND u.",
            $field,
            " = $1 WHERE h.tenant = 0"
        )
    };
}

pub(in crate::store) async fn find(
    db: &Postgres,
    id: &UserId,
) -> Result<Snapshot<Option<User>>, Error> {
    let sql = find_by!("id");
    snapshot(&db.read(sql, &[&id.as_str()]).await?)
}

pub(in crate::store) async fn find_by_name(
    db: &Postgres,
    name: &Username,
) -> Result<Snapshot<Option<User>>, Error> {
    let sql = find_by!("username");
    snapshot(&db.read(sql, &[&name.as_str()]).await?)
}

fn snapshot(rows: &[Row]) -> Result<Snapshot<Option<User>>, Error> {
    let row = rows
        .first()
        .ok_or_else(|| Error::unreadable("the head of the log is missing"))?;
    let found = row.get::<_, Option<&str>>(1).is_some();
    Ok(Snapshot {
        head: Position(count(row.get(0))),
        value: found.then(|| user_from(&columns(row, 1))).transpose()?,
    })
}

fn columns(row: &Row, first: usize) -> UserColumns {
    UserColumns {
        id: row.get(first),
        username: row.get(first + 1),
        generation: row.get(first + 2),
        session_generation: row.get(first + 3),
        version: row.get(first + 4),
        locked: row.get(first + 5),
        created_at: row.get(first + 6),
        updated_at: row.get(first + 7),
        body: row.get(first + 8),
    }
}

macro_rules! list_by {
    ($field:literal) => {
        concat!(
            "SELECT ",
            user_columns!(""),
            " FROM users WHERE tenant = 0 AND ",
            $field,
            " >= $1 AND ",
            $field,
            " < $2 AND (",
            $field,
            ", id) > ($3, $4) ORDER BY ",
            $field,
            ", id LIMIT $5"
        )
    };
}

pub(in crate::store) async fn list(db: &Postgres, page: &UserPage) -> Result<Vec<User>, Error> {
    let sql = match page.field {
        UserField::Username => list_by!("username"),
        UserField::Email => list_by!("email"),
        UserField::Name => list_by!("name"),
    };
    let (begin, end) = page.bounds();
    let (value, id) = page.begin();
    let limit = i64::from(page.limit);
    let rows = db.read(sql, &[&begin, &end, &value, &id, &limit]).await?;
    rows.iter().map(|row| user_from(&columns(row, 0))).collect()
}

/// Users to be created by one attempt.
pub(super) struct NewUser<'a> {
    pub(super) user: &'a User,
    pub(super) attempt: &'a [u8; 16],
}

/// A user that is there now because of its attempt.
pub(super) struct Made {
    pub(super) user: User,
    /// An earlier one of the same id was deleted lately.
    pub(super) came_back: bool,
}

/// Creates users by one statement, in the order of their ids; those that exist now because of
/// these attempts.
pub(super) async fn create(
    session: &Session,
    mut new: Vec<NewUser<'_>>,
) -> Result<HashMap<UserId, Made>, Trouble> {
    new.sort_by(|one, other| one.user.id.cmp(&other.user.id));
    insert(session, &new).await?;
    let sql = "SELECT u.id, u.generation, u.session_generation FROM users u \
        JOIN unnest($1::text[], $2::bytea[]) AS new (id, attempt) \
        ON u.id = new.id AND u.attempt = new.attempt WHERE u.tenant = 0 AND u.version = 1";
    let ids = column(&new, |one| one.user.id.as_str());
    let attempts = column(&new, |one| one.attempt.as_slice());
    let rows = session.query(sql, &[&ids, &attempts]).await?;
    let there: HashMap<&str, &Row> = rows.iter().map(|row| (row.get(0), row)).collect();
    let mut made = HashMap::with_capacity(there.len());
    for NewUser { user, .. } in new {
        if let Some(row) = there.get(user.id.as_str()) {
            let user = User {
                generation: count(row.get(1)),
                session_generation: count(row.get(2)),
                version: 1,
                ..user.clone()
            };
            let came_back = false;
            made.insert(user.id.clone(), Made { user, came_back });
        }
    }
    raise_above_tombstones(session, &mut made).await?;
    Ok(made)
}

async fn insert(session: &Session, new: &[NewUser<'_>]) -> Result<(), Trouble> {
    let generations = new
        .iter()
        .map(|one| number(one.user.generation))
        .collect::<Result<Vec<_>, _>>()?;
    let session_generations = new
        .iter()
        .map(|one| number(one.user.session_generation))
        .collect::<Result<Vec<_>, _>>()?;
    let bodies = new
        .iter()
        .map(|one| user_body(one.user))
        .collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO users (tenant, id, username, email, name, generation, \
        session_generation, version, locked, created_at, updated_at, attempt, body) \
        SELECT 0, id, username, email, name, generation, session_generation, 1, locked, \
        created_at, updated_at, attempt, body FROM unnest($1::text[], $2::text[], $3::text[], \
        $4::text[], $5::bigint[], $6::bigint[], $7::boolean[], $8::bigint[], $9::bigint[], \
        $10::bytea[], $11::text[]) AS new (id, username, email, name, generation, \
        session_generation, locked, created_at, updated_at, attempt, body) \
        ON CONFLICT DO NOTHING";
    session
        .execute(
            sql,
            &[
                &column(new, |one| one.user.id.as_str()),
                &column(new, |one| one.user.username.as_str()),
                &column(new, |one| UserField::Email.value_of(one.user)),
                &column(new, |one| UserField::Name.value_of(one.user)),
                &generations,
                &session_generations,
                &column(new, |one| one.user.locked),
                &column(new, |one| seconds(one.user.created_at)),
                &column(new, |one| seconds(one.user.updated_at)),
                &column(new, |one| one.attempt.as_slice()),
                &bodies,
            ],
        )
        .await?;
    Ok(())
}

/// A user that comes back must be above what its predecessor's tokens and sessions carry. A
/// statement of its own, because it must see a deletion for which the insertion had to wait.
async fn raise_above_tombstones(
    session: &Session,
    made: &mut HashMap<UserId, Made>,
) -> Result<(), Trouble> {
    let mut by_key: HashMap<[u8; 16], &mut Made> = made
        .iter_mut()
        .map(|(id, made)| (user_key(id.as_str()), made))
        .collect();
    let keys: Vec<[u8; 16]> = by_key.keys().copied().collect();
    let keys = column(&keys, <[u8; 16]>::as_slice);
    let sql = "SELECT key, generation FROM generations \
        WHERE tenant = 0 AND kind = 2 AND key = ANY($1) ORDER BY key";
    for row in session.query(sql, &[&keys]).await? {
        let (key, dead) = (row.get::<_, &[u8]>(0), count(row.get(1)));
        let Some(made) = by_key.get_mut(key) else {
            continue;
        };
        made.came_back = true;
        let user = &mut made.user;
        if user.generation.min(user.session_generation) > dead {
            continue;
        }
        user.generation = user.generation.max(dead.saturating_add(1));
        user.session_generation = user.session_generation.max(dead.saturating_add(1));
        let sql = "UPDATE users SET generation = $2, session_generation = $3 \
            WHERE tenant = 0 AND id = $1";
        let generations = (number(user.generation)?, number(user.session_generation)?);
        session
            .execute(sql, &[&user.id.as_str(), &generations.0, &generations.1])
            .await?;
    }
    Ok(())
}

const UPDATE: &str = "WITH written AS (UPDATE users SET username = $3, email = $4, name = $5, \
    generation = generation + $6::int, session_generation = session_generation + $7::int, \
    version = version + 1, locked = $8, updated_at = $9, attempt = $10, body = $11 \
    WHERE tenant = 0 AND id = $1 AND version = $2 AND NOT EXISTS (SELECT FROM users other \
    WHERE other.tenant = 0 AND other.username = $3 AND other.id <> $1) \
    RETURNING generation, session_generation, version), raised AS (INSERT INTO generations AS g \
    (tenant, kind, key, generation, until) SELECT 0, 2, $12, generation, $13 FROM written \
    WHERE $6 > 0 ON CONFLICT (tenant, kind, key) DO UPDATE SET \
    generation = greatest(g.generation, excluded.generation), \
    until = greatest(g.until, excluded.until), attempt = NULL) \
    SELECT generation, session_generation, version FROM written";

/// Updates a user; as it is stored then, or why not.
pub(super) async fn update(
    session: &Session,
    update: &UserUpdate,
    attempt: &[u8; 16],
) -> Result<Result<Box<User>, UpdatedUser>, Trouble> {
    let mut user = update.user.clone();
    let (tokens, sessions) = update.ends.steps();
    let rows = session
        .query(
            UPDATE,
            &[
                &user.id.as_str(),
                &number(update.expected_version)?,
                &user.username.as_str(),
                &UserField::Email.value_of(&user),
                &UserField::Name.value_of(&user),
                &tokens,
                &sessions,
                &user.locked,
                &seconds(user.updated_at),
                &attempt.as_slice(),
                &user_body(&user)?,
                &user_key(user.id.as_str()).as_slice(),
                &seconds(update.until),
            ],
        )
        .await?;
    let rows = if rows.is_empty() {
        let sql = "SELECT generation, session_generation, version, attempt FROM users \
            WHERE tenant = 0 AND id = $1";
        session.query(sql, &[&user.id.as_str()]).await?
    } else {
        rows
    };
    let Some(row) = rows.first() else {
        return Ok(Err(UpdatedUser::Missing));
    };
    user.generation = count(row.get(0));
    user.session_generation = count(row.get(1));
    user.version = count(row.get(2));
    // Four columns: not written now; perhaps before, by this very attempt.
    if row.len() == 4 && row.get::<_, &[u8]>(3) != attempt {
        return Ok(Err(if user.version == update.expected_version {
            UpdatedUser::Taken
        } else {
            UpdatedUser::Stale
        }));
    }
    Ok(Ok(user))
}

/// Deletes a user and remembers its generation: the one below which its tokens are dead.
pub(super) async fn delete(
    session: &Session,
    id: &UserId,
    expected_version: Option<u64>,
    until: Timestamp,
    attempt: &[u8; 16],
) -> Result<Result<u64, DeletedUser>, Trouble> {
    let key = user_key(id.as_str());
    let sql = "WITH gone AS (DELETE FROM users WHERE tenant = 0 AND id = $1 \
        AND ($5::bigint IS NULL OR version = $5) \
        RETURNING generation + 1 AS generation), raised AS (INSERT INTO generations AS g \
        (tenant, kind, key, generation, until, attempt) \
        SELECT 0, 2, $2, generation, $3, $4 FROM gone \
        ON CONFLICT (tenant, kind, key) DO UPDATE SET \
        generation = greatest(g.generation, excluded.generation), \
        until = greatest(g.until, excluded.until), attempt = excluded.attempt) \
        SELECT generation FROM gone";
    let rows = session
        .query(
            sql,
            &[
                &id.as_str(),
                &key.as_slice(),
                &seconds(until),
                &attempt.as_slice(),
                &expected_version.map(number).transpose()?,
            ],
        )
        .await?;
    let rows = if rows.is_empty() {
        let sql = "SELECT generation FROM generations \
            WHERE tenant = 0 AND kind = 2 AND key = $1 AND attempt = $2";
        session
            .query(sql, &[&key.as_slice(), &attempt.as_slice()])
            .await?
    } else {
        rows
    };
    if let Some(row) = rows.first() {
        return Ok(Ok(count(row.get(0))));
    }
    let sql = "SELECT 1 FROM users WHERE tenant = 0 AND id = $1";
    let stays = !session.query(sql, &[&id.as_str()]).await?.is_empty();
    Ok(Err(if stays {
        DeletedUser::Stale
    } else {
        DeletedUser::Missing
    }))
}
