//! What can go wrong with the store itself. Not-found and lost races are not here: they are
//! answers, not errors.

use std::path::PathBuf;

/// A fault of the store: nobody's request was wrong.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// More is queued than the database keeps up with. Nothing was done; ask again later.
    #[error("the store is busy: more is waiting than it keeps up with")]
    Busy,
    /// The database did not answer before the deadline, or the store is closed. Whether a write
    /// was carried out is not known.
    #[error("the database is unavailable: {0}")]
    Unavailable(&'static str),
    /// The database refused, or holds what this program cannot read.
    #[error("the database failed: {0}")]
    Fault(String),
}

impl Error {
    /// A row that this program cannot have written.
    pub(super) fn unreadable(what: &str) -> Self {
        Self::Fault(format!("unreadable row: {what}"))
    }

    /// An outcome of another operation than the one that was asked for: a bug in this module.
    pub(super) fn mixed_up() -> Self {
        Self::Fault("the outcome of another operation".to_owned())
    }
}

/// Why a store cannot be opened. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL names no store.
    #[error(
        "the store must be sqlite:PATH, memory: or postgres://USER:PASSWORD@HOST/DATABASE, not {0}"
    )]
    Url(String),
    /// Another process serves this file.
    #[error(
        "{} is in use by another signet process (it holds {}): stop that one first, or choose \
         another file", .path.display(), .lock.display()
    )]
    InUse {
        /// The database.
        path: PathBuf,
        /// The file whose lock says so.
        lock: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a Signet database: choose another file", .0.display())]
    NotADatabase(PathBuf),
    /// The file or its directory may not be written.
    #[error(
        "{} cannot be written ({cause}): the file and its directory must belong to the user that \
         runs signet", .path.display()
    )]
    ReadOnly {
        /// The database.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// There is no room.
    #[error("the disk that holds {} is full: make room and start again", .0.display())]
    DiskFull(PathBuf),
    /// The server does not answer.
    #[error(
        "PostgreSQL cannot be reached ({0}): is it running, and are host, port and TLS settings in \
         the URL right?"
    )]
    Unreachable(String),
    /// The server does not let us in.
    #[error(
        "PostgreSQL refused the login ({0}): check user, password and database name in the URL"
    )]
    Login(String),
    /// A newer program has been here.
    #[error(
        "the database has schema {found}, this program knows {known}: it was used by a newer \
         version of signet, start that version or restore a backup"
    )]
    NewerSchema {
        /// What is there.
        found: i64,
        /// What this program knows.
        known: i64,
    },
    /// Migrations are missing and were not asked for.
    #[error(
        "the database has schema {found}, this program needs {known}: run `signet migrate` first"
    )]
    OlderSchema {
        /// What is there.
        found: i64,
        /// What this program needs.
        known: i64,
    },
    /// Anything else.
    #[error("the store cannot be opened: {0}")]
    Fault(String),
}
