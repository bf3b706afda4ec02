//! Takes samples from generators and writes them from a thread of its own, so that no generator waits
//! for a disk longer than it must. It must not know how load is driven.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::writer::Written;
use super::{BLOCK, Header, Trailer, Writer};
use crate::record::names::Checks;
use crate::sample::Sample;

/// Batches that may wait for the disk: about 7 MB of samples.
const WAITING: usize = 32;
/// A disk that takes nothing for so long has failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why samples can no longer be kept. A run that cannot keep its samples stops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecordError {
    #[error(
        "the samples cannot be written: {0}; those written before are intact; free the disk, or keep histograms only (--keep histograms)"
    )]
    Disk(String),
    #[error(
        "the disk took no samples for 5 s; those written before are intact; use a faster disk, or keep histograms only (--keep histograms)"
    )]
    Slow,
    #[error("the samples of a run that has ended cannot be added to")]
    Ended,
    #[error("the thread that writes samples is gone")]
    Lost,
}

/// What was kept, and how often a generator had to wait for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    pub(crate) stalls: u64,
}

/// The side that owns the file.
#[derive(Debug)]
pub(crate) struct Recorder {
    queue: Arc<Queue>,
    writer: JoinHandle<Option<Written>>,
}

/// The side of one generator. What it holds back goes to the file when it is dropped.
#[derive(Debug)]
pub(crate) struct Sink {
    queue: Arc<Queue>,
    batch: Vec<Sample>,
}

#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    /// There is more to write, or the end.
    filled: Condvar,
    /// There is room again, or never more.
    emptied: Condvar,
    patience: Duration,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Vec<Sample>>,
    /// Written batches, to be filled again.
    spare: Vec<Vec<Sample>>,
    end: Option<Trailer>,
    failed: Option<RecordError>,
    stalls: u64,
}

impl Recorder {
    /// Begins the file; what cannot even begin fails here. `checks` is where the generators look
    /// up the numbers of failed checks.
    pub(crate) fn start<W: Write + Send + 'static>(
        out: W,
        header: &Header,
        checks: Arc<Checks>,
    ) -> Result<Self, RecordError> {
        Self::with_patience(out, header, checks, PATIENCE)
    }

    fn with_patience<W: Write + Send + 'static>(
        out: W,
        header: &Header,
        checks: Arc<Checks>,
        patience: Duration,
    ) -> Result<Self, RecordError> {
        let file = Writer::start(out, header).map_err(disk)?;
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            patience,
        });
        let source = Arc::clone(&queue);
        let writer = thread::Builder::new()
            .name("samples".to_owned())
            .spawn(move || source.drain(file, &checks))
            .map_err(disk)?;
        Ok(Self { queue, writer })
    }

    /// A way in for one generator.
    pub(crate) fn sink(&self) -> Sink {
        Sink {
            queue: Arc::clone(&self.queue),
            batch: Vec::with_capacity(BLOCK),
        }
    }

    /// Why the run has to stop, if it has to.
    #[cfg(test)]
    pub(crate) fn failure(&self) -> Option<RecordError> {
        self.queue.lock().failed.clone()
    }

    /// Writes what is left and the end. All sinks are to be dropped before: what comes later is
    /// refused.
    pub(crate) fn finish(self, trailer: Trailer) -> Result<Kept, RecordError> {
        self.queue.lock().end = Some(trailer);
        self.queue.filled.notify_all();
        let written = self.writer.join().map_err(|_| RecordError::Lost)?;
        let state = self.queue.lock();
        match (&state.failed, written) {
            (Some(error), _) => Err(error.clone()),
            (None, None) => Err(RecordError::Lost),
            (None, Some(written)) => Ok(Kept {
                samples: written.samples,
                bytes: written.bytes,
                stalls: state.stalls,
            }),
        }
    }
}

impl Sink {
    /// Keeps a sample. An error means that the run has to stop; it comes with the full batch, so
    /// up to 4,096 samples late.
    pub(crate) fn push(&mut self, sample: Sample) -> Result<(), RecordError> {
        self.batch.push(sample);
        if self.batch.len() < BLOCK {
            return Ok(());
        }
        self.flush()
    }

    /// Sends on what is held back. Called every few seconds, it bounds what a crash can lose.
    pub(crate) fn flush(&mut self) -> Result<(), RecordError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.batch = self.queue.give(std::mem::take(&mut self.batch))?;
        Ok(())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // Whoever finishes the file learns of the failure.
        drop(self.flush());
    }
}

impl Queue {
    /// Hands over a batch for an empty one, and waits a while when the disk is behind.
    fn give(&self, batch: Vec<Sample>) -> Result<Vec<Sample>, RecordError> {
        let mut state = self.lock();
        let is_stuck = |state: &mut State| state.waiting.len() >= WAITING && state.failed.is_none();
        if is_stuck(&mut state) {
            state.stalls += 1;
            let waited = self
                .emptied
                .wait_timeout_while(state, self.patience, is_stuck);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if is_stuck(&mut state) {
            state.failed = Some(RecordError::Slow);
        }
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        if state.end.is_some() {
            // The end may be written already; a sample that is in no file must not go unnoticed.
            state.failed = Some(RecordError::Ended);
            return Err(RecordError::Ended);
        }
        state.waiting.push_back(batch);
        self.filled.notify_one();
        let spare = state.spare.pop();
        Ok(spare.unwrap_or_else(|| Vec::with_capacity(BLOCK)))
    }

    /// The whole work of the writing thread.
    fn drain<W: Write>(&self, mut file: Writer<W>, checks: &Checks) -> Option<Written> {
        while let Some(mut batch) = self.next() {
            // Checks are numbered before the sample that failed them is handed over.
            let names = checks.since(file.checks());
            let done = file.name_checks(&names).and_then(|()| file.add(&batch));
            if let Err(error) = done {
                self.fail(disk(error));
                return None;
            }
            batch.clear();
            self.lock().spare.push(batch);
        }
        let trailer = {
            let state = self.lock();
            state.end.clone().filter(|_| state.failed.is_none())?
        };
        let ended = file.end(&trailer).map_err(|error| self.fail(disk(error)));
        ended.ok().map(|(_, written)| written)
    }

    /// The next batch; `None` when nothing more will come or be of use.
    fn next(&self) -> Option<Vec<Sample>> {
        let idle = |state: &mut State| {
            state.waiting.is_empty() && state.end.is_none() && state.failed.is_none()
        };
        let woken = self.filled.wait_while(self.lock(), idle);
        let mut state = woken.unwrap_or_else(PoisonError::into_inner);
        let batch = state.waiting.pop_front();
        self.emptied.notify_one();
        batch
    }

    fn fail(&self, error: RecordError) {
        let mut state = self.lock();
        state.failed.get_or_insert(error);
        state.waiting.clear();
        self.emptied.notify_all();
    }

    /// No code that can panic runs under the lock, so what it guards is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn disk(error: io::Error) -> RecordError {
    RecordError::Disk(error.to_string())
}

#[cfg(test)]
mod tests;
