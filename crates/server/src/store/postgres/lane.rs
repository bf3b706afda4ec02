//! A lane: takes what is queued, at most one operation for each key, runs it in one transaction
//! on its own connection, and answers each with its own result.
//!
//! After a lost connection nobody knows whether the transaction was committed: the batch is run
//! again, and finds by the attempts in its rows what it did before. Whoever asked waits for that
//! no longer than the deadline; what nobody waits for any more is not run again.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering::Relaxed;

use tokio::sync::{mpsc, oneshot};

use super::connect::Connector;
use super::reading::Pause;
use super::session::{Session, Trouble};
use super::{Job, appending, plain, upkeep};
use crate::store::error::Error;
use crate::store::op::{Outcome, Pending, Touched};
use crate::store::statistics::Stopwatch;

/// Operations that share one transaction, at most.
const BATCH: usize = 512;
/// Times that a batch is run again because others were in the way.
const PATIENCE: u32 = 5;

/// What a lane is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Writes that do not append to the log.
    Plain,
    /// Writes that append to the log: they meet at its head.
    Appending,
    /// Rare things, one at a time.
    Upkeep,
}

pub(super) struct Lane {
    kind: Kind,
    jobs: mpsc::Receiver<Job>,
    connector: Connector,
    session: Option<Session>,
    waiting: VecDeque<Pending>,
    closing: Option<oneshot::Sender<()>>,
}

impl Lane {
    pub(super) fn new(kind: Kind, jobs: mpsc::Receiver<Job>, connector: Connector) -> Self {
        Self {
            kind,
            jobs,
            connector,
            session: None,
            waiting: VecDeque::new(),
            closing: None,
        }
    }

    pub(super) async fn run(mut self) {
        let mut taken = Vec::with_capacity(BATCH);
        while self.take(&mut taken).await {
            let batch = self.select();
            self.settle(batch).await;
        }
        drop((self.session, self.jobs));
        if let Some(closing) = self.closing {
            let _nobody_waits = closing.send(());
        }
    }

    /// Waits for work; `false` at the end.
    async fn take(&mut self, taken: &mut Vec<Job>) -> bool {
        if self.waiting.is_empty() && self.closing.is_none() {
            self.jobs.recv_many(taken, BATCH).await;
        } else {
            while taken.len() < BATCH
                && let Ok(job) = self.jobs.try_recv()
            {
                taken.push(job);
            }
        }
        for job in taken.drain(..) {
            match job {
                Job::Write(pending) => self.waiting.push_back(pending),
                Job::Close(closing) => self.closing = Some(closing),
            }
        }
        !self.waiting.is_empty()
    }

    /// What may share a transaction: nothing that touches the same row twice. The others keep
    /// their turn.
    fn select(&mut self) -> Vec<Pending> {
        let limit = if self.kind == Kind::Upkeep { 1 } else { BATCH };
        let (mut batch, mut later) = (Vec::new(), VecDeque::new());
        let mut taken: HashSet<Touched> = HashSet::new();
        while let Some(pending) = self.waiting.pop_front() {
            if pending.is_forsaken() {
                self.connector.counters.queued.fetch_sub(1, Relaxed);
                continue;
            }
            let touches = pending.write.touches();
            if batch.len() < limit && touches.iter().all(|touch| !taken.contains(touch)) {
                taken.extend(touches);
                self.connector.counters.queued.fetch_sub(1, Relaxed);
                batch.push(pending);
            } else {
                later.push_back(pending);
            }
            if batch.len() >= limit {
                break;
            }
        }
        later.append(&mut self.waiting);
        self.waiting = later;
        batch
    }

    /// Runs a batch until each of it has its answer.
    async fn settle(&mut self, batch: Vec<Pending>) {
        let size = batch.len();
        let Err((batch, error)) = self.attempt(batch).await else {
            return;
        };
        // A full disk fails all of them alike.
        if size == 1 || matches!(error, Error::Unavailable(_)) {
            return refuse(batch, &error);
        }
        tracing::warn!(%error, operations = size, "batch failed, one by one now");
        self.connector
            .counters
            .retried_batches
            .fetch_add(1, Relaxed);
        for pending in batch {
            if let Err((alone, error)) = self.attempt(vec![pending]).await {
                refuse(alone, &error);
            }
        }
    }

    /// Runs a batch; gives it back where the database refuses it.
    async fn attempt(&mut self, mut batch: Vec<Pending>) -> Result<(), (Vec<Pending>, Error)> {
        let (mut again, mut patience, mut pause) = (false, PATIENCE, Pause::default());
        loop {
            batch.retain(|pending| !pending.is_forsaken());
            if batch.is_empty() {
                return Ok(());
            }
            let watch = Stopwatch::start();
            match self.run_batch(&batch, again).await {
                Ok(outcomes) => {
                    let counters = &self.connector.counters;
                    counters.committed(batch.len(), watch.read());
                    let answers = batch.into_iter().zip(outcomes);
                    answers.for_each(|(pending, outcome)| pending.answer(Ok(outcome)));
                    return Ok(());
                }
                Err(Trouble::Lost) => {
                    // A connection in an unknown state is of no use, even if it still lives.
                    again |= self.session.take().is_some();
                    pause.rest().await;
                }
                Err(Trouble::NoPartition) if patience > 0 => patience -= 1,
                Err(Trouble::Again) if patience > 0 => {
                    patience -= 1;
                    pause.rest().await;
                }
                Err(Trouble::Again | Trouble::NoPartition) => {
                    let error = Error::Fault("PostgreSQL: others are always in the way".to_owned());
                    return Err((batch, error));
                }
                Err(Trouble::Refused(error)) => return Err((batch, error)),
            }
        }
    }

    async fn run_batch(&mut self, batch: &[Pending], again: bool) -> Result<Vec<Outcome>, Trouble> {
        if self.session.is_none() {
            self.session = Some(self.connector.again().await?);
        }
        let session = self.session.as_ref().ok_or(Trouble::Lost)?;
        let run = async {
            match self.kind {
                Kind::Plain => plain::run(session, batch).await,
                Kind::Appending => appending::run(session, batch, again).await,
                Kind::Upkeep => upkeep::run(session, batch).await,
            }
        };
        // A server that does not answer is treated like one that is gone.
        tokio::time::timeout(self.connector.deadline, run)
            .await
            .unwrap_or(Err(Trouble::Lost))
    }
}

fn refuse(batch: Vec<Pending>, error: &Error) {
    for pending in batch {
        pending.answer(Err(error.clone()));
    }
}
