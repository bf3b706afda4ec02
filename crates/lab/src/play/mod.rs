//! `assay run`: a plan is played against a target and becomes a run directory. It must not know how
//! calls are sent, how samples are kept or how reports look.

pub(crate) mod board;
pub(crate) mod cast;
pub(crate) mod crew;
pub(crate) mod lines;
pub(crate) mod once;
pub(crate) mod pass;
mod patience;
pub(crate) mod person;
pub(crate) mod ready;
pub(crate) mod remote;
pub(crate) mod scribe;
pub(crate) mod watching;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, LocalOptions};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::clock::{Clock, Nanos, since_epoch};
use crate::compare::judge::autostop::Stop;
use crate::compare::judge::threshold::{self, Judgement};
use crate::histogram::Unusable;
use crate::plan::schedule::Part;
use crate::plan::{Keep, Overrides, PlanError};
use crate::play::board::Board;
use crate::play::cast::Cast;
use crate::play::crew::{Broken, Orders, Share};
use crate::play::once::SetUpError;
use crate::play::ready::{BadRun, Ready};
use crate::play::scribe::{Record, Scribe};
use crate::play::watching::Eye;
use crate::record::books::document::Ledger;
use crate::record::books::{Books, Unmergeable};
use crate::record::directory::{Directory, DirectoryError, Used};
use crate::record::environment::Environment;
use crate::record::names::{Checks, Step};
use crate::record::samples::recorder::{Kept, RecordError, Recorder};
use crate::record::samples::{Header, Span, Trailer};
use crate::record::summary::{About, Resource, Summary};
use crate::report::live::Live;
use crate::watch::file::FILE;
use crate::watch::generator::Probe;
use crate::watch::watcher::{BadWatch, Orders as WatchOrders, Watcher};

const LOOK_EVERY: Duration = Duration::from_millis(250);
const START_AFTER: Nanos = 100_000_000;

/// What the user asked for.
pub(crate) struct Request<'a> {
    pub(crate) plan: PathBuf,
    pub(crate) overrides: Overrides,
    /// Variables of the target that are replaced.
    pub(crate) target_set: BTreeMap<String, String>,
    /// Where run directories are made.
    pub(crate) root: PathBuf,
    pub(crate) threads: usize,
    pub(crate) quiet: bool,
    pub(crate) watch_every: Duration,
    pub(crate) labels: BTreeMap<String, String>,
    /// As it was given, for the record.
    pub(crate) command: Vec<String>,
    pub(crate) environment: &'a dyn Fn(&str) -> Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PlayError {
    #[error("{0}")]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Run(#[from] BadRun),
    #[error(transparent)]
    SetUp(#[from] SetUpError),
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Watch(#[from] BadWatch),
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error(transparent)]
    Histogram(#[from] Unusable),
    #[error("{0}")]
    Books(#[from] Unmergeable),
    #[error("the run cannot be driven: {0}")]
    Io(#[from] io::Error),
    #[error("given up: told to stop")]
    Abandoned,
}

impl PlayError {
    /// Whether what was asked makes no sense, rather than that doing it failed.
    pub(crate) fn is_usage(&self) -> bool {
        match self {
            Self::Plan(_) => true,
            Self::Run(bad) => !matches!(
                bad,
                BadRun::Write(..) | BadRun::Reflection(..) | BadRun::Ended(_)
            ),
            _ => false,
        }
    }
}

/// A run that is over.
pub(crate) struct Played {
    pub(crate) directory: PathBuf,
    pub(crate) summary: Summary,
    pub(crate) judgements: Vec<Judgement>,
    pub(crate) stop: Option<Stop>,
    pub(crate) interrupted: bool,
}

/// Plays a plan to its end.
pub(crate) fn play(request: &Request<'_>) -> Result<Played, PlayError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    runtime.block_on(async {
        // Before anything is sent: a user who stops the run at once still gets its report.
        let mut stop = signal(SignalKind::interrupt())?;
        let ready = tokio::select! {
            ready = Ready::make(request) => ready?,
            _ = stop.recv() => return Err(PlayError::Abandoned),
        };
        if !request.quiet && !ready.plan.description.is_empty() {
            writeln!(
                io::stderr(),
                "{}: {}",
                ready.plan.name,
                ready.plan.description
            )?;
        }
        let clock = Clock::start();
        let zero = since_epoch();
        let directory = Directory::create(
            &request.root,
            zero,
            used(request, &ready),
            &Environment::look(
                &std::env::current_dir()?,
                request
                    .command
                    .iter()
                    .map(|word| ready.plan.redact(word))
                    .collect(),
                BTreeMap::new(),
            ),
        )?;
        if !request.quiet {
            writeln!(
                io::stderr(),
                "run directory: {}",
                directory.path().display()
            )?;
        }
        let run = Run {
            request,
            zero_ns: u64::try_from(zero.as_nanos()).unwrap_or(u64::MAX),
            clock,
            directory,
            checks: Arc::default(),
            probe: Arc::default(),
        };
        run.play(ready, &mut stop).await
    })
}

fn used(request: &Request<'_>, ready: &Ready) -> Used {
    Used {
        name: ready.plan.name.clone(),
        plan: ready.plan.as_used().parse().unwrap_or_default(),
        against: ready.target.file.name.clone(),
        target: ready.target_table.clone(),
        labels: request
            .labels
            .iter()
            .map(|(name, value)| (name.clone(), ready.plan.redact(value)))
            .collect(),
        secrets: ready.secrets.clone(),
    }
}

/// A run that is going on.
struct Run<'a> {
    request: &'a Request<'a>,
    zero_ns: u64,
    clock: Clock,
    directory: Directory,
    checks: Arc<Checks>,
    probe: Arc<Probe>,
}

