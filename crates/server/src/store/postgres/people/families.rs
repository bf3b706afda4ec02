//! Families and redeemed codes in `PostgreSQL`.

use std::collections::{HashMap, HashSet};

use tokio_postgres::Row;

use signet_oauth::family::Family;
use signet_oauth::ids::ClientId;
use signet_oauth::user::UserId;

use super::column;
use crate::store::error::Error;
use crate::store::people::families::{Redemption, Rotation};
use crate::store::postgres::Postgres;
use crate::store::postgres::session::{Session, Trouble};
use crate::store::rows::{FamilyColumns, family_from, key16, seconds};

macro_rules! family_columns {
    ($table:literal) => {
        concat!(
            $table,
            "id, ",
            $table,
            "generation, ",
            $table,
            "rotated_at, ",
            $table,
            "secret, ",
            $table,
            "client, ",
            $table,
            "subject, ",
            $table,
            "session, ",
            $table,
            "scope, ",
            $table,
            "audience, ",
            $table,
            "issued_at, ",
            $table,
            "expires_at, ",
            $table,
            "cgn, ",
            $table,
            "ugn, ",
            $table,
            "auth_time, ",
            $table,
            "amr, ",
            $table,
            "acr, ",
            $table,
            "claims"
        )
    };
}

fn columns(row: &Row) -> FamilyColumns {
    FamilyColumns {
        id: row.get(0),
        generation: row.get(1),
        rotated_at: row.get(2),
        secret: row.get(3),
        client: row.get(4),
        subject: row.get(5),
        session: row.get(6),
        scope: row.get(7),
        audience: row.get(8),
        issued_at: row.get(9),
        expires_at: row.get(10),
        client_generation: row.get(11),
        user_generation: row.get(12),
        auth_time: row.get(13),
        amr: row.get(14),
        acr: row.get(15),
        claims: row.get(16),
    }
}

const FIND: &str = concat!(
    "SELECT ",
    family_columns!(""),
    " FROM families WHERE tenant = 0 AND id = ANY($1)"
);

pub(in crate::store) async fn find(db: &Postgres, id: [u8; 16]) -> Result<Option<Family>, Error> {
    let ids = [id.as_slice()];
    let rows = db.read(FIND, &[&ids.as_slice()]).await?;
    rows.first()
        .map(|row| family_from(columns(row)))
        .transpose()
}

pub(in crate::store::postgres) const REDEEM: &str = "INSERT INTO codes AS c \
    (tenant, until, id, attempt) SELECT 0, until, id, attempt \
    FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS used (until, id, attempt) \
    WHERE until > extract(epoch FROM clock_timestamp()) \
    ON CONFLICT (tenant, until, id) DO UPDATE SET attempt = excluded.attempt \
    WHERE c.attempt = excluded.attempt RETURNING id";

/// Redeems codes, given in the order of expiry and id; the ids of those that won.
pub(in crate::store::postgres) async fn redeem(
    session: &Session,
    redemptions: &[&Redemption],
) -> Result<HashSet<[u8; 16]>, Trouble> {
    if redemptions.is_empty() {
        return Ok(HashSet::new());
    }
    let rows = session
        .query(
            REDEEM,
            &[
                &column(redemptions, |one| seconds(one.expires_at)),
                &column(redemptions, |one| one.code_id.as_slice()),
                &column(redemptions, |one| one.attempt.as_slice()),
            ],
        )
        .await?;
    rows.iter().map(|row| Ok(key16(row.get(0))?)).collect()
}

/// Of codes that did not win, those that another attempt redeemed. The others have expired.
pub(in crate::store::postgres) async fn replayed(
    session: &Session,
    lost: &[&Redemption],
) -> Result<HashSet<[u8; 16]>, Trouble> {
    if lost.is_empty() {
        return Ok(HashSet::new());
    }
    let sql = "SELECT c.id FROM codes c JOIN unnest($1::bigint[], $2::bytea[]) AS lost (until, id) \
        ON c.until = lost.until AND c.id = lost.id WHERE c.tenant = 0";
    let untils = column(lost, |one| seconds(one.expires_at));
    let ids = column(lost, |one| one.code_id.as_slice());
    let rows = session.query(sql, &[&untils, &ids]).await?;
    rows.iter().map(|row| Ok(key16(row.get(0))?)).collect()
}

