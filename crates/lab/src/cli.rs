//! The command line. It must not do anything: it says what the user asked for.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::echo::Algorithm;

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
