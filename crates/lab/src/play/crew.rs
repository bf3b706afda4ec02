//! One generator: a thread with a runtime of its own that plays its share of every population, from
//! the first pass to the last answer. It must not know other generators, files or reports.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, LocalOptions};
use tokio::task::{JoinError, JoinHandle, spawn_local};

use crate::clock::{Clock, Nanos};
use crate::plan::model::{Load, Population};
use crate::plan::schedule::{Arrivals, Part, Users};
use crate::play::board::{Board, Post};
use crate::play::cast::Cast;
use crate::play::lines::{Switchboard, Ways};
use crate::play::pass::Desk;
use crate::play::person::Person;
use crate::play::scribe::{Record, Scribe};
use crate::timing::alarm::Alarm;
use crate::timing::pace::{Pace, Step, Until};
use crate::timing::watchdog::{Cut, Slot};
use crate::watch::generator::Probe;

/// Deadlines are looked at this often.
const TICK: Duration = Duration::from_millis(10);
const POST_EVERY: Nanos = 250_000_000;
const FLUSH_EVERY: Nanos = 2_000_000_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("a generator cannot start: {0}")]
    Io(#[from] io::Error),
    #[error("a user died: {0}")]
    User(#[from] JoinError),
    #[error("a generator died")]
    Lost,
}

/// What all generators of a run do.
pub(crate) struct Orders {
    pub(crate) cast: Cast,
    pub(crate) ways: Ways,
    /// Zero is the beginning of the run.
    pub(crate) clock: Clock,
    pub(crate) timeout: Nanos,
    pub(crate) grace: Nanos,
    /// Where the threads tell how they are.
    pub(crate) probe: Arc<Probe>,
}

/// What one generator brings home.
pub(crate) struct Share {
    pub(crate) record: Record,
}

/// What the users of one generator share, beside what a pass needs.
pub(crate) struct Stage {
    pub(crate) orders: Arc<Orders>,
    pub(crate) part: Part,
    pub(crate) desk: Desk,
    pub(crate) switchboard: Switchboard,
    slots: RefCell<Vec<Rc<Slot>>>,
    paces: RefCell<Vec<(usize, Rc<RefCell<Pace>>)>>,
    /// Arrivals that were dropped before the warm-up was over, by population.
    warm_drops: RefCell<Vec<u64>>,
    failure: RefCell<Option<String>>,
    /// Passes that are over.
    pub(crate) passes: Cell<u64>,
}

/// Plays to the end on the calling thread.
pub(crate) fn play(
    orders: &Arc<Orders>,
    part: Part,
    scribe: Scribe,
    board: &Arc<Board>,
) -> Result<Share, Broken> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    runtime.block_on(async {
        let stage = Rc::new(Stage::new(orders, part, scribe)?);
        let timekeeper = spawn_local({
            let stage = Rc::clone(&stage);
            async move { stage.desk.alarm.run().await }
        });
        let probe = spawn_local({
            let probe = Arc::clone(&orders.probe);
            let clock = orders.clock;
            async move { probe.attend(clock).await }
        });
        let mut users = Vec::new();
        for number in 0..orders.cast.populations.len() {
            users.extend(enter(&stage, number));
        }
        let ticker = spawn_local(tick(Rc::clone(&stage), Arc::clone(board)));
        for user in users {
            user.await?;
        }
        ticker.abort();
        timekeeper.abort();
        probe.abort();
        stage.close_drops();
        board.post(stage.index(), stage.post());
        // The tasks that shared the stage are over once they have been awaited.
        drop((ticker.await, timekeeper.await));
        let stage = Rc::into_inner(stage).ok_or(Broken::Lost)?;
        Ok(Share {
            record: stage.desk.scribe.into_inner().into_record(),
        })
    })
}

