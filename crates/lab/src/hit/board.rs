//! What generators and the watching thread tell each other while a run lasts: how far it is, and that
//! it shall stop. It must not know how progress is shown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::Nanos;
use crate::histogram::Latencies;

/// How far one generator is.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    pub(crate) warming_up: bool,
    pub(crate) elapsed: Nanos,
    pub(crate) latencies: Latencies,
    pub(crate) errors: u64,
    pub(crate) dropped: u64,
    pub(crate) in_flight: u64,
}

#[derive(Debug)]
pub(crate) struct Board {
    stop: AtomicBool,
    /// Whether anybody reads what is posted.
    watched: bool,
    posts: Vec<Mutex<Option<Progress>>>,
}

impl Board {
    pub(crate) fn new(generators: usize, watched: bool) -> Self {
        Self {
            stop: AtomicBool::new(false),
            watched,
            posts: (0..generators).map(|_| Mutex::new(None)).collect(),
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watched
    }

    pub(crate) fn post(&self, generator: usize, progress: Progress) {
        *lock(&self.posts[generator]) = Some(progress);
    }

    /// All generators together; `None` before any has posted.
    pub(crate) fn sum(&self) -> Option<Progress> {
        let mut posts = self.posts.iter().filter_map(|post| lock(post).clone());
        let mut sum = posts.next()?;
        for post in posts {
            sum.warming_up |= post.warming_up;
            sum.elapsed = sum.elapsed.max(post.elapsed);
            sum.errors += post.errors;
            sum.dropped += post.dropped;
            sum.in_flight += post.in_flight;
            sum.latencies.merge(&post.latencies).ok()?;
        }
        Some(sum)
    }
}

/// A generator that died while posting has left the old post or the new one; both can be shown.
fn lock(post: &Mutex<Option<Progress>>) -> MutexGuard<'_, Option<Progress>> {
    post.lock().unwrap_or_else(PoisonError::into_inner)
}
