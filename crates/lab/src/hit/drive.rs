//! The only loop that sends: a lane takes its next request from the pace, waits until it is due, sends
//! it and books what came of it. It must not know protocols, reports or what a run is for.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use crate::clock::{Clock, Nanos};
use crate::hit::tally::{Start, Tally};
use crate::timing::alarm::Alarm;
use crate::timing::pace::{Pace, Step};
use crate::timing::watchdog::{Cut, Slot};
use crate::wire::{Answer, Failure, Kind, Link};

/// What the lanes of one thread share during one phase of a run.
#[derive(Debug)]
pub(crate) struct Desk {
    clock: Clock,
    /// When the phase began; the pace counts from here.
    zero: Nanos,
    timeout: Nanos,
    pace: RefCell<Pace>,
    tally: RefCell<Tally>,
    alarm: Alarm,
    slots: Vec<Slot>,
    in_flight: Cell<u64>,
    last_end: Cell<Nanos>,
}

impl Desk {
    pub(crate) fn new(
        clock: Clock,
        pace: Pace,
        tally: Tally,
        lanes: usize,
        timeout: Nanos,
    ) -> io::Result<Self> {
        let zero = clock.now();
        Ok(Self {
            clock,
            zero,
            timeout,
            pace: RefCell::new(pace),
            tally: RefCell::new(tally),
            alarm: Alarm::new(clock)?,
            slots: (0..lanes).map(|_| Slot::default()).collect(),
            in_flight: Cell::new(0),
            last_end: Cell::new(zero),
        })
    }

    /// Cuts short what takes too long. Called once per tick.
    pub(crate) fn tick(&self) {
        let now = self.clock.now();
        self.slots.iter().for_each(|slot| slot.check(now));
    }

    /// Ends the phase now: nothing starts any more, and what is on its way is given up.
    pub(crate) fn interrupt(&self) {
        self.pace.borrow_mut().stop(self.elapsed());
        self.alarm.release();
        self.slots
            .iter()
            .for_each(|slot| slot.cut(Cut::Interrupted));
    }

    /// Wakes lanes when their arrivals are due.
    pub(crate) async fn keep_time(&self) -> io::Result<()> {
        self.alarm.run().await
    }

    pub(crate) fn elapsed(&self) -> Nanos {
        self.clock.now() - self.zero
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight.get()
    }

    /// The books so far.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Tally) -> T) -> T {
        self.tally.borrow_mut().dropped = self.pace.borrow().dropped();
        look(&self.tally.borrow())
    }

    /// The finished books, and how long it took until the last request was over.
    pub(crate) fn close(&self) -> (Tally, Nanos) {
        let tally = self.read(Clone::clone);
        (tally, self.last_end.get() - self.zero)
    }
}

/// Runs one lane until the pace has nothing left for it; gives its link back for the next phase.
pub(crate) async fn lane(desk: Rc<Desk>, index: usize, mut link: Link) -> Link {
    let slot = &desk.slots[index];
    let mut now = desk.clock.now();
    loop {
        let step = desk.pace.borrow_mut().step(now - desk.zero);
        let Step::Send { ordinal, due } = step else {
            return link;
        };
        let due = desk.zero + due;
        let awaited = due > now;
        if awaited {
            if !desk.alarm.at(due).await {
                return link;
            }
            now = desk.clock.now();
        }
        let start = Start {
            due,
            at: now,
            awaited,
        };
        desk.in_flight.set(desk.in_flight.get() + 1);
        let deadline = now.saturating_add(desk.timeout);
        let outcome = slot.bounded(deadline, link.exchange(ordinal, now)).await;
        desk.in_flight.set(desk.in_flight.get() - 1);
        now = book(&desk, start, outcome);
        desk.last_end.set(desk.last_end.get().max(now));
    }
}

/// Books an outcome and says when it was there.
fn book(desk: &Desk, start: Start, outcome: Result<Result<Answer, Failure>, Cut>) -> Nanos {
    let failure = match outcome {
        Ok(Ok(answer)) => {
            desk.tally.borrow_mut().answered(start, &answer);
            return answer.ended;
        }
        Ok(Err(failure)) => failure,
        Err(Cut::Timeout) => Failure::new(Kind::Timeout, "no complete answer in time"),
        Err(Cut::Interrupted) => Failure::new(Kind::Interrupted, "stopped while on its way"),
    };
    desk.tally.borrow_mut().failed(failure);
    desk.clock.now()
}