impl Stage {
    fn new(orders: &Arc<Orders>, part: Part, scribe: Scribe) -> io::Result<Self> {
        let clock = orders.clock;
        Ok(Self {
            desk: Desk {
                clock,
                timeout: orders.timeout,
                scribe: RefCell::new(scribe),
                in_flight: Cell::new(0),
                is_over: Cell::new(false),
                alarm: Alarm::new(clock)?,
            },
            switchboard: Switchboard::new(&orders.ways, clock)
                .map_err(|failure| io::Error::other(failure.detail))?,
            slots: RefCell::default(),
            paces: RefCell::default(),
            warm_drops: RefCell::new(vec![0; orders.cast.populations.len()]),
            failure: RefCell::default(),
            passes: Cell::new(0),
            orders: Arc::clone(orders),
            part,
        })
    }

    fn index(&self) -> usize {
        usize::try_from(self.part.index).unwrap_or(usize::MAX)
    }

    pub(crate) fn population(&self, number: usize) -> &Population {
        &self.orders.cast.populations[number].plan
    }

    /// Something makes it senseless to go on: the run ends.
    pub(crate) fn fail(&self, why: &str) {
        self.failure.borrow_mut().get_or_insert(why.to_owned());
    }

    /// A deadline for one more user.
    fn slot(&self) -> Rc<Slot> {
        let slot = Rc::new(Slot::default());
        self.slots.borrow_mut().push(Rc::clone(&slot));
        slot
    }

    /// Ends the run now: nothing starts any more, and what is on its way is given up.
    fn interrupt(&self) {
        if self.desk.is_over.replace(true) {
            return;
        }
        let now = self.desk.clock.now();
        for (_, pace) in self.paces.borrow().iter() {
            pace.borrow_mut().stop(now);
        }
        self.desk.alarm.release();
        let slots = self.slots.borrow();
        slots.iter().for_each(|slot| slot.cut(Cut::Interrupted));
    }

    /// Notes how many arrivals had been dropped when the warm-up was over.
    fn note_warm_drops(&self) {
        let mut warm = self.warm_drops.borrow_mut();
        for (population, pace) in self.paces.borrow().iter() {
            warm[*population] = pace.borrow().dropped();
        }
    }

    /// Books the arrivals that were never sent.
    fn close_drops(&self) {
        let warm = self.warm_drops.borrow();
        let mut scribe = self.desk.scribe.borrow_mut();
        for (population, pace) in self.paces.borrow().iter() {
            let (dropped, warm) = (pace.borrow().dropped(), warm[*population]);
            let step = self.orders.cast.populations[*population].drops;
            scribe.dropped(step, warm, true);
            scribe.dropped(step, dropped - warm, false);
        }
    }

    fn post(&self) -> Post {
        let scribe = self.desk.scribe.borrow();
        let failed = self.failure.borrow().clone();
        let waiting = self.paces.borrow();
        let dropped = waiting.iter().map(|(_, pace)| pace.borrow().dropped());
        Post {
            glance: scribe.books().glance(self.desk.clock.now()),
            dropped: dropped.sum(),
            in_flight: self.desk.in_flight.get(),
            passes: self.passes.get(),
            failure: failed.or_else(|| scribe.failure().map(ToString::to_string)),
        }
    }
}

/// The users of a population that this generator plays.
fn enter(stage: &Rc<Stage>, population: usize) -> Vec<JoinHandle<()>> {
    match &stage.population(population).load {
        Load::Users { schedule, .. } => {
            let Part { index, of } = stage.part;
            let mine = (index..schedule.most()).step_by(usize::try_from(of).unwrap_or(1));
            mine.map(|number| spawn_local(stay(Rc::clone(stage), population, number)))
                .collect()
        }
        Load::Rate {
            schedule,
            spacing,
            limit,
            backlog,
        } => {
            let plan = stage.population(population);
            let origin = (stage.orders.cast.seed, population as u64);
            let arrivals = Arrivals::new(schedule.clone(), *spacing, stage.part, origin);
            let delay = stage.orders.cast.begin + plan.delay;
            let arrivals = arrivals.map(move |(number, due)| (number, due + delay));
            let of = usize::try_from(stage.part.of).unwrap_or(1);
            let share = |whole: u64| usize::try_from(whole).unwrap_or(usize::MAX).div_ceil(of);
            let until = Until::Elapsed(Nanos::MAX);
            let listed = Pace::listed(Box::new(arrivals), share(*backlog), until);
            let pace = Rc::new(RefCell::new(listed));
            stage
                .paces
                .borrow_mut()
                .push((population, Rc::clone(&pace)));
            let lane = |_| spawn_local(serve(Rc::clone(stage), population, Rc::clone(&pace)));
            (0..share(*limit)).map(lane).collect()
        }
    }
}

