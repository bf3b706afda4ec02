//! Deadlines without a timer per request: every lane has a slot with its deadline, and one ticker
//! looks at all slots. It must not know what the lanes wait for.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Poll, Waker};

use crate::clock::Nanos;

/// Why work was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Timeout,
    Interrupted,
}

/// The deadline of what one lane is doing.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    deadline: Cell<Option<Nanos>>,
    cut: Cell<Option<Cut>>,
    waker: RefCell<Option<Waker>>,
}

impl Slot {
    /// Does the work unless it is cut short first; then the work is dropped where it stands. It
    /// is late by at most one tick of whoever calls [`Self::check`].
    pub(crate) async fn bounded<T>(
        &self,
        deadline: Nanos,
        work: impl Future<Output = T>,
    ) -> Result<T, Cut> {
        self.deadline.set(Some(deadline));
        self.cut.set(None);
        let mut work = pin!(work);
        let done = poll_fn(|context| {
            if let Some(cut) = self.cut.get() {
                return Poll::Ready(Err(cut));
            }
            let polled = work.as_mut().poll(context);
            if polled.is_pending() {
                self.remember(context.waker());
            }
            polled.map(Ok)
        })
        .await;
        self.deadline.set(None);
        done
    }

    /// Cuts the work short if its deadline has passed.
    pub(crate) fn check(&self, now: Nanos) {
        if self.deadline.get().is_some_and(|deadline| deadline <= now) {
            self.cut(Cut::Timeout);
        }
    }

    /// Cuts the work short, if there is any.
    pub(crate) fn cut(&self, cut: Cut) {
        if self.deadline.get().is_some() {
            self.cut.set(Some(cut));
            if let Some(waker) = self.waker.take() {
                waker.wake();
            }
        }
    }

    /// A lane is one task, so its waker is cloned once and then found equal.
    fn remember(&self, waker: &Waker) {
        let mut held = self.waker.borrow_mut();
        if !held.as_ref().is_some_and(|held| held.will_wake(waker)) {
            *held = Some(waker.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::task::Context;

    use super::*;

    #[test]
    fn finished_work_passes_through() {
        let slot = Slot::default();
        let mut context = Context::from_waker(Waker::noop());
        let done = pin!(slot.bounded(5, ready(7))).poll(&mut context);
        assert_eq!(done, Poll::Ready(Ok(7)));
        slot.check(9);
        assert_eq!(slot.cut.get(), None, "an idle slot has no deadline");
    }

    #[test]
    fn work_is_cut_at_its_deadline_and_not_before() {
        let slot = Slot::default();
        let mut context = Context::from_waker(Waker::noop());
        let mut work = pin!(slot.bounded(5, pending::<()>()));
        assert!(work.as_mut().poll(&mut context).is_pending());
        slot.check(4);
        assert!(work.as_mut().poll(&mut context).is_pending());
        slot.check(5);
        assert_eq!(work.poll(&mut context), Poll::Ready(Err(Cut::Timeout)));
    }

    #[test]
    fn interruption_needs_no_deadline() {
        let slot = Slot::default();
        let mut context = Context::from_waker(Waker::noop());
        let mut work = pin!(slot.bounded(Nanos::MAX, pending::<()>()));
        assert!(work.as_mut().poll(&mut context).is_pending());
        slot.cut(Cut::Interrupted);
        assert_eq!(work.poll(&mut context), Poll::Ready(Err(Cut::Interrupted)));
    }
}