/// What all generators together brought home, and how it ended.
struct Haul {
    books: Books,
    examples: BTreeMap<String, String>,
    repeated: u64,
    waits: u64,
    until: Nanos,
    stop: Option<Stop>,
    failure: Option<String>,
    interrupted: bool,
}

impl Haul {
    /// What a reader of the figures has to know.
    fn notes(&self) -> Vec<String> {
        let failure = self
            .failure
            .iter()
            .map(|why| format!("the run was ended: {why}"));
        let mut notes: Vec<String> = failure.collect();
        notes.extend(self.stop.iter().map(ToString::to_string));
        if self.interrupted {
            notes.push("the run was stopped before its end".to_owned());
        }
        if self.repeated > 0 {
            let repeated = self.repeated;
            notes.push(format!(
                "{repeated} answers held a token that was issued before"
            ));
        }
        if self.waits > 0 {
            notes.push(format!(
                "users found nobody and waited, {} ms at most, before they tried again: {} times; how \
                 many calls failed says how patient they were, and nothing of the target",
                patience::LONGEST / 1_000_000,
                self.waits
            ));
        }
        let examples = self.examples.iter();
        notes.extend(examples.map(|(kind, text)| format!("first {kind}: {text}")));
        notes
    }
}

/// What the keeping of samples has to say.
fn kept(written: Result<Kept, RecordError>) -> Option<String> {
    match written {
        Ok(Kept { stalls: 0, .. }) => None,
        Ok(Kept { stalls, .. }) => Some(format!("generators waited {stalls} times for the disk")),
        Err(error) => Some(error.to_string()),
    }
}

