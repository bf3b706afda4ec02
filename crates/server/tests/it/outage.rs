//! `PostgreSQL` goes away under load, and comes back: clear answers meanwhile, no hang, what needs
//! no database goes on, everything recovers by itself, and nothing acknowledged is lost.

use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::chaos::child::{Launch, Signet, cluster_key};
use crate::chaos::dice::Dice;
use crate::chaos::ledger::{Ledger, Look};
use crate::chaos::load::{self, Load};
use crate::chaos::plan::{self, Length};
use crate::chaos::postgres::Postgres;
use crate::chaos::report;
use crate::chaos::wire::{Ask, Broken, Wire};

/// `storage.deadline_ms`.
const DEADLINE: Duration = Duration::from_secs(1);
/// What a busy machine may add to it.
const SLACK: Duration = Duration::from_millis(1500);
/// By when everything works again, once the database does.
const RECOVERY: Duration = Duration::from_secs(5);

/// How the database goes away.
#[derive(Clone, Copy, Debug)]
enum Outage {
    /// It stands still: connections stay open, nothing answers.
    Frozen,
    /// It ends at once, and recovers when it is started again.
    Crashed,
}

/// An answer, and when.
#[derive(Debug)]
struct Sample {
    begun: Instant,
    took: Duration,
    /// Status, and whether it said when to try again.
    answered: Result<(u16, bool), Broken>,
}

/// One question, asked again and again.
struct Probe {
    name: &'static str,
    needs_database: bool,
    asking: JoinHandle<Vec<Sample>>,
}

/// The stretch in which the database was away.
struct Window {
    down: Instant,
    up: Instant,
}

async fn ask_again_and_again(to: SocketAddr, ask: Ask, over: Arc<AtomicBool>) -> Vec<Sample> {
    let (mut wire, mut samples) = (Wire::new(to), Vec::new());
    while !over.load(Ordering::SeqCst) {
        let begun = Instant::now();
        let answered = wire.call(&ask).await;
        let answered = answered.map(|answer| (answer.status, answer.retry_after.is_some()));
        samples.push(Sample {
            begun,
            took: begun.elapsed(),
            answered,
        });
        sleep(Duration::from_millis(15)).await;
    }
    samples
}

/// A client for stateless tokens, and a token that is known by heart.
async fn prepare(signet: &Signet) -> String {
    load::prepare(signet).await;
    let mut admin = Wire::new(signet.admin);
    let fields = json!({"client_id": "stateless", "client_secret": "secret-of-stateless",
        "secret_hash": "bcrypt:4", "access_token": "jwt", "persistence": "stateless"});
    let created = admin
        .must(&signet.as_admin(Ask::post("/admin/clients").json(&fields)))
        .await;
    assert_eq!(created.status, 201, "{created:?}");
    let mut public = Wire::new(signet.public);
    public
        .must(&Ask::token("stateless", "secret-of-stateless"))
        .await;
    public
        .must(&Ask::token("opaque", "secret-of-opaque"))
        .await
        .text("access_token")
}

fn probes(signet: &Signet, token: &str, over: &Arc<AtomicBool>) -> Vec<Probe> {
    let (public, admin) = (signet.public, signet.admin);
    let introspect =
        signet.as_admin(Ask::post("/admin/oauth2/introspect").form(&[("token", token)]));
    let list = signet.as_admin(Ask::get("/admin/clients?limit=1"));
    let known_client = signet.as_admin(Ask::get("/admin/clients/opaque"));
    let questions = [
        (
            "issue persisted",
            true,
            public,
            Ask::token("opaque", "secret-of-opaque"),
        ),
        ("list clients", true, admin, list),
        ("ready", true, public, Ask::get("/health/ready")),
        (
            "issue stateless",
            false,
            public,
            Ask::token("stateless", "secret-of-stateless"),
        ),
        ("introspect, cached", false, admin, introspect),
        ("get client, cached", false, admin, known_client),
        (
            "discovery",
            false,
            public,
            Ask::get("/.well-known/openid-configuration"),
        ),
        ("keys", false, public, Ask::get("/.well-known/jwks.json")),
        ("alive", false, public, Ask::get("/health/alive")),
    ];
    let start = |(name, needs_database, to, ask)| {
        let asking = tokio::spawn(ask_again_and_again(to, ask, Arc::clone(over)));
        Probe {
            name,
            needs_database,
            asking,
        }
    };
    questions.map(start).into()
}

/// What is wrong with an answer of something that needs the database.
fn fault_of_needy(sample: &Sample, windows: &[Window]) -> Option<String> {
    let ended = sample.begun + sample.took;
    let was_away = windows
        .iter()
        .any(|window| sample.begun > window.down && ended < window.up);
    let touches = |window: &Window| ended > window.down && sample.begun < window.up + RECOVERY;
    let fault = match &sample.answered {
        Err(broken) => broken.to_string(),
        Ok((503, false)) => "503 without Retry-After".to_owned(),
        Ok((503, true)) if windows.iter().any(touches) => return late(sample, DEADLINE + SLACK),
        Ok((200, _)) if !was_away => return late(sample, DEADLINE + SLACK),
        Ok((status, _)) => format!("{status}, database away: {was_away}"),
    };
    Some(fault)
}

