//! Access tokens, live tokens and used assertions in `SQLite`.

use rusqlite::{OptionalExtension, Row, params};

use signet_oauth::ids::{ClientId, TokenId};
use signet_oauth::log::token_key;
use signet_oauth::time::Timestamp;

use super::Reader;
use super::batch::Batch;
use crate::store::assertions::SingleUse;
use crate::store::error::Error;
use crate::store::rows::{TENANT, TokenColumns, count, listed_from, number, seconds, timestamp};
use crate::store::tokens::{
    Inserted, ListedToken, LiveSlot, LiveToken, SCAN_BUDGET, StoredToken, TokenPage,
};

macro_rules! token_columns {
    () => {
        "locator, key, client, subject, scope, audience, issued_at, expires_at, form, cgn, ugn, \
         family, session, claims"
    };
}

pub(in crate::store) fn find(
    reader: &Reader<'_>,
    id: TokenId,
) -> Result<Option<ListedToken>, Error> {
    let row = reader
        .prepare(concat!(
            "SELECT ",
            token_columns!(),
            " FROM tokens WHERE locator = ?1 AND tenant = ?2 AND key = ?3"
        ))?
        .query_row(
            params![id.locator().row_id(), TENANT, token_key(id)],
            columns,
        )
        .optional()?;
    row.map(listed_from).transpose()
}

fn columns(row: &Row<'_>) -> rusqlite::Result<TokenColumns> {
    Ok(TokenColumns {
        locator: row.get(0)?,
        key: row.get(1)?,
        client: row.get(2)?,
        subject: row.get(3)?,
        scope: row.get(4)?,
        audience: row.get(5)?,
        issued_at: row.get(6)?,
        expires_at: row.get(7)?,
        form: row.get(8)?,
        client_generation: row.get(9)?,
        user_generation: row.get(10)?,
        family: row.get(11)?,
        session: row.get(12)?,
        claims: row.get(13)?,
    })
}

pub(in crate::store) fn list(
    reader: &Reader<'_>,
    client: &ClientId,
    after: i64,
    limit: u32,
) -> Result<TokenPage, Error> {
    reader.in_snapshot(|| {
        let last: Option<i64> = reader
            .prepare(
                "SELECT locator FROM tokens WHERE locator > ?1 ORDER BY locator LIMIT 1 OFFSET ?2",
            )?
            .query_row([after, SCAN_BUDGET - 1], |row| row.get(0))
            .optional()?;
        let mut statement = reader.prepare(concat!(
            "SELECT ",
            token_columns!(),
            " FROM tokens WHERE locator > ?1 AND locator <= ?2 AND client = ?3 AND tenant = ?4 \
             ORDER BY locator LIMIT ?5"
        ))?;
        let end = last.unwrap_or(i64::MAX);
        let parameters = params![after, end, client.as_str(), TENANT, limit];
        let rows = statement.query_and_then(parameters, |row| listed_from(columns(row)?))?;
        let tokens: Vec<ListedToken> = rows.collect::<Result<_, _>>()?;
        let full = u32::try_from(tokens.len()).is_ok_and(|found| found >= limit);
        let next = match tokens.last() {
            Some(last) if full => Some(last.locator),
            _ => last,
        };
        Ok(TokenPage { tokens, next })
    })
}

const FIND_LIVE: &str = "SELECT locator, issued_at, expires_at, generation FROM live_tokens \
    WHERE tenant = ?1 AND key = ?2";

pub(in crate::store) fn find_live(
    reader: &Reader<'_>,
    key: [u8; 16],
) -> Result<Option<LiveToken>, Error> {
    let live = reader
        .prepare(FIND_LIVE)?
        .query_row(params![TENANT, key], live)
        .optional()?;
    Ok(live)
}

fn live(row: &Row<'_>) -> rusqlite::Result<LiveToken> {
    Ok(LiveToken {
        locator: row.get(0)?,
        issued_at: timestamp(row.get(1)?),
        expires_at: timestamp(row.get(2)?),
        generation: count(row.get(3)?),
    })
}

