//! When the next request starts: a pure function of the elapsed time and of what was sent before.
//! It must not know clocks, sockets or requests.
//!
//! A *closed* load sends whenever a lane is free. An *open* load has a timetable: arrival `k` is due
//! at `k / rate`, whether or not the target kept up. An arrival that no lane can take waits in a
//! queue and its wait counts; when the queue is full the arrival is dropped and the drop counts.

use std::collections::VecDeque;
use std::fmt;
use std::iter::Peekable;

use crate::clock::Nanos;

/// What decides that a request may start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Load {
    /// As soon as a lane is free.
    Closed,
    /// By the timetable. `per_second` is the rate of the whole run; `backlog` is how many due
    /// arrivals may wait for a lane here.
    Open { per_second: f64, backlog: usize },
}

/// What ends the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// So many requests over all shares.
    Count(u64),
    /// No request starts, or is due, after this time; those admitted before it are still served.
    Elapsed(Nanos),
}

/// One of several generators that divide a run. Together they send every ordinal exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) index: u64,
    pub(crate) of: u64,
}

/// What a free lane does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send request `ordinal` at `due`, which may lie ahead (wait for it) or behind (it has waited).
    Send { ordinal: u64, due: Nanos },
    /// Nothing is left for this lane.
    Stop,
}

type Arrivals = Box<dyn Iterator<Item = (u64, Nanos)>>;

/// When arrivals are due.
enum Timetable {
    /// Whenever somebody asks.
    Now,
    /// At a constant rate per second.
    Rate(f64),
    /// By a list of this share's arrivals, in order.
    Listed(Peekable<Arrivals>),
}