/// What is wrong with an answer of something that needs no database.
fn fault_of_free(sample: &Sample) -> Option<String> {
    match &sample.answered {
        Ok((200, _)) => late(sample, SLACK),
        Ok((status, _)) => Some(status.to_string()),
        Err(broken) => Some(broken.to_string()),
    }
}

fn late(sample: &Sample, bound: Duration) -> Option<String> {
    (sample.took > bound).then(|| format!("it took {:?}", sample.took))
}

impl Probe {
    /// What is wrong, and the time from the last return of the database to the last 503.
    async fn judge(self, windows: &[Window]) -> (Vec<String>, Duration) {
        let samples = self.asking.await.unwrap();
        let mut faults = Vec::new();
        for sample in &samples {
            let fault = if self.needs_database {
                fault_of_needy(sample, windows)
            } else {
                fault_of_free(sample)
            };
            let when = windows
                .first()
                .map(|window| sample.begun.saturating_duration_since(window.down));
            faults.extend(fault.map(|fault| format!("{} at {when:?}: {fault}", self.name)));
        }
        let during = |sample: &&Sample| {
            windows
                .iter()
                .any(|w| sample.begun > w.down && sample.begun < w.up)
        };
        let refused = |sample: &&Sample| matches!(sample.answered, Ok((503, _)));
        let (asked, refusals) = (
            samples.iter().filter(during).count(),
            samples.iter().filter(refused).count(),
        );
        let slowest = samples
            .iter()
            .map(|sample| sample.took)
            .max()
            .unwrap_or_default();
        println!(
            "  {:<20} {:>5} asked, {asked:>4} of them during outages, {refusals:>4} answered 503, slowest {slowest:?}",
            self.name,
            samples.len()
        );
        if asked == 0 || (self.needs_database && refusals == 0) {
            faults.push(format!(
                "{}: {asked} asked during outages, {refusals} refused",
                self.name
            ));
        }
        let last = samples
            .iter()
            .rev()
            .find(refused)
            .map(|sample| sample.begun + sample.took);
        let up = windows.last().map(|window| window.up);
        let recovery = last.zip(up).map_or(Duration::ZERO, |(last, up)| {
            last.saturating_duration_since(up)
        });
        (faults, recovery)
    }
}

async fn go_away(postgres: &mut Postgres, outage: Outage, time: Duration) -> Window {
    match outage {
        Outage::Frozen => postgres.freeze(),
        Outage::Crashed => postgres.crash(),
    }
    let down = Instant::now();
    sleep(time).await;
    let up = Instant::now();
    match outage {
        Outage::Frozen => postgres.thaw(),
        Outage::Crashed => postgres.start().await,
    }
    Window { down, up }
}

/// Outages under load, and what is wrong with how they were lived through.
async fn live_through(name: &str, outage: Outage) -> Vec<String> {
    let mut dice = plan::dice(name);
    let place = tempfile::tempdir().unwrap();
    let mut postgres = Postgres::start_new().await;
    let launch = Launch::new(place.path(), &postgres.url())
        .with("SIGNET_CLUSTER_KEY_FILE", cluster_key(place.path()))
        .with(
            "SIGNET_STORAGE_DEADLINE_MS",
            DEADLINE.as_millis().to_string(),
        );
    let signet = launch.start().await;
    let token = prepare(&signet).await;
    let length = Length::of_this_run();
    let over = Arc::new(AtomicBool::new(false));
    let probes = probes(&signet, &token, &over);
    let load = Load::start(&signet, &mut dice);
    let mut windows = Vec::new();
    for _ in 0..length.pick(1, 3) {
        sleep(length.pick(Duration::from_secs(1), Duration::from_secs(20))).await;
        let time = length.pick(Duration::from_millis(2500), Duration::from_secs(10));
        windows.push(go_away(&mut postgres, outage, time).await);
    }
    sleep(RECOVERY + Duration::from_secs(1)).await;
    let mut ledger = load.end().await;
    over.store(true, Ordering::SeqCst);
    let (mut faults, mut recovery) = (std::mem::take(&mut ledger.strange), Duration::ZERO);
    println!("{name}:");
    for probe in probes {
        let (found, time) = probe.judge(&windows).await;
        faults.extend(found);
        recovery = recovery.max(time);
    }
    if ledger.slowest > DEADLINE + SLACK {
        faults.push(format!("under load an answer took {:?}", ledger.slowest));
    }
    check_afterwards(&mut ledger, &mut dice, &launch, signet, &mut faults).await;
    let what = format!(
        "{} outages; {ledger}; slowest answer {:?}; last 503 {recovery:?} after the return",
        windows.len(),
        ledger.slowest
    );
    report::row(name, &what, faults.len());
    faults
}

