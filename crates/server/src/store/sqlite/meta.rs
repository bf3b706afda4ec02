//! Cluster key, node numbers, leases, settings and the clock, in `SQLite`.

use rusqlite::{OptionalExtension, params};

use super::Reader;
use super::batch::Batch;
use crate::store::error::Error;
use crate::store::meta::{CheckedKey, NODES};
use crate::store::rows::{TENANT, count};
use signet_oauth::secret::Digest;

/// Milliseconds since 1970.
pub(super) const TIME: &str = "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)";

pub(in crate::store) fn time(reader: &Reader<'_>) -> Result<u64, Error> {
    let millis = reader.prepare(TIME)?.query_row([], |row| row.get(0))?;
    Ok(count(millis))
}

pub(in crate::store) fn find_setting(
    reader: &Reader<'_>,
    name: &str,
) -> Result<Option<String>, Error> {
    let value = reader
        .prepare("SELECT value FROM settings WHERE tenant = ?1 AND name = ?2")?
        .query_row(params![TENANT, name], |row| row.get(0))
        .optional()?;
    Ok(value)
}

pub(super) fn put_setting(batch: &Batch<'_>, name: &str, value: &str) -> Result<(), Error> {
    batch
        .prepare(
            "INSERT INTO settings (tenant, name, value) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET value = excluded.value",
        )?
        .execute(params![TENANT, name, value])?;
    Ok(())
}

pub(super) fn check_cluster_key(batch: &Batch<'_>, mac: &[u8; 32]) -> Result<CheckedKey, Error> {
    let inserted = batch
        .prepare(
            "INSERT INTO settings (tenant, name, value) VALUES (?1, 'cluster key', hex(?2)) \
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![TENANT, mac])?;
    if inserted == 1 {
        return Ok(CheckedKey::Stored);
    }
    let known: Vec<u8> = batch
        .prepare("SELECT unhex(value) FROM settings WHERE tenant = ?1 AND name = 'cluster key'")?
        .query_row([TENANT], |row| row.get(0))?;
    let same = <[u8; 32]>::try_from(known).is_ok_and(|known| Digest(known) == Digest(*mac));
    Ok(if same {
        CheckedKey::Matches
    } else {
        CheckedKey::Differs
    })
}

pub(super) fn next_node(batch: &Batch<'_>) -> Result<u16, Error> {
    let value: i64 = batch
        .prepare(
            "INSERT INTO counters (tenant, name, value) VALUES (?1, 'node', 0) \
             ON CONFLICT DO UPDATE SET value = value + 1 RETURNING value",
        )?
        .query_row([TENANT], |row| row.get(0))?;
    u16::try_from(value.rem_euclid(NODES)).map_err(|_| Error::unreadable("node number"))
}

pub(super) fn take_lease(
    batch: &mut Batch<'_>,
    name: &str,
    holder: &str,
    seconds: u32,
) -> Result<bool, Error> {
    let now = batch.now_millis()?;
    let taken = batch
        .prepare(
            "INSERT INTO leases (tenant, name, holder, expires_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at \
             WHERE holder = excluded.holder OR expires_at <= ?5",
        )?
        .execute(params![
            TENANT,
            name,
            holder,
            now + i64::from(seconds) * 1000,
            now
        ])?;
    Ok(taken == 1)
}
