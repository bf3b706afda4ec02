//! The command line. It must not do anything: it says what the user asked for.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::compare::metric::Metric;
use crate::echo::{Algorithm, Stall};

/// A load lab for authorization servers.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send one request many times and report the latencies
    Hit(Box<HitArgs>),
    /// Serve the least an authorization server's transport can do, as a ceiling to compare with
    Echo(EchoArgs),
    /// Add up the JSON of runs that were driven at the same time
    Merge(MergeArgs),
    /// Play a plan against a target and keep everything in a run directory
    Run(Box<RunArgs>),
    /// Ask a run that is going on to end, with a report of what was measured
    Stop(StopArgs),
    /// Make reports of finished runs
    Report(ReportArgs),
    /// Draw the figures of finished runs over time, and their latencies, as SVG
    Plot(PlotArgs),
    /// Compare the runs of two sides: `assay compare A… -- B…`
    Compare(CompareArgs),
    /// Run two setups in turns and compare them
    Ab(Box<AbArgs>),
    /// Judge finished runs by thresholds; the exit status is 3 where one is not met
    Judge(JudgeArgs),
    /// Make clients and users on a target, through its own interface, and write their CSV files
    Prepare(PrepareArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    /// The plan, a TOML file
    pub(crate) plan: PathBuf,
    /// Whom to load: a file, or the name of one in bench/targets; instead of the plan's
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// Users of the plan's only population
    #[arg(long)]
    pub(crate) users: Option<u64>,
    /// Rate of the plan's only population, such as 200/s
    #[arg(long)]
    pub(crate) rate: Option<String>,
    /// How long passes begin, such as 30s
    #[arg(long)]
    pub(crate) duration: Option<String>,
    /// A variable or option of the plan; may be given many times
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) common: RunCommon,
}

/// What is the same for `run` and `ab`.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunCommon {
    /// A variable of the target; may be given many times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) target_set: Vec<(String, String)>,
    /// What tells this run from others in the tables of reports; may be given many times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) label: Vec<(String, String)>,
    /// Where run directories are made
    #[arg(long, value_name = "DIRECTORY", default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// What is kept: samples, or histograms for very long runs
    #[arg(long, value_parser = ["samples", "histograms"])]
    pub(crate) keep: Option<String>,
    /// Threads that send; each plays its share of every population on a core of its own
    #[arg(short, long, default_value_t = 1, value_parser = at_least_one)]
    pub(crate) threads: usize,
    /// Between two readings of processes, databases and metrics
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration)]
    pub(crate) watch_every: Duration,
    /// No progress on stderr
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// The directory of the run
    pub(crate) run: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run directories
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The text that users of the common closed-loop tools know
    #[arg(long, group = "form")]
    pub(crate) hey: bool,
    /// Only this step, population/flow/step, with --hey
    #[arg(long, requires = "hey")]
    pub(crate) step: Option<String>,
    /// The figures as JSON
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// Tables in Markdown by a layout: a file, or the name of one in bench/layouts
    #[arg(long, group = "form", value_name = "LAYOUT")]
    pub(crate) layout: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Run directories; several are drawn over one another
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Where the SVG files go [default: the directory of the first run]
    #[arg(short, long, value_name = "DIRECTORY")]
    pub(crate) output: Option<PathBuf>,
    /// Only series whose names hold one of these; may be given many times
    #[arg(long, value_name = "TEXT")]
    pub(crate) series: Vec<String>,
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shape {
    Text,
    Markdown,
    Json,
}

/// How sides are compared.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompareOptions {
    /// How often a comparison of equals may see a difference in any of its rows
    #[arg(long, default_value_t = 0.05)]
    pub(crate) alpha: f64,
    /// Differences of medians below this are not worth a verdict, such as 1%
    #[arg(long, value_parser = share)]
    pub(crate) least: Option<f64>,
    /// Only this figure, such as p99, 'service p99.9' or rate; may be given many times
    #[arg(long)]
    pub(crate) metric: Vec<Metric>,
    /// Compare what processes and databases used, too
    #[arg(long)]
    pub(crate) resources: bool,
    /// How the comparison is printed
    #[arg(long, value_enum, default_value_t = Shape::Text)]
    pub(crate) format: Shape,
    /// Exit with 3 where B is worse in a row
    #[arg(long)]
    pub(crate) fail_if_worse: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Runs of side A, what there was
    #[arg(required = true)]
    pub(crate) a: Vec<PathBuf>,
    /// Runs of side B, what is new
    #[arg(last = true, required = true)]
    pub(crate) b: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) options: CompareOptions,
}

