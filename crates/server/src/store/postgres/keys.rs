//! Signing keys in `PostgreSQL`.

use tokio_postgres::Row;

use signet_oauth::ids::KeyId;
use signet_oauth::jose::Algorithm;
use signet_oauth::log::Position;

use super::Postgres;
use super::session::{Session, Trouble};
use crate::store::clients::Snapshot;
use crate::store::error::Error;
use crate::store::keys::{KeyInserted, KeyMaterial, KeyRecord, KeyUpdated};
use crate::store::rows::{count, number, seconds, timestamp};

pub(in crate::store) async fn list(db: &Postgres) -> Result<Snapshot<Vec<KeyRecord>>, Error> {
    let sql = "SELECT h.position, k.kid, k.algorithm, k.public_jwk, k.sealed, k.remote, \
        k.purpose, k.created_at, k.publish_at, k.active_from, k.retires_at, k.gone_at, k.version \
        FROM log_head h LEFT JOIN signing_keys k ON k.tenant = h.tenant WHERE h.tenant = 0 \
        ORDER BY k.created_at, k.kid";
    let rows = db.read(sql, &[]).await?;
    let head = rows.first().map_or(0, |row| row.get(0));
    Ok(Snapshot {
        head: Position(count(head)),
        value: rows
            .iter()
            .filter(|row| row.get::<_, Option<&str>>(1).is_some())
            .map(record)
            .collect::<Result<_, _>>()?,
    })
}

fn record(row: &Row) -> Result<KeyRecord, Error> {
    let (sealed, remote): (Option<Vec<u8>>, Option<String>) = (row.get(4), row.get(5));
    let time = |at| row.get::<_, Option<i64>>(at).map(timestamp);
    Ok(KeyRecord {
        kid: KeyId::parse(row.get(1)).ok_or_else(|| Error::unreadable("name of a key"))?,
        algorithm: Algorithm::parse(row.get(2))
            .ok_or_else(|| Error::unreadable("algorithm of a key"))?,
        public_jwk: row.get(3),
        material: sealed
            .map(KeyMaterial::Sealed)
            .or(remote.map(KeyMaterial::Remote))
            .ok_or_else(|| Error::unreadable("a key that cannot sign"))?,
        purpose: row.get(6),
        created_at: timestamp(row.get(7)),
        publish_at: time(8),
        active_from: timestamp(row.get(9)),
        retires_at: time(10),
        gone_at: time(11),
        version: count(row.get(12)),
    })
}

fn material(key: &KeyRecord) -> (Option<&[u8]>, Option<&str>) {
    match &key.material {
        KeyMaterial::Sealed(sealed) => (Some(sealed), None),
        KeyMaterial::Remote(remote) => (None, Some(remote)),
    }
}

/// Inserts a key; why not, where it was not.
pub(super) async fn insert(
    session: &Session,
    key: &KeyRecord,
    slot: Option<&str>,
    attempt: &[u8; 16],
) -> Result<Option<KeyInserted>, Trouble> {
    let (sealed, remote) = material(key);
    let sql = "INSERT INTO signing_keys (tenant, kid, algorithm, public_jwk, sealed, remote, \
        purpose, created_at, publish_at, active_from, retires_at, gone_at, version, slot, attempt) \
        VALUES (0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1, $12, $13) \
        ON CONFLICT DO NOTHING";
    let inserted = session
        .execute(
            sql,
            &[
                &key.kid.as_str(),
                &key.algorithm.name(),
                &key.public_jwk,
                &sealed,
                &remote,
                &key.purpose,
                &seconds(key.created_at),
                &key.publish_at.map(seconds),
                &seconds(key.active_from),
                &key.retires_at.map(seconds),
                &key.gone_at.map(seconds),
                &slot,
                &attempt.as_slice(),
            ],
        )
        .await?;
    if inserted == 1 {
        return Ok(None);
    }
    let sql = "SELECT attempt FROM signing_keys WHERE tenant = 0 AND kid = $1";
    let rows = session.query(sql, &[&key.kid.as_str()]).await?;
    Ok(match rows.first() {
        None => Some(KeyInserted::SlotTaken),
        Some(row) if row.get::<_, &[u8]>(0) == attempt => None,
        Some(_) => Some(KeyInserted::Exists),
    })
}

/// Updates a key; why not, where it was not.
pub(super) async fn update(
    session: &Session,
    key: &KeyRecord,
    attempt: &[u8; 16],
) -> Result<Option<KeyUpdated>, Trouble> {
    let (sealed, remote) = material(key);
    let sql = "UPDATE signing_keys SET algorithm = $2, public_jwk = $3, sealed = $4, remote = $5, \
        purpose = $6, publish_at = $7, active_from = $8, retires_at = $9, gone_at = $10, \
        version = version + 1, attempt = $11 WHERE tenant = 0 AND kid = $1 AND version = $12";
    let updated = session
        .execute(
            sql,
            &[
                &key.kid.as_str(),
                &key.algorithm.name(),
                &key.public_jwk,
                &sealed,
                &remote,
                &key.purpose,
                &key.publish_at.map(seconds),
                &seconds(key.active_from),
                &key.retires_at.map(seconds),
                &key.gone_at.map(seconds),
                &attempt.as_slice(),
                &number(key.version)?,
            ],
        )
        .await?;
    if updated == 1 {
        return Ok(None);
    }
    let sql = "SELECT attempt FROM signing_keys WHERE tenant = 0 AND kid = $1";
    let rows = session.query(sql, &[&key.kid.as_str()]).await?;
    Ok(match rows.first() {
        None => Some(KeyUpdated::Missing),
        Some(row) if row.get::<_, &[u8]>(0) == attempt => None,
        Some(_) => Some(KeyUpdated::Stale),
    })
}
