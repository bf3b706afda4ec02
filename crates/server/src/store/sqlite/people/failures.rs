//! Failed logins in `SQLite`.

use rusqlite::{OptionalExtension, params};

use crate::store::error::Error;
use crate::store::people::failures::{Failure, LoginFailures, slot_of};
use crate::store::rows::{TENANT, count, seconds, timestamp};
use crate::store::sqlite::Reader;
use crate::store::sqlite::batch::Batch;

pub(in crate::store) fn find(
    reader: &Reader<'_>,
    key: [u8; 16],
) -> Result<Option<LoginFailures>, Error> {
    let found = reader
        .prepare(
            "SELECT count, at, until FROM login_failures \
             WHERE tenant = ?1 AND slot = ?2 AND key = ?3",
        )?
        .query_row(params![TENANT, slot_of(&key), key], |row| {
            Ok(LoginFailures {
                count: count(row.get(0)?),
                at: timestamp(row.get(1)?),
                until: timestamp(row.get(2)?),
            })
        })
        .optional()?;
    Ok(found)
}

pub(super) fn note(batch: &Batch<'_>, failure: &Failure) -> Result<LoginFailures, Error> {
    let noted: i64 = batch
        .prepare(
            "INSERT INTO login_failures (tenant, slot, key, count, at, until) \
             VALUES (?1, ?2, ?3, 1, ?4, ?5) ON CONFLICT DO UPDATE SET key = excluded.key, \
             count = CASE WHEN key = excluded.key AND until > excluded.at THEN count + 1 ELSE 1 END, \
             at = excluded.at, until = excluded.until RETURNING count",
        )?
        .query_row(
            params![
                TENANT,
                slot_of(&failure.key),
                failure.key,
                seconds(failure.now),
                seconds(failure.until)
            ],
            |row| row.get(0),
        )?;
    Ok(LoginFailures {
        count: count(noted),
        at: failure.now,
        until: failure.until,
    })
}

pub(super) fn forget(batch: &Batch<'_>, key: &[u8; 16]) -> Result<(), Error> {
    batch
        .prepare("DELETE FROM login_failures WHERE tenant = ?1 AND slot = ?2 AND key = ?3")?
        .execute(params![TENANT, slot_of(key), key])?;
    Ok(())
}