/// Rows are locked in the order of their ids first, so that two nodes do not wait for each other.
pub(in crate::store::postgres) const ROTATE: &str = concat!(
    "WITH held AS MATERIALIZED (SELECT id FROM families WHERE tenant = 0 AND id = ANY($1) \
     ORDER BY id FOR UPDATE) UPDATE families f SET generation = a.generation + 1, \
     rotated_at = a.at, attempt = a.attempt \
     FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bytea[]) \
     AS a (id, generation, at, attempt) JOIN held ON held.id = a.id \
     WHERE f.tenant = 0 AND f.id = a.id AND (f.generation = a.generation \
     OR (f.generation = a.generation + 1 AND f.attempt = a.attempt)) RETURNING ",
    family_columns!("f.")
);

/// Families by their ids.
pub(in crate::store::postgres) type Families = HashMap<[u8; 16], Family>;

/// Rotates families; those that were, as they are now.
pub(in crate::store::postgres) async fn rotate(
    session: &Session,
    rotations: &[&Rotation],
) -> Result<Families, Trouble> {
    if rotations.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = session
        .query(
            ROTATE,
            &[
                &column(rotations, |one| one.id.as_slice()),
                &column(rotations, |one| i64::from(one.from)),
                &column(rotations, |one| seconds(one.now)),
                &column(rotations, |one| one.attempt.as_slice()),
            ],
        )
        .await?;
    by_id(&rows)
}

/// The families of rotations that lost, as they are now.
pub(in crate::store::postgres) async fn current(
    session: &Session,
    lost: &[&Rotation],
) -> Result<Families, Trouble> {
    if lost.is_empty() {
        return Ok(HashMap::new());
    }
    let ids = column(lost, |one| one.id.as_slice());
    by_id(&session.query(FIND, &[&ids]).await?)
}

fn by_id(rows: &[Row]) -> Result<Families, Trouble> {
    let families = rows.iter().map(|row| {
        let family = family_from(columns(row))?;
        Ok((family.id, family))
    });
    families.collect()
}

pub(in crate::store::postgres) const INSERT: &str = concat!(
    "INSERT INTO families (tenant, ",
    family_columns!(""),
    ") SELECT 0, * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bytea[], $5::text[], \
     $6::text[], $7::bytea[], $8::text[], $9::text[], $10::bigint[], $11::bigint[], \
     $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::bigint[]) \
     ON CONFLICT DO NOTHING"
);

/// Writes families; those that are there already stay as they are.
pub(in crate::store::postgres) async fn insert(
    session: &Session,
    mut rows: Vec<FamilyColumns>,
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
                &column(&rows, |row| row.generation),
                &column(&rows, |row| row.rotated_at),
                &column(&rows, |row| row.secret.as_slice()),
                &column(&rows, |row| row.client.as_str()),
                &column(&rows, |row| row.subject.as_deref()),
                &column(&rows, |row| row.session.as_deref()),
                &column(&rows, |row| row.scope.as_str()),
                &column(&rows, |row| row.audience.as_deref()),
                &column(&rows, |row| row.issued_at),
                &column(&rows, |row| row.expires_at),
                &column(&rows, |row| row.client_generation),
                &column(&rows, |row| row.user_generation),
                &column(&rows, |row| row.auth_time),
                &column(&rows, |row| row.amr.as_deref()),
                &column(&rows, |row| row.acr.as_deref()),
                &column(&rows, |row| row.claims),
            ],
        )
        .await?;
    Ok(())
}

/// Removes the families of a user, or those that one client has of it; their ids.
pub(super) async fn remove_of(
    session: &Session,
    user: &UserId,
    client: Option<&ClientId>,
) -> Result<Vec<[u8; 16]>, Trouble> {
    let sql = "WITH held AS MATERIALIZED (SELECT id FROM families WHERE tenant = 0 \
        AND subject = $1 AND ($2::text IS NULL OR client = $2) ORDER BY id FOR UPDATE) \
        DELETE FROM families f USING held WHERE f.tenant = 0 AND f.id = held.id RETURNING f.id";
    let client = client.map(ClientId::as_str);
    let rows = session.query(sql, &[&user.as_str(), &client]).await?;
    rows.iter().map(|row| Ok(key16(row.get(0))?)).collect()
}

/// Removes families that have ended.
pub(in crate::store::postgres) async fn remove(
    session: &Session,
    ids: &[&[u8]],
) -> Result<(), Trouble> {
    let sql = "WITH held AS MATERIALIZED (SELECT id FROM families WHERE tenant = 0 \
        AND id = ANY($1) ORDER BY id FOR UPDATE) \
        DELETE FROM families f USING held WHERE f.tenant = 0 AND f.id = held.id";
    session.execute(sql, &[&ids]).await?;
    Ok(())
}
