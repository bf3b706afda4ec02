//! Writes that do not append to the log: tokens and used assertions, many by one statement. Tables
//! and rows are touched in one order everywhere: live tokens, assertions, tokens; by key.

use std::collections::{HashMap, HashSet};

use tokio_postgres::Statement;

use signet_oauth::log::token_key;

use super::partitions;
use super::session::{Session, Trouble};
use super::tokens::{TokenBatch, free_slot, take_slot};
use crate::store::assertions::SingleUse;
use crate::store::error::Error;
use crate::store::op::{Outcome, Pending, Write};
use crate::store::rows::{TokenColumns, seconds};
use crate::store::tokens::{Inserted, LiveSlot};

/// A use of an assertion, and whose it is.
struct Use<'a> {
    at: usize,
    until: i64,
    key: &'a [u8],
    attempt: &'a [u8],
}

/// A batch, taken apart.
#[derive(Default)]
struct Plan<'a> {
    uses: Vec<Use<'a>>,
    tokens: Vec<(usize, TokenColumns)>,
    slots: Vec<(usize, &'a LiveSlot, TokenColumns)>,
}

impl<'a> Plan<'a> {
    fn of(batch: &'a [Pending]) -> Result<Self, Error> {
        let mut plan = Self::default();
        for (at, pending) in batch.iter().enumerate() {
            match &pending.write {
                Write::UseAssertion {
                    key,
                    until,
                    attempt,
                } => plan.uses.push(Use {
                    at,
                    until: seconds(*until),
                    key,
                    attempt,
                }),
                Write::InsertToken(stored) => {
                    let key = token_key(stored.token.id);
                    let row = TokenColumns::of(&stored.token, stored.form, key)?;
                    match &stored.live {
                        Some(slot) => plan.slots.push((at, slot, row)),
                        None => plan.tokens.push((at, row)),
                    }
                }
                _ => return Err(Error::mixed_up()),
            }
        }
        plan.uses.sort_by_key(|one| (one.until, one.key));
        plan.slots.sort_by_key(|(_, slot, _)| slot.key);
        Ok(plan)
    }
}

pub(super) async fn run(session: &Session, batch: &[Pending]) -> Result<Vec<Outcome>, Trouble> {
    let plan = Plan::of(batch)?;
    let (use_all, insert_all) = (
        prepare_uses(session).await?,
        TokenBatch::statement(session).await?,
    );
    let mut outcomes: HashMap<usize, Outcome> = HashMap::with_capacity(batch.len());
    let locators: Vec<i64> = plan.tokens.iter().map(|(_, row)| row.locator).collect();
    let slot_locators = plan.slots.iter().map(|(_, _, row)| row.locator);
    let locators: Vec<i64> = locators.into_iter().chain(slot_locators).collect();
    let written = if plan.slots.is_empty() {
        write(session, plan, (&use_all, &insert_all), &mut outcomes).await
    } else {
        write_with_slots(session, plan, (&use_all, &insert_all), &mut outcomes).await
    };
    match written {
        Ok(()) => {}
        Err(Trouble::NoPartition) => {
            session.run("ROLLBACK").await?;
            partitions::ensure(session, locators.into_iter()).await?;
            return Err(Trouble::NoPartition);
        }
        Err(Trouble::Lost) => return Err(Trouble::Lost),
        Err(trouble) => {
            session.run("ROLLBACK").await?;
            return Err(trouble);
        }
    }
    (0..batch.len())
        .map(|at| outcomes.remove(&at).ok_or_else(|| Error::mixed_up().into()))
        .collect()
}

/// Everything in one round trip. One statement is a transaction by itself.
async fn write(
    session: &Session,
    plan: Plan<'_>,
    (use_all, insert_all): (&Statement, &Statement),
    outcomes: &mut HashMap<usize, Outcome>,
) -> Result<(), Trouble> {
    let (owners, rows): (Vec<_>, Vec<_>) = plan
        .tokens
        .into_iter()
        .map(|(at, row)| ((at, row.locator), row))
        .unzip();
    let tokens = TokenBatch::new(rows);
    let alone = plan.uses.is_empty() || tokens.is_empty();
    // Sent in this order; answered when all of it is durable.
    let (begun, used, new, committed) = tokio::join!(
        run_unless(session, alone, "BEGIN"),
        use_assertions(session, use_all, &plan.uses),
        tokens.insert(session, insert_all),
        run_unless(session, alone, "COMMIT"),
    );
    begun?;
    let (won, new) = (used?, new?);
    committed?;
    settle_uses(session, &plan.uses, &won, outcomes).await?;
    let others: HashMap<i64, Inserted> = tokens.who(session, new).await?.into_iter().collect();
    for (at, locator) in owners {
        let inserted = others.get(&locator).copied().unwrap_or(Inserted::Done);
        outcomes.insert(at, Outcome::Inserted(inserted));
    }
    Ok(())
}

