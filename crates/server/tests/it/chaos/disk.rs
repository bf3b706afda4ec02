//! A disk that is full, or answers syncs with errors, while the server runs: it says so, goes on
//! with what needs no disk, recovers by itself, and stands by everything that it acknowledged.

use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tokio::time::{Instant, sleep};

use super::books;
use super::child::{Launch, Signet};
use super::dice::Dice;
use super::kills::assert_nothing_lost;
use super::ledger::{Fate, Form, Ledger, Look, Token};
use super::load::{self, Load};
use super::plan::{self, Length};
use super::powerloss::Disk;
use super::report;
use super::wire::{Answer, Ask, Wire};

/// No answer takes longer than the deadline of the store and what a busy machine adds to it.
const PROMPT: Duration = Duration::from_secs(8);

/// What is wrong with the disk, and how it is mended.
trait Trouble {
    fn begin(&self);
    fn mend(&self);
}

/// The file layer is told so by a file.
struct Flag(PathBuf);

impl Trouble for Flag {
    fn begin(&self) {
        fs::write(&self.0, "").unwrap();
    }

    fn mend(&self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// A small file system of its own, unmounted when it is dropped; another file takes the room.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where this process may not mount.
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=64m,mode=0700", "signet-test"])
            .arg(at);
        let mounted = mount.output().is_ok_and(|run| run.status.success());
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Trouble for SmallDisk {
    fn begin(&self) {
        use std::io::Write;
        let mut ballast = fs::File::create(self.0.join("ballast")).unwrap();
        while ballast.write_all(&[7; 4096]).is_ok() {}
    }

    fn mend(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).output());
    }
}

/// A server under trouble, and one client of each kind.
struct Trial {
    signet: Signet,
    public: Wire,
    admin: Wire,
    ledger: Ledger,
    slowest: Duration,
}

impl Trial {
    async fn start(launch: &Launch) -> Self {
        let signet = launch.start().await;
        load::prepare(&signet).await;
        let (public, admin) = (Wire::new(signet.public), Wire::new(signet.admin));
        let mut trial = Self {
            signet,
            public,
            admin,
            ledger: Ledger::default(),
            slowest: Duration::ZERO,
        };
        let stateless = json!({"client_id": "stateless", "client_secret": "secret-of-stateless",
            "secret_hash": "bcrypt:4", "access_token": "jwt", "persistence": "stateless"});
        let created = trial
            .ask_admin(Ask::post("/admin/clients").json(&stateless))
            .await;
        assert_eq!(created.status, 201, "{created:?}");
        assert_eq!(trial.stateless().await.status, 200);
        trial
    }

    async fn ask(&mut self, ask: Ask) -> Answer {
        let asked = Instant::now();
        let answer = self.public.must(&ask).await;
        self.slowest = self.slowest.max(asked.elapsed());
        answer
    }

    async fn ask_admin(&mut self, ask: Ask) -> Answer {
        let asked = Instant::now();
        let answer = self.admin.must(&self.signet.as_admin(ask)).await;
        self.slowest = self.slowest.max(asked.elapsed());
        answer
    }

    async fn stateless(&mut self) -> Answer {
        self.ask(Ask::token("stateless", "secret-of-stateless"))
            .await
    }

    /// Issues a token; whether that was acknowledged.
    async fn issue(&mut self) -> bool {
        let answer = self.ask(Ask::token("opaque", "secret-of-opaque")).await;
        self.expect(&answer);
        if answer.status == 200 {
            let (text, client) = (answer.text("access_token"), "opaque".to_owned());
            self.ledger.tokens.push(Token {
                text,
                form: Form::Opaque,
                client,
                fate: Fate::Stands,
            });
        }
        answer.status == 200
    }

    /// Revokes one of the tokens; whether that was acknowledged.
    async fn revoke(&mut self, dice: &mut Dice) -> bool {
        let index = dice.below(self.ledger.tokens.len());
        let text = self.ledger.tokens[index].text.clone();
        let answer = self
            .ask_admin(Ask::post("/admin/oauth2/revoke").form(&[("token", &*text)]))
            .await;
        self.expect(&answer);
        let fate = &mut self.ledger.tokens[index].fate;
        *fate = match (answer.status, *fate) {
            (200, _) => Fate::Ended,
            (_, Fate::Stands) => Fate::Open,
            (_, as_before) => as_before,
        };
        answer.status == 200
    }

    fn expect(&mut self, answer: &Answer) {
        match answer.status {
            200 => {}
            500 => self.ledger.refused += 1,
            503 if answer.retry_after.is_some() => self.ledger.refused += 1,
            _ => self.ledger.strange.push(format!("{answer:?}")),
        }
    }

    /// Work until the disk's trouble is felt.
    async fn work_until_refused(&mut self, dice: &mut Dice) {
        let started = Instant::now();
        while self.issue().await {
            let patience = Duration::from_mins(1);
            assert!(
                started.elapsed() < patience,
                "it never noticed:\n{}",
                self.signet.output()
            );
        }
        for _ in 0..Length::of_this_run().pick(10, 200) {
            self.issue().await;
            self.revoke(dice).await;
        }
        // What needs no disk goes on.
        assert_eq!(self.stateless().await.status, 200, "stateless tokens");
        for path in ["/health/alive", "/.well-known/jwks.json"] {
            assert_eq!(self.ask(Ask::get(path)).await.status, 200, "{path}");
        }
    }

