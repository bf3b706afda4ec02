//! The fields of the machine form and how they are made from a run's parts and read back. It must not
//! know files or versions.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::Unreadable;
use crate::clock::{Nanos, seconds};
use crate::histogram::{Exact, Latencies};
use crate::hit::run::{Generator, Protocol, Warmup};
use crate::hit::tally::{Mishaps, OpenTally, Phases, Span};
use crate::wire::Kind;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunDocument {
    pub(super) format: u32,
    pub(super) url: String,
    pub(super) method: String,
    pub(super) protocol: ProtocolName,
    pub(super) mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) intended_rate: Option<f64>,
    pub(super) concurrency: usize,
    pub(super) threads: usize,
    pub(super) started_at: String,
    pub(super) interrupted: bool,
    pub(super) total_seconds: f64,
    pub(super) total_ns: Nanos,
    pub(super) requests_per_second: f64,
    pub(super) responses: u64,
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) error_count: u64,
    pub(super) errors: BTreeMap<Kind, ErrorDocument>,
    pub(super) dropped: u64,
    pub(super) body_bytes: u64,
    /// From the intended start.
    pub(super) response: LatencyDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) open: Option<OpenDocument>,
    pub(super) phases: PhasesDocument,
    pub(super) connections: SpanDocument,
    pub(super) generator: GeneratorDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) warmup: Option<WarmupDocument>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ProtocolName {
    #[serde(rename = "HTTP/1.1")]
    Http1,
    #[serde(rename = "HTTP/2")]
    Http2,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    Closed,
    Open,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ErrorDocument {
    pub(super) count: u64,
    pub(super) example: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LatencyDocument {
    pub(super) count: u64,
    pub(super) mean: f64,
    pub(super) stddev: f64,
    pub(super) min: f64,
    pub(super) p10: f64,
    pub(super) p25: f64,
    pub(super) p50: f64,
    pub(super) p75: f64,
    pub(super) p90: f64,
    pub(super) p95: f64,
    pub(super) p99: f64,
    #[serde(rename = "p99.9")]
    pub(super) p999: f64,
    pub(super) max: f64,
    pub(super) min_ns: Nanos,
    pub(super) min_count: u64,
    pub(super) max_ns: Nanos,
    pub(super) sum_ns: u128,
    /// Nanoseconds, V2 encoding, base64.
    pub(super) histogram: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OpenDocument {
    /// From the actual start.
    pub(super) service: LatencyDocument,
    /// From the intended to the actual start, where a free lane was waiting.
    pub(super) lag: LatencyDocument,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SpanDocument {
    pub(super) count: u64,
    pub(super) mean: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) min_ns: Nanos,
    pub(super) max_ns: Nanos,
    pub(super) sum_ns: u128,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PhasesDocument {
    pub(super) dial: SpanDocument,
    pub(super) lookup: SpanDocument,
    pub(super) write: SpanDocument,
    pub(super) wait: SpanDocument,
    pub(super) read: SpanDocument,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GeneratorDocument {
    pub(super) cpu_seconds: f64,
    pub(super) cpu_ns: Nanos,
    pub(super) busiest_core_share: f64,
    pub(super) is_limit: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WarmupDocument {
    pub(super) seconds: f64,
    pub(super) total_ns: Nanos,
    pub(super) errors: u64,
    pub(super) response: LatencyDocument,
}

impl LatencyDocument {
    pub(super) fn of(latencies: &Latencies) -> Result<Self, Unreadable> {
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

    pub(super) fn read(&self) -> Result<Latencies, Unreadable> {
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
    pub(super) fn of(open: &OpenTally) -> Result<Self, Unreadable> {
        Ok(Self {
            service: LatencyDocument::of(&open.service)?,
            lag: LatencyDocument::of(&open.lag)?,
        })
    }

    pub(super) fn read(&self) -> Result<OpenTally, Unreadable> {
        Ok(OpenTally {
            service: self.service.read()?,
            lag: self.lag.read()?,
        })
    }
}

impl WarmupDocument {
    pub(super) fn of(warmup: &Warmup) -> Result<Self, Unreadable> {
        Ok(Self {
            seconds: seconds(warmup.elapsed),
            total_ns: warmup.elapsed,
            errors: warmup.errors,
            response: LatencyDocument::of(&warmup.latencies)?,
        })
    }

    pub(super) fn read(&self) -> Result<Warmup, Unreadable> {
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
