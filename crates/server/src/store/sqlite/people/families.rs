//! Families and redeemed codes in `SQLite`.

use rusqlite::{OptionalExtension, Row, params};

use signet_oauth::family::Family;
use signet_oauth::ids::ClientId;
use signet_oauth::user::UserId;

use super::sessions;
use crate::store::error::Error;
use crate::store::people::families::{Opened, Opening, Redeemed, Redemption, Rotated, Rotation};
use crate::store::rows::{FamilyColumns, TENANT, family_from, key16, number, seconds};
use crate::store::sqlite::batch::Batch;
use crate::store::sqlite::{Reader, tokens};
use crate::store::tokens::Inserted;

macro_rules! family_columns {
    () => {
        "id, generation, rotated_at, secret, client, subject, session, scope, audience, \
         issued_at, expires_at, cgn, ugn, auth_time, amr, acr, claims"
    };
}

const FIND: &str = concat!(
    "SELECT ",
    family_columns!(),
    " FROM families WHERE tenant = ?1 AND id = ?2"
);

fn columns(row: &Row<'_>) -> rusqlite::Result<FamilyColumns> {
    Ok(FamilyColumns {
        id: row.get(0)?,
        generation: row.get(1)?,
        rotated_at: row.get(2)?,
        secret: row.get(3)?,
        client: row.get(4)?,
        subject: row.get(5)?,
        session: row.get(6)?,
        scope: row.get(7)?,
        audience: row.get(8)?,
        issued_at: row.get(9)?,
        expires_at: row.get(10)?,
        client_generation: row.get(11)?,
        user_generation: row.get(12)?,
        auth_time: row.get(13)?,
        amr: row.get(14)?,
        acr: row.get(15)?,
        claims: row.get(16)?,
    })
}

pub(in crate::store) fn find(reader: &Reader<'_>, id: [u8; 16]) -> Result<Option<Family>, Error> {
    let row = reader
        .prepare(FIND)?
        .query_row(params![TENANT, id], columns)
        .optional()?;
    row.map(family_from).transpose()
}

pub(super) fn redeem(batch: &mut Batch<'_>, redemption: &Redemption) -> Result<Redeemed, Error> {
    if redemption.expires_at <= batch.now()? {
        return Ok(Redeemed::Expired);
    }
    let won = batch
        .prepare(
            "INSERT INTO codes (tenant, until, id, attempt) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT DO UPDATE SET attempt = attempt WHERE attempt = excluded.attempt",
        )?
        .execute(params![
            TENANT,
            number(redemption.expires_at.0)?,
            redemption.code_id,
            redemption.attempt
        ])?;
    if won == 0 {
        let family = redemption.code_id;
        return Ok(Redeemed::Replayed { family });
    }
    Ok(match open(batch, &redemption.opening)? {
        Opened::Done => Redeemed::Won,
        Opened::TokenTaken => Redeemed::TokenTaken,
    })
}

pub(super) fn open(batch: &Batch<'_>, opening: &Opening) -> Result<Opened, Error> {
    if let Some(family) = &opening.family {
        insert(batch, family)?;
    }
    if let Some(member) = &opening.session_client {
        sessions::join(batch, member)?;
    }
    let inserted = match &opening.token {
        Some(token) => tokens::insert_plain(batch, token)?,
        None => Inserted::Done,
    };
    Ok(if inserted == Inserted::Done {
        Opened::Done
    } else {
        Opened::TokenTaken
    })
}

fn insert(batch: &Batch<'_>, family: &Family) -> Result<(), Error> {
    let row = FamilyColumns::of(family)?;
    batch
        .prepare(concat!(
            "INSERT INTO families (tenant, ",
            family_columns!(),
            ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
             ?17, ?18) ON CONFLICT DO NOTHING"
        ))?
        .execute(params![
            TENANT,
            row.id,
            row.generation,
            row.rotated_at,
            row.secret,
            row.client,
            row.subject,
            row.session,
            row.scope,
            row.audience,
            row.issued_at,
            row.expires_at,
            row.client_generation,
            row.user_generation,
            row.auth_time,
            row.amr,
            row.acr,
            row.claims
        ])?;
    Ok(())
}

pub(super) fn rotate(batch: &Batch<'_>, rotation: &Rotation) -> Result<Rotated, Error> {
    let rotated = batch
        .prepare(concat!(
            "UPDATE families SET generation = ?3 + 1, rotated_at = ?4, attempt = ?5 \
             WHERE tenant = ?1 AND id = ?2 \
             AND (generation = ?3 OR (generation = ?3 + 1 AND attempt = ?5)) RETURNING ",
            family_columns!()
        ))?
        .query_row(
            params![
                TENANT,
                rotation.id,
                rotation.from,
                seconds(rotation.now),
                rotation.attempt
            ],
            columns,
        )
        .optional()?;
    let Some(row) = rotated else {
        let row = batch
            .prepare(FIND)?
            .query_row(params![TENANT, rotation.id], columns)
            .optional()?;
        let family = row.map(family_from).transpose()?;
        return Ok(Rotated::Lost(family.map(Box::new)));
    };
    let inserted = match &rotation.token {
        Some(token) => tokens::insert_plain(batch, token)?,
        None => Inserted::Done,
    };
    Ok(if inserted == Inserted::Done {
        Rotated::Done(Box::new(family_from(row)?))
    } else {
        Rotated::TokenTaken
    })
}

/// Removes the families of a user.
pub(super) fn remove_of(batch: &Batch<'_>, user: &UserId) -> Result<(), Error> {
    batch
        .prepare("DELETE FROM families WHERE tenant = ?1 AND subject = ?2")?
        .execute(params![TENANT, user.as_str()])?;
    Ok(())
}

/// Removes the families that a client has of a user; their ids.
pub(super) fn remove_between(
    batch: &Batch<'_>,
    user: &UserId,
    client: &ClientId,
) -> Result<Vec<[u8; 16]>, Error> {
    let mut statement = batch.prepare(
        "DELETE FROM families WHERE tenant = ?1 AND subject = ?2 AND client = ?3 RETURNING id",
    )?;
    let parameters = params![TENANT, user.as_str(), client.as_str()];
    let ids = statement.query_and_then(parameters, |row| {
        key16(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)
    })?;
    ids.collect()
}

/// Removes a family that has ended.
pub(in crate::store::sqlite) fn remove(batch: &Batch<'_>, id: &[u8; 16]) -> Result<(), Error> {
    batch
        .prepare("DELETE FROM families WHERE tenant = ?1 AND id = ?2")?
        .execute(params![TENANT, id])?;
    Ok(())
}
