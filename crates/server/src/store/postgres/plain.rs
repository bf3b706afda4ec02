//! Writes that do not append to the log, many by one statement. First what decides, then what is
//! written because of it: one round trip each, or one for all where nothing depends. Tables and
//! rows are touched in one order everywhere, by key: codes, families, live tokens, assertions,
//! sessions, consents, participations, failures, requests, tokens.

use std::collections::{HashMap, HashSet};
use std::mem::take;

use super::partitions;
use super::people::{consents, failures, families, requests, sessions};
use super::plan::{Plan, Rows, Use};
use super::session::{Session, Trouble};
use super::tokens::{self, TokenBatch, free_slot, take_slot};
use crate::store::assertions::SingleUse;
use crate::store::error::Error;
use crate::store::op::{Outcome, Pending};
use crate::store::tokens::{Inserted, LiveSlot};

/// Every statement that is sent without waiting for the one before it. They are prepared first:
/// what had to be prepared in between would be sent too late.
const STATEMENTS: [&str; 11] = [
    families::REDEEM,
    families::ROTATE,
    families::INSERT,
    USE_ASSERTIONS,
    sessions::INSERT,
    sessions::JOIN,
    consents::PUT,
    failures::FORGET,
    failures::NOTE,
    requests::PUSH,
    tokens::INSERT,
];

pub(super) async fn run(session: &Session, batch: &[Pending]) -> Result<Vec<Outcome>, Trouble> {
    let mut plan = Plan::of(batch)?;
    for sql in STATEMENTS {
        session.prepare(sql).await?;
    }
    let locators = plan.locators();
    match write(session, &mut plan).await {
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
    let mut outcomes = plan.outcomes;
    (0..batch.len())
        .map(|at| outcomes.remove(&at).ok_or_else(|| Error::mixed_up().into()))
        .collect()
}

async fn write(session: &Session, plan: &mut Plan<'_>) -> Result<(), Trouble> {
    let alone = plan.is_one_statement();
    let decides = plan.decides();
    let mut slots = HashMap::new();
    if decides {
        decide(session, plan, alone).await?;
        slots = take_slots(session, plan).await?;
        if alone {
            return Ok(());
        }
    }
    let begin = if alone || decides { "" } else { "BEGIN" };
    // A token whose locator is taken gives its slot back before the end.
    let commit = if alone || !slots.is_empty() {
        ""
    } else {
        "COMMIT"
    };
    let missed = write_rows(session, plan, (begin, commit)).await?;
    for (at, locator) in missed {
        plan.miss_token(at);
        if let Some(slot) = slots.get(&locator) {
            free_slot(session, slot, locator).await?;
        }
    }
    if !slots.is_empty() {
        session.run("COMMIT").await?;
    }
    Ok(())
}

/// Asks the guards on which rows depend, in one round trip.
async fn decide(session: &Session, plan: &mut Plan<'_>, alone: bool) -> Result<(), Trouble> {
    let redemptions: Vec<_> = plan.redemptions.iter().map(|(_, one)| *one).collect();
    let rotations: Vec<_> = plan.rotations.iter().map(|(_, one)| *one).collect();
    let (begun, won, done) = tokio::join!(
        send(session, if alone { "" } else { "BEGIN" }),
        families::redeem(session, &redemptions),
        families::rotate(session, &rotations),
    );
    begun?;
    let (won, done) = (won?, done?);
    let lost = |id: [u8; 16]| !won.contains(&id);
    let lost: Vec<_> = redemptions
        .into_iter()
        .filter(|one| lost(one.code_id))
        .collect();
    let replayed = families::replayed(session, &lost).await?;
    plan.settle_redemptions(&won, &replayed)?;
    let lost = |id: [u8; 16]| !done.contains_key(&id);
    let lost: Vec<_> = rotations.into_iter().filter(|one| lost(one.id)).collect();
    let current = families::current(session, &lost).await?;
    plan.settle_rotations(&done, &current)?;
    Ok(())
}

/// Takes slots for live tokens; those that were taken, by the locators of their tokens.
async fn take_slots<'a>(
    session: &Session,
    plan: &mut Plan<'a>,
) -> Result<HashMap<i64, &'a LiveSlot>, Trouble> {
    let mut taken = HashMap::new();
    for (at, slot, row) in take(&mut plan.slots) {
        if let Some(live) = take_slot(session, slot, &row).await? {
            let exists = Outcome::Inserted(Inserted::LiveExists(live));
            plan.outcomes.insert(at, exists);
        } else {
            taken.insert(row.locator, slot);
            plan.write_token(at, row);
        }
    }
    Ok(taken)
}

/// Writes rows, in one round trip; the places and locators of tokens that could not be written.
async fn write_rows(
    session: &Session,
    plan: &mut Plan<'_>,
    (first, last): (&str, &str),
) -> Result<Vec<(usize, i64)>, Trouble> {
    let mut rows = take(&mut plan.rows);
    let noted: Vec<_> = plan.failures.iter().map(|(_, one)| *one).collect();
    let tokens = take(&mut rows.tokens);
    let owners: Vec<_> = tokens.iter().map(|(at, row)| (*at, row.locator)).collect();
    let tokens = TokenBatch::new(tokens.into_iter().map(|(_, row)| row).collect());
    // Sent in this order; answered when all of it is durable.
    let (begun, opened, used, logged, counts, new, ended) = tokio::join!(
        send(session, first),
        families::insert(session, take(&mut rows.families)),
        use_assertions(session, &plan.uses),
        write_logins(session, rows),
        failures::note(session, &noted),
        tokens.insert(session),
        send(session, last),
    );
    begun?;
    opened?;
    let won = used?;
    logged?;
    let (counts, new) = (counts?, new?);
    ended?;
    settle_uses(session, &plan.uses, &won, &mut plan.outcomes).await?;
    plan.settle_failures(&counts);
    let missed = tokens.missed(session, new).await?;
    Ok(owners
        .into_iter()
        .filter(|(_, locator)| missed.contains(locator))
        .collect())
}

/// Writes what logins leave behind.
async fn write_logins(session: &Session, rows: Rows<'_>) -> Result<(), Trouble> {
    let (sessions, consents, members, forgotten, pushed) = tokio::join!(
        sessions::insert(session, rows.sessions),
        consents::put(session, rows.consents),
        sessions::join(session, rows.members),
        failures::forget(session, &rows.forgotten),
        requests::push(session, rows.requests),
    );
    sessions
        .and(consents)
        .and(members)
        .and(forgotten)
        .and(pushed)
}

/// Sends a statement without parameters, where there is one.
async fn send(session: &Session, sql: &str) -> Result<(), Trouble> {
    if sql.is_empty() {
        return Ok(());
    }
    session.run(sql).await
}

const USE_ASSERTIONS: &str = "INSERT INTO assertions (tenant, until, key, attempt) \
    SELECT 0, until, key, attempt \
    FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS used (until, key, attempt) \
    WHERE until > extract(epoch FROM clock_timestamp()) \
    ON CONFLICT DO NOTHING RETURNING key";

/// The keys of those that won.
async fn use_assertions(session: &Session, uses: &[Use<'_>]) -> Result<Vec<Vec<u8>>, Trouble> {
    if uses.is_empty() {
        return Ok(Vec::new());
    }
    let untils: Vec<i64> = uses.iter().map(|one| one.until).collect();
    let keys: Vec<&[u8]> = uses.iter().map(|one| one.key).collect();
    let attempts: Vec<&[u8]> = uses.iter().map(|one| one.attempt).collect();
    let rows = session
        .query(USE_ASSERTIONS, &[&untils, &keys, &attempts])
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
