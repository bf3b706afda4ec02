//! Cluster key, node numbers, leases, settings and the clock, in `PostgreSQL`.

use signet_oauth::secret::Digest;

use super::Postgres;
use super::session::{Session, Trouble};
use crate::store::error::Error;
use crate::store::meta::{CheckedKey, NODES};
use crate::store::rows::count;

pub(in crate::store) async fn time(db: &Postgres) -> Result<u64, Error> {
    let sql = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let rows = db.read(sql, &[]).await?;
    let row = rows.first().ok_or_else(|| Error::unreadable("no time"))?;
    Ok(count(row.get(0)))
}

pub(in crate::store) async fn find_setting(
    db: &Postgres,
    name: &str,
) -> Result<Option<String>, Error> {
    let sql = "SELECT value FROM settings WHERE tenant = 0 AND name = $1";
    let rows = db.read(sql, &[&name]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

pub(super) async fn put_setting(session: &Session, name: &str, value: &str) -> Result<(), Trouble> {
    let sql = "INSERT INTO settings (tenant, name, value) VALUES (0, $1, $2) \
        ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value";
    session.execute(sql, &[&name, &value]).await?;
    Ok(())
}

pub(super) async fn check_cluster_key(
    session: &Session,
    mac: &[u8; 32],
) -> Result<CheckedKey, Trouble> {
    let mac: &[u8] = mac;
    let sql = "INSERT INTO settings (tenant, name, value) \
        VALUES (0, 'cluster key', encode($1, 'hex')) ON CONFLICT (tenant, name) DO NOTHING";
    if session.execute(sql, &[&mac]).await? == 1 {
        return Ok(CheckedKey::Stored);
    }
    let sql = "SELECT decode(value, 'hex') FROM settings WHERE tenant = 0 AND name = 'cluster key'";
    let rows = session.query(sql, &[]).await?;
    let known = rows.first().map(|row| row.get::<_, &[u8]>(0));
    let digest = |bytes: &[u8]| <[u8; 32]>::try_from(bytes).map(Digest).ok();
    Ok(if known.and_then(digest) == digest(mac) {
        CheckedKey::Matches
    } else {
        CheckedKey::Differs
    })
}

pub(super) async fn next_node(session: &Session) -> Result<u16, Trouble> {
    let sql = "INSERT INTO counters (tenant, name, value) VALUES (0, 'node', 0) \
        ON CONFLICT (tenant, name) DO UPDATE SET value = counters.value + 1 RETURNING value";
    let rows = session.query(sql, &[]).await?;
    let value: i64 = rows.first().map_or(0, |row| row.get(0));
    u16::try_from(value.rem_euclid(NODES)).map_err(|_| Error::unreadable("node number").into())
}

pub(super) async fn take_lease(
    session: &Session,
    name: &str,
    holder: &str,
    seconds: u32,
) -> Result<bool, Trouble> {
    let sql = "WITH clock AS (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint \
        AS now) INSERT INTO leases AS l (tenant, name, holder, expires_at) \
        SELECT 0, $1, $2, now + $3::bigint * 1000 FROM clock \
        ON CONFLICT (tenant, name) DO UPDATE SET holder = excluded.holder, \
        expires_at = excluded.expires_at \
        WHERE l.holder = excluded.holder OR l.expires_at <= (SELECT now FROM clock)";
    let taken = session
        .execute(sql, &[&name, &holder, &i64::from(seconds)])
        .await?;
    Ok(taken == 1)
}
