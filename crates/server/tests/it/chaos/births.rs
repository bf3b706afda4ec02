//! The first start, ended before each of the things that it writes, one after the other: the next
//! start finds nothing in its way.

use std::path::Path;

use super::books;
use super::child::Launch;
use super::dice::Dice;
use super::kills::assert_nothing_lost;
use super::ledger::Ledger;
use super::load;
use super::plan::{self, Length};
use super::powerloss::Disk;
use super::report;

/// More things than a first start writes.
const MANY: usize = 2000;
/// About as many as it writes.
const SOME: usize = 120;

/// What is left when the first start dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// All that was written.
    Everything,
    /// What was synced, and of the rest what a real disk happens to keep.
    WhatWasSynced,
}

/// The first start dies at this point, unless it gets through; what is wrong with the second one.
async fn die_at(point: usize, left: Left, place: &Path, dice: &mut Dice) -> Result<bool, String> {
    let launch = Launch::new(
        place,
        &format!("sqlite:{}", place.join("data/signet.db").display()),
    );
    std::fs::create_dir(&launch.data).unwrap();
    let disk = Disk::new(&launch.data);
    let mut first = disk
        .under(&launch)
        .with("POWERLOSS_DIES_AT", point.to_string())
        .with("POWERLOSS_TORN", dice.number().to_string())
        .spawn();
    let survived = first.wait_until_ready().await.is_ok();
    first.kill();
    if left == Left::WhatWasSynced {
        disk.lose_power();
    }
    let mut second = launch.spawn();
    second
        .wait_until_ready()
        .await
        .map_err(|said| format!("died at point {point}, then: {said}"))?;
    load::prepare(&second).await;
    second.stop().await;
    let wrong = books::audit(&launch, &Ledger::default()).await;
    if wrong.is_empty() {
        Ok(survived)
    } else {
        Err(format!("died at point {point}: {wrong:?}"))
    }
}

/// Dies at every point, or, in a short run, at some.
async fn die_everywhere(name: &str, left: Left) {
    let mut dice = plan::dice(name);
    let points: Vec<usize> = match Length::of_this_run() {
        Length::Full => (1..MANY).collect(),
        Length::Short => (0..5).map(|_| 1 + dice.below(SOME)).collect(),
    };
    let (mut died, mut wrong) = (0, Vec::new());
    for point in points {
        let place = tempfile::tempdir().unwrap();
        match die_at(point, left, place.path(), &mut dice).await {
            Ok(true) => break,
            Ok(false) => died += 1,
            Err(fault) => wrong.push(fault),
        }
        if point % 50 == 0 {
            println!("{name}: point {point}");
        }
    }
    let what = format!(
        "the first start died at {} points; {died} second starts were ready",
        died + wrong.len()
    );
    report::row(name, &what, wrong.len());
    assert_nothing_lost(&wrong);
}

mod sqlite {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_kill_at_any_point_of_the_first_start_is_overcome() {
        die_everywhere("kill -9 at birth, SQLite", Left::Everything).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_loss_of_power_at_any_point_of_the_first_start_is_overcome() {
        die_everywhere("power loss at birth, SQLite", Left::WhatWasSynced).await;
    }
}
