//! A bounded pool of threads for what keeps a core busy: slow hashes, RSA signatures.
//!
//! Two lanes share the queue. Part of it is kept for the first, and the threads take three jobs
//! from that one for each of the other, so that neither can shut the other out. What finds no room
//! is refused at once; a job whose requester has gone away is never run. The pool knows nothing of
//! its jobs.

use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The measures of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// What its threads are called.
    pub(crate) name: &'static str,
    /// At least one is started.
    pub(crate) threads: usize,
    /// Jobs that may wait, in both lanes together.
    pub(crate) queue: usize,
    /// How many of these places only [`Lane::Kept`] may take.
    pub(crate) kept: usize,
    /// Whether the threads give way to those that serve.
    pub(crate) gives_way: bool,
}

/// Where a job waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// May use the whole queue, and is served first most of the time.
    Kept,
    /// May use the queue but for the places that are kept.
    Open,
}

/// There is no room for the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// The pool. Dropping it ends the threads after their present jobs; jobs that wait are dropped.
#[derive(Debug)]
pub(crate) struct Workers {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    shape: Shape,
}

#[derive(Default)]
struct State {
    kept: VecDeque<Box<dyn Job>>,
    open: VecDeque<Box<dyn Job>>,
    turn: u8,
    closed: bool,
}

trait Job: Send {
    fn is_abandoned(&self) -> bool;
    fn run(self: Box<Self>);
}

struct Task<T, F> {
    work: F,
    answer: oneshot::Sender<T>,
}

impl<T: Send, F: FnOnce() -> T + Send> Job for Task<T, F> {
    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn run(self: Box<Self>) {
        let Self { work, answer } = *self;
        // A panic drops `answer`: the requester learns that there will be none.
        if let Ok(value) = panic::catch_unwind(AssertUnwindSafe(work)) {
            // The requester may have gone away meanwhile.
            drop(answer.send(value));
        }
    }
}

impl Workers {
    /// Starts the threads.
    pub(crate) fn start(shape: Shape) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            wake: Condvar::new(),
            shape,
        });
        // Dropped where a thread does not start, which ends those that did.
        let pool = Self {
            shared: Arc::clone(&shared),
        };
        for index in 0..shape.threads.max(1) {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name(format!("{}-{index}", shape.name))
                .spawn(move || shared.work())?;
        }
        Ok(pool)
    }

    /// Queues a job. What it returns arrives by the receiver, which fails where the job panicked
    /// or the pool was dropped; dropping the receiver takes the job back.
    pub(crate) fn submit<T, F>(&self, lane: Lane, work: F) -> Result<oneshot::Receiver<T>, Full>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let (answer, receiver) = oneshot::channel();
        let mut state = self.shared.lock();
        let mut abandoned = Vec::new();
        if !self.shared.has_room(&state, lane) {
            abandoned = state.take_abandoned();
        }
        let has_room = self.shared.has_room(&state, lane) && !state.closed;
        if has_room {
            let job = Box::new(Task { work, answer });
            state.lane(lane).push_back(job);
        }
        drop(state);
        // Jobs own things whose destructors may take other locks.
        drop(abandoned);
        if has_room {
            self.shared.wake.notify_one();
            Ok(receiver)
        } else {
            Err(Full)
        }
    }

    /// How many jobs wait.
    pub(crate) fn waiting(&self) -> usize {
        let state = self.shared.lock();
        state.kept.len() + state.open.len()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        let dropped = (
            std::mem::take(&mut state.kept),
            std::mem::take(&mut state.open),
        );
        drop(state);
        drop(dropped);
        self.shared.wake.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Jobs run outside the lock: a panic cannot leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, state: &State, lane: Lane) -> bool {
        let Shape { queue, kept, .. } = self.shape;
        let fits = state.kept.len() + state.open.len() < queue.max(1);
        match lane {
            Lane::Kept => fits,
            Lane::Open => fits && state.open.len() < queue.saturating_sub(kept).max(1),
        }
    }

    fn work(&self) {
        if self.shape.gives_way {
            give_way();
        }
        while let Some(job) = self.next() {
            if !job.is_abandoned() {
                job.run();
            }
        }
    }

    /// Waits for a job; `None` when the pool is gone.
    fn next(&self) -> Option<Box<dyn Job>> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.pop() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    fn lane(&mut self, lane: Lane) -> &mut VecDeque<Box<dyn Job>> {
        match lane {
            Lane::Kept => &mut self.kept,
            Lane::Open => &mut self.open,
        }
    }

    fn pop(&mut self) -> Option<Box<dyn Job>> {
        self.turn = (self.turn + 1) % 4;
        if self.turn == 0 {
            self.open.pop_front().or_else(|| self.kept.pop_front())
        } else {
            self.kept.pop_front().or_else(|| self.open.pop_front())
        }
    }

    fn take_abandoned(&mut self) -> Vec<Box<dyn Job>> {
        let mut taken = Vec::new();
        for lane in [&mut self.kept, &mut self.open] {
            let (gone, stay) = lane.drain(..).partition(|job| job.is_abandoned());
            *lane = stay;
            let gone: VecDeque<_> = gone;
            taken.extend(gone);
        }
        taken
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Shared").field(&self.shape).finish()
    }
}

/// Lowers the priority of this thread. Only on Linux is it the thread's own; elsewhere it would be
/// that of the process.
fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 10) {
        tracing::debug!(%error, "cannot lower the priority of a worker");
    }
}
