//! The figures of a run that are compared: their names, which way is better, and where they are in a
//! summary. It must not know statistics.

use std::fmt;
use std::str::FromStr;

use super::figure::Unit;
use crate::record::summary::{Row, Times};

/// A figure of one row of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    /// How many per second.
    Rate,
    /// The share with errors.
    Errors,
    /// The share of what was due that was never made.
    Dropped,
    Time(Clock, Statistic),
}

/// From when a time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// From the intended start: what a user would have seen.
    Response,
    /// From the actual start: what the target did.
    Service,
    /// From the intended start to the actual one: how late calls were sent.
    Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statistic {
    Mean,
    P50,
    P75,
    P90,
    P95,
    P99,
    P999,
    Max,
}

/// Which way a figure gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Higher,
    Lower,
    /// More is not better in itself, and less is not either: what a process uses, for one.
    Neither,
}

/// What is compared unless the user says otherwise. Few, because every further row makes a verdict
/// harder to come by.
pub(crate) const USUAL: [Metric; 5] = [
    Metric::Rate,
    Metric::Time(Clock::Response, Statistic::P50),
    Metric::Time(Clock::Response, Statistic::P99),
    Metric::Errors,
    Metric::Dropped,
];

const STATISTICS: [(&str, Statistic); 8] = [
    ("mean", Statistic::Mean),
    ("p50", Statistic::P50),
    ("p75", Statistic::P75),
    ("p90", Statistic::P90),
    ("p95", Statistic::P95),
    ("p99", Statistic::P99),
    ("p99.9", Statistic::P999),
    ("max", Statistic::Max),
];

impl Metric {
    /// None where the row has no such figure.
    pub(crate) fn of(self, row: &Row) -> Option<f64> {
        match self {
            Self::Rate => Some(row.per_second),
            Self::Errors => share(row.errors, row.count),
            Self::Dropped => share(row.dropped, row.count + row.dropped),
            Self::Time(clock, statistic) => statistic.of(clock.of(row)?),
        }
        .filter(|value| value.is_finite())
    }

    pub(crate) fn better(self) -> Better {
        match self {
            Self::Rate => Better::Higher,
            Self::Errors | Self::Dropped | Self::Time(_, _) => Better::Lower,
        }
    }

    pub(crate) fn unit(self) -> Unit {
        match self {
            Self::Rate => Unit::PerSecond,
            Self::Errors | Self::Dropped => Unit::Share,
            Self::Time(_, _) => Unit::Seconds,
        }
    }
}

impl Clock {
    pub(crate) fn of(self, row: &Row) -> Option<&Times> {
        match self {
            Self::Response => Some(&row.response),
            Self::Service => Some(&row.service),
            Self::Late => row.late.as_ref(),
        }
    }

    /// Its name in metrics and thresholds.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "response" => Self::Response,
            "service" => Self::Service,
            "late" => Self::Late,
            _ => return None,
        })
    }
}

impl Statistic {
    /// None where no answer was timed: that is written as zero, which no answer takes, and must not
    /// pass for a very good time.
    pub(crate) fn of(self, times: &Times) -> Option<f64> {
        let time = match self {
            Self::Mean => times.mean,
            Self::P50 => times.p50,
            Self::P75 => times.p75,
            Self::P90 => times.p90,
            Self::P95 => times.p95,
            Self::P99 => times.p99,
            Self::P999 => times.p99_9,
            Self::Max => times.max,
        };
        (time > 0.0).then_some(time)
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let known = STATISTICS.iter().find(|(known, _)| *known == name);
        known.map(|(_, statistic)| *statistic)
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = STATISTICS.iter().find(|(_, known)| known == self);
        out.write_str(known.map_or("", |(name, _)| name))
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate => out.write_str("rate"),
            Self::Errors => out.write_str("errors"),
            Self::Dropped => out.write_str("dropped"),
            Self::Time(Clock::Response, statistic) => write!(out, "{statistic}"),
            Self::Time(Clock::Service, statistic) => write!(out, "service {statistic}"),
            Self::Time(Clock::Late, statistic) => write!(out, "late {statistic}"),
        }
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no figure of a run; take rate, errors, dropped, mean, p50, p75, p90, p95, p99, p99.9 or max, and put \
     'service ' before a time for the time from the actual start, 'late ' for how late starts were"
)]
pub(crate) struct UnknownMetric(String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        match text {
            "rate" => return Ok(Self::Rate),
            "errors" => return Ok(Self::Errors),
            "dropped" => return Ok(Self::Dropped),
            _ => {}
        }
        let (clock, name) = match text.split_once(' ') {
            Some((clock, name)) => match Clock::parse(clock) {
                Some(clock) => (clock, name),
                None => return Err(UnknownMetric(text.to_owned())),
            },
            None => (Clock::Response, text),
        };
        let statistic = Statistic::parse(name.trim());
        statistic
            .map(|statistic| Self::Time(clock, statistic))
            .ok_or_else(|| UnknownMetric(text.to_owned()))
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| super::many(part) / super::many(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_as_its_metric() {
        let mut all = USUAL.to_vec();
        for (_, statistic) in STATISTICS {
            all.extend(
                [Clock::Response, Clock::Service, Clock::Late]
                    .map(|clock| Metric::Time(clock, statistic)),
            );
        }
        for metric in all {
            assert_eq!(metric.to_string().parse(), Ok(metric));
        }
        assert_eq!("response p50".parse(), Ok(USUAL[1]));
        for name in ["", "p98", "service", "service rate", "Rate"] {
            assert!(name.parse::<Metric>().is_err(), "{name}");
        }
    }

    #[test]
    fn step_without_samples_has_no_times_and_no_share_of_errors() {
        let none = Row {
            dropped: 4,
            ..Row::default()
        };
        let figures = USUAL.map(|metric| metric.of(&none));
        assert_eq!(figures, [Some(0.0), None, None, None, Some(1.0)]);
    }

    #[test]
    fn shares_count_what_was_made_and_what_was_due() {
        let row = Row {
            count: 100,
            errors: 5,
            dropped: 25,
            ..Row::default()
        };
        assert_eq!(Metric::Errors.of(&row), Some(0.05));
        assert_eq!(Metric::Dropped.of(&row), Some(0.2));
    }
}
