//! Clients in `PostgreSQL`.

use std::collections::{HashMap, HashSet};

use tokio_postgres::Row;

use signet_oauth::client::Client;
use signet_oauth::ids::ClientId;
use signet_oauth::log::{Position, client_key};
use signet_oauth::time::Timestamp;

use super::Postgres;
use super::session::{Session, Trouble};
use crate::store::clients::{ClientUpdate, Deleted, Page, Snapshot, Updated};
use crate::store::error::Error;
use crate::store::rows::{ClientColumns, body_of, client_from, count, number, seconds};

pub(in crate::store) async fn find(
    db: &Postgres,
    id: &ClientId,
) -> Result<Snapshot<Option<Client>>, Error> {
    // One statement is one snapshot: the head and the client belong together.
    let sql = "SELECT h.position, c.id, c.generation, c.version, c.enabled, c.name, c.owner, \
        c.created_at, c.updated_at, c.body FROM log_head h \
        LEFT JOIN clients c ON c.tenant = h.tenant AND c.id = $1 WHERE h.tenant = 0";
    let rows = db.read(sql, &[&id.as_str()]).await?;
    let row = rows
        .first()
        .ok_or_else(|| Error::unreadable("the head of the log is missing"))?;
    let found = row.get::<_, Option<&str>>(1).is_some();
    Ok(Snapshot {
        head: Position(count(row.get(0))),
        value: found.then(|| client_from(columns(row, 1))).transpose()?,
    })
}

fn columns(row: &Row, first: usize) -> ClientColumns {
    ClientColumns {
        id: row.get(first),
        generation: row.get(first + 1),
        version: row.get(first + 2),
        enabled: row.get(first + 3),
        name: row.get(first + 4),
        owner: row.get(first + 5),
        created_at: row.get(first + 6),
        updated_at: row.get(first + 7),
        body: row.get(first + 8),
    }
}

pub(in crate::store) async fn list(db: &Postgres, page: &Page) -> Result<Vec<Client>, Error> {
    let sql = "SELECT id, generation, version, enabled, name, owner, created_at, updated_at, body \
        FROM clients WHERE tenant = 0 AND id > $1 AND ($2::text IS NULL OR name = $2) \
        AND ($3::text IS NULL OR owner = $3) ORDER BY id LIMIT $4 OFFSET $5";
    let after = page.after.as_ref().map_or("", ClientId::as_str);
    let rows = db
        .read(
            sql,
            &[
                &after,
                &page.name,
                &page.owner,
                &i64::from(page.limit),
                &number(page.offset)?,
            ],
        )
        .await?;
    rows.iter()
        .map(|row| client_from(columns(row, 0)))
        .collect()
}

/// Creates clients by one statement, in the order of their ids; those that exist now because of
/// these attempts, with their generations.
pub(super) async fn create(
    session: &Session,
    mut new: Vec<(&Client, &[u8; 16])>,
) -> Result<HashMap<ClientId, Client>, Trouble> {
    new.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
    let texts = |of: fn(&Client) -> Option<&str>| -> Vec<Option<&str>> {
        new.iter().map(|(client, _)| of(client)).collect()
    };
    let times = |of: fn(&Client) -> Timestamp| -> Vec<i64> {
        new.iter().map(|(client, _)| seconds(of(client))).collect()
    };
    let ids: Vec<&str> = new.iter().map(|(client, _)| client.id.as_str()).collect();
    let generations = new
        .iter()
        .map(|(client, _)| number(client.generation))
        .collect::<Result<Vec<_>, _>>()?;
    let enabled: Vec<bool> = new.iter().map(|(client, _)| client.enabled).collect();
    let attempts: Vec<&[u8]> = new.iter().map(|(_, one)| one.as_slice()).collect();
    let bodies = new
        .iter()
        .map(|(client, _)| body_of(client))
        .collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO clients (tenant, id, generation, version, enabled, name, owner, \
        created_at, updated_at, attempt, body) SELECT 0, id, generation, 1, enabled, name, owner, \
        created_at, updated_at, attempt, body FROM unnest($1::text[], $2::bigint[], $3::boolean[], \
        $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bytea[], $9::text[]) AS new \
        (id, generation, enabled, name, owner, created_at, updated_at, attempt, body) \
        ON CONFLICT DO NOTHING RETURNING id";
    let rows = session
        .query(
            sql,
            &[
                &ids,
                &generations,
                &enabled,
                &texts(|client| client.metadata.name.as_deref()),
                &texts(|client| client.metadata.owner.as_deref()),
                &times(|client| client.created_at),
                &times(|client| client.updated_at),
                &attempts,
                &bodies,
            ],
        )
        .await?;
    let inserted: HashSet<&str> = rows.iter().map(|row| row.get(0)).collect();
    let mut created = HashMap::with_capacity(new.len());
    for (client, attempt) in new {
        let mut client = client.clone();
        client.version = 1;
        if !inserted.contains(client.id.as_str()) {
            let Some(generation) = created_before(session, &client.id, attempt).await? else {
                continue;
            };
            client.generation = generation;
        }
        created.insert(client.id.clone(), client);
    }
    raise_above_tombstones(session, &mut created).await?;
    Ok(created)
}

