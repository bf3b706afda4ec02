//! One generator: a thread with a runtime of its own that runs its share of the lanes, first to warm
//! up, then to measure. It must not know what other generators do or how a run is reported.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, LocalOptions};
use tokio::task::{JoinError, spawn_local};

use crate::clock::{Clock, Nanos, nanos, since_epoch, thread_cpu};
use crate::histogram::Unusable;
use crate::hit::board::{Board, Progress};
use crate::hit::drive::{Desk, lane};
use crate::hit::request::Requests;
use crate::hit::run::{Generator, Protocol, Warmup};
use crate::hit::tally::Tally;
use crate::timing::pace::{Load, Pace, Share, Until};
use crate::wire::dial::Dialer;
use crate::wire::target::Target;
use crate::wire::{Failure, Http1, Http2, Link, Trunk};

const SHOW_EVERY: Duration = Duration::from_millis(250);

/// What all generators of a run do.
#[derive(Debug)]
pub(crate) struct Orders {
    pub(crate) target: Target,
    pub(crate) requests: Arc<Requests>,
    pub(crate) tls: Option<Arc<rustls::ClientConfig>>,
    pub(crate) protocol: Protocol,
    pub(crate) keep_alive: bool,
    /// HTTP/2 connections per generator.
    pub(crate) trunks: usize,
    pub(crate) load: Load,
    pub(crate) warmup: Option<Until>,
    pub(crate) until: Until,
    pub(crate) timeout: Nanos,
}

/// The place of one generator among the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) index: usize,
    pub(crate) share: Share,
    pub(crate) lanes: usize,
}

/// What one generator brings home.
#[derive(Debug)]
pub(crate) struct Part {
    /// When its measurement began, since the epoch.
    pub(crate) started: Duration,
    pub(crate) elapsed: Nanos,
    pub(crate) tally: Tally,
    pub(crate) generator: Generator,
    pub(crate) warmup: Option<Warmup>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the generator cannot start: {0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Histogram(#[from] Unusable),
    #[error("the target cannot be addressed: {}", .0.detail)]
    Target(Failure),
    #[error("a lane died: {0}")]
    Lane(#[from] JoinError),
    #[error("a generator died")]
    Lost,
    #[error("given up: told to stop twice")]
    Abandoned,
}

/// Runs a generator to its end on the calling thread.
pub(crate) fn generate(orders: &Orders, place: Place, board: &Arc<Board>) -> Result<Part, Broken> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    runtime.block_on(async {
        let clock = Clock::start();
        let mut links = links(orders, place.lanes, clock)?;
        let mut warmup = None;
        if let Some(until) = orders.warmup {
            let phase = Phase {
                orders,
                place,
                clock,
                until,
                warming_up: true,
            };
            let done = phase.run(&mut links, board).await?;
            warmup = Some(Warmup {
                elapsed: done.elapsed,
                errors: done.tally.error_count(),
                latencies: done.tally.response,
            });
        }
        let phase = Phase {
            orders,
            place,
            clock,
            until: orders.until,
            warming_up: false,
        };
        let part = phase.run(&mut links, board).await?;
        Ok(Part { warmup, ..part })
    })
}

/// One link per lane. HTTP/2 lanes take turns on the shared connections.
fn links(orders: &Orders, lanes: usize, clock: Clock) -> Result<Vec<Link>, Broken> {
    let http2 = orders.protocol == Protocol::Http2;
    let dialer =
        || Dialer::new(&orders.target, orders.tls.as_ref(), http2, clock).map_err(Broken::Target);
    let requests = || Arc::clone(&orders.requests);
    if http2 {
        let trunks = (0..orders.trunks.max(1))
            .map(|_| Ok(Rc::new(Trunk::new(dialer()?))))
            .collect::<Result<Vec<_>, Broken>>()?;
        let trunks = trunks.into_iter().cycle().take(lanes);
        return Ok(trunks
            .map(|trunk| Link::Http2(Http2::new(trunk, requests())))
            .collect());
    }
    let dialer = Rc::new(dialer()?);
    let link = || {
        Link::Http1(Http1::new(
            Rc::clone(&dialer),
            requests(),
            orders.keep_alive,
        ))
    };
    Ok((0..lanes).map(|_| link()).collect())
}

/// One of the two parts of a run.
struct Phase<'a> {
    orders: &'a Orders,
    place: Place,
    clock: Clock,
    until: Until,
    warming_up: bool,
}

impl Phase<'_> {
    async fn run(&self, links: &mut Vec<Link>, board: &Arc<Board>) -> Result<Part, Broken> {
        let pace = Pace::new(self.orders.load, self.until, self.place.share);
        let tally = Tally::new(matches!(self.orders.load, Load::Open { .. }))?;
        let timeout = self.orders.timeout;
        let started = since_epoch();
        let cpu = thread_cpu();
        let desk = Rc::new(Desk::new(self.clock, pace, tally, links.len(), timeout)?);
        let lanes: Vec<_> = links
            .drain(..)
            .enumerate()
            .map(|(index, link)| spawn_local(lane(Rc::clone(&desk), index, link)))
            .collect();
        let timekeeper = spawn_local({
            let desk = Rc::clone(&desk);
            async move { desk.keep_time().await }
        });
        let ticker = spawn_local(tick(
            Rc::clone(&desk),
            Arc::clone(board),
            self.place.index,
            self.warming_up,
            tick_length(timeout),
        ));
        for lane in lanes {
            links.push(lane.await?);
        }
        timekeeper.abort();
        ticker.abort();
        let (tally, elapsed) = desk.close();
        Ok(Part {
            started,
            elapsed,
            tally,
            generator: Generator::of_thread(thread_cpu() - cpu, desk.elapsed()),
            warmup: None,
        })
    }
}

/// Fine enough that a timeout is late by a twentieth at most, coarse enough to cost nothing.
fn tick_length(timeout: Nanos) -> Duration {
    let finest = Duration::from_millis(1);
    let coarsest = Duration::from_millis(50);
    Duration::from_nanos(timeout / 20).clamp(finest, coarsest)
}

/// Enforces deadlines, obeys the stop and posts progress, until it is aborted.
async fn tick(desk: Rc<Desk>, board: Arc<Board>, index: usize, warming_up: bool, every: Duration) {
    let mut interval = tokio::time::interval(every);
    let mut shown = 0;
    loop {
        interval.tick().await;
        desk.tick();
        if board.is_stopped() {
            desk.interrupt();
        }
        let elapsed = desk.elapsed();
        if board.is_watched() && elapsed - shown >= nanos(SHOW_EVERY) {
            shown = elapsed;
            let in_flight = desk.in_flight();
            let progress = desk.read(|tally| Progress {
                warming_up,
                elapsed,
                latencies: tally.response.clone(),
                errors: tally.error_count(),
                dropped: tally.dropped,
                in_flight,
            });
            board.post(index, progress);
        }
    }
}