/// A user of a closed loop: from the first pass to the last.
async fn stay(stage: Rc<Stage>, population: usize, number: u64) {
    let plan = stage.population(population);
    let Load::Users { schedule, loops } = &plan.load else {
        return;
    };
    let slot = stage.slot();
    let mut person = Person::new(&stage, population, number);
    let mut pass = 0;
    while loops.is_none_or(|loops| pass < loops) && !stage.desk.is_over.get() {
        let now = stage.desk.clock.now();
        let Some(due) = entrance(schedule, stage.orders.cast.begin + plan.delay, number, now)
        else {
            return;
        };
        if due > now && !stage.desk.wait_until(due).await {
            return;
        }
        let start = stage.desk.clock.now();
        if !person.pass(&stage, &slot, None).await {
            return;
        }
        pass += 1;
        let patience = person.wait();
        if patience > 0 {
            stage.desk.scribe.borrow_mut().waited();
        }
        let next = stage.desk.clock.now() + person.think().max(patience);
        let next = next.max(start + plan.pacing);
        // A pause that would outlast the user's time ends it.
        if next > stage.desk.clock.now() && !stage.desk.wait_until(next).await {
            return;
        }
    }
}

/// When user `number` may begin a pass: `now`, or when the schedule has it in again; `None`: never.
fn entrance(schedule: &Users, begin: Nanos, number: u64, now: Nanos) -> Option<Nanos> {
    let mut at = now.saturating_sub(begin);
    while schedule.active(at) <= number {
        at = schedule.next_change(at)?;
    }
    Some(now.max(at.saturating_add(begin)))
}

/// A place in which the arrivals of an open loop are served, one after the other.
async fn serve(stage: Rc<Stage>, population: usize, pace: Rc<RefCell<Pace>>) {
    let slot = stage.slot();
    let mut person = Person::new(&stage, population, 0);
    loop {
        let now = stage.desk.clock.now();
        let step = pace.borrow_mut().step(now);
        let Step::Send { ordinal, due } = step else {
            return;
        };
        if due > now && !stage.desk.wait_until(due).await {
            // It had been given to this place and was not sent.
            return;
        }
        person.become_arrival(&stage, ordinal);
        if !person.pass(&stage, &slot, Some(due)).await {
            return;
        }
    }
}

/// Enforces deadlines, obeys the stop, ends what outlasts the run, and posts, until it is aborted.
async fn tick(stage: Rc<Stage>, board: Arc<Board>) {
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let end = stage.orders.cast.end().saturating_add(stage.orders.grace);
    let (mut posted, mut flushed) = (0, 0);
    let mut warm = true;
    loop {
        interval.tick().await;
        let now = stage.desk.clock.now();
        stage.slots.borrow().iter().for_each(|slot| slot.check(now));
        if warm && now >= stage.orders.cast.warm_until {
            warm = false;
            stage.note_warm_drops();
        }
        if board.is_stopped() || now >= end {
            stage.interrupt();
        }
        if now - posted >= POST_EVERY {
            posted = now;
            board.post(stage.index(), stage.post());
        }
        if now - flushed >= FLUSH_EVERY {
            flushed = now;
            stage.desk.scribe.borrow_mut().flush();
        }
    }
}
