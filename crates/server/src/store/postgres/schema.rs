//! The migrations of the `PostgreSQL` backend, in order and embedded. Forward only.

use super::session::{Session, Trouble};
use crate::store::error::OpenError;

/// Never change one that was released; add one.
const MIGRATIONS: [&str; 1] = [include_str!(
    "../../../migrations/postgres/0001_token_service.sql"
)];

/// The schema that this program knows.
const SCHEMA: i64 = 1;
const _: () = assert!(MIGRATIONS.len() == 1, "SCHEMA counts the migrations");

/// Of several nodes that start at once, one migrates and the others wait for it.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1399287412, 1)";

/// Brings the database to our schema, or says why not; the version before and after.
pub(super) async fn prepare(session: &Session, migrate: bool) -> Result<(i64, i64), OpenError> {
    let before = version(session).await.map_err(explain)?;
    check(before, migrate)?;
    for (version, migration) in (1_i64..).zip(MIGRATIONS) {
        if version > before {
            apply(session, version, migration).await.map_err(explain)?;
        }
    }
    Ok((before, SCHEMA))
}

fn check(found: i64, migrate: bool) -> Result<(), OpenError> {
    let known = SCHEMA;
    if found > known {
        return Err(OpenError::NewerSchema { found, known });
    }
    if found < known && !migrate {
        return Err(OpenError::OlderSchema { found, known });
    }
    Ok(())
}

async fn version(session: &Session) -> Result<i64, Trouble> {
    // Not `to_regclass`: it may answer from a cache that has not yet heard of another node.
    let sql = "SELECT EXISTS (SELECT FROM pg_class \
        WHERE relname = 'schema_version' AND pg_table_is_visible(oid))";
    let there = session.read(sql, &[]).await?;
    if !there.first().is_some_and(|row| row.get(0)) {
        return Ok(0);
    }
    let rows = session
        .read("SELECT version FROM schema_version", &[])
        .await?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}

/// Whole or not at all; nothing where another node was faster.
async fn apply(session: &Session, to: i64, migration: &str) -> Result<(), Trouble> {
    session.run(&format!("BEGIN; {LOCK}")).await?;
    if version(session).await? >= to {
        return session.run("ROLLBACK").await;
    }
    let record = if to == 1 {
        "CREATE TABLE schema_version (version bigint NOT NULL); \
         INSERT INTO schema_version VALUES (1)"
            .to_owned()
    } else {
        format!("UPDATE schema_version SET version = {to}")
    };
    let applied = session
        .run(&format!("{migration};\n{record}; COMMIT"))
        .await;
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
