//! What generators and the conductor tell each other while a run lasts: how far it is, and that it
//! shall stop. It must not know how progress is shown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::record::books::glance::Glance;

/// How far one generator is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Post {
    pub(crate) glance: Glance,
    /// Arrivals that were due and not sent.
    pub(crate) dropped: u64,
    pub(crate) in_flight: u64,
    /// Passes that are over.
    pub(crate) passes: u64,
    /// Why the run has to stop.
    pub(crate) failure: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Board {
    stopped: AtomicBool,
    posts: Mutex<Vec<Post>>,
}

impl Board {
    pub(crate) fn new(generators: usize) -> Self {
        Self {
            stopped: AtomicBool::new(false),
            posts: Mutex::new(vec![Post::default(); generators]),
        }
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn post(&self, generator: usize, post: Post) {
        let mut posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = posts.get_mut(generator) {
            *place = post;
        }
    }

    /// All generators together.
    pub(crate) fn sum(&self) -> Post {
        let posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        posts.iter().fold(Post::default(), |mut sum, post| {
            sum.glance.merge(&post.glance);
            sum.dropped += post.dropped;
            sum.in_flight += post.in_flight;
            sum.passes += post.passes;
            sum.failure = sum.failure.or_else(|| post.failure.clone());
            sum
        })
    }
}