/// The node that lived through it knows everything, and so does one that starts now.
async fn check_afterwards(
    ledger: &mut Ledger,
    dice: &mut Dice,
    launch: &Launch,
    signet: Signet,
    faults: &mut Vec<String>,
) {
    faults.extend(ledger.check(&signet, dice, Look::All).await);
    let output = signet.output();
    if output.contains("panicked") {
        faults.push(output);
    }
    signet.stop().await;
    let signet = launch.start().await;
    faults.extend(ledger.check(&signet, dice, Look::All).await);
    signet.stop().await;
}

/// How often it is refused before it is answered.
async fn refusals_until_answered(to: SocketAddr, ask: &Ask) -> usize {
    let (mut wire, started, mut refusals) = (Wire::new(to), Instant::now(), 0);
    while wire.must(ask).await.status != 200 {
        refusals += 1;
        assert!(
            started.elapsed() < 2 * RECOVERY,
            "it is never answered: {ask:?}"
        );
        sleep(Duration::from_millis(20)).await;
    }
    refusals
}

mod postgres {
    use super::*;

    fn assert_faultless(faults: &[String]) {
        assert!(
            faults.is_empty(),
            "{} faults, such as:\n{}",
            faults.len(),
            faults[..faults.len().min(20)].join("\n")
        );
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_database_that_stands_still_is_answered_for_and_outlived() {
        assert_faultless(&live_through("PostgreSQL frozen", Outage::Frozen).await);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_database_that_crashes_is_answered_for_and_outlived() {
        assert_faultless(&live_through("PostgreSQL crashed", Outage::Crashed).await);
    }

    /// What a proxy does whose other half has died: connections stay open, bytes are accepted, and
    /// nobody answers. New connections work.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn connections_that_hang_for_ever_are_given_up_for_new_ones() {
        let place = tempfile::tempdir().unwrap();
        let postgres = Postgres::start_new().await;
        let launch = Launch::new(place.path(), &postgres.url())
            .with("SIGNET_CLUSTER_KEY_FILE", cluster_key(place.path()))
            .with(
                "SIGNET_STORAGE_DEADLINE_MS",
                DEADLINE.as_millis().to_string(),
            );
        let signet = launch.start().await;
        prepare(&signet).await;
        // Between two writes, so that nothing is locked by what stands still.
        sleep(Duration::from_secs(1)).await;
        postgres.freeze_sessions();
        let (hung, mut refusals) = (Instant::now(), 0);
        let asks = [
            (signet.public, Ask::token("opaque", "secret-of-opaque")),
            (
                signet.admin,
                signet.as_admin(Ask::get("/admin/clients?limit=1")),
            ),
            (signet.public, Ask::get("/health/ready")),
        ];
        for (to, ask) in asks {
            refusals += refusals_until_answered(to, &ask).await;
        }
        let what = format!("{refusals} refusals, all new after {:?}", hung.elapsed());
        report::row("PostgreSQL, hung connections", &what, 0);
        postgres.thaw();
        signet.stop().await;
    }

    /// Two nodes lose their database; when it is back, each learns what the other has revoked.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_revocation_reaches_the_other_node_after_an_outage() {
        let place = tempfile::tempdir().unwrap();
        let mut postgres = Postgres::start_new().await;
        let launch = Launch::new(place.path(), &postgres.url())
            .with("SIGNET_CLUSTER_KEY_FILE", cluster_key(place.path()))
            .with("SIGNET_CLUSTER_STALENESS_BOUND_MS", "1000");
        let (one, two) = (launch.start().await, launch.start().await);
        let token = prepare(&one).await;
        let form = [("token", &*token)];
        let ask =
            |signet: &Signet| signet.as_admin(Ask::post("/admin/oauth2/introspect").form(&form));
        let (mut to_one, mut to_two) = (Wire::new(one.admin), Wire::new(two.admin));
        assert_eq!(to_two.must(&ask(&two)).await.json()["active"], true);
        go_away(&mut postgres, Outage::Crashed, Duration::from_secs(2)).await;
        let revoke = one.as_admin(Ask::post("/admin/oauth2/revoke").form(&form));
        let asked = Instant::now();
        while to_one.must(&revoke).await.status != 200 {
            assert!(
                asked.elapsed() < RECOVERY,
                "the first node does not recover"
            );
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(
            to_one.must(&ask(&one)).await.json()["active"],
            false,
            "at once where it was revoked"
        );
        let revoked = Instant::now();
        while to_two.must(&ask(&two)).await.json()["active"] != false {
            assert!(
                revoked.elapsed() < RECOVERY,
                "the other node never learns of it"
            );
            sleep(Duration::from_millis(20)).await;
        }
        let what = format!(
            "the other node knows {:?} after the answer (bound 1 s)",
            revoked.elapsed()
        );
        report::row("PostgreSQL crashed, two nodes", &what, 0);
        one.stop().await;
        two.stop().await;
    }
}
