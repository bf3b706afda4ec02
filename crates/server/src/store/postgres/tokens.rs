//! Access tokens and live tokens in `PostgreSQL`.

use std::collections::HashSet;

use tokio_postgres::Row;

use signet_oauth::ids::{ClientId, TokenId};
use signet_oauth::log::token_key;

use super::Postgres;
use super::session::{Session, Trouble};
use crate::store::error::Error;
use crate::store::rows::{TokenColumns, count, listed_from, seconds, timestamp};
use crate::store::tokens::{ListedToken, LiveSlot, LiveToken, SCAN_BUDGET, TokenPage};

macro_rules! token_columns {
    () => {
        "locator, key, client, subject, scope, audience, issued_at, expires_at, form, cgn, ugn, \
         family, session, claims"
    };
}

pub(in crate::store) async fn find(
    db: &Postgres,
    id: TokenId,
) -> Result<Option<ListedToken>, Error> {
    let sql = concat!(
        "SELECT ",
        token_columns!(),
        " FROM tokens WHERE locator = $1 AND tenant = 0 AND key = $2"
    );
    let key = token_key(id);
    let rows = db
        .read(sql, &[&id.locator().row_id(), &key.as_slice()])
        .await?;
    rows.first()
        .map(|row| listed_from(columns(row)))
        .transpose()
}

fn columns(row: &Row) -> TokenColumns {
    TokenColumns {
        locator: row.get(0),
        key: row.get(1),
        client: row.get(2),
        subject: row.get(3),
        scope: row.get(4),
        audience: row.get(5),
        issued_at: row.get(6),
        expires_at: row.get(7),
        form: row.get(8),
        client_generation: row.get(9),
        user_generation: row.get(10),
        family: row.get(11),
        session: row.get(12),
        claims: row.get(13),
    }
}

pub(in crate::store) async fn list(
    db: &Postgres,
    client: &ClientId,
    after: i64,
    limit: u32,
) -> Result<TokenPage, Error> {
    let sql = "SELECT locator FROM tokens WHERE locator > $1 ORDER BY locator LIMIT 1 OFFSET $2";
    let rows = db.read(sql, &[&after, &(SCAN_BUDGET - 1)]).await?;
    let last: Option<i64> = rows.first().map(|row| row.get(0));
    let sql = concat!(
        "SELECT ",
        token_columns!(),
        " FROM tokens WHERE locator > $1 AND locator <= $2 AND client = $3 AND tenant = 0 \
         ORDER BY locator LIMIT $4"
    );
    let end = last.unwrap_or(i64::MAX);
    let rows = db
        .read(sql, &[&after, &end, &client.as_str(), &i64::from(limit)])
        .await?;
    let tokens = rows
        .iter()
        .map(|row| listed_from(columns(row)))
        .collect::<Result<Vec<_>, _>>()?;
    let full = u32::try_from(tokens.len()).is_ok_and(|found| found >= limit);
    let next = match tokens.last() {
        Some(last) if full => Some(last.locator),
        _ => last,
    };
    Ok(TokenPage { tokens, next })
}

const FIND_LIVE: &str = "SELECT locator, issued_at, expires_at, generation FROM live_tokens \
    WHERE tenant = 0 AND key = $1";

pub(in crate::store) async fn find_live(
    db: &Postgres,
    key: [u8; 16],
) -> Result<Option<LiveToken>, Error> {
    let rows = db.read(FIND_LIVE, &[&key.as_slice()]).await?;
    Ok(rows.first().map(live))
}

fn live(row: &Row) -> LiveToken {
    LiveToken {
        locator: row.get(0),
        issued_at: timestamp(row.get(1)),
        expires_at: timestamp(row.get(2)),
        generation: count(row.get(3)),
    }
}

