//! The log and the state beside it, in `PostgreSQL`.

use std::future::poll_fn;
use std::pin::pin;

use futures_util::Stream;
use tokio_postgres::Row;

use signet_oauth::ids::ClientId;
use signet_oauth::log::{Event, LogRow, Position, client_key};
use signet_oauth::time::Timestamp;

use super::session::{Parameters, Session, Trouble};
use super::{Postgres, people};
use crate::store::error::Error;
use crate::store::log::{Ending, EndingKind, Head, StateRow};
use crate::store::random;
use crate::store::rows::{
    columns_of, count, ending_kind, ending_number, event_from, key16, number, seconds, timestamp,
};

/// Kinds of `generations`.
const CLIENT: i16 = 1;
const USER: i16 = 2;

const HEAD: &str = "SELECT position, mark FROM log_head WHERE tenant = 0";

pub(in crate::store) async fn head(db: &Postgres) -> Result<Head, Error> {
    head_from(&db.read(HEAD, &[]).await?)
}

fn head_from(rows: &[Row]) -> Result<Head, Error> {
    let row = rows
        .first()
        .ok_or_else(|| Error::unreadable("the head of the log is missing"))?;
    let mark: Option<&[u8]> = row.get(1);
    Ok(Head {
        position: Position(count(row.get(0))),
        mark: mark.map(key16).transpose()?,
    })
}

pub(in crate::store) async fn read(
    db: &Postgres,
    from: Position,
    limit: u32,
) -> Result<Vec<LogRow>, Error> {
    let sql = "SELECT position, mark, at, kind, key, name, generation, until FROM log \
        WHERE tenant = 0 AND position >= $1 ORDER BY position LIMIT $2";
    let rows = db.read(sql, &[&number(from.0)?, &i64::from(limit)]).await?;
    rows.iter().map(log_row).collect()
}

fn log_row(row: &Row) -> Result<LogRow, Error> {
    Ok(LogRow {
        position: Position(count(row.get(0))),
        mark: key16(row.get(1))?,
        at: timestamp(row.get(2)),
        event: event_from(row.get(3), row.get(4), row.get(5), row.get(6))?,
        until: timestamp(row.get(7)),
    })
}

/// Where the state goes.
pub(in crate::store) type Sink = Box<dyn FnMut(StateRow) + Send>;

pub(in crate::store) async fn load_state(db: &Postgres, sink: Sink) -> Result<Position, Error> {
    db.read_long(move |session| stream_state(session, sink))
        .await
}

async fn stream_state(session: Session, mut sink: Sink) -> Result<Position, Trouble> {
    session
        .run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await?;
    let head = head_from(&session.read(HEAD, &[]).await?)?;
    let rows = session
        .stream("SELECT kind, key, until FROM ended WHERE tenant = 0")
        .await?;
    let mut rows = pin!(rows);
    while let Some(row) = poll_fn(|cx| rows.as_mut().poll_next(cx)).await {
        let row = row?;
        if let Some(kind) = ending_kind(row.get(0)) {
            sink(StateRow::Ended(Ending {
                kind,
                key: key16(row.get(1))?,
                until: timestamp(row.get(2)),
            }));
        }
    }
    let rows = session
        .stream("SELECT kind, key, name, generation, until FROM generations WHERE tenant = 0")
        .await?;
    let mut rows = pin!(rows);
    while let Some(row) = poll_fn(|cx| rows.as_mut().poll_next(cx)).await {
        if let Some(row) = generation(&row?)? {
            sink(row);
        }
    }
    session.run("COMMIT").await?;
    Ok(head.position)
}

fn generation(row: &Row) -> Result<Option<StateRow>, Error> {
    let (generation, until) = (count(row.get(3)), timestamp(row.get(4)));
    Ok(match row.get::<_, i16>(0) {
        CLIENT => {
            let id = row.get::<_, Option<&str>>(2).and_then(ClientId::parse);
            Some(StateRow::ClientGeneration {
                id: id.ok_or_else(|| Error::unreadable("client of a generation"))?,
                generation,
                until,
            })
        }
        USER => Some(StateRow::UserGeneration {
            key: key16(row.get(1))?,
            generation,
            until,
        }),
        _ => None,
    })
}

/// Records endings; returns those that were not known before, or not for so long. One statement
/// for all of them, in the order of their keys.
pub(super) async fn remember(
    session: &Session,
    mut endings: Vec<Ending>,
) -> Result<Vec<Ending>, Trouble> {
    if endings.is_empty() {
        return Ok(endings);
    }
    remove_rows(session, &endings).await?;
    let key = |ending: &Ending| (ending.bucket(), ending_number(ending.kind), ending.key);
    // The latest end of each: no statement may touch a row twice.
    endings.sort_by_key(|ending| (key(ending), std::cmp::Reverse(ending.until)));
    endings.dedup_by_key(|ending| key(ending));
    let buckets: Vec<i64> = endings.iter().map(Ending::bucket).collect();
    let kinds: Vec<i16> = endings.iter().map(|one| ending_number(one.kind)).collect();
    let keys: Vec<&[u8]> = endings.iter().map(|one| one.key.as_slice()).collect();
    let untils: Vec<i64> = endings.iter().map(|one| seconds(one.until)).collect();
    let sql = "INSERT INTO ended AS e (tenant, bucket, kind, key, until) \
        SELECT 0, * FROM unnest($1::bigint[], $2::smallint[], $3::bytea[], $4::bigint[]) \
        ON CONFLICT (tenant, bucket, kind, key) DO UPDATE SET until = excluded.until \
        WHERE e.until < excluded.until RETURNING bucket, kind, key";
    let rows = session
        .query(sql, &[&buckets, &kinds, &keys, &untils])
        .await?;
    if rows.len() < endings.len() {
        let written: std::collections::HashSet<(i64, i16, &[u8])> = rows
            .iter()
            .map(|row| (row.get(0), row.get(1), row.get(2)))
            .collect();
        endings.retain(|ending| {
            let (bucket, kind, key) = key(ending);
            written.contains(&(bucket, kind, &key))
        });
    }
    Ok(endings)
}

