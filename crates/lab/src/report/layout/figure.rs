//! The figures that a column can show. It must not know layouts or how a figure is written.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

use crate::histogram::Latencies;
use crate::record::books::Book;
use crate::record::summary::{Resource, per_second};

/// What a column shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Metric {
    Count,
    Right,
    Errors,
    /// Errors in a hundred.
    ErrorShare,
    Dropped,
    Bytes,
    /// Answers per second, right or wrong.
    PerSecond,
    RightPerSecond,
    Response(Time),
    Service(Time),
    Late(Time),
    /// The mean or the greatest value of a watched series.
    Mean(String),
    Max(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Time {
    Mean,
    Max,
    Quantile(f64),
}

/// What times are given in; other figures stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Scale {
    #[serde(rename = "us")]
    Microseconds,
    #[default]
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "s")]
    Seconds,
}

/// What there is to take a figure from: some steps of one run, added up.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) book: &'a Book,
    pub(super) seconds: f64,
    pub(super) resources: &'a [Resource],
}

impl Metric {
    fn parse(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix("resource.") {
            let (series, part) = rest.rsplit_once('.')?;
            return match part {
                "mean" => Some(Self::Mean(series.to_owned())),
                "max" => Some(Self::Max(series.to_owned())),
                _ => None,
            };
        }
        Some(match text {
            "count" => Self::Count,
            "right" => Self::Right,
            "errors" => Self::Errors,
            "error_share" => Self::ErrorShare,
            "dropped" => Self::Dropped,
            "bytes" => Self::Bytes,
            "per_second" => Self::PerSecond,
            "right_per_second" => Self::RightPerSecond,
            _ => match text.split_once('.')? {
                ("response", time) => Self::Response(Time::parse(time)?),
                ("service", time) => Self::Service(Time::parse(time)?),
                ("late", time) => Self::Late(Time::parse(time)?),
                _ => return None,
            },
        })
    }

    pub(super) fn shows_errors(&self) -> bool {
        matches!(self, Self::Errors | Self::ErrorShare)
    }

    /// `None` where there is nothing to tell, such as the latency of no answers.
    pub(super) fn of(&self, source: &Source<'_>, scale: Scale) -> Option<f64> {
        let book = source.book;
        let series = |name: &str| source.resources.iter().find(|found| found.series == name);
        Some(match self {
            Self::Count => number(book.count()),
            Self::Right => number(book.right),
            Self::Errors => number(book.errors()),
            Self::ErrorShare => {
                let count = book.count();
                (count > 0).then(|| number(book.errors()) / number(count) * 100.0)?
            }
            Self::Dropped => number(book.dropped),
            Self::Bytes => number(book.bytes),
            Self::PerSecond => per_second(book.answers(), source.seconds),
            Self::RightPerSecond => per_second(book.right, source.seconds),
            Self::Response(time) => time.of(book.response()?) / scale.nanos(),
            Self::Service(time) => time.of(book.service()?) / scale.nanos(),
            Self::Late(time) => time.of(book.late()?) / scale.nanos(),
            Self::Mean(name) => series(name)?.mean,
            Self::Max(name) => series(name)?.max,
        })
    }
}

impl Time {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "mean" => Self::Mean,
            "max" => Self::Max,
            "p50" => Self::Quantile(0.50),
            "p75" => Self::Quantile(0.75),
            "p90" => Self::Quantile(0.90),
            "p95" => Self::Quantile(0.95),
            "p99" => Self::Quantile(0.99),
            "p99_9" => Self::Quantile(0.999),
            _ => return None,
        })
    }

    /// In nanoseconds.
    fn of(self, latencies: &Latencies) -> f64 {
        match self {
            Self::Mean => latencies.mean(),
            Self::Max => number(latencies.exact().slowest),
            Self::Quantile(share) => number(latencies.quantile(share)),
        }
    }
}

impl Scale {
    fn nanos(self) -> f64 {
        match self {
            Self::Microseconds => 1e3,
            Self::Milliseconds => 1e6,
            Self::Seconds => 1e9,
        }
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom(Unknown(&text)))
    }
}

struct Unknown<'a>(&'a str);

impl fmt::Display for Unknown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "no metric {:?}: count, right, errors, error_share, dropped, bytes, per_second, right_per_second, response.TIME, service.TIME, late.TIME (mean, p50, p75, p90, p95, p99, p99_9, max), resource.SERIES.mean, resource.SERIES.max",
            self.0
        )
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a figure is read to a few digits only"
)]
fn number(count: u64) -> f64 {
    count as f64
}
