//! Expiry in `SQLite`: range deletes at the old end of tables that lie in the order of expiry, a
//! slice at a time. Freed pages are used again, so the file stays as large as what lives.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params, params_from_iter};

use signet_oauth::ids::Locator;
use signet_oauth::time::Timestamp;

use super::batch::Batch;
use crate::store::error::Error;
use crate::store::maintenance::{Expired, LOG_TAIL_SECONDS};
use crate::store::rows::{TENANT, number, seconds};

/// Rows that one slice deletes, at most: a few milliseconds.
const SLICE: u64 = 2000;

/// A table whose rows expire, and how to find and delete them in the order in which they do.
struct Due {
    /// The first row behind a slice, by all of its key.
    find: &'static str,
    /// Everything before that row.
    delete_slice: &'static str,
    /// Everything that has expired.
    delete_all: &'static str,
}

/// Where the primary key begins with the tenant and the index of expiry does not, a plus before
/// the tenant keeps `SQLite` from preferring the former, which would be a scan.
macro_rules! due {
    ($table:literal, $tenant:literal, $at:literal, $key:literal, $marks:literal) => {
        Due {
            find: concat!(
                "SELECT ",
                $key,
                " FROM ",
                $table,
                " WHERE ",
                $tenant,
                " = ?1 AND ",
                $at,
                " < ?2 ORDER BY ",
                $key,
                " LIMIT 1 OFFSET ?3"
            ),
            delete_slice: concat!(
                "DELETE FROM ",
                $table,
                " WHERE ",
                $tenant,
                " = ?1 AND ",
                $at,
                " < ?2 AND (",
                $key,
                ") < (",
                $marks,
                ")"
            ),
            delete_all: concat!(
                "DELETE FROM ",
                $table,
                " WHERE ",
                $tenant,
                " = ?1 AND ",
                $at,
                " < ?2"
            ),
        }
    };
}

/// What expires by its instant.
const BY_INSTANT: [Due; 11] = [
    due!("assertions", "tenant", "until", "until, key", "?3, ?4"),
    due!("codes", "tenant", "until", "until, id", "?3, ?4"),
    due!("pushed_requests", "tenant", "until", "until, id", "?3, ?4"),
    due!("login_failures", "tenant", "until", "until, slot", "?3, ?4"),
    due!(
        "sessions",
        "tenant",
        "expires_at",
        "expires_at, row",
        "?3, ?4"
    ),
    due!(
        "session_clients",
        "tenant",
        "until",
        "until, session, client",
        "?3, ?4, ?5"
    ),
    due!(
        "families",
        "tenant",
        "expires_at",
        "expires_at, row",
        "?3, ?4"
    ),
    due!(
        "consents",
        "tenant",
        "expires_at",
        "expires_at, subject, client",
        "?3, ?4, ?5"
    ),
    due!(
        "live_tokens",
        "+tenant",
        "expires_at",
        "expires_at, key",
        "?3, ?4"
    ),
    due!(
        "generations",
        "+tenant",
        "until",
        "until, kind, key",
        "?3, ?4, ?5"
    ),
    due!(
        "ended",
        "bucket = 0 AND +tenant",
        "until",
        "until, kind, key",
        "?3, ?4, ?5"
    ),
];

/// What expires with its bucket.
const BY_BUCKET: Due = due!(
    "ended",
    "bucket > 0 AND tenant",
    "bucket",
    "bucket, kind, key",
    "?3, ?4, ?5"
);

pub(super) fn slice(
    batch: &mut Batch<'_>,
    now: Timestamp,
    skew: u64,
    all: bool,
) -> Result<Expired, Error> {
    let before = now.minus(skew);
    let bucket = Locator::bucket_of(before);
    let mut rows = tokens(batch, Locator::floor_of(bucket), SLICE)?;
    rows += log(batch, SLICE - rows)?;
    let before = seconds(before);
    if all && rows < SLICE {
        rows += current_tokens(batch, (bucket, before), SLICE - rows)?;
    }
    let by_instant = BY_INSTANT.iter().map(|due| (due, before));
    for (due, end) in by_instant.chain([(&BY_BUCKET, bucket)]) {
        if rows < SLICE {
            rows += due.delete(batch, end, SLICE - rows)?;
        }
    }
    Ok(Expired {
        rows,
        more: rows >= SLICE,
    })
}

impl Due {
    /// Deletes what lies before `end`, so many rows at most.
    fn delete(&self, batch: &Batch<'_>, end: i64, limit: u64) -> Result<u64, Error> {
        let mut find = batch.prepare(self.find)?;
        let width = find.column_count();
        let first_kept: Option<Vec<Value>> = find
            .query_row(params![TENANT, end, number(limit)?], |row| {
                (0..width).map(|at| row.get(at)).collect()
            })
            .optional()?;
        let mut parameters = vec![Value::from(TENANT), Value::from(end)];
        let sql = match first_kept {
            Some(key) => {
                parameters.extend(key);
                self.delete_slice
            }
            None => self.delete_all,
        };
        let rows = batch.prepare(sql)?.execute(params_from_iter(parameters))?;
        Ok(deleted(rows))
    }
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

/// Of the bucket that is not over yet, what has expired before that instant.
fn current_tokens(
    batch: &Batch<'_>,
    (bucket, before): (i64, i64),
    limit: u64,
) -> Result<u64, Error> {
    let rows = batch
        .prepare(
            "DELETE FROM tokens WHERE locator IN (SELECT locator FROM tokens \
             WHERE locator < ?1 AND expires_at < ?2 ORDER BY locator LIMIT ?3)",
        )?
        .execute(params![
            Locator::floor_of(bucket + 1),
            before,
            number(limit)?
        ])?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::file;

    #[test]
    fn nothing_is_scanned_for_what_has_expired() {
        let database = file::open_in_memory().unwrap();
        for due in BY_INSTANT.iter().chain([&BY_BUCKET]) {
            for sql in [due.find, due.delete_slice, due.delete_all] {
                let mut plan = database
                    .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                    .unwrap();
                let parameters = vec![0; plan.parameter_count()];
                let steps: Vec<String> = plan
                    .query_map(params_from_iter(parameters), |row| row.get("detail"))
                    .unwrap()
                    .collect::<Result<_, _>>()
                    .unwrap();
                let from_the_old_end = steps[0].contains("<?)") || steps[0].contains("<(?");
                assert!(from_the_old_end, "{sql}: {steps:?}");
            }
        }
    }
}
