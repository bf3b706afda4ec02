//! Consents in `PostgreSQL`.

use tokio_postgres::Row;

use signet_oauth::consent::Consent;
use signet_oauth::ids::ClientId;
use signet_oauth::user::UserId;

use super::column;
use crate::store::error::Error;
use crate::store::postgres::Postgres;
use crate::store::postgres::session::{Session, Trouble};
use crate::store::rows::{ConsentColumns, consent_from};

macro_rules! consent_columns {
    () => {
        "subject, client, scope, granted_at, expires_at"
    };
}

fn columns(row: &Row) -> ConsentColumns {
    ConsentColumns {
        subject: row.get(0),
        client: row.get(1),
        scope: row.get(2),
        granted_at: row.get(3),
        expires_at: row.get(4),
    }
}

pub(in crate::store) async fn find(
    db: &Postgres,
    user: &UserId,
    client: &ClientId,
) -> Result<Option<Consent>, Error> {
    let sql = concat!(
        "SELECT ",
        consent_columns!(),
        " FROM consents WHERE tenant = 0 AND subject = $1 AND client = $2"
    );
    let rows = db.read(sql, &[&user.as_str(), &client.as_str()]).await?;
    rows.first()
        .map(|row| consent_from(&columns(row)))
        .transpose()
}

pub(in crate::store) async fn list(db: &Postgres, user: &UserId) -> Result<Vec<Consent>, Error> {
    let sql = concat!(
        "SELECT ",
        consent_columns!(),
        " FROM consents WHERE tenant = 0 AND subject = $1 ORDER BY client"
    );
    let rows = db.read(sql, &[&user.as_str()]).await?;
    rows.iter().map(|row| consent_from(&columns(row))).collect()
}

pub(in crate::store::postgres) const PUT: &str = concat!(
    "INSERT INTO consents (tenant, ",
    consent_columns!(),
    ") SELECT 0, * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) \
     ON CONFLICT (tenant, subject, client) DO UPDATE SET scope = excluded.scope, \
     granted_at = excluded.granted_at, expires_at = excluded.expires_at"
);

/// Writes consents in the place of earlier ones; of several for one row, the last.
pub(in crate::store::postgres) async fn put(
    session: &Session,
    mut rows: Vec<ConsentColumns>,
) -> Result<(), Trouble> {
    if rows.is_empty() {
        return Ok(());
    }
    rows.reverse();
    rows.sort_by(|one, other| (&one.subject, &one.client).cmp(&(&other.subject, &other.client)));
    rows.dedup_by(|one, other| (&one.subject, &one.client) == (&other.subject, &other.client));
    session
        .execute(
            PUT,
            &[
                &column(&rows, |row| row.subject.as_str()),
                &column(&rows, |row| row.client.as_str()),
                &column(&rows, |row| row.scope.as_str()),
                &column(&rows, |row| row.granted_at),
                &column(&rows, |row| row.expires_at),
            ],
        )
        .await?;
    Ok(())
}

/// Removes a consent; whether there was one.
pub(super) async fn remove(
    session: &Session,
    user: &UserId,
    client: &ClientId,
) -> Result<bool, Trouble> {
    let sql = "DELETE FROM consents WHERE tenant = 0 AND subject = $1 AND client = $2";
    let removed = session
        .execute(sql, &[&user.as_str(), &client.as_str()])
        .await?;
    Ok(removed == 1)
}

/// Removes the consents of a user.
pub(super) async fn remove_of(session: &Session, user: &UserId) -> Result<(), Trouble> {
    let sql = "DELETE FROM consents WHERE tenant = 0 AND subject = $1";
    session.execute(sql, &[&user.as_str()]).await?;
    Ok(())
}
