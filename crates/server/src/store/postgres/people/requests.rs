//! Pushed authorization requests in `PostgreSQL`.

use signet_oauth::ids::ClientId;
use signet_oauth::time::Timestamp;

use super::column;
use crate::store::error::Error;
use crate::store::people::requests::PushedRequest;
use crate::store::postgres::Postgres;
use crate::store::postgres::session::{Session, Trouble};
use crate::store::rows::seconds;

pub(in crate::store) async fn find(
    db: &Postgres,
    id: [u8; 16],
    expires_at: Timestamp,
) -> Result<Option<PushedRequest>, Error> {
    let sql = "SELECT client, body FROM pushed_requests \
        WHERE tenant = 0 AND until = $1 AND id = $2";
    let rows = db
        .read(sql, &[&seconds(expires_at), &id.as_slice()])
        .await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let client = ClientId::parse(row.get(0));
    Ok(Some(PushedRequest {
        id,
        expires_at,
        client: client.ok_or_else(|| Error::unreadable("client of a request"))?,
        body: row.get(1),
    }))
}

pub(in crate::store::postgres) const PUSH: &str = "INSERT INTO pushed_requests \
    (tenant, until, id, client, body) SELECT 0, * \
    FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bytea[]) ON CONFLICT DO NOTHING";

/// Keeps requests.
pub(in crate::store::postgres) async fn push(
    session: &Session,
    mut requests: Vec<&PushedRequest>,
) -> Result<(), Trouble> {
    if requests.is_empty() {
        return Ok(());
    }
    requests.sort_by_key(|one| (one.expires_at, one.id));
    session
        .execute(
            PUSH,
            &[
                &column(&requests, |one| seconds(one.expires_at)),
                &column(&requests, |one| one.id.as_slice()),
                &column(&requests, |one| one.client.as_str()),
                &column(&requests, |one| one.body.as_slice()),
            ],
        )
        .await?;
    Ok(())
}
