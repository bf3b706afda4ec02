//! Sessions and who takes part in them, in `PostgreSQL`.

use tokio_postgres::Row;

use signet_oauth::ids::ClientId;
use signet_oauth::session::Session as LoginSession;
use signet_oauth::user::UserId;

use super::column;
use crate::store::error::Error;
use crate::store::people::sessions::SessionClient;
use crate::store::postgres::Postgres;
use crate::store::postgres::session::{Session, Trouble};
use crate::store::rows::{SessionColumns, seconds, session_from};

macro_rules! session_columns {
    () => {
        "id, subject, generation, auth_time, amr, acr, created_at, expires_at"
    };
}

fn columns(row: &Row) -> SessionColumns {
    SessionColumns {
        id: row.get(0),
        subject: row.get(1),
        generation: row.get(2),
        auth_time: row.get(3),
        amr: row.get(4),
        acr: row.get(5),
        created_at: row.get(6),
        expires_at: row.get(7),
    }
}

pub(in crate::store) async fn find(
    db: &Postgres,
    id: [u8; 16],
) -> Result<Option<LoginSession>, Error> {
    let sql = concat!(
        "SELECT ",
        session_columns!(),
        " FROM sessions WHERE tenant = 0 AND id = $1"
    );
    let rows = db.read(sql, &[&id.as_slice()]).await?;
    rows.first()
        .map(|row| session_from(columns(row)))
        .transpose()
}

pub(in crate::store) async fn list(
    db: &Postgres,
    user: &UserId,
) -> Result<Vec<LoginSession>, Error> {
    let sql = concat!(
        "SELECT ",
        session_columns!(),
        " FROM sessions WHERE tenant = 0 AND subject = $1 ORDER BY created_at DESC, id"
    );
    let rows = db.read(sql, &[&user.as_str()]).await?;
    rows.iter().map(|row| session_from(columns(row))).collect()
}

pub(in crate::store) async fn clients(
    db: &Postgres,
    session: [u8; 16],
) -> Result<Vec<ClientId>, Error> {
    let sql = "SELECT client FROM session_clients WHERE tenant = 0 AND session = $1 \
        ORDER BY client";
    let rows = db.read(sql, &[&session.as_slice()]).await?;
    let client = |row: &Row| {
        ClientId::parse(row.get(0)).ok_or_else(|| Error::unreadable("client of a session"))
    };
    rows.iter().map(client).collect()
}

pub(in crate::store::postgres) const INSERT: &str = concat!(
    "INSERT INTO sessions (tenant, ",
    session_columns!(),
    ") SELECT 0, * FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], \
     $6::text[], $7::bigint[], $8::bigint[]) ON CONFLICT DO NOTHING"
);

/// Writes sessions; those that are there already stay as they are.
pub(in crate::store::postgres) async fn insert(
    session: &Session,
    mut rows: Vec<SessionColumns>,
) -> Result<(), Trouble> {
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_by(|one, other| one.id.cmp(&other.id));
    session
        .execute(
            INSERT,
            &[
                &column(&rows, |row| row.id.as_slice()),
                &column(&rows, |row| row.subject.as_str()),
                &column(&rows, |row| row.generation),
                &column(&rows, |row| row.auth_time),
                &column(&rows, |row| row.amr.as_str()),
                &column(&rows, |row| row.acr.as_deref()),
                &column(&rows, |row| row.created_at),
                &column(&rows, |row| row.expires_at),
            ],
        )
        .await?;
    Ok(())
}

pub(in crate::store::postgres) const JOIN: &str = "INSERT INTO session_clients AS s \
    (tenant, session, client, until) SELECT 0, * \
    FROM unnest($1::bytea[], $2::text[], $3::bigint[]) \
    ON CONFLICT (tenant, session, client) DO UPDATE SET until = excluded.until \
    WHERE s.until < excluded.until";

/// Remembers which clients take part in which sessions.
pub(in crate::store::postgres) async fn join(
    session: &Session,
    mut members: Vec<&SessionClient>,
) -> Result<(), Trouble> {
    if members.is_empty() {
        return Ok(());
    }
    // The latest end of each: no statement may touch a row twice.
    members.sort_by_key(|one| (one.session, &one.client, std::cmp::Reverse(one.until)));
    members.dedup_by_key(|one| (one.session, &one.client));
    session
        .execute(
            JOIN,
            &[
                &column(&members, |one| one.session.as_slice()),
                &column(&members, |one| one.client.as_str()),
                &column(&members, |one| seconds(one.until)),
            ],
        )
        .await?;
    Ok(())
}

/// Removes the sessions of a user.
pub(super) async fn remove_of(session: &Session, user: &UserId) -> Result<(), Trouble> {
    let sql = "DELETE FROM sessions WHERE tenant = 0 AND subject = $1";
    session.execute(sql, &[&user.as_str()]).await?;
    Ok(())
}

/// Removes sessions that have ended.
pub(in crate::store::postgres) async fn remove(
    session: &Session,
    ids: &[&[u8]],
) -> Result<(), Trouble> {
    let sql = "DELETE FROM sessions WHERE tenant = 0 AND id = ANY($1)";
    session.execute(sql, &[&ids]).await?;
    Ok(())
}
