//! Checkpoints: the pages of the write-ahead log are copied into the database file beside the
//! commits, so that no commit waits for it and the log stays small.
//!
//! `SQLite` begins the log anew only at a moment when all of it has been copied. Under steady load
//! a checkpoint that runs beside the writer never sees that moment; so the writer, between two
//! commits, copies the few pages that came in meanwhile.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use rusqlite::Connection;

use super::{file, spawn};
use crate::store::error::OpenError;

/// Pages in the log from which on a checkpoint is worth while.
const WORTH_WHILE: i32 = 1000;
/// Pages that the writer copies itself: so few that no commit waits long.
const FEW: i32 = 300;
/// Pages from which on the writer copies whatever there is.
const MANY: i32 = 8_000;
/// Pages (48 MB) at which the writer waits for a checkpoint: the bound of the log's size.
const TOO_MANY: i32 = 12_000;

/// The writer's side.
#[derive(Debug)]
pub(super) struct Checkpoints {
    wake: SyncSender<()>,
    done: Receiver<()>,
    /// Pages that were in the log when the running checkpoint was asked for; `None`: none runs.
    asked_at: Option<i32>,
}

/// Starts the thread.
pub(super) fn start(path: &Path) -> Result<Checkpoints, OpenError> {
    let connection = file::connect(path).map_err(|fault| OpenError::Fault(fault.to_string()))?;
    let ((wake, woken), (report, done)) = (sync_channel(1), sync_channel(1));
    spawn("checkpoints", move || run(&connection, &woken, &report))
        .map_err(|fault| OpenError::Fault(fault.to_string()))?;
    Ok(Checkpoints {
        wake,
        done,
        asked_at: None,
    })
}

fn run(connection: &Connection, woken: &Receiver<()>, report: &SyncSender<()>) {
    while woken.recv().is_ok() {
        passive(connection);
        if report.send(()).is_err() {
            return;
        }
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
        let Some(asked_at) = self.asked_at else {
            if pages >= WORTH_WHILE && self.wake.try_send(()).is_ok() {
                self.asked_at = Some(pages);
            }
            return;
        };
        let ended = if pages >= TOO_MANY {
            self.done.recv().is_ok()
        } else {
            self.done.try_recv() != Err(TryRecvError::Empty)
        };
        if ended {
            self.asked_at = None;
            if pages - asked_at <= FEW || pages >= MANY {
                passive(connection);
            }
        }
    }
}
