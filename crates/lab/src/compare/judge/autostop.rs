//! Autostop: rules that end a run early because the target is past saving. A state machine that is fed
//! one second of the run after the other. It must not know clocks or how a run is ended.
//!
//! `FIGURE COMPARISON LIMIT for TIME`, such as `5xx > 5 % for 10 s` or `p99 > 500 ms for 15 s`. The
//! condition has to hold in every single second of the time. A second in which nothing ended has no
//! percentiles and no shares: it neither adds to the time nor breaks it.

use std::fmt;
use std::str::FromStr;

use super::grammar::{Compare, Reader, Token, Unclear};
use super::subject::{Counted, Counts, Subject};
use crate::clock::{Nanos, seconds};
use crate::compare::figure::{Unit, show};
use crate::compare::many;

/// What one second of a run held.
pub(crate) struct Window<'a> {
    /// Calls that ended in it, those with errors included.
    pub(crate) calls: u64,
    /// Calls without an answer, or with a wrong one.
    pub(crate) errors: u64,
    /// Answers that failed a check.
    pub(crate) wrong: u64,
    /// Arrivals that were due in it and never made.
    pub(crate) dropped: u64,
    /// Answers by the first digit of their status: 1xx first.
    pub(crate) classes: [u64; 5],
    /// The mean response time in nanoseconds.
    pub(crate) mean: Nanos,
    /// The response time that this share of the calls did not exceed.
    pub(crate) quantile: &'a dyn Fn(f64) -> Nanos,
}

impl fmt::Debug for Window<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Window")
            .field("calls", &self.calls)
            .field("errors", &self.errors)
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}

/// A condition and how long it has to hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    text: String,
    subject: Subject<Time>,
    compare: Compare,
    /// In seconds, per second, or of one.
    limit: f64,
    /// Whole seconds, at least one.
    time: f64,
}

/// A time of a second.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Time {
    Mean,
    /// The response time that this share of one did not exceed.
    Quantile(f64),
}

const SUBJECTS: &str =
    "1xx to 5xx, errors, wrong, dropped, rate, mean, max, or a percentile, such as p99 or p99.9";
/// A day: whoever means longer means no rule.
const LONGEST: f64 = 86_400.0;

impl FromStr for Rule {
    type Err = Unclear;

    fn from_str(text: &str) -> Result<Self, Unclear> {
        let mut reader = Reader::new(text);
        let subject = Subject::parse(&mut reader, time_of, SUBJECTS)?;
        let compare = reader.compare()?;
        let (subject, limit) = subject.limit(&mut reader, Counts::PerSecond)?;
        if !reader.take("for") {
            return Err(reader.unclear("for and a time, such as for 10 s"));
        }
        let time = time(&mut reader)?;
        reader.end("the end")?;
        Ok(Self {
            text: text.trim().to_owned(),
            subject,
            compare,
            limit,
            time,
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

fn time_of(word: &str) -> Option<Time> {
    match word {
        "mean" => Some(Time::Mean),
        "max" => Some(Time::Quantile(1.0)),
        _ => percentile(word).map(Time::Quantile),
    }
}

/// `p99.9` as a share of one.
fn percentile(word: &str) -> Option<f64> {
    let percent = word.strip_prefix('p')?;
    let is_number = percent
        .chars()
        .all(|letter| letter.is_ascii_digit() || letter == '.');
    let percent: f64 = percent.parse().ok().filter(|_| is_number)?;
    (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
}

fn time(reader: &mut Reader<'_>) -> Result<f64, Unclear> {
    let problem = reader.unclear("a time of whole seconds up to a day, such as 10 s");
    if !matches!(reader.peek(), Token::Number(_)) {
        return Err(problem);
    }
    let time = reader.time()?;
    let is_whole = time.fract() <= 0.0 && (1.0..=LONGEST).contains(&time);
    if is_whole { Ok(time) } else { Err(problem) }
}

/// Why a run was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// The rule as it was written.
    pub(crate) rule: String,
    /// The figure of the last second.
    pub(crate) figure: String,
}

impl fmt::Display for Stop {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "stopped by {:?}: {} in the last second of it",
            self.rule, self.figure
        )
    }
}

/// The rules of a run and for how long each has held.
#[derive(Clone, Debug)]
pub(crate) struct Autostop {
    rules: Vec<(Rule, f64)>,
}

impl Autostop {
    pub(crate) fn new(rules: Vec<Rule>) -> Self {
        let rules = rules.into_iter().map(|rule| (rule, 0.0)).collect();
        Self { rules }
    }

    /// Takes the next second of the run in. Says so when a rule has held for its time; of several, the
    /// first as they were written.
    pub(crate) fn second(&mut self, window: &Window<'_>) -> Option<Stop> {
        let mut stop = None;
        for (rule, held) in &mut self.rules {
            let Some(figure) = rule.figure(window) else {
                continue;
            };
            if !rule.compare.holds(figure, rule.limit) {
                *held = 0.0;
                continue;
            }
            *held += 1.0;
            if *held >= rule.time && stop.is_none() {
                stop = Some(Stop {
                    rule: rule.text.clone(),
                    figure: show(figure, &rule.unit()),
                });
            }
        }
        stop
    }
}

impl Rule {
    /// None where the second says nothing.
    fn figure(&self, window: &Window<'_>) -> Option<f64> {
        let quantile = |share| (window.calls > 0).then(|| seconds((window.quantile)(share)));
        match self.subject {
            Subject::Time(Time::Mean) => (window.calls > 0).then(|| seconds(window.mean)),
            Subject::Time(Time::Quantile(share)) => quantile(share),
            Subject::Rate => Some(many(window.calls)),
            Subject::Count(counted) => Some(many(count(counted, window))),
            Subject::Share(counted) => {
                let due = match counted {
                    Counted::Dropped => window.calls + window.dropped,
                    Counted::Errors | Counted::Wrong | Counted::Class(_) => window.calls,
                };
                (due > 0).then(|| many(count(counted, window)) / many(due))
            }
        }
    }

    fn unit(&self) -> Unit {
        match self.subject {
            Subject::Time(_) => Unit::Seconds,
            Subject::Rate | Subject::Count(_) => Unit::PerSecond,
            Subject::Share(_) => Unit::Share,
        }
    }
}

fn count(counted: Counted, window: &Window<'_>) -> u64 {
    match counted {
        Counted::Errors => window.errors,
        Counted::Wrong => window.wrong,
        Counted::Dropped => window.dropped,
        Counted::Class(class) => {
            let classes = window.classes.get(usize::from(class));
            classes.copied().unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests;
