//! The `SQLite` backend: one writer thread that commits in groups, two reader threads, and one that
//! checkpoints. In memory, one thread on one connection does all of it.

mod batch;
mod checkpoint;
pub(super) mod clients;
mod expire;
mod file;
pub(super) mod keys;
pub(super) mod log;
pub(super) mod meta;
pub(super) mod people;
mod reader;
mod schema;
pub(super) mod tokens;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use rusqlite::ErrorCode;
use tokio::sync::{mpsc, oneshot};

use super::error::{Error, OpenError};
use super::op::Pending;
use super::statistics::Counters;
use super::{CLOSED, StoreOptions};

pub(super) use file::migrate;
pub(super) use reader::Reader;
pub(super) use schema::SCHEMA;

/// What the threads are asked for.
enum Job {
    Write(Pending),
    Read(Box<dyn FnOnce(&Reader<'_>) + Send>),
    /// Finish what is queued before it, then end; answered when the connection is closed.
    Close(oneshot::Sender<()>),
}

/// The handle: queues into the threads.
#[derive(Debug)]
pub(super) struct Sqlite {
    writes: mpsc::Sender<Job>,
    reads: mpsc::Sender<Job>,
    /// `None` in memory.
    path: Option<PathBuf>,
    counters: Arc<Counters>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Write(_) => "Write",
            Self::Read(_) => "Read",
            Self::Close(_) => "Close",
        })
    }
}

impl Sqlite {
    /// Opens the file, and locks it for this process.
    pub(super) fn open(
        path: &Path,
        options: StoreOptions,
        counters: Arc<Counters>,
    ) -> Result<Self, OpenError> {
        let lock = file::lock(path)?;
        let connection = file::open(path, options.migrate)?;
        let (writes, jobs) = mpsc::channel(options.queue);
        let (reads, read_jobs) = mpsc::channel(options.queue);
        let checkpoints = checkpoint::start(path)?;
        writer::start(connection, jobs, &counters, Some((checkpoints, lock)))?;
        let read_jobs = Arc::new(Mutex::new(read_jobs));
        for _ in 0..2 {
            reader::start(path, &read_jobs, &counters)?;
        }
        Ok(Self {
            writes,
            reads,
            path: Some(path.to_owned()),
            counters,
        })
    }

    /// A private database that is gone with the handle.
    pub(super) fn in_memory(
        options: StoreOptions,
        counters: Arc<Counters>,
    ) -> Result<Self, OpenError> {
        let connection = file::open_in_memory()?;
        let (writes, jobs) = mpsc::channel(options.queue);
        writer::start(connection, jobs, &counters, None)?;
        Ok(Self {
            reads: writes.clone(),
            writes,
            path: None,
            counters,
        })
    }

    pub(super) fn name(&self) -> &'static str {
        if self.path.is_some() {
            "sqlite"
        } else {
            "memory"
        }
    }

    /// Queues a write.
    pub(super) fn submit(&self, pending: Pending) -> Result<(), Error> {
        self.queue(&self.writes, Job::Write(pending))
    }

    /// Has a reader thread answer.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reader<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        let job = Job::Read(Box::new(move |reader| {
            let _forsaken = answer.send(work(reader));
        }));
        self.queue(&self.reads, job)?;
        answered.await.map_err(|_| CLOSED)?
    }

    /// The same for what takes longer: a thread and a connection of its own, so that short reads
    /// do not wait behind it.
    pub(super) async fn read_long<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reader<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let Some(path) = self.path.as_ref().filter(|_| !self.reads.is_closed()) else {
            return self.read(work).await;
        };
        let (answer, answered) = oneshot::channel();
        reader::start_once(path, &self.counters, move |reader| {
            let _forsaken = answer.send(work(reader));
        })?;
        answered.await.map_err(|_| CLOSED)?
    }

    fn queue(&self, queue: &mpsc::Sender<Job>, job: Job) -> Result<(), Error> {
        queue.try_send(job).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => Error::Busy,
            mpsc::error::TrySendError::Closed(_) => CLOSED,
        })?;
        self.counters.queued.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Ends the threads, readers first: the writer's last checkpoint needs to be alone.
    pub(super) async fn close(&self) {
        let readers = if self.path.is_some() { 2 } else { 0 };
        for _ in 0..readers {
            close_one(&self.reads).await;
        }
        close_one(&self.writes).await;
    }
}

async fn close_one(queue: &mpsc::Sender<Job>) {
    let (answer, answered) = oneshot::channel();
    if queue.send(Job::Close(answer)).await.is_ok() {
        let _ended = answered.await;
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                Self::Unavailable("the disk that holds it is full: make room")
            }
            Some(ErrorCode::ReadOnly) => {
                Self::Unavailable("it cannot be written: is the disk mounted read-only?")
            }
            Some(ErrorCode::SystemIoFailure) => {
                Self::Unavailable("the disk that holds it fails: look at the system's log")
            }
            _ => Self::Fault(format!("SQLite: {error}")),
        }
    }
}

/// Starts a thread of the store.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), std::io::Error> {
    std::thread::Builder::new()
        .name(format!("store-{name}"))
        .spawn(work)
        .map(drop)
}
