//! Waiting for the moment an arrival is due, to the microsecond: the runtime's own timers round up to
//! a millisecond, which an open load would report as latency of the target. It must not know what is
//! due.

use std::cell::{Cell, RefCell};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::io;
use std::task::{Poll, Waker};

use tokio::sync::Notify;

use crate::clock::{Clock, Nanos};

#[derive(Debug)]
struct Waiter {
    due: Nanos,
    waker: Waker,
}

impl PartialEq for Waiter {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Waiter {}

impl PartialOrd for Waiter {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiter {
    fn cmp(&self, other: &Self) -> Ordering {
        self.due.cmp(&other.due)
    }
}

/// Lanes that wait, in the order of their due times.
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Clock,
    timer: Timer,
    waiting: RefCell<BinaryHeap<Reverse<Waiter>>>,
    /// Somebody waits for an earlier moment than everybody before.
    earlier: Notify,
    released: Cell<bool>,
}

impl Alarm {
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        Ok(Self {
            clock,
            timer: Timer::new()?,
            waiting: RefCell::default(),
            earlier: Notify::new(),
            released: Cell::new(false),
        })
    }

    /// Waits until `due`. True when it is due; false when everybody was released before that.
    pub(crate) async fn at(&self, due: Nanos) -> bool {
        let mut queued = false;
        poll_fn(|context| {
            if self.released.get() {
                return Poll::Ready(false);
            }
            if self.clock.now() >= due {
                return Poll::Ready(true);
            }
            if !queued {
                queued = true;
                self.add(due, context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    fn add(&self, due: Nanos, waker: Waker) {
        let mut waiting = self.waiting.borrow_mut();
        let is_first = waiting.peek().is_none_or(|Reverse(first)| due < first.due);
        waiting.push(Reverse(Waiter { due, waker }));
        if is_first {
            self.earlier.notify_one();
        }
    }

    /// Wakes every lane when it is due. Runs as long as lanes may wait.
    pub(crate) async fn run(&self) -> io::Result<()> {
        loop {
            let first = self.waiting.borrow().peek().map(|Reverse(first)| first.due);
            let Some(due) = first else {
                self.earlier.notified().await;
                continue;
            };
            let now = self.clock.now();
            if due > now {
                tokio::select! {
                    waited = self.timer.wait(due - now) => waited?,
                    () = self.earlier.notified() => continue,
                }
            }
            self.wake(self.clock.now());
        }
    }

    /// Nobody waits any longer.
    pub(crate) fn release(&self) {
        self.released.set(true);
        self.wake(Nanos::MAX);
    }

    fn wake(&self, now: Nanos) {
        let mut waiting = self.waiting.borrow_mut();
        while waiting
            .peek()
            .is_some_and(|Reverse(first)| first.due <= now)
        {
            if let Some(Reverse(first)) = waiting.pop() {
                first.waker.wake();
            }
        }
    }
}

#[cfg(target_os = "linux")]
use precise::Timer;

#[cfg(target_os = "linux")]
mod precise {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use crate::clock::Nanos;

    /// A kernel timer that the runtime waits for like for a socket.
    #[derive(Debug)]
    pub(super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        #[expect(
            deprecated,
            reason = "its successor is unsafe for descriptors that may close; an owned one cannot"
        )]
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            AsyncFd::with_interest(timer, Interest::READABLE).map(Self)
        }

        /// Setting the timer forgets an expiry nobody has read, so it is never read at all.
        pub(super) async fn wait(&self, length: Nanos) -> io::Result<()> {
            let nanos = i64::try_from(length.max(1)).unwrap_or(i64::MAX);
            let once = Itimerspec {
                it_interval: Timespec::default(),
                it_value: Timespec {
                    tv_sec: nanos / 1_000_000_000,
                    tv_nsec: nanos % 1_000_000_000,
                },
            };
            timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
            self.0.readable().await?.clear_ready();
            Ok(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
use coarse::Timer;

#[cfg(not(target_os = "linux"))]
mod coarse {
    use std::io;
    use std::time::Duration;

    use crate::clock::Nanos;

    /// The runtime's own timer: starts may be late by a millisecond, and that counts as latency.
    #[derive(Debug)]
    pub(super) struct Timer;

    impl Timer {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) async fn wait(&self, length: Nanos) -> io::Result<()> {
            tokio::time::sleep(Duration::from_nanos(length)).await;
            Ok(())
        }
    }
}