    /// How long it takes until ten of each kind in a row are acknowledged.
    async fn recover(&mut self, dice: &mut Dice) -> Duration {
        let started = Instant::now();
        let mut in_a_row = 0;
        while in_a_row < 10 {
            let both = self.issue().await & self.revoke(dice).await;
            in_a_row = if both { in_a_row + 1 } else { 0 };
            let patience = Duration::from_secs(20);
            assert!(
                started.elapsed() < patience,
                "it does not recover:\n{}",
                self.signet.output()
            );
            sleep(Duration::from_millis(10)).await;
        }
        started.elapsed()
    }
}

/// Trouble begins under load, is felt, is mended; twice. Then the server dies, and is asked about
/// everything.
async fn survive(
    name: &str,
    launch: &Launch,
    disk: Option<&Disk>,
    (trouble, word): (&dyn Trouble, &str),
) {
    let mut dice = plan::dice(name);
    let under = disk.map_or_else(|| launch.clone(), |disk| disk.under(launch));
    let mut trial = Trial::start(&under).await;
    let load = Load::start(&trial.signet, &mut dice);
    load.expect_faults();
    let mut recovered = Duration::ZERO;
    for _ in 0..Length::of_this_run().pick(2, 10) {
        sleep(dice.millis(100..1500)).await;
        for _ in 0..20 {
            trial.issue().await;
        }
        trouble.begin();
        trial.work_until_refused(&mut dice).await;
        trouble.mend();
        recovered = recovered.max(trial.recover(&mut dice).await);
    }
    load.expect_death();
    trial.signet.kill();
    trial.ledger.absorb(load.end().await);
    if let Some(disk) = disk {
        disk.lose_power();
    }
    let output = trial.signet.output();
    assert!(
        output.to_lowercase().contains(word),
        "the log does not say {word:?}:\n{output}"
    );
    assert!(!output.contains("panicked"), "{output}");
    let signet = launch.start().await;
    let mut lost = trial.ledger.check(&signet, &mut dice, Look::All).await;
    signet.stop().await;
    lost.extend(books::audit(launch, &trial.ledger).await);
    lost.append(&mut trial.ledger.strange);
    let slowest = trial.slowest.max(trial.ledger.slowest);
    let what = format!(
        "{}; slowest answer {slowest:?}, recovered in {recovered:?}",
        trial.ledger
    );
    report::row(name, &what, lost.len());
    assert_nothing_lost(&lost);
    assert!(slowest < PROMPT, "an answer took {slowest:?}");
}

fn sqlite(place: &Path) -> Launch {
    Launch::new(
        place,
        &format!("sqlite:{}", place.join("data/signet.db").display()),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_and_outlived() {
    let place = tempfile::tempdir().unwrap();
    let flag = place.path().join("full");
    let launch = sqlite(place.path()).with("POWERLOSS_FULL", &flag);
    fs::create_dir(&launch.data).unwrap();
    let disk = Disk::new(&launch.data);
    survive("disk full", &launch, Some(&disk), (&Flag(flag), "full")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sync_that_fails_is_not_acknowledged() {
    let place = tempfile::tempdir().unwrap();
    let flag = place.path().join("broken");
    let launch = sqlite(place.path()).with("POWERLOSS_BROKEN", &flag);
    fs::create_dir(&launch.data).unwrap();
    let disk = Disk::new(&launch.data);
    survive(
        "syncs fail",
        &launch,
        Some(&disk),
        (&Flag(flag), "the disk that holds it fails"),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_file_system_that_fills_up_is_outlived() {
    let place = tempfile::tempdir().unwrap();
    let launch = sqlite(place.path());
    let Some(small) = SmallDisk::mount(&launch.data) else {
        println!("disk full, tmpfs: this user may not mount; the file layer's full disk has to do");
        return;
    };
    survive("disk full, tmpfs", &launch, None, (&small, "full")).await;
}

/// What it says, and that it leaves nothing in the way of a start with room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_is_full_at_the_start_is_named() {
    let place = tempfile::tempdir().unwrap();
    let launch = sqlite(place.path());
    fs::create_dir(&launch.data).unwrap();
    let disk = Disk::new(&launch.data);
    for (start, words) in [
        ("first", ["No space left", "cluster.key"]),
        ("second", ["full", "make room"]),
    ] {
        let (code, output) = disk
            .under(&launch)
            .with("POWERLOSS_FULL", "/")
            .refusal()
            .await;
        let is_clear = words.iter().all(|word| output.contains(word));
        assert!(code != 0 && is_clear, "{start} start, {code}: {output}");
        disk.lose_power();
        disk.under(&launch).start().await.stop().await;
        disk.lose_power();
    }
}
