//! The machine form of a run, complete enough to be read back and added to others. Times are in
//! seconds, except where a name ends in `_ns`: those are exact. It must not know how the run was
//! driven.

mod document;

use std::time::{Duration, UNIX_EPOCH};

use crate::clock::seconds;
use crate::histogram::Unusable;
use crate::hit::run::{About, Generator, Run};
use crate::hit::tally::Tally;

use document::{LatencyDocument, Mode, OpenDocument, RunDocument, WarmupDocument};

const FORMAT: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("not the JSON of a run: {0}")]
    Json(#[from] serde_json::Error),
    #[error("format {0} of a run is not known here")]
    Format(u32),
    #[error("histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error(transparent)]
    Histogram(#[from] Unusable),
    #[error("start time is not RFC 3339: {0}")]
    Time(#[from] humantime::TimestampError),
}

/// The run as one JSON object.
pub(crate) fn render(run: &Run) -> Result<String, Unreadable> {
    let about = &run.about;
    let tally = &run.tally;
    let document = RunDocument {
        format: FORMAT,
        url: about.url.clone(),
        method: about.method.clone(),
        protocol: about.protocol.into(),
        mode: about.rate.map_or(Mode::Closed, |_| Mode::Open),
        intended_rate: about.rate,
        concurrency: about.concurrency,
        threads: about.threads,
        started_at: humantime::format_rfc3339_nanos(UNIX_EPOCH + about.started).to_string(),
        interrupted: about.interrupted,
        total_seconds: seconds(run.elapsed),
        total_ns: run.elapsed,
        requests_per_second: run.rate(),
        responses: tally.answers(),
        statuses: tally.statuses.clone(),
        error_count: tally.error_count(),
        errors: tally
            .errors
            .iter()
            .map(|(kind, mishaps)| (*kind, mishaps.into()))
            .collect(),
        dropped: tally.dropped,
        body_bytes: tally.body_bytes,
        response: LatencyDocument::of(&tally.response)?,
        open: tally.open.as_ref().map(OpenDocument::of).transpose()?,
        phases: tally.phases.into(),
        connections: tally.dials.into(),
        generator: run.generator.into(),
        warmup: run.warmup.as_ref().map(WarmupDocument::of).transpose()?,
    };
    Ok(serde_json::to_string_pretty(&document)?)
}

/// Reads a run back. Figures that follow from others are worked out anew, not trusted.
pub(crate) fn parse(text: &[u8]) -> Result<Run, Unreadable> {
    let document: RunDocument = serde_json::from_slice(text)?;
    if document.format != FORMAT {
        return Err(Unreadable::Format(document.format));
    }
    let started = humantime::parse_rfc3339(&document.started_at)?;
    let errors = document
        .errors
        .into_iter()
        .map(|(kind, error)| (kind, error.into()));
    Ok(Run {
        about: About {
            url: document.url,
            method: document.method,
            protocol: document.protocol.into(),
            rate: document.intended_rate,
            concurrency: document.concurrency,
            threads: document.threads,
            started: started.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO),
            interrupted: document.interrupted,
        },
        elapsed: document.total_ns,
        tally: Tally {
            response: document.response.read()?,
            open: document.open.map(|open| open.read()).transpose()?,
            phases: document.phases.into(),
            dials: document.connections.into(),
            statuses: document.statuses,
            errors: errors.collect(),
            body_bytes: document.body_bytes,
            dropped: document.dropped,
        },
        generator: Generator {
            cpu: document.generator.cpu_ns,
            busiest: document.generator.busiest_core_share,
        },
        warmup: document.warmup.map(|warmup| warmup.read()).transpose()?,
    })
}

#[cfg(test)]
mod tests;
