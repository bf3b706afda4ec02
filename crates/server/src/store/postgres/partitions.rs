//! Partitions of the token table, one for each five minutes of expiry: what has expired leaves the
//! disk soon, under any number of tokens. Making one does not get in
//! the way of writers; dropping one does for an instant, or else is put off.

use std::collections::BTreeSet;

use signet_oauth::ids::Locator;
use signet_oauth::time::Timestamp;

use super::session::{Session, Trouble};

/// Expiry buckets of one partition.
const BUCKETS: i64 = 1;
/// Partitions that are kept ready beyond the current one. Tokens that live longer have theirs
/// made when the first of them comes.
const AHEAD: i64 = 4;

fn group_of(locator: i64) -> i64 {
    locator / Locator::floor_of(BUCKETS)
}

/// Makes the partitions into which these rows belong.
pub(super) async fn ensure(
    session: &Session,
    locators: impl Iterator<Item = i64>,
) -> Result<(), Trouble> {
    let groups: BTreeSet<i64> = locators.map(group_of).collect();
    for group in groups {
        make(session, group).await?;
    }
    Ok(())
}

/// Makes partitions for what will soon be written.
pub(super) async fn prepare(session: &Session, now: Timestamp) -> Result<(), Trouble> {
    let current = group_of(Locator::floor_of(Locator::bucket_of(now)));
    let there = names(session).await?;
    for group in current..=current + AHEAD {
        if !there.contains(&group) {
            make(session, group).await?;
        }
    }
    Ok(())
}

/// A table that is made beside and then attached: no lock that a writer would wait for.
async fn make(session: &Session, group: i64) -> Result<(), Trouble> {
    let (from, to) = (
        Locator::floor_of(group * BUCKETS),
        Locator::floor_of((group + 1) * BUCKETS),
    );
    let made = session
        .run(&format!(
            "BEGIN; SELECT pg_advisory_xact_lock(1399287412, 2);
             DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_class
             WHERE relname = 'tokens_{group}' AND pg_table_is_visible(oid)) THEN
             CREATE TABLE tokens_{group} (LIKE tokens INCLUDING ALL);
             ALTER TABLE tokens ATTACH PARTITION tokens_{group} FOR VALUES FROM ({from}) TO ({to});
             END IF; END $$; COMMIT"
        ))
        .await;
    if made.is_err() {
        session.run("ROLLBACK").await?;
    }
    made
}

/// Drops what has expired before the floor of this bucket; how many were dropped.
pub(super) async fn drop_below(session: &Session, floor: i64) -> Result<u64, Trouble> {
    let mut dropped = 0;
    for group in names(session).await? {
        if Locator::floor_of((group + 1) * BUCKETS) > floor {
            continue;
        }
        let sql =
            format!("BEGIN; SET LOCAL lock_timeout = '100ms'; DROP TABLE tokens_{group}; COMMIT");
        match session.run(&sql).await {
            Ok(()) => dropped += 1,
            Err(Trouble::Again) => {
                // Somebody reads it: next time.
                session.run("ROLLBACK").await?;
                return Ok(dropped);
            }
            Err(trouble) => {
                session.run("ROLLBACK").await?;
                return Err(trouble);
            }
        }
    }
    Ok(dropped)
}

/// The groups that have a partition.
async fn names(session: &Session) -> Result<BTreeSet<i64>, Trouble> {
    let sql = "SELECT substr(c.relname, 8)::bigint FROM pg_inherits i \
        JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'tokens'::regclass";
    let rows = session.query(sql, &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
