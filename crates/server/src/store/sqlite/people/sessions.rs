//! Sessions and who takes part in them, in `SQLite`.

use rusqlite::{OptionalExtension, Row, params};

use signet_oauth::ids::ClientId;
use signet_oauth::session::Session;
use signet_oauth::user::UserId;

use super::consents;
use crate::store::error::Error;
use crate::store::people::sessions::{NewLogin, SessionClient};
use crate::store::rows::{SessionColumns, TENANT, seconds, session_from};
use crate::store::sqlite::Reader;
use crate::store::sqlite::batch::Batch;

macro_rules! session_columns {
    () => {
        "id, subject, generation, auth_time, amr, acr, created_at, expires_at"
    };
}

fn columns(row: &Row<'_>) -> rusqlite::Result<SessionColumns> {
    Ok(SessionColumns {
        id: row.get(0)?,
        subject: row.get(1)?,
        generation: row.get(2)?,
        auth_time: row.get(3)?,
        amr: row.get(4)?,
        acr: row.get(5)?,
        created_at: row.get(6)?,
        expires_at: row.get(7)?,
    })
}

pub(in crate::store) fn find(reader: &Reader<'_>, id: [u8; 16]) -> Result<Option<Session>, Error> {
    let row = reader
        .prepare(concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions WHERE tenant = ?1 AND id = ?2"
        ))?
        .query_row(params![TENANT, id], columns)
        .optional()?;
    row.map(session_from).transpose()
}

pub(in crate::store) fn list(reader: &Reader<'_>, user: &UserId) -> Result<Vec<Session>, Error> {
    let mut statement = reader.prepare(concat!(
        "SELECT ",
        session_columns!(),
        " FROM sessions WHERE tenant = ?1 AND subject = ?2 ORDER BY created_at DESC, id"
    ))?;
    let parameters = params![TENANT, user.as_str()];
    let rows = statement.query_and_then(parameters, |row| session_from(columns(row)?))?;
    rows.collect()
}

pub(in crate::store) fn clients(
    reader: &Reader<'_>,
    session: [u8; 16],
) -> Result<Vec<ClientId>, Error> {
    let mut statement = reader.prepare(
        "SELECT client FROM session_clients WHERE tenant = ?1 AND session = ?2 ORDER BY client",
    )?;
    let rows = statement.query_and_then(params![TENANT, session], |row| {
        let client: String = row.get(0)?;
        ClientId::parse(&client).ok_or_else(|| Error::unreadable("client of a session"))
    })?;
    rows.collect()
}

pub(super) fn log_in(batch: &Batch<'_>, login: &NewLogin) -> Result<(), Error> {
    if let Some(session) = &login.session {
        insert(batch, session)?;
    }
    match &login.consent {
        Some(consent) => consents::put(batch, consent),
        None => Ok(()),
    }
}

fn insert(batch: &Batch<'_>, session: &Session) -> Result<(), Error> {
    let row = SessionColumns::of(session)?;
    batch
        .prepare(concat!(
            "INSERT INTO sessions (tenant, ",
            session_columns!(),
            ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING"
        ))?
        .execute(params![
            TENANT,
            row.id,
            row.subject,
            row.generation,
            row.auth_time,
            row.amr,
            row.acr,
            row.created_at,
            row.expires_at
        ])?;
    Ok(())
}

/// Remembers that a client takes part in a session.
pub(super) fn join(batch: &Batch<'_>, member: &SessionClient) -> Result<(), Error> {
    batch
        .prepare(
            "INSERT INTO session_clients (tenant, session, client, until) \
             VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET until = excluded.until \
             WHERE until < excluded.until",
        )?
        .execute(params![
            TENANT,
            member.session,
            member.client.as_str(),
            seconds(member.until)
        ])?;
    Ok(())
}

/// Removes the sessions of a user.
pub(super) fn remove_of(batch: &Batch<'_>, user: &UserId) -> Result<(), Error> {
    batch
        .prepare("DELETE FROM sessions WHERE tenant = ?1 AND subject = ?2")?
        .execute(params![TENANT, user.as_str()])?;
    Ok(())
}

/// Removes a session that has ended.
pub(in crate::store::sqlite) fn remove(batch: &Batch<'_>, id: &[u8; 16]) -> Result<(), Error> {
    batch
        .prepare("DELETE FROM sessions WHERE tenant = ?1 AND id = ?2")?
        .execute(params![TENANT, id])?;
    Ok(())
}
