//! Reading: threads with a connection each that answer from the last committed state.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{CachedStatement, Connection};
use tokio::sync::mpsc;

use super::{Job, file, spawn};
use crate::store::error::{Error, OpenError};
use crate::store::statistics::Counters;

/// A connection that is read from; counts its statements.
pub(in crate::store) struct Reader<'c> {
    connection: &'c Connection,
    counters: &'c Counters,
}

impl<'c> Reader<'c> {
    pub(super) fn new(connection: &'c Connection, counters: &'c Counters) -> Self {
        Self {
            connection,
            counters,
        }
    }

    /// A statement, prepared once for each connection.
    pub(super) fn prepare(&self, sql: &str) -> rusqlite::Result<CachedStatement<'c>> {
        self.counters.reads.fetch_add(1, Relaxed);
        self.connection.prepare_cached(sql)
    }

    /// Several statements on one snapshot.
    pub(super) fn in_snapshot<T>(
        &self,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.connection.execute_batch("BEGIN")?;
        let result = work();
        self.connection.execute_batch("COMMIT")?;
        result
    }
}

/// Starts a thread that takes jobs from the queue which the readers share.
pub(super) fn start(
    path: &Path,
    jobs: &Arc<Mutex<mpsc::Receiver<Job>>>,
    counters: &Arc<Counters>,
) -> Result<(), OpenError> {
    let connection = connect(path).map_err(|fault| OpenError::Fault(fault.to_string()))?;
    let (jobs, counters) = (Arc::clone(jobs), Arc::clone(counters));
    spawn("reader", move || {
        loop {
            let job = jobs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .blocking_recv();
            counters.queued.fetch_sub(u64::from(job.is_some()), Relaxed);
            match job {
                Some(Job::Read(work)) => work(&Reader::new(&connection, &counters)),
                Some(Job::Close(ended)) => {
                    drop(connection);
                    let _nobody_waits = ended.send(());
                    return;
                }
                Some(Job::Write(_)) | None => return,
            }
        }
    })
    .map_err(|fault| OpenError::Fault(fault.to_string()))
}

/// Starts a thread for one piece of work.
pub(super) fn start_once(
    path: &Path,
    counters: &Arc<Counters>,
    work: impl FnOnce(&Reader<'_>) + Send + 'static,
) -> Result<(), Error> {
    let (path, counters): (PathBuf, _) = (path.to_owned(), Arc::clone(counters));
    spawn("long-reader", move || match connect(&path) {
        Ok(connection) => work(&Reader::new(&connection, &counters)),
        Err(fault) => tracing::error!(%fault, "cannot open a connection to read"),
    })
    .map_err(|fault| Error::Fault(fault.to_string()))
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = file::connect(path)?;
    connection.execute_batch("PRAGMA query_only = ON;")?;
    Ok(connection)
}
