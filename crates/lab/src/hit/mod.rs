//! `assay hit`: from what the user asked for to a finished run and its report. It must not know how
//! requests are driven.

pub(crate) mod board;
mod drive;
mod fleet;
mod generator;
pub(crate) mod merge;
pub(crate) mod request;
pub(crate) mod run;
pub(crate) mod tally;

use std::fs;
use std::io::{self, Write as _, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::clock::{Nanos, nanos};
use crate::commands::cli::{HitArgs, Warmup};
use crate::hit::fleet::Haul;
use crate::hit::generator::{Broken, Orders};
use crate::hit::request::{BadRequest, Bodies, Draft, Requests};
use crate::hit::run::{About, Protocol, Run};
use crate::report::json::Unreadable;
use crate::report::progress::Display;
use crate::report::{json, text};
use crate::timing::pace::{Load, Until};
use crate::wire::target::{BadTarget, Target};
use crate::wire::trust::{self, BadTrust, Trust};

#[derive(Debug, thiserror::Error)]
pub(crate) enum HitError {
    #[error(transparent)]
    Target(#[from] BadTarget),
    #[error(transparent)]
    Request(#[from] BadRequest),
    #[error(transparent)]
    Trust(#[from] BadTrust),
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error("the report cannot be made: {0}")]
    Report(#[from] Unreadable),
    #[error("the report cannot be made: {0}")]
    Text(#[from] std::fmt::Error),
    #[error("the report cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl HitError {
    /// Whether the user asked for something impossible, as opposed to a run that failed.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Target(_) | Self::Request(_) | Self::Trust(_) | Self::File(..)
        )
    }
}

pub(crate) fn hit(args: HitArgs) -> Result<ExitCode, HitError> {
    let orders = orders(&args)?;
    let mut about = about(&args, &orders);
    let display = Display::new(args.output.quiet, orders.until);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let lanes = args.concurrency.max(args.threads);
    let haul = runtime.block_on(fleet::run(orders, args.threads, lanes, display))?;

    let Haul { part, interrupted } = haul;
    about.started = part.started;
    about.interrupted = interrupted;
    let run = Run {
        about,
        elapsed: part.elapsed,
        tally: part.tally,
        generator: part.generator,
        warmup: part.warmup,
    };
    if let Some(path) = args.output.save {
        let document = json::render(&run)?;
        fs::write(&path, document).map_err(|error| HitError::File(path, error))?;
    }
    print(&run, args.output.json)?;
    let failed = run.tally.answers() == 0 || (args.output.fail_on_error && !run.is_clean());
    Ok(ExitCode::from(u8::from(failed)))
}

/// Prints a run to stdout.
pub(crate) fn print(run: &Run, as_json: bool) -> Result<(), HitError> {
    let report = if as_json {
        json::render(run)? + "\n"
    } else {
        text::render(run)?
    };
    Ok(stdout().write_all(report.as_bytes())?)
}

fn about(args: &HitArgs, orders: &Orders) -> About {
    About {
        url: orders.target.url().to_owned(),
        method: orders.requests.method().to_string(),
        protocol: orders.protocol,
        rate: args.rate,
        concurrency: args.concurrency.max(args.threads),
        threads: args.threads,
        started: Duration::ZERO,
        interrupted: false,
    }
}

fn orders(args: &HitArgs) -> Result<Orders, HitError> {
    let target = Target::parse(&args.url)?;
    let draft = Draft {
        method: args.method.clone(),
        headers: args.headers.clone(),
        content_type: args.content_type.clone(),
        authorization: args
            .auth
            .as_ref()
            .map(|auth| format!("Basic {}", STANDARD.encode(auth))),
        bodies: bodies(args)?,
    };
    let trust = match &args.tls.cacert {
        _ if args.tls.insecure => Trust::Anybody,
        Some(path) => Trust::File(path.clone()),
        None => Trust::System,
    };
    let tls = target
        .is_tls()
        .then(|| trust::client(&trust, args.http2).map(Arc::new));
    Ok(Orders {
        requests: Arc::new(Requests::new(&target, draft)?),
        tls: tls.transpose()?,
        target,
        protocol: if args.http2 {
            Protocol::Http2
        } else {
            Protocol::Http1
        },
        keep_alive: !args.no_keepalive,
        trunks: args
            .connections
            .unwrap_or(args.threads)
            .div_ceil(args.threads),
        load: load(args),
        warmup: args.warmup.map(|warmup| match warmup {
            Warmup::Time(time) => Until::Elapsed(nanos(time)),
            Warmup::Requests(count) => Until::Count(count),
        }),
        until: match args.duration {
            Some(time) => Until::Elapsed(nanos(time)),
            None => Until::Count(args.requests),
        },
        timeout: timeout(args.timeout),
    })
}

fn bodies(args: &HitArgs) -> Result<Bodies, HitError> {
    let read = |path: &PathBuf| fs::read(path).map_err(|error| HitError::File(path.clone(), error));
    Ok(match (&args.data, &args.data_file, &args.each) {
        (Some(data), ..) => Bodies::One(Bytes::from(data.clone())),
        (None, Some(path), _) => Bodies::One(Bytes::from(read(path)?)),
        (None, None, Some(path)) => Bodies::each_line(read(path)?)?,
        (None, None, None) => Bodies::None,
    })
}

/// The backlog is of the whole run; each thread has its part of it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive rate; a backlog beyond the address space is no bound at all"
)]
fn load(args: &HitArgs) -> Load {
    let Some(per_second) = args.rate else {
        return Load::Closed;
    };
    let ten_seconds = (per_second * 10.0) as usize;
    let backlog = args.backlog.unwrap_or(ten_seconds.max(1000));
    Load::Open {
        per_second,
        backlog: backlog.div_ceil(args.threads),
    }
}

fn timeout(seconds: f64) -> Nanos {
    let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    match nanos(limit) {
        0 => Nanos::MAX,
        limit => limit,
    }
}
