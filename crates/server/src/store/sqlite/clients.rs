//! Clients in `SQLite`.

use rusqlite::{OptionalExtension, Row, params};

use signet_oauth::client::Client;
use signet_oauth::ids::ClientId;
use signet_oauth::log::{Event, Position};
use signet_oauth::time::Timestamp;

use super::batch::Batch;
use super::{Reader, log};
use crate::store::clients::{ClientUpdate, Created, Deleted, Page, Snapshot, Updated};
use crate::store::error::Error;
use crate::store::rows::{ClientColumns, TENANT, body_of, client_from, count, number, seconds};

/// One statement is one snapshot: the head and the client belong together.
const FIND: &str = "SELECT h.position, c.id, c.generation, c.version, c.enabled, c.name, c.owner, \
    c.created_at, c.updated_at, c.body FROM log_head h \
    LEFT JOIN clients c ON c.tenant = h.tenant AND c.id = ?2 WHERE h.tenant = ?1";

pub(in crate::store) fn find(
    reader: &Reader<'_>,
    id: &ClientId,
) -> Result<Snapshot<Option<Client>>, Error> {
    let (position, row) = reader
        .prepare(FIND)?
        .query_row(params![TENANT, id.as_str()], |row| {
            let found = row.get_ref(1)?.as_str().is_ok();
            let columns = found.then(|| columns(row, 1)).transpose()?;
            Ok((row.get(0)?, columns))
        })?;
    Ok(Snapshot {
        head: Position(count(position)),
        value: row.map(client_from).transpose()?,
    })
}

fn columns(row: &Row<'_>, first: usize) -> rusqlite::Result<ClientColumns> {
    Ok(ClientColumns {
        id: row.get(first)?,
        generation: row.get(first + 1)?,
        version: row.get(first + 2)?,
        enabled: row.get(first + 3)?,
        name: row.get(first + 4)?,
        owner: row.get(first + 5)?,
        created_at: row.get(first + 6)?,
        updated_at: row.get(first + 7)?,
        body: row.get(first + 8)?,
    })
}

pub(in crate::store) fn list(reader: &Reader<'_>, page: &Page) -> Result<Vec<Client>, Error> {
    let mut sql = "SELECT id, generation, version, enabled, name, owner, created_at, updated_at, \
        body FROM clients WHERE tenant = ?1 AND id > ?2"
        .to_owned();
    if page.name.is_some() {
        sql.push_str(" AND name = ?3");
    }
    if page.owner.is_some() {
        sql.push_str(" AND owner = ?4");
    }
    // Naming the unused parameters keeps their numbers.
    sql.push_str(" AND (?3 IS NULL OR 1) AND (?4 IS NULL OR 1) ORDER BY id LIMIT ?5 OFFSET ?6");
    let mut statement = reader.prepare(&sql)?;
    let after = page.after.as_ref().map_or("", ClientId::as_str);
    let parameters = params![
        TENANT,
        after,
        page.name,
        page.owner,
        page.limit,
        number(page.offset)?
    ];
    let rows = statement.query_and_then(parameters, |row| client_from(columns(row, 0)?))?;
    rows.collect()
}

pub(super) fn create(
    batch: &mut Batch<'_>,
    client: &Client,
    attempt: &[u8; 16],
) -> Result<Created, Error> {
    let mut client = client.clone();
    client.version = 1;
    if let Some(dead) = log::tombstone(batch, &client.id)? {
        client.generation = client.generation.max(dead.saturating_add(1));
    }
    let inserted = batch
        .prepare(
            "INSERT INTO clients (tenant, id, generation, version, enabled, name, owner, \
             created_at, updated_at, attempt, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            TENANT,
            client.id.as_str(),
            number(client.generation)?,
            number(client.version)?,
            client.enabled,
            client.metadata.name,
            client.metadata.owner,
            seconds(client.created_at),
            seconds(client.updated_at),
            attempt,
            body_of(&client)?
        ])?;
    let client = Box::new(client);
    if inserted == 0 {
        return created_before(batch, client, attempt);
    }
    let row = batch.append(changed(&client), client.updated_at)?;
    Ok(Created::Done { client, row })
}

/// The id is taken: by this very attempt?
fn created_before(
    batch: &mut Batch<'_>,
    mut client: Box<Client>,
    attempt: &[u8; 16],
) -> Result<Created, Error> {
    let generation: Option<i64> = batch
        .prepare(
            "SELECT generation FROM clients \
             WHERE tenant = ?1 AND id = ?2 AND attempt = ?3 AND version = 1",
        )?
        .query_row(params![TENANT, client.id.as_str(), attempt], |row| {
            row.get(0)
        })
        .optional()?;
    let Some(generation) = generation else {
        return Ok(Created::Exists);
    };
    client.generation = count(generation);
    let row = batch.append(changed(&client), client.updated_at)?;
    Ok(Created::Done { client, row })
}

fn changed(client: &Client) -> Event {
    Event::ClientChanged {
        id: client.id.clone(),
        generation: client.generation,
    }
}

pub(super) fn update(batch: &mut Batch<'_>, update: &ClientUpdate) -> Result<Updated, Error> {
    let mut client = update.client.clone();
    let written: Option<(i64, i64)> = batch
        .prepare(
            "UPDATE clients SET generation = generation + ?4, version = version + 1, \
             enabled = ?5, name = ?6, owner = ?7, updated_at = ?8, attempt = ?9, body = ?10 \
             WHERE tenant = ?1 AND id = ?2 AND version = ?3 RETURNING generation, version",
        )?
        .query_row(
            params![
                TENANT,
                client.id.as_str(),
                number(update.expected_version)?,
                update.ends_tokens,
                client.enabled,
                client.metadata.name,
                client.metadata.owner,
                seconds(client.updated_at),
                update.attempt,
                body_of(&client)?
            ],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let Some((generation, version)) = written else {
        return Ok(if exists(batch, &client.id)? {
            Updated::Stale
        } else {
            Updated::Missing
        });
    };
    (client.generation, client.version) = (count(generation), count(version));
    if update.ends_tokens {
        log::raise_client(batch, &client.id, client.generation, update.until, None)?;
    }
    let until = if update.ends_tokens {
        update.until
    } else {
        client.updated_at
    };
    let row = batch.append(changed(&client), until)?;
    Ok(Updated::Done { client, row })
}

fn exists(batch: &mut Batch<'_>, id: &ClientId) -> Result<bool, Error> {
    let mut found = batch.prepare("SELECT 1 FROM clients WHERE tenant = ?1 AND id = ?2")?;
    Ok(found.exists(params![TENANT, id.as_str()])?)
}

pub(super) fn delete(
    batch: &mut Batch<'_>,
    id: &ClientId,
    expected_version: Option<u64>,
    until: Timestamp,
    attempt: &[u8; 16],
) -> Result<Deleted, Error> {
    let expected = expected_version.map(number).transpose()?;
    let generation: Option<i64> = batch
        .prepare(
            "DELETE FROM clients WHERE tenant = ?1 AND id = ?2 \
             AND (?3 IS NULL OR version = ?3) RETURNING generation",
        )?
        .query_row(params![TENANT, id.as_str(), expected], |row| row.get(0))
        .optional()?;
    let Some(generation) = generation else {
        return Ok(if exists(batch, id)? {
            Deleted::Stale
        } else {
            Deleted::Missing
        });
    };
    let generation = count(generation).saturating_add(1);
    log::raise_client(batch, id, generation, until, Some(attempt))?;
    let id = id.clone();
    let row = batch.append(Event::ClientChanged { id, generation }, until)?;
    Ok(Deleted::Done { row })
}