#[derive(Debug, Args)]
pub(crate) struct AbArgs {
    /// The plan of side A, and of side B where it has none of its own
    pub(crate) plan: PathBuf,
    /// The plan of side B
    #[arg(long)]
    pub(crate) b_plan: Option<PathBuf>,
    /// The target of side A
    #[arg(long)]
    pub(crate) a_target: Option<String>,
    /// The target of side B
    #[arg(long)]
    pub(crate) b_target: Option<String>,
    /// A variable or option of the plan on both sides; may be given many times
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// A variable or option of the plan on side A; may be given many times
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) a_set: Vec<String>,
    /// A variable or option of the plan on side B; may be given many times
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) b_set: Vec<String>,
    /// Runs of each side
    #[arg(long, default_value_t = crate::compare::REPEATS, value_parser = at_least_one)]
    pub(crate) repeats: usize,
    #[command(flatten)]
    pub(crate) common: RunCommon,
    #[command(flatten)]
    pub(crate) options: CompareOptions,
}

#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    /// Run directories
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// A condition, such as 'p99 < 50 ms' or 'errors < 0.1 %'; may be given many times; without any,
    /// those of the run's plan
    #[arg(short, long)]
    pub(crate) threshold: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PrepareArgs {
    /// The target: a file, or the name of one in bench/targets
    pub(crate) target: String,
    /// How many clients
    #[arg(long, default_value_t = 0)]
    pub(crate) clients: u64,
    /// How many users
    #[arg(long, default_value_t = 0)]
    pub(crate) users: u64,
    /// A variable of the target; may be given many times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) target_set: Vec<(String, String)>,
    /// Where clients.csv and users.csv go; they hold secrets
    #[arg(short, long, value_name = "DIRECTORY", default_value = ".")]
    pub(crate) output: PathBuf,
    /// How many are made at the same time
    #[arg(short = 'c', long, default_value_t = 8, value_parser = at_least_one)]
    pub(crate) concurrency: usize,
    /// Any certificate is believed
    #[arg(long)]
    pub(crate) insecure: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn share(text: &str) -> Result<f64, String> {
    let (digits, unit) = match text.trim().strip_suffix('%') {
        Some(digits) => (digits, 100.0),
        None => (text, 1.0),
    };
    let value: f64 = digits
        .trim()
        .parse()
        .map_err(|_| "expected a share, such as 1%")?;
    Ok(value / unit)
}

#[derive(Debug, Args)]
pub(crate) struct HitArgs {
    /// Number of requests
    #[arg(short = 'n', long = "requests", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: u64,
    /// Number of requests that may be on their way at the same time
    #[arg(short = 'c', long, default_value_t = 50, value_parser = at_least_one)]
    pub(crate) concurrency: usize,
    /// Send for this long (10s, 1m30s) instead of a number of requests
    #[arg(short = 'z', long, value_parser = humantime::parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Open loop: so many arrivals per second IN TOTAL, over all connections (not per worker)
    ///
    /// Each arrival has an intended start. Latency counts from there, so waiting for a free
    /// connection is part of it; service time is reported beside it.
    #[arg(short = 'q', long, value_parser = positive)]
    pub(crate) rate: Option<f64>,
    /// Open loop: how many due arrivals may wait for a free connection before further ones are
    /// dropped and counted [default: ten seconds of arrivals, at least 1000]
    #[arg(long, requires = "rate")]
    pub(crate) backlog: Option<usize>,
    /// Method [default: POST with a body, GET without]
    #[arg(short = 'm', long)]
    pub(crate) method: Option<String>,
    /// Header as 'Name: value'; may be given many times
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// Body of every request
    #[arg(short = 'd', long, group = "body")]
    pub(crate) data: Option<String>,
    /// File whose content is the body of every request
    #[arg(short = 'D', long, group = "body", value_name = "FILE")]
    pub(crate) data_file: Option<PathBuf>,
    /// File whose lines are bodies: line k for request k, round and round; empty lines are skipped
    #[arg(
        long,
        group = "body",
        value_name = "FILE",
        visible_alias = "body-lines"
    )]
    pub(crate) each: Option<PathBuf>,
    /// Content-Type of a body, unless a header says otherwise
    #[arg(short = 'T', long, default_value = "application/x-www-form-urlencoded")]
    pub(crate) content_type: String,
    /// Basic authentication
    #[arg(short = 'a', long, value_name = "USER:PASSWORD")]
    pub(crate) auth: Option<String>,
    /// Seconds a request may take, connecting included; 0 is no limit
    #[arg(short = 't', long, default_value_t = 20.0, value_parser = not_negative)]
    pub(crate) timeout: f64,
    /// A new connection for every request (HTTP/1.1)
    #[arg(long, visible_alias = "disable-keepalive", conflicts_with = "http2")]
    pub(crate) no_keepalive: bool,
    /// HTTP/2: by ALPN over https, by prior knowledge over http
    #[arg(long, visible_alias = "h2")]
    pub(crate) http2: bool,
    /// HTTP/2 connections that the requests are spread over [default: one per thread]
    #[arg(long, requires = "http2", value_parser = at_least_one)]
    pub(crate) connections: Option<usize>,
    /// Load that comes before the measurement: a time (5s) or a number of requests
    #[arg(long, value_parser = warmup)]
    pub(crate) warmup: Option<Warmup>,
    /// Threads that send; each drives its share of the load on a core of its own
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Where to send
    pub(crate) url: String,
}

