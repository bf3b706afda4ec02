//! The migrations of the `PostgreSQL` backend, in order and embedded. Forward only.

use super::session::{Session, Trouble};
use crate::store::error::OpenError;

/// A migration, and the oldest program (by the schema that it knows) which still works after it:
/// nodes of two versions run side by side while a cluster is upgraded.
struct Migration {
    sql: &'static str,
    works_from: i64,
}

/// Never change one that was released; add one.
const MIGRATIONS: [Migration; 2] = [
    Migration {
        sql: include_str!("../../../migrations/postgres/0001_token_service.sql"),
        works_from: 1,
    },
    // New tables only: whoever does not know them has no need of them.
    Migration {
        sql: include_str!("../../../migrations/postgres/0002_people.sql"),
        works_from: 1,
    },
];

/// The schema that this program knows.
const SCHEMA: i64 = 2;
const _: () = assert!(MIGRATIONS.len() == 2, "SCHEMA counts the migrations");

/// Of several nodes that start at once, one migrates and the others wait for it.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1399287412, 1)";

/// Brings the database to our schema, or says why not; the version before and after.
pub(super) async fn prepare(session: &Session, migrate: bool) -> Result<(i64, i64), OpenError> {
    let (before, works_from) = version(session).await.map_err(explain)?;
    let found = before;
    if works_from > SCHEMA {
        return Err(OpenError::NewerSchema {
            found,
            known: SCHEMA,
        });
    }
    if found < SCHEMA && !migrate {
        return Err(OpenError::OlderSchema {
            found,
            known: SCHEMA,
        });
    }
    for (version, migration) in (1_i64..).zip(&MIGRATIONS) {
        if version > before {
            apply(session, version, migration).await.map_err(explain)?;
        }
    }
    Ok((before, before.max(SCHEMA)))
}

/// The schema of the database, and the oldest program that works with it.
async fn version(session: &Session) -> Result<(i64, i64), Trouble> {
    // Not `to_regclass`: it may answer from a cache that has not yet heard of another node.
    let sql = "SELECT EXISTS (SELECT FROM pg_class \
        WHERE relname = 'schema_version' AND pg_table_is_visible(oid))";
    let there = session.read(sql, &[]).await?;
    if !there.first().is_some_and(|row| row.get(0)) {
        return Ok((0, 0));
    }
    let sql = "SELECT version, works_from FROM schema_version";
    let rows = session.read(sql, &[]).await?;
    Ok(rows.first().map_or((0, 0), |row| (row.get(0), row.get(1))))
}

/// Whole or not at all; nothing where another node was faster.
async fn apply(session: &Session, to: i64, migration: &Migration) -> Result<(), Trouble> {
    session.run(&format!("BEGIN; {LOCK}")).await?;
    if version(session).await?.0 >= to {
        return session.run("ROLLBACK").await;
    }
    let Migration { sql, works_from } = migration;
    let record = if to == 1 {
        format!(
            "CREATE TABLE schema_version (version bigint NOT NULL, works_from bigint NOT NULL); \
             INSERT INTO schema_version VALUES (1, {works_from})"
        )
    } else {
        format!("UPDATE schema_version SET version = {to}, works_from = {works_from}")
    };
    let applied = session.run(&format!("{sql};\n{record}; COMMIT")).await;
    if applied.is_err() {
        // The message that counts is the first one.
        let _rolled_back = session.run("ROLLBACK").await;
    }
    applied
}

fn explain(trouble: Trouble) -> OpenError {
    match trouble {
        Trouble::Refused(error) => OpenError::Fault(error.to_string()),
        _ => OpenError::Unreachable("the connection was lost".to_owned()),
    }
}
