//! SIGKILL at any moment under load, on every store; and the runs that losses of power share.

use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;
use tokio::time::sleep;

use super::books;
use super::child::{Launch, Signet, cluster_key};
use super::dice::Dice;
use super::ledger::{Ledger, Look};
use super::load::{self, Load};
use super::plan::{self, Length};
use super::powerloss::Disk;
use super::report;

/// When the server dies.
#[derive(Clone, Copy, Debug)]
enum Moment {
    UnderLoad,
    WhileDraining,
    WhileStarting,
    AtAWrite,
}

/// A server that dies again and again, and what it has promised.
pub(crate) struct Run {
    name: &'static str,
    launch: Launch,
    pub(crate) disk: Option<Disk>,
    pub(crate) dice: Dice,
    ledger: Ledger,
    /// The bootstrap token that was told first.
    token: String,
    lost: Vec<String>,
    longest_start: Duration,
    deaths: [usize; 4],
}

impl Run {
    pub(crate) fn new(name: &'static str, place: &Path, store: &str) -> Self {
        let launch = Launch::new(place, store);
        std::fs::create_dir(&launch.data).unwrap();
        Self {
            name,
            launch,
            disk: None,
            dice: plan::dice(name),
            ledger: Ledger::default(),
            token: String::new(),
            lost: Vec::new(),
            longest_start: Duration::ZERO,
            deaths: [0; 4],
        }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.launch = self.launch.with(name, value);
        self
    }

    /// How the next start is made. Three of four disks that lose their power tear writes.
    fn next_launch(&mut self) -> Launch {
        let Some(disk) = &self.disk else {
            return self.launch.clone();
        };
        let launch = disk.under(&self.launch).with("POWERLOSS_SYNC_US", "1000");
        if self.dice.once_in(4) {
            return launch;
        }
        launch.with("POWERLOSS_TORN", self.dice.number().to_string())
    }

    pub(crate) async fn start(&mut self) -> Signet {
        let signet = self.next_launch().start().await;
        self.longest_start = self.longest_start.max(signet.ready_after);
        signet
    }

    fn kill(&self, signet: &mut Signet) {
        signet.kill();
        if let Some(disk) = &self.disk {
            disk.lose_power();
        }
    }

    /// One death and what comes after it.
    async fn die_once(&mut self, mut signet: Signet) -> Signet {
        let moment = match self.dice.below(6) {
            0 => Moment::WhileStarting,
            1 => Moment::WhileDraining,
            2 | 3 if self.disk.is_some() => Moment::AtAWrite,
            _ => Moment::UnderLoad,
        };
        self.deaths[moment as usize] += 1;
        match moment {
            Moment::WhileStarting => {
                self.kill(&mut signet);
                signet = self.next_launch().spawn();
                sleep(self.dice.millis(0..80)).await;
            }
            Moment::AtAWrite => {
                self.kill(&mut signet);
                signet = self.die_at_a_write().await;
            }
            Moment::UnderLoad | Moment::WhileDraining => {
                self.die_under_load(&mut signet, moment).await;
            }
        }
        self.kill(&mut signet);
        let signet = self.start().await;
        if self.token != signet.token {
            self.lost
                .push("the bootstrap token is another one".to_owned());
        }
        let look = Look::NewAnd(200);
        self.lost
            .extend(self.ledger.check(&signet, &mut self.dice, look).await);
        signet
    }

    async fn die_under_load(&mut self, signet: &mut Signet, moment: Moment) {
        let load = Load::start(signet, &mut self.dice);
        sleep(self.dice.millis(20..600)).await;
        load.expect_death();
        if matches!(moment, Moment::WhileDraining) {
            signet.signal(Signal::TERM);
            sleep(self.dice.millis(0..40)).await;
        }
        signet.kill();
        self.ledger.absorb(load.end().await);
    }

    /// Not at some time but at some write, sync or name, wherever the work is then.
    async fn die_at_a_write(&mut self) -> Signet {
        let point = 1 + self.dice.below(1500);
        let mut signet = self
            .next_launch()
            .with("POWERLOSS_DIES_AT", point.to_string())
            .spawn();
        if signet.wait_until_ready().await.is_ok() {
            let load = Load::start(&signet, &mut self.dice);
            load.expect_death();
            signet.wait_for_end(Duration::from_secs(5)).await;
            signet.kill();
            self.ledger.absorb(load.end().await);
        }
        signet
    }

