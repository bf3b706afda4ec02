//! `signet-bench`: measures the release binaries and keeps the evidence under `bench/results/`. It
//! drives them as anybody would, over sockets and signals, and shares no code with them.

mod api;
mod bars;
mod clock;
mod environment;
mod failure;
mod hydra;
mod instrument;
mod lab;
mod number;
mod pair;
mod plot;
mod postgres;
mod prepare;
mod process;
mod results;
mod row;
mod run;
mod server;
mod soak;

use clap::{Args, Parser, Subcommand};
use std::io::{Write as _, stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::clock::Stopwatch;
use crate::failure::{Context, Outcome};
use crate::lab::{Lab, Plan, Programs, Wishes};

/// Measures the release build and keeps the evidence
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Every bar of the token service
    Bars {
        /// Only these groups of rows
        groups: Vec<bars::Group>,
    },
    /// The published endpoint benchmark, for every database and kind of token
    Hydra {
        #[arg(long = "database", value_enum, default_values_t = [hydra::Database::Sqlite, hydra::Database::Postgres, hydra::Database::Memory])]
        databases: Vec<hydra::Database>,
        #[arg(long = "strategy", value_enum, default_values_t = [hydra::Strategy::Opaque, hydra::Strategy::Jwt, hydra::Strategy::Remote])]
        strategies: Vec<hydra::Strategy>,
    },
    /// Every bar of the load lab itself
    Lab,
    /// Millions of persisted tokens that live for seconds: the disk must stay flat
    Soak {
        #[arg(value_enum, default_values_t = [soak::Kind::Sqlite, soak::Kind::Postgres])]
        stores: Vec<soak::Kind>,
        /// Tokens on each store, instead of the plan's
        #[arg(long)]
        tokens: Option<u64>,
    },
    /// An hour of the load lab at 20,000/s: its memory must stay small and flat
    LabSoak {
        /// What is kept, a run each, as long as `--seconds` says
        #[arg(value_enum, default_values_t = [instrument::soak::Keep::Histograms, instrument::soak::Keep::Samples])]
        kept: Vec<instrument::soak::Keep>,
    },
    /// Hashes per second of bcrypt alone, at cost 8
    #[command(hide = true)]
    BareBcrypt { seconds: f64 },
}

#[derive(Debug, Args)]
struct Options {
    /// A reduced plan: minutes instead of hours, figures for orientation only
    #[arg(long, global = true)]
    quick: bool,
    /// Pairs of runs behind every ratio, instead of the plan's
    #[arg(long, global = true)]
    rounds: Option<usize>,
    /// Seconds of every run, instead of the plan's
    #[arg(long, global = true)]
    seconds: Option<f64>,
    /// Where `signet`, `assay` and `signet-signer` are [default: beside this program]
    #[arg(long, global = true, value_name = "DIRECTORY")]
    programs: Option<PathBuf>,
    /// Where results go
    #[arg(
        long,
        global = true,
        value_name = "DIRECTORY",
        default_value = "bench/results"
    )]
    results: PathBuf,
    /// A disk to work on: some gigabytes for the stores
    #[arg(
        long,
        global = true,
        value_name = "DIRECTORY",
        env = "TMPDIR",
        default_value = "/tmp"
    )]
    scratch: PathBuf,
    /// Keep filled stores here, and find them again the next time
    #[arg(long, global = true, value_name = "DIRECTORY")]
    prepared: Option<PathBuf>,
    /// `PostgreSQL`, whose user may create databases
    #[arg(
        long,
        global = true,
        env = "SIGNET_TEST_POSTGRES",
        hide_env_values = true
    )]
    postgres: Option<String>,
    #[arg(
        long,
        global = true,
        env = "PATH",
        hide = true,
        default_value = "/usr/bin:/bin"
    )]
    search_path: String,
}

impl Options {
    fn lab(self, command: &str) -> Outcome<Lab> {
        let beside = PathBuf::from("/proc/self/exe")
            .read_link()
            .context("/proc/self/exe")?;
        let beside = beside.parent().map(PathBuf::from).unwrap_or_default();
        let programs = self.programs.unwrap_or(beside);
        let plan = if self.quick { Plan::QUICK } else { Plan::FULL };
        let command = if self.quick {
            format!("{command}-quick")
        } else {
            command.to_owned()
        };
        let absolute = programs.canonicalize().context(programs.display())?;
        Lab::new(
            &command,
            Wishes {
                programs: Programs::find(&absolute, &self.search_path)?,
                plan: Plan {
                    rounds: self.rounds.unwrap_or(plan.rounds),
                    seconds: self.seconds.unwrap_or(plan.seconds),
                    ..plan
                },
                results: self.results,
                postgres: self.postgres,
                search_path: self.search_path,
                scratch: self.scratch,
                prepared: self.prepared,
            },
        )
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            drop(writeln!(stderr(), "signet-bench: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Outcome<()> {
    match cli.command {
        Command::Bars { groups } => bars::run(&cli.options.lab("bars")?, &groups),
        Command::Hydra {
            databases,
            strategies,
        } => hydra::run(&cli.options.lab("hydra")?, &databases, &strategies),
        Command::Lab => {
            let mut lab = cli.options.lab("lab")?;
            lab.plan.concurrency = instrument::USERS;
            instrument::run(&lab)
        }
        Command::Soak { stores, tokens } => {
            let mut lab = cli.options.lab("soak")?;
            lab.plan.soak_tokens = tokens.unwrap_or(lab.plan.soak_tokens);
            each(stores, |store| soak::run(&lab, store))
        }
        Command::LabSoak { kept } => {
            let mut options = cli.options;
            let planned = if options.quick {
                instrument::soak::QUICK_SECONDS
            } else {
                instrument::soak::SECONDS
            };
            options.seconds.get_or_insert(planned);
            let lab = options.lab("lab-soak")?;
            each(kept, |keep| instrument::soak::run(&lab, keep))
        }
        Command::BareBcrypt { seconds } => bare_bcrypt(seconds),
    }
}

/// Measures all of them: one that fails does not keep the others from being looked at.
fn each<T>(all: Vec<T>, measure: impl Fn(T) -> Outcome<()>) -> Outcome<()> {
    let ended: Vec<_> = all.into_iter().map(measure).collect();
    ended.into_iter().collect()
}

fn bare_bcrypt(seconds: f64) -> Outcome<()> {
    let clock = Stopwatch::start();
    let mut hashes = 0;
    while clock.seconds() < seconds {
        bcrypt::hash_with_salt("the-secret-of-chosen", 8, [7; 16]).context("bcrypt")?;
        hashes += 1;
    }
    let rate = number::real(hashes) / clock.seconds();
    writeln!(stdout(), "{rate}").context("standard output")
}