pub(super) fn insert(batch: &Batch<'_>, stored: &StoredToken) -> Result<Inserted, Error> {
    let row = columns_of(stored)?;
    if let Some(slot) = &stored.live
        && let Some(live) = take_slot(batch, slot, &row)?
    {
        return Ok(Inserted::LiveExists(live));
    }
    let inserted = insert_row(batch, &row)?;
    if let Some(slot) = &stored.live
        && inserted == Inserted::Taken
    {
        batch
            .prepare("DELETE FROM live_tokens WHERE tenant = ?1 AND key = ?2 AND locator = ?3")?
            .execute(params![TENANT, slot.key, row.locator])?;
    }
    Ok(inserted)
}

/// Writes a token that claims no slot.
pub(super) fn insert_plain(batch: &Batch<'_>, stored: &StoredToken) -> Result<Inserted, Error> {
    insert_row(batch, &columns_of(stored)?)
}

fn columns_of(stored: &StoredToken) -> Result<TokenColumns, Error> {
    let key = token_key(stored.token.id);
    TokenColumns::of(&stored.token, stored.form, key)
}

fn insert_row(batch: &Batch<'_>, row: &TokenColumns) -> Result<Inserted, Error> {
    let inserted = batch
        .prepare(
            "INSERT INTO tokens (tenant, locator, key, client, subject, scope, audience, \
             issued_at, expires_at, form, cgn, ugn, family, session, claims) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) \
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            TENANT,
            row.locator,
            row.key,
            row.client,
            row.subject,
            row.scope,
            row.audience,
            row.issued_at,
            row.expires_at,
            row.form,
            row.client_generation,
            row.user_generation,
            row.family,
            row.session,
            row.claims
        ])?;
    if inserted == 1 {
        return Ok(Inserted::Done);
    }
    let ours = batch
        .prepare("SELECT 1 FROM tokens WHERE locator = ?1 AND key = ?2")?
        .exists(params![row.locator, row.key])?;
    Ok(if ours {
        Inserted::Done
    } else {
        Inserted::Taken
    })
}

/// Makes the token the live one, or returns the one that is.
fn take_slot(
    batch: &Batch<'_>,
    slot: &LiveSlot,
    row: &TokenColumns,
) -> Result<Option<LiveToken>, Error> {
    let taken = batch
        .prepare(
            "INSERT INTO live_tokens (tenant, key, locator, issued_at, expires_at, generation) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
             locator = excluded.locator, issued_at = excluded.issued_at, \
             expires_at = excluded.expires_at, generation = excluded.generation \
             WHERE expires_at <= ?7 OR generation < excluded.generation OR locator = ?8 \
             OR locator = excluded.locator",
        )?
        .execute(params![
            TENANT,
            slot.key,
            row.locator,
            row.issued_at,
            row.expires_at,
            row.client_generation,
            seconds(slot.now),
            slot.replace
        ])?;
    if taken == 1 {
        return Ok(None);
    }
    let live = batch
        .prepare(FIND_LIVE)?
        .query_row(params![TENANT, slot.key], live)?;
    Ok(Some(live))
}

pub(super) fn use_assertion(
    batch: &mut Batch<'_>,
    key: &[u8; 16],
    until: Timestamp,
    attempt: &[u8; 16],
) -> Result<SingleUse, Error> {
    if until <= batch.now()? {
        return Ok(SingleUse::Expired);
    }
    let won = batch
        .prepare(
            "INSERT INTO assertions (tenant, until, key, attempt) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT DO UPDATE SET attempt = attempt WHERE attempt = excluded.attempt",
        )?
        .execute(params![TENANT, number(until.0)?, key, attempt])?;
    Ok(if won == 1 {
        SingleUse::Won
    } else {
        SingleUse::Used
    })
}