/// The generation of a client that this very attempt has created.
async fn created_before(
    session: &Session,
    id: &ClientId,
    attempt: &[u8; 16],
) -> Result<Option<u64>, Trouble> {
    let sql = "SELECT generation FROM clients \
        WHERE tenant = 0 AND id = $1 AND attempt = $2 AND version = 1";
    let rows = session
        .query(sql, &[&id.as_str(), &attempt.as_slice()])
        .await?;
    Ok(rows.first().map(|row| count(row.get(0))))
}

/// A client that comes back must be above what its predecessor's tokens carry. A statement of its
/// own, because it must see a deletion for which the insertion had to wait.
async fn raise_above_tombstones(
    session: &Session,
    created: &mut HashMap<ClientId, Client>,
) -> Result<(), Trouble> {
    let keys: Vec<[u8; 16]> = created.keys().map(client_key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(<[u8; 16]>::as_slice).collect();
    let sql = "SELECT name, generation FROM generations \
        WHERE tenant = 0 AND kind = 1 AND key = ANY($1) ORDER BY name";
    for row in session.query(sql, &[&keys]).await? {
        let dead = count(row.get(1));
        let name = row.get::<_, Option<&str>>(0).unwrap_or_default();
        let Some(client) = created.get_mut(name) else {
            continue;
        };
        if client.generation > dead {
            continue;
        }
        client.generation = dead.saturating_add(1);
        let sql = "UPDATE clients SET generation = $2 WHERE tenant = 0 AND id = $1";
        session
            .execute(sql, &[&name, &number(client.generation)?])
            .await?;
    }
    Ok(())
}

/// Updates a client; as it is stored then, or why not.
pub(super) async fn update(
    session: &Session,
    update: &ClientUpdate,
) -> Result<Result<Box<Client>, Updated>, Trouble> {
    let mut client = update.client.clone();
    let id = client.id.as_str();
    let sql = "WITH written AS (UPDATE clients SET generation = generation + $3::int, \
        version = version + 1, enabled = $4, name = $5, owner = $6, updated_at = $7, \
        attempt = $8, body = $9 WHERE tenant = 0 AND id = $1 AND version = $2 \
        RETURNING generation, version), raised AS (INSERT INTO generations AS g \
        (tenant, kind, key, name, generation, until) SELECT 0, 1, $10, $1, generation, $11 \
        FROM written WHERE $3 > 0 ON CONFLICT (tenant, kind, key) DO UPDATE SET \
        generation = greatest(g.generation, excluded.generation), \
        until = greatest(g.until, excluded.until), attempt = NULL) \
        SELECT generation, version FROM written";
    let rows = session
        .query(
            sql,
            &[
                &id,
                &number(update.expected_version)?,
                &i32::from(update.ends_tokens),
                &client.enabled,
                &client.metadata.name,
                &client.metadata.owner,
                &seconds(client.updated_at),
                &update.attempt.as_slice(),
                &body_of(&client)?,
                &client_key(&client.id).as_slice(),
                &seconds(update.until),
            ],
        )
        .await?;
    let rows = if rows.is_empty() {
        let sql = "SELECT generation, version, attempt FROM clients WHERE tenant = 0 AND id = $1";
        session.query(sql, &[&id]).await?
    } else {
        rows
    };
    let Some(row) = rows.first() else {
        return Ok(Err(Updated::Missing));
    };
    // Three columns: not written now; perhaps before, by this very attempt.
    if row.len() == 3 && row.get::<_, &[u8]>(2) != update.attempt {
        return Ok(Err(Updated::Stale));
    }
    (client.generation, client.version) = (count(row.get(0)), count(row.get(1)));
    Ok(Ok(client))
}

/// Deletes a client and remembers its generation: the one below which its tokens are dead.
pub(super) async fn delete(
    session: &Session,
    id: &ClientId,
    expected_version: Option<u64>,
    until: Timestamp,
    attempt: &[u8; 16],
) -> Result<Result<u64, Deleted>, Trouble> {
    let key = client_key(id);
    let sql = "WITH gone AS (DELETE FROM clients WHERE tenant = 0 AND id = $1 \
        AND ($5::bigint IS NULL OR version = $5) \
        RETURNING generation + 1 AS generation), raised AS (INSERT INTO generations AS g \
        (tenant, kind, key, name, generation, until, attempt) \
        SELECT 0, 1, $2, $1, generation, $3, $4 FROM gone \
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
            WHERE tenant = 0 AND kind = 1 AND key = $1 AND attempt = $2";
        session
            .query(sql, &[&key.as_slice(), &attempt.as_slice()])
            .await?
    } else {
        rows
    };
    if let Some(row) = rows.first() {
        return Ok(Ok(count(row.get(0))));
    }
    let sql = "SELECT 1 FROM clients WHERE tenant = 0 AND id = $1";
    let stays = !session.query(sql, &[&id.as_str()]).await?.is_empty();
    Ok(Err(if stays {
        Deleted::Stale
    } else {
        Deleted::Missing
    }))
}
