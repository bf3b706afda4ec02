//! Log lines: set up once, written by a thread of their own so that no request waits for a
//! terminal or a pipe.

pub mod metrics;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::config::{Log, LogFormat};

/// Starts logging to standard error. Lines are flushed when the guard is dropped.
pub fn start(settings: &Log) -> WorkerGuard {
    let (writer, guard) = tracing_appender::non_blocking::NonBlockingBuilder::default()
        .buffered_lines_limit(64 * 1024)
        .lossy(true)
        .finish(std::io::stderr());
    let level = settings.level.as_str();
    // Libraries only speak when something is wrong.
    let filter = EnvFilter::new(format!("warn,signet={level},access={level},audit={level}"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_span_events(FmtSpan::NONE);
    // A second start in the same process (tests) keeps the first one's settings.
    let started = match settings.format {
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
        LogFormat::Text => lines.with_ansi(false).try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging was set up before");
    }
    guard
}
