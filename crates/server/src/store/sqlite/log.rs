//! The log and the state beside it, in `SQLite`.

use rusqlite::{OptionalExtension, Row, params};

use signet_oauth::ids::ClientId;
use signet_oauth::log::{Event, LogRow, Position, client_key};
use signet_oauth::time::Timestamp;

use super::batch::Batch;
use super::{Reader, people};
use crate::store::error::Error;
use crate::store::log::{Ended, Ending, EndingKind, Head, StateRow};
use crate::store::rows::{
    TENANT, count, ending_kind, ending_number, event_from, key16, number, seconds, timestamp,
};

/// Kinds of `generations`.
const CLIENT: i16 = 1;
const USER: i16 = 2;

pub(in crate::store) fn head(reader: &Reader<'_>) -> Result<Head, Error> {
    let (position, mark): (i64, Option<Vec<u8>>) = reader
        .prepare("SELECT position, mark FROM log_head WHERE tenant = ?1")?
        .query_row([TENANT], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Head {
        position: Position(count(position)),
        mark: mark.as_deref().map(key16).transpose()?,
    })
}

pub(in crate::store) fn read(
    reader: &Reader<'_>,
    from: Position,
    limit: u32,
) -> Result<Vec<LogRow>, Error> {
    let mut statement = reader.prepare(
        "SELECT position, mark, at, kind, key, name, generation, until FROM log \
         WHERE tenant = ?1 AND position >= ?2 ORDER BY position LIMIT ?3",
    )?;
    let rows = statement.query_and_then(params![TENANT, number(from.0)?, limit], log_row)?;
    rows.collect()
}