impl fmt::Debug for Timetable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("Now"),
            Self::Rate(rate) => write!(f, "Rate({rate})"),
            Self::Listed(_) => f.write_str("Listed(…)"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pace {
    timetable: Timetable,
    backlog: usize,
    until: Until,
    share: Share,
    planned: u64,
    waiting: VecDeque<(u64, Nanos)>,
    dropped: u64,
    stopped: bool,
}

impl Pace {
    pub(crate) fn new(load: Load, until: Until, share: Share) -> Self {
        match load {
            Load::Closed => Self::of(Timetable::Now, 0, until, share),
            Load::Open {
                per_second,
                backlog,
            } => Self::of(Timetable::Rate(per_second), backlog, until, share),
        }
    }

    /// An open load of listed arrivals: their ordinals over all shares and when they are due, which
    /// never decreases. Only those of this share are listed.
    pub(crate) fn listed(arrivals: Arrivals, backlog: usize, until: Until) -> Self {
        let alone = Share { index: 0, of: 1 };
        Self::of(
            Timetable::Listed(arrivals.peekable()),
            backlog,
            until,
            alone,
        )
    }

    fn of(timetable: Timetable, backlog: usize, until: Until, share: Share) -> Self {
        Self {
            timetable,
            backlog,
            until,
            share,
            planned: 0,
            waiting: VecDeque::new(),
            dropped: 0,
            stopped: false,
        }
    }

    /// Gives a free lane its next request. `now` never goes back between calls.
    pub(crate) fn step(&mut self, now: Nanos) -> Step {
        self.admit(now);
        if let Some((ordinal, due)) = self.waiting.pop_front() {
            return Step::Send { ordinal, due };
        }
        match self.upcoming(now) {
            Some((ordinal, due)) => {
                self.take();
                Step::Send { ordinal, due }
            }
            None => Step::Stop,
        }
    }

    /// Nothing more starts. Arrivals that were waiting count as dropped: they were due and were
    /// never sent.
    pub(crate) fn stop(&mut self, now: Nanos) {
        self.admit(now);
        self.stopped = true;
        self.dropped += self.waiting.len() as u64;
        self.waiting.clear();
    }

    /// Arrivals that were due and never sent.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Puts every arrival that became due since the last call in the queue. Lanes take from the
    /// queue only in [`Self::step`], which admits first, so doing this late changes nothing.
    fn admit(&mut self, now: Nanos) {
        if matches!(self.timetable, Timetable::Now) {
            return;
        }
        while let Some((ordinal, due)) = self.upcoming(now).filter(|(_, due)| *due <= now) {
            self.take();
            if self.waiting.len() < self.backlog.max(1) {
                self.waiting.push_back((ordinal, due));
            } else {
                self.dropped += 1;
            }
        }
    }

    /// What was upcoming is no longer.
    fn take(&mut self) {
        self.planned += 1;
        if let Timetable::Listed(arrivals) = &mut self.timetable {
            arrivals.next();
        }
    }

    /// The first request that is neither sent, nor waiting, nor dropped.
    fn upcoming(&mut self, now: Nanos) -> Option<(u64, Nanos)> {
        if self.stopped {
            return None;
        }
        let ordinal = self.planned * self.share.of + self.share.index;
        let (ordinal, due) = match &mut self.timetable {
            Timetable::Now => (ordinal, now),
            Timetable::Rate(per_second) => (ordinal, due_at(ordinal, *per_second)),
            Timetable::Listed(arrivals) => *arrivals.peek()?,
        };
        let within = match self.until {
            Until::Count(count) => ordinal < count,
            Until::Elapsed(end) => due < end,
        };
        within.then_some((ordinal, due))
    }
}

/// When arrival `ordinal` is due at a constant rate.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the quotient is positive and 53 bits of nanoseconds are 104 days"
)]
fn due_at(ordinal: u64, per_second: f64) -> Nanos {
    (ordinal as f64 / per_second * 1e9) as Nanos
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALONE: Share = Share { index: 0, of: 1 };
    const MS: Nanos = 1_000_000;

    fn open(per_second: f64, backlog: usize, until: Until) -> Pace {
        let load = Load::Open {
            per_second,
            backlog,
        };
        Pace::new(load, until, ALONE)
    }

    fn send(ordinal: u64, due: Nanos) -> Step {
        Step::Send { ordinal, due }
    }

    #[test]
    fn closed_load_sends_at_once_until_the_count() {
        let mut pace = Pace::new(Load::Closed, Until::Count(2), ALONE);
        assert_eq!(pace.step(5), send(0, 5));
        assert_eq!(pace.step(5), send(1, 5));
        assert_eq!(pace.step(6), Step::Stop);
    }

    #[test]
    fn closed_load_sends_until_the_time() {
        let mut pace = Pace::new(Load::Closed, Until::Elapsed(10), ALONE);
        assert_eq!(pace.step(9), send(0, 9));
        assert_eq!(pace.step(10), Step::Stop);
    }

    #[test]
    fn free_lanes_of_an_open_load_reserve_the_arrivals_ahead() {
        let mut pace = open(1000.0, 10, Until::Elapsed(3 * MS));
        assert_eq!(pace.step(0), send(0, 0));
        assert_eq!(pace.step(0), send(1, MS));
        assert_eq!(pace.step(0), send(2, 2 * MS));
        assert_eq!(pace.step(0), Step::Stop);
    }

    #[test]
    fn late_lane_takes_the_oldest_arrival_with_its_intended_start() {
        let mut pace = open(1000.0, 10, Until::Count(100));
        assert_eq!(pace.step(0), send(0, 0));
        assert_eq!(pace.step(5 * MS), send(1, MS));
        assert_eq!(pace.step(5 * MS), send(2, 2 * MS));
        assert_eq!(pace.dropped(), 0);
    }

    #[test]
    fn full_queue_drops_the_newest_arrivals_and_counts_them() {
        let mut pace = open(1000.0, 2, Until::Count(10));
        assert_eq!(pace.step(0), send(0, 0));
        assert_eq!(pace.step(6 * MS), send(1, MS));
        assert_eq!(pace.dropped(), 4);
        assert_eq!(pace.step(6 * MS), send(2, 2 * MS));
        assert_eq!(pace.step(6 * MS), send(7, 7 * MS));
    }

    #[test]
    fn stopping_counts_what_was_waiting() {
        let mut pace = open(1000.0, 50, Until::Count(100));
        pace.step(0);
        pace.stop(5 * MS);
        assert_eq!(pace.dropped(), 5);
        assert_eq!(pace.step(9 * MS), Step::Stop);
    }

    proptest! {
        #[test]
        fn shares_send_every_ordinal_exactly_once(count in 0..500_u64, of in 1..9_u64) {
            let mut seen = Vec::new();
            for index in 0..of {
                let mut pace = Pace::new(Load::Closed, Until::Count(count), Share { index, of });
                while let Step::Send { ordinal, .. } = pace.step(0) {
                    seen.push(ordinal);
                }
            }
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }

        #[test]
        fn every_arrival_is_sent_or_dropped_and_in_order(
            rate in 1.0..1e6_f64,
            backlog in 1..40_usize,
            count in 0..400_u64,
            gaps in prop::collection::vec(0..20_000_000_u64, 1..100),
        ) {
            let mut pace = open(rate, backlog, Until::Count(count));
            let (mut now, mut sent, mut last) = (0, 0, None);
            for gap in gaps.into_iter().cycle().take(2000) {
                now += gap;
                let Step::Send { ordinal, due } = pace.step(now) else { break };
                prop_assert!(last.is_none_or(|last| ordinal > last));
                prop_assert_eq!(due, due_at(ordinal, rate));
                prop_assert!(pace.waiting.len() <= backlog);
                last = Some(ordinal);
                sent += 1;
                now = now.max(due);
            }
            prop_assert_eq!(sent + pace.dropped(), count);
        }

        #[test]
        fn without_a_bound_nothing_is_dropped(rate in 1.0..1e5_f64, late in 0..60_000_000_000_u64) {
            let mut pace = open(rate, usize::MAX, Until::Count(1000));
            prop_assert_eq!(pace.step(late), send(0, 0));
            prop_assert_eq!(pace.dropped(), 0);
        }
    }
}
