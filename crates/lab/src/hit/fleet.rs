//! All generators of a run: starts them, watches them, passes on the user's wish to stop and adds up
//! what they bring home. It must not know protocols or reports.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::hit::board::Board;
use crate::hit::generator::{Broken, Orders, Part, Place, generate};
use crate::hit::run::merge_warmup;
use crate::report::progress::Display;
use crate::timing::pace::Share;

const DRAW_EVERY: Duration = Duration::from_millis(250);

/// What came of a whole run.
#[derive(Debug)]
pub(crate) struct Haul {
    pub(crate) part: Part,
    pub(crate) interrupted: bool,
}

/// Runs the orders on so many threads with so many lanes altogether.
pub(crate) async fn run(
    orders: Orders,
    threads: usize,
    lanes: usize,
    mut display: Display,
) -> Result<Haul, Broken> {
    // Before anything is sent: a user who stops the run at once still gets its report.
    let mut stop = signal(SignalKind::interrupt())?;
    let orders = Arc::new(orders);
    let board = Arc::new(Board::new(threads, display.is_on()));
    let (home, mut parts) = mpsc::unbounded_channel();
    for place in places(threads, lanes) {
        let (orders, board, home) = (Arc::clone(&orders), Arc::clone(&board), home.clone());
        let name = format!("generator-{}", place.index);
        thread::Builder::new().name(name).spawn(move || {
            // Nobody receives only when another generator has failed the run already.
            drop(home.send(generate(&orders, place, &board)));
        })?;
    }
    drop(home);

    let mut draw = tokio::time::interval(DRAW_EVERY);
    let mut whole: Option<Part> = None;
    let mut missing = threads;
    while missing > 0 {
        tokio::select! {
            part = parts.recv() => {
                add(&mut whole, part.ok_or(Broken::Lost)??)?;
                missing -= 1;
            }
            _ = draw.tick() => {
                if let Some(progress) = board.sum() {
                    display.show(&progress);
                }
            }
            Some(()) = stop.recv() => {
                if board.is_stopped() {
                    return Err(Broken::Abandoned);
                }
                board.stop();
            }
        }
    }
    display.clear();
    Ok(Haul {
        part: whole.ok_or(Broken::Lost)?,
        interrupted: board.is_stopped(),
    })
}

/// Divides the lanes as evenly as can be; every generator has at least one.
fn places(threads: usize, lanes: usize) -> impl Iterator<Item = Place> {
    (0..threads).map(move |index| Place {
        index,
        share: Share {
            index: index as u64,
            of: threads as u64,
        },
        lanes: (lanes / threads + usize::from(index < lanes % threads)).max(1),
    })
}

fn add(whole: &mut Option<Part>, part: Part) -> Result<(), Broken> {
    let Some(whole) = whole else {
        *whole = Some(part);
        return Ok(());
    };
    whole.started = whole.started.min(part.started);
    whole.elapsed = whole.elapsed.max(part.elapsed);
    whole.tally.merge(&part.tally)?;
    whole.generator.merge(part.generator);
    merge_warmup(&mut whole.warmup, part.warmup.as_ref())?;
    Ok(())
}