/// Makes the token the live one, or returns the one that is.
pub(super) async fn take_slot(
    session: &Session,
    slot: &LiveSlot,
    row: &TokenColumns,
) -> Result<Option<LiveToken>, Trouble> {
    let sql = "INSERT INTO live_tokens AS l \
        (tenant, key, locator, issued_at, expires_at, generation) VALUES (0, $1, $2, $3, $4, $5) \
        ON CONFLICT (tenant, key) DO UPDATE SET \
        locator = excluded.locator, issued_at = excluded.issued_at, \
        expires_at = excluded.expires_at, generation = excluded.generation \
        WHERE l.expires_at <= $6 OR l.generation < excluded.generation OR l.locator = $7 \
        OR l.locator = excluded.locator";
    let taken = session
        .execute(
            sql,
            &[
                &slot.key.as_slice(),
                &row.locator,
                &row.issued_at,
                &row.expires_at,
                &row.client_generation,
                &seconds(slot.now),
                &slot.replace,
            ],
        )
        .await?;
    if taken == 1 {
        return Ok(None);
    }
    let rows = session.query(FIND_LIVE, &[&slot.key.as_slice()]).await?;
    // Gone since: expired, and expiry was faster.
    rows.first()
        .map(|row| Some(live(row)))
        .ok_or(Trouble::Again)
}

/// Gives a slot back that was taken for a token which could not be written.
pub(super) async fn free_slot(
    session: &Session,
    slot: &LiveSlot,
    locator: i64,
) -> Result<(), Trouble> {
    let sql = "DELETE FROM live_tokens WHERE tenant = 0 AND key = $1 AND locator = $2";
    session
        .execute(sql, &[&slot.key.as_slice(), &locator])
        .await?;
    Ok(())
}

pub(super) const INSERT: &str = "INSERT INTO tokens (tenant, locator, key, client, subject, \
    scope, audience, issued_at, expires_at, form, cgn, ugn, family, session, claims) \
    SELECT 0, * FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::text[], $5::text[], \
    $6::text[], $7::bigint[], $8::bigint[], $9::smallint[], $10::bigint[], $11::bigint[], \
    $12::bytea[], $13::bytea[], $14::bigint[]) ON CONFLICT DO NOTHING";

const WHO: &str = "SELECT locator, key FROM tokens WHERE locator = ANY($1) ORDER BY locator";

/// Tokens to be written by one statement, in the order of their locators.
#[derive(Debug, Default)]
pub(super) struct TokenBatch {
    rows: Vec<TokenColumns>,
}

impl TokenBatch {
    pub(super) fn new(mut rows: Vec<TokenColumns>) -> Self {
        rows.sort_by_key(|row| row.locator);
        Self { rows }
    }

    /// Writes them; how many were new.
    pub(super) async fn insert(&self, session: &Session) -> Result<u64, Trouble> {
        fn column<'a, T>(rows: &'a [TokenColumns], of: impl Fn(&'a TokenColumns) -> T) -> Vec<T> {
            rows.iter().map(of).collect()
        }
        let rows = &self.rows;
        if rows.is_empty() {
            return Ok(0);
        }
        session
            .execute(
                INSERT,
                &[
                    &column(rows, |row| row.locator),
                    &column(rows, |row| row.key.as_slice()),
                    &column(rows, |row| row.client.as_str()),
                    &column(rows, |row| row.subject.as_deref()),
                    &column(rows, |row| row.scope.as_str()),
                    &column(rows, |row| row.audience.as_deref()),
                    &column(rows, |row| row.issued_at),
                    &column(rows, |row| row.expires_at),
                    &column(rows, |row| row.form),
                    &column(rows, |row| row.client_generation),
                    &column(rows, |row| row.user_generation),
                    &column(rows, |row| row.family.as_deref()),
                    &column(rows, |row| row.session.as_deref()),
                    &column(rows, |row| row.claims),
                ],
            )
            .await
    }

    /// The locators at which others' tokens lie, where not all were new. Ours may lie there from
    /// an earlier attempt.
    pub(super) async fn missed(
        &self,
        session: &Session,
        new: u64,
    ) -> Result<HashSet<i64>, Trouble> {
        if usize::try_from(new).is_ok_and(|new| new == self.rows.len()) {
            return Ok(HashSet::new());
        }
        let locators: Vec<i64> = self.rows.iter().map(|row| row.locator).collect();
        let there = session.query(WHO, &[&locators]).await?;
        let lies_there = |row: &TokenColumns| {
            there
                .binary_search_by_key(&row.locator, |found| found.get(0))
                .is_ok_and(|at| there[at].get::<_, &[u8]>(1) == row.key)
        };
        let missed = self.rows.iter().filter(|row| !lies_there(row));
        Ok(missed.map(|row| row.locator).collect())
    }
}