    /// Dies so many times; what was lost, one line each.
    pub(crate) async fn go(mut self, deaths: usize) -> Vec<String> {
        let mut signet = self.start().await;
        load::prepare(&signet).await;
        signet.token.clone_into(&mut self.token);
        for death in 1..=deaths {
            signet = self.die_once(signet).await;
            if death % 10 == 0 || death == deaths {
                println!("{}: {death} of {deaths}; {}", self.name, self.ledger);
            }
            if self.lost.len() + self.ledger.strange.len() > 0 {
                break;
            }
        }
        self.lost
            .extend(self.ledger.check(&signet, &mut self.dice, Look::All).await);
        signet.stop().await;
        if let Some(disk) = &self.disk {
            disk.lose_power();
        }
        self.lost
            .extend(books::audit(&self.launch, &self.ledger).await);
        self.lost.append(&mut self.ledger.strange);
        self.tell();
        self.lost
    }

    fn tell(&self) {
        let [under_load, draining, starting, at_a_write] = self.deaths;
        let what = format!(
            "died {under_load} times under load, {draining} draining, {starting} starting, \
             {at_a_write} at a write; {}; ready again within {:?}",
            self.ledger, self.longest_start
        );
        report::row(self.name, &what, self.lost.len());
    }
}

/// Panics where anything was lost, with the first few.
pub(crate) fn assert_nothing_lost(lost: &[String]) {
    let some = lost
        .iter()
        .take(20)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        lost.is_empty(),
        "{} things are not as they must be:\n{some}",
        lost.len()
    );
}

fn deaths() -> usize {
    Length::of_this_run().pick(4, 200)
}

mod sqlite {
    use super::*;

    fn store(place: &Path) -> String {
        format!("sqlite:{}", place.join("data/signet.db").display())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_acknowledged_is_lost_by_kill_9() {
        let place = tempfile::tempdir().unwrap();
        let run = Run::new("kill -9, SQLite", place.path(), &store(place.path()));
        assert_nothing_lost(&run.go(deaths()).await);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_acknowledged_is_lost_with_the_power() {
        let place = tempfile::tempdir().unwrap();
        let mut run = Run::new("power loss, SQLite", place.path(), &store(place.path()));
        run.disk = Some(Disk::new(&place.path().join("data")));
        assert_nothing_lost(&run.go(deaths()).await);
    }

    /// The proof that these tests can fail: the disk answers syncs and does nothing.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_disk_that_lies_about_its_syncs_is_caught() {
        let place = tempfile::tempdir().unwrap();
        let mut run = Run::new(
            "power loss on a lying disk (must lose)",
            place.path(),
            &store(place.path()),
        );
        let signet = run.start().await;
        load::prepare(&signet).await;
        signet.stop().await;
        let disk = Disk::new(&place.path().join("data"));
        let lying = disk.under(&run.launch).with("POWERLOSS_LIES", "1");
        let mut signet = lying.start().await;
        let load = Load::start(&signet, &mut run.dice);
        sleep(Duration::from_millis(500)).await;
        load.expect_death();
        signet.kill();
        run.ledger.absorb(load.end().await);
        disk.lose_power();
        let signet = run.start().await;
        run.lost = run.ledger.check(&signet, &mut run.dice, Look::All).await;
        run.tell();
        assert!(!run.lost.is_empty(), "a disk lied, and nobody noticed");
    }
}

mod postgres {
    use super::*;
    use crate::support::new_database;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nothing_acknowledged_is_lost_by_kill_9() {
        let place = tempfile::tempdir().unwrap();
        let key = cluster_key(place.path());
        let run = Run::new("kill -9, PostgreSQL", place.path(), &new_database());
        assert_nothing_lost(&run.with("SIGNET_CLUSTER_KEY_FILE", key).go(deaths()).await);
    }

    /// One of two nodes dies under load, again and again; the other one comes to know all that the
    /// dead one had acknowledged. Three times the bound: on a busy machine nobody is punctual.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_other_node_knows_what_a_killed_node_had_acknowledged() {
        let bound = Duration::from_secs(1);
        let place = tempfile::tempdir().unwrap();
        let key = cluster_key(place.path());
        let mut run = Run::new(
            "kill -9 of one of two nodes, PostgreSQL",
            place.path(),
            &new_database(),
        )
        .with("SIGNET_CLUSTER_KEY_FILE", key)
        .with(
            "SIGNET_CLUSTER_STALENESS_BOUND_MS",
            bound.as_millis().to_string(),
        );
        let other = run.start().await;
        load::prepare(&other).await;
        for _ in 0..Length::of_this_run().pick(2, 50) {
            let mut signet = run.start().await;
            run.die_under_load(&mut signet, Moment::UnderLoad).await;
            run.deaths[Moment::UnderLoad as usize] += 1;
            sleep(3 * bound).await;
            let lost = run
                .ledger
                .check(&other, &mut run.dice, Look::NewAnd(100))
                .await;
            run.lost.extend(lost);
        }
        run.lost.append(&mut run.ledger.strange);
        run.tell();
        assert_nothing_lost(&run.lost);
        other.stop().await;
    }
}
