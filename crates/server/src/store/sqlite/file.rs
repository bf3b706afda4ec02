//! The database file: opened, locked for one process, and brought to the schema of this program.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::schema;
use crate::store::error::OpenError;

/// "Sgnt": tells our files from other `SQLite` databases.
const APPLICATION: i64 = 0x5367_6e74;

/// Takes the lock that keeps a second server away. It lasts as long as the file is open.
pub(super) fn lock(path: &Path) -> Result<File, OpenError> {
    // By the real name: a link leads to the same database.
    let real = path.canonicalize();
    let mut name = real.as_deref().unwrap_or(path).as_os_str().to_owned();
    name.push(".lock");
    let lock = PathBuf::from(name);
    let file = private(&lock).map_err(|fault| cannot_write(path, &fault))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse {
            path: path.to_owned(),
            lock,
        }),
        Err(TryLockError::Error(fault)) => Err(cannot_write(path, &fault)),
    }
}

/// Creates the file where it is missing, readable for its owner only; `SQLite` gives its other
/// files the same mode.
fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Opens the writer's connection.
pub(super) fn open(path: &Path, migrate: bool) -> Result<Connection, OpenError> {
    private(path).map_err(|fault| cannot_write(path, &fault))?;
    let explain = |error: rusqlite::Error| explain(path, &error);
    let connection = connect(path).map_err(explain)?;
    let found = schema::version(&connection).map_err(explain)?;
    if found == 0 && !is_new(&connection).map_err(explain)? {
        return Err(OpenError::NotADatabase(path.to_owned()));
    }
    schema::check(found, migrate)?;
    // Only when it is ours: the mode of the journal is a property of the file.
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA application_id = {APPLICATION};"
        ))
        .map_err(explain)?;
    schema::apply(&connection, found).map_err(explain)?;
    Ok(connection)
}

/// A database with tables but without a schema version is somebody else's.
fn is_new(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| {
        row.get(0)
    })
}

/// A connection with the settings that all of ours have.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // Checkpoints are made by a thread of ours, never by a commit.
    connection.execute_batch(
        "PRAGMA busy_timeout = 2000; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; \
         PRAGMA journal_size_limit = 33554432; PRAGMA cache_size = -2048; \
         PRAGMA temp_store = MEMORY;",
    )?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

/// The only connection of a database in memory.
pub(super) fn open_in_memory() -> Result<Connection, OpenError> {
    let open = || {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA temp_store = MEMORY;")?;
        connection.set_prepared_statement_cache_capacity(128);
        schema::apply(&connection, 0)?;
        Ok(connection)
    };
    open().map_err(|fault: rusqlite::Error| OpenError::Fault(fault.to_string()))
}

/// Applies missing migrations to a file that no server has open.
pub(in crate::store) fn migrate(path: &Path) -> Result<(i64, i64), OpenError> {
    let _lock = lock(path)?;
    let found = match private(path) {
        Ok(_) => connect(path).and_then(|connection| schema::version(&connection)),
        Err(fault) => return Err(cannot_write(path, &fault)),
    };
    let found = found.map_err(|fault| explain(path, &fault))?;
    open(path, true)?;
    Ok((found, schema::SCHEMA))
}

fn cannot_write(path: &Path, fault: &std::io::Error) -> OpenError {
    if fault.kind() == std::io::ErrorKind::StorageFull {
        return OpenError::DiskFull(path.to_owned());
    }
    OpenError::ReadOnly {
        path: path.to_owned(),
        cause: fault.to_string(),
    }
}

fn explain(path: &Path, error: &rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            OpenError::NotADatabase(path.to_owned())
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            OpenError::ReadOnly {
                path: path.to_owned(),
                cause: error.to_string(),
            }
        }
        Some(ErrorCode::DiskFull) => OpenError::DiskFull(path.to_owned()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::InUse {
            path: path.to_owned(),
            lock: path.to_owned(),
        },
        // A full disk shows as this, too, where files beside the database cannot grow.
        Some(ErrorCode::SystemIoFailure) => OpenError::Fault(format!(
            "{error}: the disk of {} is full or broken; make room, or look at the system's log",
            path.display()
        )),
        _ => OpenError::Fault(error.to_string()),
    }
}