/// The same, where some tokens are written only when their slot could be taken.
async fn write_with_slots(
    session: &Session,
    plan: Plan<'_>,
    (use_all, insert_all): (&Statement, &Statement),
    outcomes: &mut HashMap<usize, Outcome>,
) -> Result<(), Trouble> {
    session.run("BEGIN").await?;
    let mut rows = plan.tokens;
    let mut taken = HashMap::new();
    for (at, slot, row) in plan.slots {
        if let Some(live) = take_slot(session, slot, &row).await? {
            outcomes.insert(at, Outcome::Inserted(Inserted::LiveExists(live)));
        } else {
            taken.insert(row.locator, slot);
            rows.push((at, row));
        }
    }
    let won = use_assertions(session, use_all, &plan.uses).await?;
    let owners: Vec<_> = rows.iter().map(|(at, row)| (*at, row.locator)).collect();
    let tokens = TokenBatch::new(rows.into_iter().map(|(_, row)| row).collect());
    let new = tokens.insert(session, insert_all).await?;
    let others: HashMap<i64, Inserted> = tokens.who(session, new).await?.into_iter().collect();
    for locator in others.keys() {
        if let Some(slot) = taken.get(locator) {
            free_slot(session, slot, *locator).await?;
        }
    }
    settle_uses(session, &plan.uses, &won, outcomes).await?;
    session.run("COMMIT").await?;
    for (at, locator) in owners {
        let inserted = others.get(&locator).copied().unwrap_or(Inserted::Done);
        outcomes.insert(at, Outcome::Inserted(inserted));
    }
    Ok(())
}

async fn run_unless(session: &Session, alone: bool, sql: &str) -> Result<(), Trouble> {
    if alone {
        return Ok(());
    }
    session.run(sql).await
}

async fn prepare_uses(session: &Session) -> Result<Statement, Trouble> {
    session
        .prepare(
            "INSERT INTO assertions (tenant, until, key, attempt) \
             SELECT 0, until, key, attempt \
             FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS used (until, key, attempt) \
             WHERE until > extract(epoch FROM clock_timestamp()) \
             ON CONFLICT DO NOTHING RETURNING key",
        )
        .await
}

/// The keys of those that won.
async fn use_assertions(
    session: &Session,
    statement: &Statement,
    uses: &[Use<'_>],
) -> Result<Vec<Vec<u8>>, Trouble> {
    if uses.is_empty() {
        return Ok(Vec::new());
    }
    let untils: Vec<i64> = uses.iter().map(|one| one.until).collect();
    let keys: Vec<&[u8]> = uses.iter().map(|one| one.key).collect();
    let attempts: Vec<&[u8]> = uses.iter().map(|one| one.attempt).collect();
    let rows = session
        .query_prepared(statement, &[&untils, &keys, &attempts])
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn settle_uses(
    session: &Session,
    uses: &[Use<'_>],
    won: &[Vec<u8>],
    outcomes: &mut HashMap<usize, Outcome>,
) -> Result<(), Trouble> {
    let won: HashSet<&[u8]> = won.iter().map(Vec::as_slice).collect();
    for one in uses {
        let outcome = if won.contains(one.key) {
            SingleUse::Won
        } else {
            who_used(session, one).await?
        };
        outcomes.insert(one.at, Outcome::SingleUse(outcome));
    }
    Ok(())
}

/// Not written: by whom it was used, or whether it has expired.
async fn who_used(session: &Session, one: &Use<'_>) -> Result<SingleUse, Trouble> {
    let sql = "SELECT attempt FROM assertions WHERE tenant = 0 AND until = $1 AND key = $2";
    let rows = session.query(sql, &[&one.until, &one.key]).await?;
    Ok(match rows.first() {
        None => SingleUse::Expired,
        Some(row) if row.get::<_, &[u8]>(0) == one.attempt => SingleUse::Won,
        Some(_) => SingleUse::Used,
    })
}
