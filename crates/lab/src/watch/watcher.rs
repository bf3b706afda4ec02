//! The thread that watches while a run lasts. It must not know what the figures mean: a source that fails
//! leaves a gap and a note, and never ends a run.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::config::{self, BadSource, Source};
use super::file::{self, BadFile, Log};
use super::generator::{Generator, Probe};
use super::meter::{Meter, Poll, Row};
use super::postgres::Database;
use super::process::Processes;
use super::prometheus::Endpoint;
use super::series::{Note, Watched};
use crate::clock::{Clock, Nanos, nanos, seconds};

/// Closer readings would measure little but themselves: the kernel counts processor time in hundredths.
const CLOSEST: Duration = Duration::from_millis(10);
/// In nanoseconds; less is but a few hundredths of a second of processor time.
const SHORTEST_STRETCH: Nanos = 50_000_000;
/// What a source may take for an answer: a tick, but not too little of it, and not for ever.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadWatch {
    #[error(transparent)]
    Source(#[from] BadSource),
    #[error(transparent)]
    File(#[from] BadFile),
    #[error("resources cannot be read every {0:?}: take 10 ms or more")]
    Every(Duration),
    #[error("the watching thread cannot be started: {0}")]
    Start(#[from] io::Error),
    #[error("the watching thread died")]
    Died,
}

/// What is to be watched, and where the figures go.
#[derive(Debug)]
pub(crate) struct Orders {
    pub(crate) sources: Vec<Source>,
    pub(crate) every: Duration,
    /// The clock of the run: its zero is the zero of the series.
    pub(crate) clock: Clock,
    /// Written line by line while the run lasts.
    pub(crate) file: PathBuf,
    /// Where the generator's threads beat.
    pub(crate) probe: Arc<Probe>,
}

/// A running watch. Dropped without [`Self::stop`], it ends by itself.
#[derive(Debug)]
pub(crate) struct Watcher {
    stop: watch::Sender<bool>,
    thread: JoinHandle<Result<(), BadFile>>,
    file: PathBuf,
}

impl Watcher {
    /// Sources that make no sense are refused here; those that do not answer are not.
    pub(crate) fn start(
        orders: Orders,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, BadWatch> {
        if orders.every < CLOSEST {
            return Err(BadWatch::Every(orders.every));
        }
        config::check(&orders.sources)?;
        let feeds = feeds(&orders, environment)?;
        let log = Log::create(&orders.file)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = watch::channel(false);
        let file = orders.file.clone();
        let thread = thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                let all = all(feeds, log, &orders, &stopped);
                runtime.block_on(LocalSet::new().run_until(all))
            })?;
        Ok(Self { stop, thread, file })
    }

    /// Reads everything a last time and gives back the whole file, as far as it could be written.
    pub(crate) fn stop(self) -> Result<Watched, BadWatch> {
        // Nobody listens any more when the thread has died; that is told below.
        let _ = self.stop.send(true);
        let written = self.thread.join().map_err(|_| BadWatch::Died)?;
        let mut watched = file::read(&self.file)?;
        if let Err(error) = written {
            let ends = watched
                .series
                .iter()
                .filter_map(|series| series.points.last());
            watched.notes.push(Note {
                at: ends.map(|point| point.0).fold(0.0, f64::max),
                source: String::new(),
                text: format!("what follows could not be written: {error}"),
            });
        }
        Ok(watched)
    }
}

/// One source, ready to be read.
#[derive(Debug)]
enum Feed {
    Processes(Box<Processes>),
    Database(Box<Database>),
    Endpoint(Box<Endpoint>),
    Generator(Generator),
}

fn feeds(
    orders: &Orders,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, Feed)>, BadSource> {
    let feed = |source: &Source| {
        let feed = match source {
            Source::Process(process) => Processes::of(process)
                .map(|processes| Feed::Processes(Box::new(processes)))
                .ok_or_else(|| BadSource::Which(process.name.clone()))?,
            Source::Postgres(database) => {
                Feed::Database(Box::new(Database::new(database, environment)?))
            }
            Source::Prometheus(endpoint) => {
                Feed::Endpoint(Box::new(Endpoint::new(endpoint, orders.clock)?))
            }
            Source::Generator(_) => Feed::Generator(Generator::new(Arc::clone(&orders.probe))),
        };
        Ok((source.name().to_owned(), feed))
    };
    orders.sources.iter().map(feed).collect()
}

/// Each source has a rhythm of its own, so that a slow one holds up no other.
async fn all(
    feeds: Vec<(String, Feed)>,
    log: Log,
    orders: &Orders,
    stopped: &watch::Receiver<bool>,
) -> Result<(), BadFile> {
    let log = Rc::new(RefCell::new(log));
    let (every, clock) = (orders.every, orders.clock);
    let watching = feeds.into_iter().map(|(name, feed)| {
        let attendant = Attendant::new(name, feed, clock, Rc::clone(&log));
        tokio::task::spawn_local(attendant.attend(every, stopped.clone()))
    });
    for watching in watching.collect::<Vec<_>>() {
        // One that died leaves its series as they are, and the others alone.
        drop(watching.await);
    }
    Rc::into_inner(log).map_or(Ok(()), |log| log.into_inner().close())
}

/// How long the last stretch must be to be worth a reading: one much shorter than the others has wild
/// rates, but a run that is over before its second tick has no others.
fn shortest(readings: u64, every: Nanos) -> Nanos {
    let half = every / 2;
    if readings < 2 {
        half.min(SHORTEST_STRETCH)
    } else {
        half
    }
}

/// One source and what is remembered of it.
#[derive(Debug)]
struct Attendant {
    name: String,
    feed: Feed,
    clock: Clock,
    log: Rc<RefCell<Log>>,
    meter: Meter,
    /// The notes of the tick before: what has been said is not said again.
    said: BTreeSet<String>,
    failed: bool,
}

impl Attendant {
    fn new(name: String, feed: Feed, clock: Clock, log: Rc<RefCell<Log>>) -> Self {
        Self {
            name,
            feed,
            clock,
            log,
            meter: Meter::default(),
            said: BTreeSet::new(),
            failed: false,
        }
    }

    async fn attend(mut self, every: Duration, mut stopped: watch::Receiver<bool>) {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let wait = every.clamp(SHORTEST_WAIT, LONGEST_WAIT);
        let mut last: Option<Nanos> = None;
        let mut readings: u64 = 0;
        loop {
            let is_last = tokio::select! {
                biased;
                // An error is a watcher that was dropped.
                _ = stopped.changed() => true,
                _ = ticks.tick() => false,
            };
            let since = last.map(|last| self.clock.now().saturating_sub(last));
            let is_short = since.is_some_and(|since| since < shortest(readings, nanos(every)));
            if is_last && (is_short || self.failed) {
                return;
            }
            self.tick(wait).await;
            readings += 1;
            last = Some(self.clock.now());
            if is_last {
                return;
            }
        }
    }

    async fn tick(&mut self, wait: Duration) {
        let polled = timeout(wait, self.feed.poll(self.clock)).await;
        let at = seconds(self.clock.now());
        match polled.unwrap_or_else(|_| Err(format!("no answer within {wait:?}"))) {
            Ok(poll) => self.write(at, poll),
            Err(why) => {
                let gap = self.meter.miss(at);
                self.row(gap);
                self.notes(at, vec![format!("nothing could be read: {why}")]);
                self.failed = true;
            }
        }
    }

    fn write(&mut self, at: f64, poll: Poll) {
        let row = self.meter.take(at, poll.readings);
        let mut notes = poll.notes;
        if self.failed {
            notes.push("it can be read again".to_owned());
            self.failed = false;
        }
        if !row.reset.is_empty() {
            notes.push(format!("counted from zero again: {}", row.reset.join(", ")));
        }
        self.row(row);
        self.notes(at, notes);
    }

    fn row(&self, row: Row) {
        if !row.values.is_empty() {
            self.log.borrow_mut().row(&self.name, row);
        }
    }

    fn notes(&mut self, at: f64, notes: Vec<String>) {
        let notes: BTreeSet<_> = notes.into_iter().collect();
        for note in notes.difference(&self.said) {
            self.log.borrow_mut().note(at, &self.name, note.clone());
        }
        self.said = notes;
    }
}

impl Feed {
    async fn poll(&mut self, clock: Clock) -> Result<Poll, String> {
        match self {
            Self::Processes(processes) => processes.poll(),
            Self::Database(database) => database.poll().await,
            Self::Endpoint(endpoint) => endpoint.poll().await,
            Self::Generator(generator) => Ok(generator.poll(clock.now())),
        }
    }
}

#[cfg(test)]
mod tests;