fn log_row(row: &Row<'_>) -> Result<LogRow, Error> {
    let key: Option<Vec<u8>> = row.get(4)?;
    let name: Option<String> = row.get(5)?;
    Ok(LogRow {
        position: Position(count(row.get(0)?)),
        mark: key16(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?,
        at: timestamp(row.get(2)?),
        event: event_from(row.get(3)?, key.as_deref(), name.as_deref(), row.get(6)?)?,
        until: timestamp(row.get(7)?),
    })
}

pub(in crate::store) fn load_state(
    reader: &Reader<'_>,
    mut sink: impl FnMut(StateRow),
) -> Result<Position, Error> {
    reader.in_snapshot(|| {
        let head = head(reader)?;
        let mut statement =
            reader.prepare("SELECT kind, key, until FROM ended WHERE tenant = ?1")?;
        let mut rows = statement.query([TENANT])?;
        while let Some(row) = rows.next()? {
            if let Some(kind) = ending_kind(row.get(0)?) {
                sink(StateRow::Ended(Ending {
                    kind,
                    key: key16(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?,
                    until: timestamp(row.get(2)?),
                }));
            }
        }
        let mut statement = reader.prepare(
            "SELECT kind, key, name, generation, until FROM generations WHERE tenant = ?1",
        )?;
        let mut rows = statement.query([TENANT])?;
        while let Some(row) = rows.next()? {
            if let Some(row) = generation(row)? {
                sink(row);
            }
        }
        Ok(head.position)
    })
}

fn generation(row: &Row<'_>) -> Result<Option<StateRow>, Error> {
    let (generation, until) = (count(row.get(3)?), timestamp(row.get(4)?));
    Ok(match row.get::<_, i16>(0)? {
        CLIENT => {
            let name: String = row.get(2)?;
            let id = ClientId::parse(&name)
                .ok_or_else(|| Error::unreadable("client of a generation"))?;
            Some(StateRow::ClientGeneration {
                id,
                generation,
                until,
            })
        }
        USER => Some(StateRow::UserGeneration {
            key: key16(&row.get::<_, Vec<u8>>(1)?)?,
            generation,
            until,
        }),
        _ => None,
    })
}

pub(super) fn end(batch: &mut Batch<'_>, endings: &[Ending]) -> Result<Ended, Error> {
    let mut ended = Ended::default();
    for ending in endings {
        if remember(batch, ending)? {
            ended.rows.push(batch.append(ending.event(), ending.until)?);
        }
    }
    Ok(ended)
}

/// Whether it was not known before, or not for so long. The row of what ends goes with it.
fn remember(batch: &Batch<'_>, ending: &Ending) -> Result<bool, Error> {
    match ending.kind {
        EndingKind::Token => {}
        EndingKind::Family => people::families::remove(batch, &ending.key)?,
        EndingKind::Session => people::sessions::remove(batch, &ending.key)?,
    }
    let changed = batch
        .prepare(
            "INSERT INTO ended (tenant, bucket, kind, key, until) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT DO UPDATE SET until = excluded.until WHERE until < excluded.until",
        )?
        .execute(params![
            TENANT,
            ending.bucket(),
            ending_number(ending.kind),
            ending.key,
            seconds(ending.until)
        ])?;
    Ok(changed == 1)
}

/// Appends an event, and records the state that it stands for.
pub(super) fn append(
    batch: &mut Batch<'_>,
    event: &Event,
    until: Timestamp,
) -> Result<LogRow, Error> {
    if let Some(ending) = Ending::of(event, until) {
        remember(batch, &ending)?;
    }
    match event {
        Event::UserChanged { key, generation } => {
            raise_user(batch, key, *generation, until, None)?;
        }
        Event::ClientChanged { id, generation } => {
            raise_client(batch, id, *generation, until, None)?;
        }
        _ => {}
    }
    batch.append(event.clone(), until)
}

/// Remembers that tokens of this client below this generation are dead.
pub(super) fn raise_client(
    batch: &Batch<'_>,
    id: &ClientId,
    generation: u64,
    until: Timestamp,
    attempt: Option<&[u8; 16]>,
) -> Result<(), Error> {
    let columns = (CLIENT, client_key(id), Some(id.as_str()));
    raise(batch, columns, generation, until, attempt)
}

/// Remembers that tokens of this user below this generation are dead.
pub(super) fn raise_user(
    batch: &Batch<'_>,
    key: &[u8; 16],
    generation: u64,
    until: Timestamp,
    attempt: Option<&[u8; 16]>,
) -> Result<(), Error> {
    raise(batch, (USER, *key, None), generation, until, attempt)
}

fn raise(
    batch: &Batch<'_>,
    (kind, key, name): (i16, [u8; 16], Option<&str>),
    generation: u64,
    until: Timestamp,
    attempt: Option<&[u8; 16]>,
) -> Result<(), Error> {
    batch
        .prepare(
            "INSERT INTO generations (tenant, kind, key, name, generation, until, attempt) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET \
             generation = max(generation, excluded.generation), \
             until = max(until, excluded.until), attempt = excluded.attempt",
        )?
        .execute(params![
            TENANT,
            kind,
            key,
            name,
            number(generation)?,
            seconds(until),
            attempt
        ])?;
    Ok(())
}

/// The generation below which tokens of this client are dead, where it is remembered.
pub(super) fn tombstone(batch: &Batch<'_>, id: &ClientId) -> Result<Option<u64>, Error> {
    remembered(batch, CLIENT, &client_key(id))
}

/// The same of a user.
pub(super) fn user_tombstone(batch: &Batch<'_>, key: &[u8; 16]) -> Result<Option<u64>, Error> {
    remembered(batch, USER, key)
}

fn remembered(batch: &Batch<'_>, kind: i16, key: &[u8; 16]) -> Result<Option<u64>, Error> {
    let generation: Option<i64> = batch
        .prepare("SELECT generation FROM generations WHERE tenant = ?1 AND kind = ?2 AND key = ?3")?
        .query_row(params![TENANT, kind, key], |row| row.get(0))
        .optional()?;
    Ok(generation.map(count))
}