#[derive(Debug, Args)]
pub(crate) struct TlsArgs {
    /// Accept any server certificate
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    pub(crate) insecure: bool,
    /// PEM file of the authorities to believe instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the JSON to a file too
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// No progress on stderr
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Exit with 1 when any request failed, was dropped or got a status of 400 or more
    #[arg(long)]
    pub(crate) fail_on_error: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warmup {
    Time(Duration),
    Requests(u64),
}

#[derive(Debug, Args)]
pub(crate) struct EchoArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9000")]
    pub(crate) listen: SocketAddr,
    /// Answer with a JWT signed for every request
    #[arg(long)]
    pub(crate) sign: Option<Algorithm>,
    /// Answer every request so much later (5ms)
    #[arg(long, value_parser = humantime::parse_duration)]
    pub(crate) delay: Option<Duration>,
    /// Pause once: 30s+2s answers nothing for two seconds, thirty seconds after the first request
    #[arg(long, value_name = "AFTER+LENGTH")]
    pub(crate) stall: Option<Stall>,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Files that `hit --json` or `hit --save` wrote
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if f64::is_normal(number) && number > 0.0 => Ok(number),
        Ok(_) => Err("must be more than 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if f64::is_finite(number) && number >= 0.0 => Ok(number),
        Ok(_) => Err("must not be negative".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn warmup(text: &str) -> Result<Warmup, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let count = text.parse().map(Warmup::Requests);
        return count.map_err(|error| error.to_string());
    }
    let time = humantime::parse_duration(text).map(Warmup::Time);
    time.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn warmup_is_a_time_or_a_count() {
        assert_eq!(warmup("5s"), Ok(Warmup::Time(Duration::from_secs(5))));
        assert_eq!(warmup("500"), Ok(Warmup::Requests(500)));
        assert!(warmup("many").is_err());
    }

    #[test]
    fn impossible_numbers_are_refused() {
        for args in [
            ["-q", "0"],
            ["-q", "nan"],
            ["-c", "0"],
            ["-n", "0"],
            ["-t", "-1"],
        ] {
            let line = ["assay", "hit", args[0], args[1], "http://x/"];
            assert!(Cli::try_parse_from(line).is_err(), "{args:?}");
        }
    }
}
