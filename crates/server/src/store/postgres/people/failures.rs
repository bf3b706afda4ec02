//! Failed logins in `PostgreSQL`.

use std::collections::HashMap;

use super::column;
use crate::store::error::Error;
use crate::store::people::failures::{Failure, LoginFailures, slot_of};
use crate::store::postgres::Postgres;
use crate::store::postgres::session::{Session, Trouble};
use crate::store::rows::{count, seconds, timestamp};

pub(in crate::store) async fn find(
    db: &Postgres,
    key: [u8; 16],
) -> Result<Option<LoginFailures>, Error> {
    let sql = "SELECT count, at, until FROM login_failures \
        WHERE tenant = 0 AND slot = $1 AND key = $2";
    let rows = db.read(sql, &[&slot_of(&key), &key.as_slice()]).await?;
    Ok(rows.first().map(|row| LoginFailures {
        count: count(row.get(0)),
        at: timestamp(row.get(1)),
        until: timestamp(row.get(2)),
    }))
}

pub(in crate::store::postgres) const NOTE: &str = "INSERT INTO login_failures AS f \
    (tenant, slot, key, count, at, until) SELECT 0, slot, key, 1, at, until \
    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) \
    AS noted (slot, key, at, until) ON CONFLICT (tenant, slot) DO UPDATE SET \
    key = excluded.key, count = CASE WHEN f.key = excluded.key AND f.until > excluded.at \
    THEN f.count + 1 ELSE 1 END, at = excluded.at, until = excluded.until RETURNING slot, count";

/// Counts failures, given in the order of their places; how many there are now in each place.
pub(in crate::store::postgres) async fn note(
    session: &Session,
    failures: &[&Failure],
) -> Result<HashMap<i64, u64>, Trouble> {
    if failures.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = session
        .query(
            NOTE,
            &[
                &column(failures, |one| slot_of(&one.key)),
                &column(failures, |one| one.key.as_slice()),
                &column(failures, |one| seconds(one.now)),
                &column(failures, |one| seconds(one.until)),
            ],
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| (row.get(0), count(row.get(1))))
        .collect())
}

pub(in crate::store::postgres) const FORGET: &str = "DELETE FROM login_failures f \
    USING unnest($1::bigint[], $2::bytea[]) AS gone (slot, key) \
    WHERE f.tenant = 0 AND f.slot = gone.slot AND f.key = gone.key";

/// Forgets the failures of keys, given in the order of their places.
pub(in crate::store::postgres) async fn forget(
    session: &Session,
    keys: &[&[u8; 16]],
) -> Result<(), Trouble> {
    if keys.is_empty() {
        return Ok(());
    }
    let slots = column(keys, |key| slot_of(key));
    let keys = column(keys, |key| key.as_slice());
    session.execute(FORGET, &[&slots, &keys]).await?;
    Ok(())
}
