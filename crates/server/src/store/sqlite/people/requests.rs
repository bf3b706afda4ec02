//! Pushed authorization requests in `SQLite`.

use rusqlite::{OptionalExtension, params};

use signet_oauth::ids::ClientId;
use signet_oauth::time::Timestamp;

use crate::store::error::Error;
use crate::store::people::requests::PushedRequest;
use crate::store::rows::{TENANT, seconds};
use crate::store::sqlite::Reader;
use crate::store::sqlite::batch::Batch;

pub(in crate::store) fn find(
    reader: &Reader<'_>,
    id: [u8; 16],
    expires_at: Timestamp,
) -> Result<Option<PushedRequest>, Error> {
    let row: Option<(String, Vec<u8>)> = reader
        .prepare(
            "SELECT client, body FROM pushed_requests \
             WHERE tenant = ?1 AND until = ?2 AND id = ?3",
        )?
        .query_row(params![TENANT, seconds(expires_at), id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((client, body)) = row else {
        return Ok(None);
    };
    Ok(Some(PushedRequest {
        id,
        expires_at,
        client: ClientId::parse(&client).ok_or_else(|| Error::unreadable("client of a request"))?,
        body,
    }))
}

pub(super) fn push(batch: &Batch<'_>, request: &PushedRequest) -> Result<(), Error> {
    batch
        .prepare(
            "INSERT INTO pushed_requests (tenant, until, id, client, body) \
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            TENANT,
            seconds(request.expires_at),
            request.id,
            request.client.as_str(),
            request.body
        ])?;
    Ok(())
}
