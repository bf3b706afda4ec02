//! The migrations of the `SQLite` backend, in order and embedded. Forward only.

use rusqlite::Connection;

use crate::store::error::OpenError;

/// Never change one that was released; add one.
const MIGRATIONS: [&str; 2] = [
    include_str!("../../../migrations/sqlite/0001_token_service.sql"),
    include_str!("../../../migrations/sqlite/0002_people.sql"),
];

/// The schema that this program knows.
pub(in crate::store) const SCHEMA: i64 = 2;
const _: () = assert!(MIGRATIONS.len() == 2, "SCHEMA counts the migrations");

/// The schema of a database: zero where it is new.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Applies what is missing, each migration whole or not at all.
pub(super) fn apply(connection: &Connection, found: i64) -> rusqlite::Result<()> {
    for (version, migration) in (1_i64..).zip(MIGRATIONS) {
        if version > found {
            connection.execute_batch(&format!(
                "BEGIN IMMEDIATE;\n{migration}\nPRAGMA user_version = {version};\nCOMMIT;"
            ))?;
        }
    }
    Ok(())
}

/// Whether this program may work with that schema.
pub(super) fn check(found: i64, migrate: bool) -> Result<(), OpenError> {
    let known = SCHEMA;
    if found > known {
        return Err(OpenError::NewerSchema { found, known });
    }
    if found < known && !migrate {
        return Err(OpenError::OlderSchema { found, known });
    }
    Ok(())
}