impl Run<'_> {
    async fn play(self, mut ready: Ready, stop: &mut Signal) -> Result<Played, PlayError> {
        let generator = watching::generator(&ready.sources);
        let watcher = Watcher::start(
            WatchOrders {
                sources: std::mem::take(&mut ready.sources),
                every: self.request.watch_every,
                clock: self.clock,
                file: self.directory.path().join(FILE),
                probe: Arc::clone(&self.probe),
            },
            self.request.environment,
        )?;
        let recorder = self.recorder(&ready)?;
        // Later than now, so that every thread is there when the schedules begin.
        let begin = self.clock.now() + START_AFTER;
        let cast = ready.cast(begin);
        let warm_until = cast.warm_until;
        let haul = self.drive(&ready, cast, recorder.as_ref(), stop).await?;
        let teardown = tokio::select! {
            failed = once::tear_down(&ready) => failed,
            _ = stop.recv() => vec!["the tear-down was cut short".to_owned()],
        };
        let measured = Span {
            begin_ns: begin,
            from_ns: warm_until.min(haul.until),
            until_ns: haul.until,
        };
        let mut notes = ready.warnings.clone();
        notes.extend(teardown);
        notes.extend(haul.notes());
        if let Some(recorder) = recorder {
            let trailer = Trailer {
                measured,
                dropped: watching::dropped(&haul.books),
            };
            notes.extend(kept(recorder.finish(trailer)));
        }
        let seen = watcher.stop()?;
        let ledger = Ledger {
            books: haul.books,
            checks: self.checks.names(),
            measured,
        };
        notes.extend(watching::verdict(&seen, &generator, measured, &ledger));
        notes.extend(seen.notes.iter().map(watching::note));
        let resources = watching::resources(&seen, measured, &ledger);
        let summary = Summary::of(&ledger, &self.about(&ready, resources, &notes));
        self.directory.finish(&ledger, &summary)?;
        if let Some(why) = haul.failure {
            return Err(BadRun::Ended(why).into());
        }
        Ok(Played {
            directory: self.directory.path().to_owned(),
            judgements: threshold::judge(&summary, &ready.thresholds),
            summary,
            stop: haul.stop,
            interrupted: haul.interrupted,
        })
    }

    fn about(&self, ready: &Ready, resources: Vec<Resource>, notes: &[String]) -> About {
        About {
            plan: ready.plan.name.clone(),
            target: ready.target.file.name.clone(),
            zero_ns: self.zero_ns,
            resources,
            notes: notes.iter().map(|note| ready.plan.redact(note)).collect(),
        }
    }

    fn recorder(&self, ready: &Ready) -> Result<Option<Recorder>, PlayError> {
        if ready.plan.keep == Keep::Histograms {
            return Ok(None);
        }
        let header = Header {
            plan: ready.plan.name.clone(),
            target: ready.target.file.name.clone(),
            generator: 0,
            zero_ns: self.zero_ns,
            times: Header::TIMES.to_owned(),
            steps: ready.steps.to_vec(),
        };
        Ok(Some(
            self.directory.record(&header, Arc::clone(&self.checks))?,
        ))
    }

    /// Starts the generators, looks after them and adds up what they bring home.
    async fn drive(
        &self,
        ready: &Ready,
        cast: Cast,
        recorder: Option<&Recorder>,
        stop: &mut Signal,
    ) -> Result<Haul, PlayError> {
        let orders = Arc::new(Orders {
            cast,
            ways: ready.ways.clone(),
            clock: self.clock,
            timeout: ready.plan.timeout,
            grace: ready.plan.grace,
            probe: Arc::clone(&self.probe),
        });
        let threads = self.request.threads.max(1);
        let board = Arc::new(Board::new(threads));
        let shares = self.start(ready, &orders, recorder, &board)?;
        let live = Live::new(self.request.quiet);
        let eye = Eye::new(ready.autostop.clone(), live, &orders.cast);
        self.attend(eye, shares, &board, stop).await
    }

    /// Starts a thread for each generator; what they bring home comes through the channel.
    fn start(
        &self,
        ready: &Ready,
        orders: &Arc<Orders>,
        recorder: Option<&Recorder>,
        board: &Arc<Board>,
    ) -> Result<Shares, PlayError> {
        let threads = self.request.threads.max(1);
        let (home, shares) = mpsc::unbounded_channel();
        for index in 0..threads {
            let part = Part {
                index: index as u64,
                of: threads as u64,
            };
            let scribe = self.scribe(&ready.steps, recorder, orders.cast.warm_until)?;
            let (orders, board, home) = (Arc::clone(orders), Arc::clone(board), home.clone());
            let name = format!("generator-{index}");
            thread::Builder::new().name(name).spawn(move || {
                // Nobody receives only when another generator has failed the run already.
                drop(home.send(crew::play(&orders, part, scribe, &board)));
            })?;
        }
        Ok(shares)
    }

    /// Looks after the generators until the last one is home.
    async fn attend(
        &self,
        mut eye: Eye,
        mut shares: Shares,
        board: &Board,
        stop: &mut Signal,
    ) -> Result<Haul, PlayError> {
        let mut sum = None;
        let (mut interrupted, mut failure) = (false, None);
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            tokio::select! {
                share = shares.recv() => match share {
                    Some(share) => add(&mut sum, share?)?,
                    None => break,
                },
                _ = look.tick() => {
                    let post = board.sum();
                    eye.look(&post, &self.checks, self.clock.now());
                    failure = failure.or(post.failure);
                    let end = failure.clone().or(eye.stop.as_ref().map(ToString::to_string));
                    if let Some(why) = end.filter(|_| !board.is_stopped()) {
                        self.directory.note(self.clock.now(), &why)?;
                        board.stop();
                    }
                }
                Some(()) = stop.recv() => {
                    if interrupted {
                        return Err(PlayError::Abandoned);
                    }
                    interrupted = true;
                    self.directory.note(self.clock.now(), "told to stop")?;
                    board.stop();
                }
            }
        }
        eye.clear();
        let Record {
            books,
            examples,
            repeated,
            waits,
        } = sum.ok_or(Broken::Lost)?;
        Ok(Haul {
            books,
            examples,
            repeated,
            waits,
            until: self.clock.now(),
            stop: eye.stop,
            failure: failure.or(board.sum().failure),
            interrupted,
        })
    }

    fn scribe(
        &self,
        steps: &Arc<[Step]>,
        recorder: Option<&Recorder>,
        warm_until: Nanos,
    ) -> Result<Scribe, PlayError> {
        let books = Books::new(Arc::clone(steps))?;
        let sink = recorder.map(Recorder::sink);
        Ok(Scribe::new(
            books,
            sink,
            Arc::clone(&self.checks),
            warm_until,
        ))
    }
}

type Shares = mpsc::UnboundedReceiver<Result<Share, Broken>>;

fn add(sum: &mut Option<Record>, share: Share) -> Result<(), PlayError> {
    let Share { record } = share;
    let Some(sum) = sum else {
        *sum = Some(record);
        return Ok(());
    };
    sum.books.merge(&record.books)?;
    sum.repeated += record.repeated;
    sum.waits += record.waits;
    for (kind, text) in record.examples {
        sum.examples.entry(kind).or_insert(text);
    }
    Ok(())
}
