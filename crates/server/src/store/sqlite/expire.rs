//! Expiry in `SQLite`: range deletes at the old end of tables that lie in the order of expiry, a
//! slice at a time. Freed pages are used again, so the file stays as large as what lives.

use rusqlite::{OptionalExtension, params};

use signet_oauth::ids::Locator;
use signet_oauth::time::Timestamp;

use super::batch::Batch;
use crate::store::error::Error;
use crate::store::maintenance::{Expired, LOG_TAIL_SECONDS};
use crate::store::rows::{TENANT, number, seconds};

/// Rows that one slice deletes, at most: a few milliseconds.
const SLICE: u64 = 2000;

pub(super) fn slice(batch: &mut Batch<'_>, now: Timestamp, skew: u64) -> Result<Expired, Error> {
    let before = now.minus(skew);
    let bucket = Locator::bucket_of(before);
    let mut rows = tokens(batch, Locator::floor_of(bucket), SLICE)?;
    rows += log(batch, SLICE - rows)?;
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
        rows +=
            deleted(
                batch
                    .prepare(sql)?
                    .execute(params![TENANT, limit, number(SLICE - rows)?])?,
            );
    }
    Ok(Expired {
        rows,
        more: rows >= SLICE,
    })
}

fn deleted(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(0)
}

fn tokens(batch: &Batch<'_>, floor: i64, limit: u64) -> Result<u64, Error> {
    // Up to the end of the slice or of what has expired, whichever comes first.
    let end: Option<i64> = batch
        .prepare(
            "SELECT locator FROM tokens WHERE locator < ?1 ORDER BY locator LIMIT 1 OFFSET ?2",
        )?
        .query_row(params![floor, number(limit)?], |row| row.get(0))
        .optional()?;
    let rows = batch
        .prepare("DELETE FROM tokens WHERE locator < ?1")?
        .execute([end.unwrap_or(floor)])?;
    Ok(deleted(rows))
}

/// What the log says is in the state beside it; the tail is for nodes that are behind. The newest
/// row stays, because nodes compare its mark.
fn log(batch: &mut Batch<'_>, limit: u64) -> Result<u64, Error> {
    let old = seconds(batch.now()?.minus(LOG_TAIL_SECONDS));
    let end: Option<i64> = batch
        .prepare(
            "SELECT max(position) FROM (SELECT position, at FROM log ORDER BY position LIMIT ?1) \
             WHERE at < ?2",
        )?
        .query_row(params![number(limit)?, old], |row| row.get(0))?;
    let Some(end) = end else { return Ok(0) };
    let rows = batch
        .prepare(
            "DELETE FROM log WHERE position <= ?1 \
             AND position < (SELECT position FROM log_head WHERE tenant = ?2)",
        )?
        .execute(params![end, TENANT])?;
    Ok(deleted(rows))
}
