//! Checkpoints: the pages of the write-ahead log are copied into the database file beside the
//! commits, so that no commit waits for it and the log stays small.
//!
//! `SQLite` begins the log anew only at a moment when all of it has been copied. Under steady load
//! a checkpoint that runs beside the writer never sees that moment; so the writer, between two
//! commits, copies the few pages that came in meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rusqlite::Connection;

use super::{file, spawn};
use crate::store::error::OpenError;

/// Pages in the log from which on a checkpoint is worth while.
const WORTH_WHILE: i32 = 1000;
/// Pages that the writer copies itself, at most, while the log is of a bearable size.
const FEW: i32 = 800;
/// Pages from which on the writer copies whatever there is: the bound of the log's size.
const TOO_MANY: i32 = 10_000;

/// The writer's side.
#[derive(Debug)]
pub(super) struct Checkpoints {
    wake: SyncSender<()>,
    done: Arc<AtomicBool>,
    /// Pages that were in the log when the running checkpoint was asked for; `None`: none runs.
    asked_at: Option<i32>,
}

/// Starts the thread.
pub(super) fn start(path: &Path) -> Result<Checkpoints, OpenError> {
    let connection = file::connect(path).map_err(|fault| OpenError::Fault(fault.to_string()))?;
    let (wake, woken) = sync_channel(1);
    let done = Arc::new(AtomicBool::new(false));
    let reported = Arc::clone(&done);
    spawn("checkpoints", move || run(&connection, &woken, &reported))
        .map_err(|fault| OpenError::Fault(fault.to_string()))?;
    Ok(Checkpoints {
        wake,
        done,
        asked_at: None,
    })
}

fn run(connection: &Connection, woken: &Receiver<()>, done: &AtomicBool) {
    while woken.recv().is_ok() {
        passive(connection);
        done.store(true, Ordering::Release);
    }
}

fn passive(connection: &Connection) {
    let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    if let Err(fault) = copied {
        tracing::warn!(%fault, "checkpoint failed, it will be tried again");
    }
}

impl Checkpoints {
    /// Between two commits, with so many pages in the log.
    pub(super) fn after_commit(&mut self, connection: &Connection, pages: i32) {
        match self.asked_at {
            None if pages >= WORTH_WHILE && self.wake.try_send(()).is_ok() => {
                self.asked_at = Some(pages);
            }
            Some(asked_at) if self.done.swap(false, Ordering::Acquire) => {
                self.asked_at = None;
                if pages - asked_at <= FEW || pages >= TOO_MANY {
                    passive(connection);
                }
            }
            _ => {}
        }
    }
}
