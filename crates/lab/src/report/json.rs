//! The machine form of a run, complete enough to be read back and added to others. Times are in
//! seconds, except where a name ends in `_ns`: those are exact. It must not know how the run was
//! driven.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::clock::{Nanos, seconds};
use crate::histogram::{Exact, Latencies, Unusable};
use crate::run::{About, Generator, Protocol, Run, Warmup};
use crate::tally::{Mishaps, OpenTally, Phases, Span, Tally};
use crate::wire::Kind;

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

#[derive(Debug, Serialize, Deserialize)]
struct RunDocument {
    format: u32,
    url: String,
    method: String,
    protocol: ProtocolName,
    mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intended_rate: Option<f64>,
    concurrency: usize,
    threads: usize,
    started_at: String,
    interrupted: bool,
    total_seconds: f64,
    total_ns: Nanos,
    requests_per_second: f64,
    responses: u64,
    statuses: BTreeMap<u16, u64>,
    error_count: u64,
    errors: BTreeMap<Kind, ErrorDocument>,
    dropped: u64,
    body_bytes: u64,
    /// From the intended start.
    response: LatencyDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open: Option<OpenDocument>,
    phases: PhasesDocument,
    connections: SpanDocument,
    generator: GeneratorDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warmup: Option<WarmupDocument>,
}

#[derive(Debug, Serialize, Deserialize)]
enum ProtocolName {
    #[serde(rename = "HTTP/1.1")]
    Http1,
    #[serde(rename = "HTTP/2")]
    Http2,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Closed,
    Open,
}

#[derive(Debug, Serialize, Deserialize)]
struct ErrorDocument {
    count: u64,
    example: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct LatencyDocument {
    count: u64,
    mean: f64,
    stddev: f64,
    min: f64,
    p10: f64,
    p25: f64,
    p50: f64,
    p75: f64,
    p90: f64,
    p95: f64,
    p99: f64,
    #[serde(rename = "p99.9")]
    p999: f64,
    max: f64,
    min_ns: Nanos,
    min_count: u64,
    max_ns: Nanos,
    sum_ns: u128,
    /// Nanoseconds, V2 encoding, base64.
    histogram: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct OpenDocument {
    /// From the actual start.
    service: LatencyDocument,
    /// From the intended to the actual start, where a free lane was waiting.
    lag: LatencyDocument,
}

#[derive(Debug, Serialize, Deserialize)]
struct SpanDocument {
    count: u64,
    mean: f64,
    min: f64,
    max: f64,
    min_ns: Nanos,
    max_ns: Nanos,
    sum_ns: u128,
}

#[derive(Debug, Serialize, Deserialize)]
struct PhasesDocument {
    dial: SpanDocument,
    lookup: SpanDocument,
    write: SpanDocument,
    wait: SpanDocument,
    read: SpanDocument,
}

#[derive(Debug, Serialize, Deserialize)]
struct GeneratorDocument {
    cpu_seconds: f64,
    cpu_ns: Nanos,
    busiest_core_share: f64,
    is_limit: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct WarmupDocument {
    seconds: f64,
    total_ns: Nanos,
    errors: u64,
    response: LatencyDocument,
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

impl LatencyDocument {
    fn of(latencies: &Latencies) -> Result<Self, Unreadable> {
        let exact = latencies.exact();
        let at = |share| seconds(latencies.quantile(share));
        Ok(Self {
            count: latencies.count(),
            mean: latencies.mean() / 1e9,
            stddev: latencies.deviation() / 1e9,
            min: seconds(exact.fastest),
            p10: at(0.10),
            p25: at(0.25),
            p50: at(0.50),
            p75: at(0.75),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: seconds(exact.slowest),
            min_ns: exact.fastest,
            min_count: exact.fastest_count,
            max_ns: exact.slowest,
            sum_ns: exact.sum,
            histogram: STANDARD.encode(latencies.encode()?),
        })
    }

    fn read(&self) -> Result<Latencies, Unreadable> {
        let exact = Exact {
            fastest: self.min_ns,
            fastest_count: self.min_count,
            slowest: self.max_ns,
            sum: self.sum_ns,
        };
        let bytes = STANDARD.decode(&self.histogram)?;
        Ok(Latencies::decode(&bytes, exact)?)
    }
}

impl OpenDocument {
    fn of(open: &OpenTally) -> Result<Self, Unreadable> {
        Ok(Self {
            service: LatencyDocument::of(&open.service)?,
            lag: LatencyDocument::of(&open.lag)?,
        })
    }

    fn read(&self) -> Result<OpenTally, Unreadable> {
        Ok(OpenTally {
            service: self.service.read()?,
            lag: self.lag.read()?,
        })
    }
}

impl WarmupDocument {
    fn of(warmup: &Warmup) -> Result<Self, Unreadable> {
        Ok(Self {
            seconds: seconds(warmup.elapsed),
            total_ns: warmup.elapsed,
            errors: warmup.errors,
            response: LatencyDocument::of(&warmup.latencies)?,
        })
    }

    fn read(&self) -> Result<Warmup, Unreadable> {
        Ok(Warmup {
            elapsed: self.total_ns,
            errors: self.errors,
            latencies: self.response.read()?,
        })
    }
}

impl From<Protocol> for ProtocolName {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http1 => Self::Http1,
            Protocol::Http2 => Self::Http2,
        }
    }
}

impl From<ProtocolName> for Protocol {
    fn from(name: ProtocolName) -> Self {
        match name {
            ProtocolName::Http1 => Self::Http1,
            ProtocolName::Http2 => Self::Http2,
        }
    }
}

impl From<&Mishaps> for ErrorDocument {
    fn from(mishaps: &Mishaps) -> Self {
        Self {
            count: mishaps.count,
            example: mishaps.example.clone(),
        }
    }
}

impl From<ErrorDocument> for Mishaps {
    fn from(error: ErrorDocument) -> Self {
        Self {
            count: error.count,
            example: error.example,
        }
    }
}

impl From<Span> for SpanDocument {
    fn from(span: Span) -> Self {
        Self {
            count: span.count,
            mean: span.mean() / 1e9,
            min: seconds(span.fastest),
            max: seconds(span.slowest),
            min_ns: span.fastest,
            max_ns: span.slowest,
            sum_ns: span.sum,
        }
    }
}

impl From<SpanDocument> for Span {
    fn from(span: SpanDocument) -> Self {
        Self {
            count: span.count,
            sum: span.sum_ns,
            fastest: span.min_ns,
            slowest: span.max_ns,
        }
    }
}

impl From<Phases> for PhasesDocument {
    fn from(phases: Phases) -> Self {
        Self {
            dial: phases.dial.into(),
            lookup: phases.lookup.into(),
            write: phases.write.into(),
            wait: phases.wait.into(),
            read: phases.read.into(),
        }
    }
}

impl From<PhasesDocument> for Phases {
    fn from(phases: PhasesDocument) -> Self {
        Self {
            dial: phases.dial.into(),
            lookup: phases.lookup.into(),
            write: phases.write.into(),
            wait: phases.wait.into(),
            read: phases.read.into(),
        }
    }
}

impl From<Generator> for GeneratorDocument {
    fn from(generator: Generator) -> Self {
        Self {
            cpu_seconds: seconds(generator.cpu),
            cpu_ns: generator.cpu,
            busiest_core_share: generator.busiest,
            is_limit: generator.is_limit(),
        }
    }
}

#[cfg(test)]
mod tests;
