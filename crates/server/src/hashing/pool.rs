//! The pool in which slow hashes are computed: bounded, of low priority, with limits before it.
//!
//! When it is full the answer is no, at once: a queue without end would only turn an attack on one
//! endpoint into an outage of all.

use std::io;
use std::sync::Arc;

use super::admission::{Admission, Origin};
use super::workers::{Lane, Shape, Workers};

/// Pairs of client and address that are remembered: about 2 MB at most.
const REMEMBERED: usize = 100_000;
/// What a refused caller is told to wait: the queue holds a few seconds of work.
const RETRY_AFTER_SECONDS: u32 = 2;

/// The measures of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// Threads, at least one.
    pub threads: usize,
    /// Jobs that may wait. A quarter of these places is kept for pairs of client and address that
    /// were right before.
    pub queue: usize,
    /// Jobs of one client in the pool.
    pub per_client: usize,
    /// Jobs from one address in the pool.
    pub per_address: usize,
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The pool, or the share of it that the origin may use, is full.
    #[error("full; try again in {retry_after_seconds} seconds")]
    Full {
        /// For the `Retry-After` header.
        retry_after_seconds: u32,
    },
    /// The job panicked, or the pool has shut down.
    #[error("the job was lost")]
    Lost,
}

/// The pool.
#[derive(Debug)]
pub struct Pool {
    workers: Workers,
    admission: Arc<Admission>,
}

impl Pool {
    /// Starts the threads.
    pub fn new(settings: PoolSettings) -> io::Result<Self> {
        let workers = Workers::start(Shape {
            name: "hashing",
            threads: settings.threads,
            queue: settings.queue,
            kept: settings.queue / 4,
            gives_way: true,
        })?;
        Ok(Self {
            workers,
            admission: Admission::new(settings.per_client, settings.per_address, REMEMBERED),
        })
    }

    /// Runs a job for whoever sent the request. Dropping the future takes the job back.
    pub async fn run<T, F>(&self, origin: Origin, job: F) -> Result<T, PoolError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let (permit, lane) = self.admission.admit(&origin).ok_or(FULL)?;
        let counted = move || {
            let value = job();
            drop(permit);
            value
        };
        self.queue(lane, counted).await
    }

    /// Runs a job for the server itself or an authenticated administrator: bounded by the queue
    /// alone.
    pub async fn run_trusted<T, F>(&self, job: F) -> Result<T, PoolError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        self.queue(Lane::Kept, job).await
    }

    /// Remembers that the secret from this origin was right: its next jobs have places kept.
    pub fn succeeded(&self, origin: &Origin) {
        self.admission.succeeded(origin);
    }

    /// Whether a secret from this origin was right before.
    pub fn knows(&self, origin: &Origin) -> bool {
        self.admission.knows(origin)
    }

    /// How many jobs wait, for the metrics.
    pub fn waiting(&self) -> usize {
        self.workers.waiting()
    }

    async fn queue<T, F>(&self, lane: Lane, job: F) -> Result<T, PoolError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let answer = self.workers.submit(lane, job).map_err(|_| FULL)?;
        answer.await.map_err(|_| PoolError::Lost)
    }
}

const FULL: PoolError = PoolError::Full {
    retry_after_seconds: RETRY_AFTER_SECONDS,
};

#[cfg(test)]
mod tests;
