//! Consents in `SQLite`.

use rusqlite::{OptionalExtension, Row, params};

use signet_oauth::consent::Consent;
use signet_oauth::ids::ClientId;
use signet_oauth::log::{Event, user_key};
use signet_oauth::time::Timestamp;
use signet_oauth::user::UserId;

use super::families;
use crate::store::error::Error;
use crate::store::log::{Ending, EndingKind};
use crate::store::people::consents::Withdrawn;
use crate::store::rows::{ConsentColumns, TENANT, consent_from};
use crate::store::sqlite::batch::Batch;
use crate::store::sqlite::{Reader, log};

macro_rules! consent_columns {
    () => {
        "subject, client, scope, granted_at, expires_at"
    };
}

fn columns(row: &Row<'_>) -> rusqlite::Result<ConsentColumns> {
    Ok(ConsentColumns {
        subject: row.get(0)?,
        client: row.get(1)?,
        scope: row.get(2)?,
        granted_at: row.get(3)?,
        expires_at: row.get(4)?,
    })
}

pub(in crate::store) fn find(
    reader: &Reader<'_>,
    user: &UserId,
    client: &ClientId,
) -> Result<Option<Consent>, Error> {
    let row = reader
        .prepare(concat!(
            "SELECT ",
            consent_columns!(),
            " FROM consents WHERE tenant = ?1 AND subject = ?2 AND client = ?3"
        ))?
        .query_row(params![TENANT, user.as_str(), client.as_str()], columns)
        .optional()?;
    row.as_ref().map(consent_from).transpose()
}

pub(in crate::store) fn list(reader: &Reader<'_>, user: &UserId) -> Result<Vec<Consent>, Error> {
    let mut statement = reader.prepare(concat!(
        "SELECT ",
        consent_columns!(),
        " FROM consents WHERE tenant = ?1 AND subject = ?2 ORDER BY client"
    ))?;
    let parameters = params![TENANT, user.as_str()];
    let rows = statement.query_and_then(parameters, |row| consent_from(&columns(row)?))?;
    rows.collect()
}

/// Writes a consent in the place of an earlier one.
pub(super) fn put(batch: &Batch<'_>, consent: &Consent) -> Result<(), Error> {
    let row = ConsentColumns::of(consent);
    batch
        .prepare(concat!(
            "INSERT INTO consents (tenant, ",
            consent_columns!(),
            ") VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
             scope = excluded.scope, granted_at = excluded.granted_at, \
             expires_at = excluded.expires_at"
        ))?
        .execute(params![
            TENANT,
            row.subject,
            row.client,
            row.scope,
            row.granted_at,
            row.expires_at
        ])?;
    Ok(())
}

pub(super) fn withdraw(
    batch: &mut Batch<'_>,
    user: &UserId,
    client: &ClientId,
    until: Timestamp,
) -> Result<Withdrawn, Error> {
    let ended: Vec<Ending> = families::remove_between(batch, user, client)?
        .into_iter()
        .map(|key| Ending {
            kind: EndingKind::Family,
            key,
            until,
        })
        .collect();
    let deleted = batch
        .prepare("DELETE FROM consents WHERE tenant = ?1 AND subject = ?2 AND client = ?3")?
        .execute(params![TENANT, user.as_str(), client.as_str()])?;
    let key = user_key(user.as_str());
    let mut rows = vec![batch.append(Event::ConsentChanged { key }, until)?];
    rows.extend(log::end(batch, &ended)?.rows);
    Ok(Withdrawn {
        found: deleted == 1,
        rows,
    })
}
