//! Expiry in `SQLite`: range deletes at the old end of tables that lie in the order of expiry, a
//! slice at a time. Freed pages are used again, so the file stays as large as what lives.

use rusqlite::{OptionalExtension, ToSql, params};

use signet_oauth::ids::Locator;
use signet_oauth::time::Timestamp;

use super::batch::Batch;
use crate::store::error::Error;
use crate::store::maintenance::{Expired, LOG_TAIL_SECONDS};
use crate::store::rows::{TENANT, seconds};

/// Rows that one slice deletes from one table, at most: a few milliseconds.
const SLICE: u32 = 2000;

pub(super) fn slice(batch: &mut Batch<'_>, now: Timestamp, skew: u64) -> Result<Expired, Error> {
    let before = now.minus(skew);
    let bucket = Locator::bucket_of(before);
    let mut expired = Expired::default();
    let mut add = |rows: usize| expired.add(u64::try_from(rows).unwrap_or(0), u64::from(SLICE));
    add(tokens(batch, Locator::floor_of(bucket))?);
    add(log(batch)?);
    let before = seconds(before);
    for (sql, limit) in [
        (
            "DELETE FROM assertions WHERE (tenant, until, key) IN (SELECT tenant, until, key \
             FROM assertions WHERE tenant = ?1 AND until < ?2 ORDER BY until LIMIT ?3)",
            before,
        ),
        (
            "DELETE FROM ended WHERE (tenant, bucket, kind, key) IN (SELECT tenant, bucket, kind, \
             key FROM ended WHERE tenant = ?1 AND bucket > 0 AND bucket < ?2 \
             ORDER BY bucket LIMIT ?3)",
            bucket,
        ),
        (
            "DELETE FROM ended WHERE (tenant, bucket, kind, key) IN (SELECT tenant, bucket, kind, \
             key FROM ended WHERE bucket = 0 AND tenant = ?1 AND until < ?2 LIMIT ?3)",
            before,
        ),
        (
            "DELETE FROM generations WHERE (tenant, kind, key) IN (SELECT tenant, kind, key \
             FROM generations WHERE tenant = ?1 AND until < ?2 LIMIT ?3)",
            before,
        ),
        (
            "DELETE FROM live_tokens WHERE (tenant, key) IN (SELECT tenant, key \
             FROM live_tokens WHERE tenant = ?1 AND expires_at < ?2 LIMIT ?3)",
            before,
        ),
    ] {
        let limit: [&dyn ToSql; 3] = [&TENANT, &limit, &SLICE];
        add(batch.prepare(sql)?.execute(&limit[..])?);
    }
    Ok(expired)
}

fn tokens(batch: &Batch<'_>, floor: i64) -> Result<usize, Error> {
    // Up to the end of the slice or of what has expired, whichever comes first.
    let end: Option<i64> = batch
        .prepare(
            "SELECT locator FROM tokens WHERE locator < ?1 ORDER BY locator LIMIT 1 OFFSET ?2",
        )?
        .query_row(params![floor, SLICE], |row| row.get(0))
        .optional()?;
    let deleted = batch
        .prepare("DELETE FROM tokens WHERE locator < ?1")?
        .execute([end.unwrap_or(floor)])?;
    Ok(deleted)
}

/// What the log says is in the state beside it; the tail is for nodes that are behind. The newest
/// row stays, because nodes compare its mark.
fn log(batch: &mut Batch<'_>) -> Result<usize, Error> {
    let old = seconds(batch.now()?.minus(LOG_TAIL_SECONDS));
    let end: Option<i64> = batch
        .prepare(
            "SELECT max(position) FROM (SELECT position, at FROM log ORDER BY position LIMIT ?1) \
             WHERE at < ?2",
        )?
        .query_row(params![SLICE, old], |row| row.get(0))?;
    let Some(end) = end else { return Ok(0) };
    let deleted = batch
        .prepare(
            "DELETE FROM log WHERE position <= ?1 \
             AND position < (SELECT position FROM log_head WHERE tenant = ?2)",
        )?
        .execute(params![end, TENANT])?;
    Ok(deleted)
}
