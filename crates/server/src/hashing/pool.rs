//! The pool in which slow hashes are computed: bounded, of low priority, with limits before it.
//!
//! When it is full the answer is no, at once: a queue without end would only turn an attack on one
//! endpoint into an outage of all.

use std::io;
use std::sync::Arc;

use super::admission::{Admission, Origin};
use super::workers::{Lane, Shape, Workers};

/// The measures of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Threads, at least one.
    pub threads: usize,
    /// Jobs that may wait.
    pub queue: usize,
    /// How many of these places are kept for pairs of client and address that were right before.
    pub kept: usize,
    /// Jobs of one client in the pool.
    pub per_client: usize,
    /// Jobs from one address in the pool.
    pub per_address: usize,
    /// Pairs of client and address that are remembered.
    pub remembered: usize,
    /// What a refused caller is told to wait, in seconds.
    pub retry_after_seconds: u32,
}

impl PoolConfig {
    /// The defaults for this many cores: about three seconds of work may wait for each.
    pub const fn for_cores(cores: usize) -> Self {
        let threads = if cores == 0 { 1 } else { cores };
        let queue = 256 * threads;
        Self {
            threads,
            queue,
            kept: queue / 4,
            per_client: queue / 2,
            per_address: queue / 2,
            remembered: 100_000,
            retry_after_seconds: 2,
        }
    }
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
pub struct HashPool {
    workers: Workers,
    admission: Arc<Admission>,
    retry_after_seconds: u32,
}

impl HashPool {
    /// Starts the threads.
    pub fn start(config: PoolConfig) -> io::Result<Self> {
        let workers = Workers::start(Shape {
            name: "hashing",
            threads: config.threads,
            queue: config.queue,
            kept: config.kept,
            gives_way: true,
        })?;
        Ok(Self {
            workers,
            admission: Admission::new(config.per_client, config.per_address, config.remembered),
            retry_after_seconds: config.retry_after_seconds,
        })
    }

    /// Runs a job for whoever sent the request. Dropping the future takes the job back.
    pub async fn run<T, F>(&self, origin: Origin, job: F) -> Result<T, PoolError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let (permit, lane) = self.admission.admit(&origin).ok_or_else(|| self.full())?;
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

    /// How many jobs wait, for the metrics.
    pub fn waiting(&self) -> usize {
        self.workers.waiting()
    }

    async fn queue<T, F>(&self, lane: Lane, job: F) -> Result<T, PoolError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let answer = self.workers.submit(lane, job).map_err(|_| self.full())?;
        answer.await.map_err(|_| PoolError::Lost)
    }

    fn full(&self) -> PoolError {
        PoolError::Full {
            retry_after_seconds: self.retry_after_seconds,
        }
    }
}

#[cfg(test)]
mod tests;