/// The rows of what ends go with it.
async fn remove_rows(session: &Session, endings: &[Ending]) -> Result<(), Trouble> {
    let of = |kind: EndingKind| -> Vec<&[u8]> {
        let ends = endings.iter().filter(|ending| ending.kind == kind);
        ends.map(|ending| ending.key.as_slice()).collect()
    };
    let (families, sessions) = (of(EndingKind::Family), of(EndingKind::Session));
    if !families.is_empty() {
        people::families::remove(session, &families).await?;
    }
    if !sessions.is_empty() {
        people::sessions::remove(session, &sessions).await?;
    }
    Ok(())
}

/// Records the generation that an event stands for, where it does.
pub(super) async fn raise(
    session: &Session,
    event: &Event,
    until: Timestamp,
) -> Result<(), Trouble> {
    let (kind, key, name, generation) = match event {
        Event::UserChanged { key, generation } => (USER, *key, None, generation),
        Event::ClientChanged { id, generation } => {
            (CLIENT, client_key(id), Some(id.as_str()), generation)
        }
        _ => return Ok(()),
    };
    let sql = "INSERT INTO generations AS g (tenant, kind, key, name, generation, until) \
        VALUES (0, $1, $2, $3, $4, $5) ON CONFLICT (tenant, kind, key) DO UPDATE SET \
        generation = greatest(g.generation, excluded.generation), \
        until = greatest(g.until, excluded.until), attempt = NULL";
    session
        .execute(
            sql,
            &[
                &kind,
                &key.as_slice(),
                &name,
                &number(*generation)?,
                &seconds(until),
            ],
        )
        .await?;
    Ok(())
}

/// Appends the events and commits. The head of the log is locked by the last statement of the
/// transaction, so positions are in commit order and nobody waits for it longer than a commit.
pub(super) async fn append_and_commit(
    session: &Session,
    events: Vec<(Event, Timestamp)>,
) -> Result<Vec<LogRow>, Trouble> {
    if events.is_empty() {
        session.run("COMMIT").await?;
        return Ok(Vec::new());
    }
    let marks = events
        .iter()
        .map(|_| random::mark())
        .collect::<Result<Vec<_>, _>>()?;
    let columns = events
        .iter()
        .map(|(event, _)| columns_of(event))
        .collect::<Result<Vec<_>, _>>()?;
    let mark_columns: Vec<&[u8]> = marks.iter().map(<[u8; 16]>::as_slice).collect();
    let kinds: Vec<i16> = columns.iter().map(|one| one.kind).collect();
    let keys: Vec<Option<&[u8]>> = columns
        .iter()
        .map(|one| one.key.as_ref().map(<[u8; 16]>::as_slice))
        .collect();
    let names: Vec<Option<&str>> = columns.iter().map(|one| one.name.as_deref()).collect();
    let generations: Vec<Option<i64>> = columns.iter().map(|one| one.generation).collect();
    let untils: Vec<i64> = events.iter().map(|(_, until)| seconds(*until)).collect();
    let statement = session
        .prepare(
            "WITH head AS (UPDATE log_head SET position = position + cardinality($1::bytea[]), \
             mark = ($1::bytea[])[cardinality($1::bytea[])] WHERE tenant = 0 RETURNING position) \
             INSERT INTO log (position, tenant, mark, at, kind, key, name, generation, until) \
             SELECT head.position - cardinality($1::bytea[]) + t.n, 0, t.mark, \
             floor(extract(epoch FROM clock_timestamp()))::bigint, t.kind, t.key, t.name, \
             t.generation, t.until FROM head, unnest($1::bytea[], $2::smallint[], $3::bytea[], \
             $4::text[], $5::bigint[], $6::bigint[]) \
             WITH ORDINALITY AS t (mark, kind, key, name, generation, until, n) \
             ORDER BY t.n RETURNING position, at",
        )
        .await?;
    let parameters: Parameters<'_> = &[&mark_columns, &kinds, &keys, &names, &generations, &untils];
    let (appended, committed) = tokio::join!(
        session.query_prepared(&statement, parameters),
        session.run("COMMIT"),
    );
    let appended = appended?;
    committed?;
    if appended.len() != events.len() {
        return Err(Error::unreadable("the head of the log is missing").into());
    }
    Ok(appended
        .iter()
        .zip(events)
        .zip(marks)
        .map(|((row, (event, until)), mark)| LogRow {
            position: Position(count(row.get(0))),
            mark,
            at: timestamp(row.get(1)),
            event,
            until,
        })
        .collect())
}
