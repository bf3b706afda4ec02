//! What every measurement needs: the programs, the plan, a place to work in and a place for results.

use serde::Serialize;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

use crate::clock::Stopwatch;
use crate::environment::{Environment, load_average};
use crate::failure::{Context, Failed, Outcome};
use crate::results::Results;

/// The programs that are run.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) signet: PathBuf,
    pub(crate) assay: PathBuf,
    pub(crate) signer: PathBuf,
    pub(crate) wrk: PathBuf,
    pub(crate) nginx: PathBuf,
    pub(crate) postgres: PathBuf,
}

impl Programs {
    /// Our own in `directory`; the others from the search path, or where Debian has them.
    pub(crate) fn find(directory: &Path, search_path: &str) -> Outcome<Self> {
        let ours = |name: &str| {
            let file = directory.join(name);
            file.is_file().then_some(file)
        };
        let missing = |name: &str| format!("no {name} in {}: make build", directory.display());
        let theirs = |name: &str| {
            let places = search_path
                .split(':')
                .chain(["/usr/sbin", "/usr/local/sbin"]);
            let mut files = places.map(|place| Path::new(place).join(name));
            files
                .find(|file| file.is_file())
                .unwrap_or_else(|| PathBuf::from(name))
        };
        Ok(Self {
            signet: ours("signet").context(missing("signet"))?,
            assay: ours("assay").context(missing("assay"))?,
            signer: directory.join("signet-signer"),
            wrk: theirs("wrk"),
            nginx: theirs("nginx"),
            postgres: theirs("postgres"),
        })
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Plan {
    /// Pairs of runs behind every ratio.
    pub(crate) rounds: usize,
    /// Seconds of each run, and of the load before it.
    pub(crate) seconds: f64,
    pub(crate) warmup: f64,
    pub(crate) concurrency: usize,
    /// Different tokens that are introspected in turn.
    pub(crate) tokens: u64,
    /// Tokens that are issued before memory is looked at.
    pub(crate) issued: u64,
    /// Persisted tokens that are alive in the store of the live rows.
    pub(crate) live_rows: u64,
    /// Clients and revocations that a start has to cope with.
    pub(crate) clients: u64,
    pub(crate) revocations: u64,
    /// The open loop of revocations.
    pub(crate) revoke_rate: u64,
    pub(crate) revoke_seconds: u64,
    /// Requests of each endpoint of the published benchmark.
    pub(crate) requests: u64,
    /// Short-lived tokens of the soak, and how many seconds they live.
    pub(crate) soak_tokens: u64,
    pub(crate) soak_lifetime: u64,
    /// Tokens per second of the soak: slow enough that many lifetimes pass during it.
    pub(crate) soak_rate: u64,
}

impl Plan {
    pub(crate) const FULL: Self = Self {
        rounds: 7,
        seconds: 8.0,
        warmup: 1.0,
        concurrency: 100,
        tokens: 10_000,
        issued: 1_000_000,
        live_rows: 5_000_000,
        clients: 1_000_000,
        revocations: 1_000_000,
        revoke_rate: 8_000,
        revoke_seconds: 600,
        requests: 10_000,
        soak_tokens: 10_000_000,
        soak_lifetime: 30,
        soak_rate: 6_000,
    };

    /// Minutes instead of hours: to see where one stands, never to say where one is.
    pub(crate) const QUICK: Self = Self {
        rounds: 3,
        seconds: 2.0,
        warmup: 0.5,
        issued: 100_000,
        live_rows: 200_000,
        clients: 20_000,
        revocations: 20_000,
        revoke_rate: 4_000,
        revoke_seconds: 10,
        requests: 500,
        soak_tokens: 300_000,
        soak_lifetime: 5,
        soak_rate: 400,
        ..Self::FULL
    };
}

/// All of it together.
#[derive(Debug)]
pub(crate) struct Lab {
    pub(crate) programs: Programs,
    pub(crate) plan: Plan,
    pub(crate) environment: Environment,
    pub(crate) results: Results,
    /// URL of a `PostgreSQL` database whose user may create more of them.
    pub(crate) postgres: Option<String>,
    pub(crate) search_path: String,
    scratch: TempDir,
    prepared: Option<PathBuf>,
    clock: Stopwatch,
}

/// What the command line says about the lab.
#[derive(Debug)]
pub(crate) struct Wishes {
    pub(crate) programs: Programs,
    pub(crate) plan: Plan,
    pub(crate) results: PathBuf,
    pub(crate) postgres: Option<String>,
    pub(crate) search_path: String,
    pub(crate) scratch: PathBuf,
    pub(crate) prepared: Option<PathBuf>,
}

impl Lab {
    pub(crate) fn new(command: &str, wishes: Wishes) -> Outcome<Self> {
        let environment = Environment::look(&wishes.programs);
        let scratch = tempfile::Builder::new()
            .prefix("signet-bench.")
            .tempdir_in(&wishes.scratch);
        let results = Results::new(&wishes.results.join(environment.slug()).join(command))?;
        results.json("environment.json", &environment)?;
        results.json("plan.json", &wishes.plan)?;
        Ok(Self {
            programs: wishes.programs,
            plan: wishes.plan,
            environment,
            results,
            postgres: wishes.postgres,
            search_path: wishes.search_path,
            scratch: scratch.context("cannot make a directory to work in")?,
            prepared: wishes.prepared,
            clock: Stopwatch::start(),
        })
    }

    /// A directory that is gone when the lab is.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Where a store that took long to fill is kept for the next time, if that is wanted.
    pub(crate) fn prepared(&self, name: &str) -> PathBuf {
        self.prepared
            .as_deref()
            .unwrap_or(self.scratch.path())
            .join(name)
    }

    pub(crate) fn path_variable(&self) -> [(&'static str, &str); 1] {
        [("PATH", &self.search_path)]
    }

    pub(crate) fn postgres(&self) -> Outcome<&str> {
        self.postgres.as_deref().ok_or_else(|| {
            Failed::because(
                "no PostgreSQL: run this under scripts/with-postgres, as `make bench` does",
            )
        })
    }

    /// A line of progress, with the time since the start and how busy the machine is.
    pub(crate) fn say(&self, what: impl std::fmt::Display) {
        let seconds = self.clock.elapsed().as_secs();
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        let load = load_average();
        let load = load.split(' ').next().unwrap_or_default();
        drop(writeln!(
            stderr(),
            "{minutes:3}:{seconds:02}  load {load:>5}  {what}"
        ));
    }
}
