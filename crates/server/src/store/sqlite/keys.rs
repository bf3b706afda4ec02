//! Signing keys in `SQLite`.

use rusqlite::{OptionalExtension, Row, params};

use signet_oauth::ids::KeyId;
use signet_oauth::jose::Algorithm;
use signet_oauth::log::{Event, Position};

use super::Reader;
use super::batch::Batch;
use crate::store::clients::Snapshot;
use crate::store::error::Error;
use crate::store::keys::{KeyInserted, KeyMaterial, KeyRecord, KeyUpdated};
use crate::store::rows::{TENANT, count, number, seconds, timestamp};

pub(in crate::store) fn list(reader: &Reader<'_>) -> Result<Snapshot<Vec<KeyRecord>>, Error> {
    reader.in_snapshot(|| {
        let position = reader
            .prepare("SELECT position FROM log_head WHERE tenant = ?1")?
            .query_row([TENANT], |row| row.get(0))?;
        let mut statement = reader.prepare(
            "SELECT kid, algorithm, public_jwk, sealed, remote, purpose, created_at, publish_at, \
             active_from, retires_at, gone_at, version \
             FROM signing_keys WHERE tenant = ?1 ORDER BY created_at, kid",
        )?;
        let rows = statement.query_and_then([TENANT], record)?;
        Ok(Snapshot {
            head: Position(count(position)),
            value: rows.collect::<Result<_, _>>()?,
        })
    })
}

fn record(row: &Row<'_>) -> Result<KeyRecord, Error> {
    let (kid, algorithm): (String, String) = (row.get(0)?, row.get(1)?);
    let (sealed, remote): (Option<Vec<u8>>, Option<String>) = (row.get(3)?, row.get(4)?);
    Ok(KeyRecord {
        kid: KeyId::parse(&kid).ok_or_else(|| Error::unreadable("name of a key"))?,
        algorithm: Algorithm::parse(&algorithm)
            .ok_or_else(|| Error::unreadable("algorithm of a key"))?,
        public_jwk: row.get(2)?,
        material: sealed
            .map(KeyMaterial::Sealed)
            .or(remote.map(KeyMaterial::Remote))
            .ok_or_else(|| Error::unreadable("a key that cannot sign"))?,
        purpose: row.get(5)?,
        created_at: timestamp(row.get(6)?),
        publish_at: row.get::<_, Option<i64>>(7)?.map(timestamp),
        active_from: timestamp(row.get(8)?),
        retires_at: row.get::<_, Option<i64>>(9)?.map(timestamp),
        gone_at: row.get::<_, Option<i64>>(10)?.map(timestamp),
        version: count(row.get(11)?),
    })
}

fn material(key: &KeyRecord) -> (Option<&[u8]>, Option<&str>) {
    match &key.material {
        KeyMaterial::Sealed(sealed) => (Some(sealed), None),
        KeyMaterial::Remote(remote) => (None, Some(remote)),
    }
}

pub(super) fn insert(
    batch: &mut Batch<'_>,
    key: &KeyRecord,
    slot: Option<&str>,
    attempt: &[u8; 16],
) -> Result<KeyInserted, Error> {
    let (sealed, remote) = material(key);
    let inserted = batch
        .prepare(
            "INSERT INTO signing_keys (tenant, kid, algorithm, public_jwk, sealed, remote, \
             purpose, created_at, publish_at, active_from, retires_at, gone_at, version, slot, \
             attempt) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 1, ?13, ?14) \
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            TENANT,
            key.kid.as_str(),
            key.algorithm.name(),
            key.public_jwk,
            sealed,
            remote,
            key.purpose,
            seconds(key.created_at),
            key.publish_at.map(seconds),
            seconds(key.active_from),
            key.retires_at.map(seconds),
            key.gone_at.map(seconds),
            slot,
            attempt
        ])?;
    if inserted == 1 {
        let row = batch.append(Event::KeysChanged, key.created_at)?;
        return Ok(KeyInserted::Done { row });
    }
    let exists = batch
        .prepare("SELECT 1 FROM signing_keys WHERE tenant = ?1 AND kid = ?2")?
        .exists(params![TENANT, key.kid.as_str()])?;
    Ok(if exists {
        KeyInserted::Exists
    } else {
        KeyInserted::SlotTaken
    })
}

pub(super) fn update(
    batch: &mut Batch<'_>,
    key: &KeyRecord,
    attempt: &[u8; 16],
) -> Result<KeyUpdated, Error> {
    let (sealed, remote) = material(key);
    let updated = batch
        .prepare(
            "UPDATE signing_keys SET algorithm = ?3, public_jwk = ?4, sealed = ?5, remote = ?6, \
             purpose = ?7, publish_at = ?8, active_from = ?9, retires_at = ?10, gone_at = ?11, \
             version = version + 1, attempt = ?12 \
             WHERE tenant = ?1 AND kid = ?2 AND version = ?13",
        )?
        .execute(params![
            TENANT,
            key.kid.as_str(),
            key.algorithm.name(),
            key.public_jwk,
            sealed,
            remote,
            key.purpose,
            key.publish_at.map(seconds),
            seconds(key.active_from),
            key.retires_at.map(seconds),
            key.gone_at.map(seconds),
            attempt,
            number(key.version)?
        ])?;
    if updated == 1 {
        let now = batch.now()?;
        let row = batch.append(Event::KeysChanged, now)?;
        return Ok(KeyUpdated::Done { row });
    }
    let version: Option<i64> = batch
        .prepare("SELECT version FROM signing_keys WHERE tenant = ?1 AND kid = ?2")?
        .query_row(params![TENANT, key.kid.as_str()], |row| row.get(0))
        .optional()?;
    Ok(if version.is_some() {
        KeyUpdated::Stale
    } else {
        KeyUpdated::Missing
    })
}
