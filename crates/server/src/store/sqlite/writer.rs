//! Writing: one thread drains the queue, runs what it finds in one transaction, waits once for
//! the disk, and answers each with its own result.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use tokio::sync::{mpsc, oneshot};

use super::batch::Batch;
use super::checkpoint::Checkpoints;
use super::{Job, Reader, spawn};
use crate::store::error::{Error, OpenError};
use crate::store::op::{Outcome, Pending};
use crate::store::statistics::{Counters, Stopwatch};

/// Operations that share one transaction, at most: bounds how long one of them can take.
const BATCH: usize = 512;
const PAGE_BYTES: u64 = 4096;

struct Writer {
    connection: Connection,
    counters: Arc<Counters>,
    wal_pages: Arc<AtomicI32>,
    /// `None` in memory.
    checkpoints: Option<Checkpoints>,
}

/// Starts the thread; it holds the lock file until its connection is closed.
pub(super) fn start(
    mut connection: Connection,
    mut jobs: mpsc::Receiver<Job>,
    counters: &Arc<Counters>,
    file: Option<(Checkpoints, File)>,
) -> Result<(), OpenError> {
    let explain = |fault: &dyn std::fmt::Display| OpenError::Fault(fault.to_string());
    let wal_pages = Arc::new(AtomicI32::new(0));
    let seen = Arc::clone(&wal_pages);
    let note = move |_: &mut Wal, pages: i32| {
        seen.store(pages, Relaxed);
        Ok(())
    };
    connection
        .wal_hook(Some(note))
        .map_err(|fault| explain(&fault))?;
    let (checkpoints, lock) = file.unzip();
    let mut writer = Writer {
        connection,
        counters: Arc::clone(counters),
        wal_pages,
        checkpoints,
    };
    spawn("writer", move || {
        let ended = writer.run(&mut jobs);
        writer.end();
        // The next server may come now, and whoever closed this one may know.
        drop((lock, jobs));
        if let Some(ended) = ended {
            let _nobody_waits = ended.send(());
        }
    })
    .map_err(|fault| explain(&fault))
}

impl Writer {
    fn run(&mut self, jobs: &mut mpsc::Receiver<Job>) -> Option<oneshot::Sender<()>> {
        let (mut taken, mut writes) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        loop {
            if jobs.blocking_recv_many(&mut taken, BATCH) == 0 {
                return None;
            }
            let mut end = None;
            for job in taken.drain(..) {
                self.counters.queued.fetch_sub(1, Relaxed);
                end = self.take(job, &mut writes).or(end);
            }
            self.commit(&mut writes);
            if end.is_some() {
                return end;
            }
        }
    }

    /// Sorts a job; returns whom to tell about the end, where it is the last one.
    fn take(&mut self, job: Job, writes: &mut Vec<Pending>) -> Option<oneshot::Sender<()>> {
        match job {
            Job::Write(pending) if pending.is_forsaken() => None,
            Job::Write(pending) => {
                writes.push(pending);
                None
            }
            Job::Read(work) => {
                // In memory: what was asked before is seen.
                self.commit(writes);
                work(&Reader::new(&self.connection, &self.counters));
                None
            }
            Job::Close(ended) => Some(ended),
        }
    }

    fn commit(&mut self, writes: &mut Vec<Pending>) {
        if writes.is_empty() {
            return;
        }
        match self.transaction(writes) {
            Ok(outcomes) => {
                for (pending, outcome) in writes.drain(..).zip(outcomes) {
                    pending.answer(Ok(outcome));
                }
            }
            // The disk fails all of them alike.
            Err(error) if writes.len() == 1 || matches!(error, Error::Unavailable(_)) => {
                for pending in writes.drain(..) {
                    pending.answer(Err(error.clone()));
                }
            }
            // One that fails must not fail the others.
            Err(error) => {
                tracing::warn!(%error, operations = writes.len(), "batch failed, one by one now");
                self.counters.retried_batches.fetch_add(1, Relaxed);
                for pending in writes.drain(..) {
                    let alone = self.transaction(std::slice::from_ref(&pending));
                    pending.answer(
                        alone.and_then(|mut outcomes| outcomes.pop().ok_or_else(Error::mixed_up)),
                    );
                }
            }
        }
    }

    /// All of these or none.
    fn transaction(&mut self, writes: &[Pending]) -> Result<Vec<Outcome>, Error> {
        let watch = Stopwatch::start();
        self.execute("BEGIN IMMEDIATE")?;
        let done = Batch::run(&self.connection, &self.counters, writes)
            .and_then(|outcomes| self.execute("COMMIT").map(|()| outcomes));
        if done.is_err() && !self.connection.is_autocommit() {
            // Some faults have rolled back already.
            self.execute("ROLLBACK")?;
        }
        let outcomes = done?;
        self.counters.committed(writes.len(), watch.read());
        if let Some(checkpoints) = &mut self.checkpoints {
            let pages = self.wal_pages.load(Relaxed);
            self.counters
                .wal(u64::try_from(pages).unwrap_or(0).saturating_mul(PAGE_BYTES));
            checkpoints.after_commit(&self.connection, pages);
        }
        Ok(outcomes)
    }

    fn execute(&self, sql: &str) -> Result<(), Error> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    /// Leaves a database without a log, where no reader is in the way.
    fn end(self) {
        if self.checkpoints.is_some() {
            let emptied = self
                .connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            if let Err(fault) = emptied {
                tracing::warn!(%fault, "the last checkpoint failed; the next start makes it");
            }
        }
    }
}
