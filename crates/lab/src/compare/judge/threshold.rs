//! Thresholds: what a finished run has to keep, as text, and whether it did. Pure. It must not know
//! where the summary comes from.
//!
//! `[service|late] FIGURE COMPARISON LIMIT [for step "NAME"]`, such as `p99 < 500 ms`, `errors < 1 %`,
//! `rate > 1000/s`, `wrong == 0`, `service p99.9 < 1 s for step "token"`.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use super::grammar::{Compare, Reader, Token, Unclear};
use super::subject::{Counted, Counts, Subject};
use crate::compare::figure::{Unit, show};
use crate::compare::many;
use crate::compare::metric::{Clock, Statistic};
use crate::record::names::Unit as Counting;
use crate::record::summary::{Row, Summary};

/// Something that a run has to keep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Threshold {
    /// As it was written.
    text: String,
    subject: Subject<Time>,
    compare: Compare,
    /// In seconds, per second, of one, or a count.
    limit: f64,
    step: Option<String>,
}

/// A time of a run, by its clock.
type Time = (Clock, Statistic);

const SUBJECTS: &str =
    "rate, errors, dropped, wrong, 1xx to 5xx, mean, p50, p75, p90, p95, p99, p99.9 or max";
const TIMES: &str = "mean, p50, p75, p90, p95, p99, p99.9 or max";

impl FromStr for Threshold {
    type Err = Unclear;

    fn from_str(text: &str) -> Result<Self, Unclear> {
        let mut reader = Reader::new(text);
        let subject = subject(&mut reader)?;
        let compare = reader.compare()?;
        let (subject, limit) = subject.limit(&mut reader, Counts::Total)?;
        let step = if reader.take("for") {
            if !reader.take("step") {
                return Err(
                    reader.unclear("step and its name (only autostop rules hold for a time)")
                );
            }
            Some(reader.name()?)
        } else {
            None
        };
        reader.end("the end, or for step and its name")?;
        Ok(Self {
            text: text.trim().to_owned(),
            subject,
            compare,
            limit,
            step,
        })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

fn subject(reader: &mut Reader<'_>) -> Result<Subject<Time>, Unclear> {
    let clock = match reader.peek() {
        Token::Word(word) => Clock::parse(word),
        _ => None,
    };
    if clock.is_some() {
        reader.advance();
    }
    let time = |word: &str| {
        let statistic = Statistic::parse(word)?;
        Some((clock.unwrap_or(Clock::Response), statistic))
    };
    let problem = reader.unclear(TIMES);
    let expected = if clock.is_some() { TIMES } else { SUBJECTS };
    match (Subject::parse(reader, time, expected)?, clock) {
        (subject @ Subject::Time(_), _) | (subject, None) => Ok(subject),
        // Only times have a clock.
        (_, Some(_)) => Err(problem),
    }
}

/// Whether a threshold was kept, and the figure that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// The threshold as it was written.
    pub(crate) threshold: String,
    pub(crate) passed: bool,
    /// What was measured, or why nothing was.
    pub(crate) figure: String,
    /// The step whose figure it is, where each step had to keep the threshold.
    pub(crate) step: Option<String>,
}

/// Judges a finished run. Times have to be kept by every step that the threshold is for, and the worst
/// is shown; rates and counts are totals over these steps. What was not measured was not kept.
pub(crate) fn judge(summary: &Summary, thresholds: &[Threshold]) -> Vec<Judgement> {
    let judged = thresholds.iter().map(|threshold| threshold.judge(summary));
    judged.collect()
}

/// Where a threshold is on a plot over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Level {
    /// A response time, in seconds.
    Response(f64),
    /// Per second, over all steps.
    Rate(f64),
}

impl Threshold {
    /// `None` for what such a plot does not show.
    pub(crate) fn level(&self) -> Option<Level> {
        match self.subject {
            Subject::Time((Clock::Response, _)) => Some(Level::Response(self.limit)),
            Subject::Rate if self.step.is_none() => Some(Level::Rate(self.limit)),
            _ => None,
        }
    }

    fn judge(&self, summary: &Summary) -> Judgement {
        let judgement = |passed, figure, step| Judgement {
            threshold: self.text.clone(),
            passed,
            figure,
            step,
        };
        match self.figure(summary) {
            Ok((figure, step)) => {
                let shown = show(figure, &self.unit());
                judgement(self.compare.holds(figure, self.limit), shown, step)
            }
            Err(reason) => judgement(false, reason, None),
        }
    }

    fn unit(&self) -> Unit {
        match self.subject {
            Subject::Time(_) => Unit::Seconds,
            Subject::Rate => Unit::PerSecond,
            Subject::Count(_) => Unit::Count,
            Subject::Share(_) => Unit::Share,
        }
    }

    /// The figure that decides, with its step if it is that of one step; or why there is none.
    fn figure(&self, summary: &Summary) -> Result<(f64, Option<String>), String> {
        let rows = self.rows(summary)?;
        match self.subject {
            Subject::Time((clock, statistic)) => {
                let (figure, row) = self.worst(&rows, clock, statistic)?;
                Ok((figure, Some(row.step.clone())))
            }
            Subject::Rate => {
                let rate = rows.iter().map(|row| row.per_second).sum();
                Ok((rate, None))
            }
            Subject::Count(counted) => {
                let (count, _) = count(counted, &rows)?;
                Ok((many(count), None))
            }
            Subject::Share(counted) => {
                let (count, whole) = count(counted, &rows)?;
                Ok((many(count) / many(whole), None))
            }
        }
    }

    /// What the threshold is for: the steps of that name, or all of them.
    fn rows<'a>(&self, summary: &'a Summary) -> Result<Vec<&'a Row>, String> {
        let Some(name) = &self.step else {
            let of_unit = |unit| {
                let rows = summary.rows.iter().filter(move |row| row.unit == unit);
                rows.collect::<Vec<_>>()
            };
            // Flows are made of the samples: counting both would count twice.
            let samples = of_unit(Counting::Sample);
            let rows = if samples.is_empty() {
                of_unit(Counting::Flow)
            } else {
                samples
            };
            return if rows.is_empty() {
                Err("nothing was measured".to_owned())
            } else {
                Ok(rows)
            };
        };
        let rows = summary.rows.iter();
        let named: Vec<_> = rows.filter(|row| is_named(&row.step, name)).collect();
        if named.is_empty() {
            let known: Vec<&str> = summary.rows.iter().map(|row| row.step.as_str()).collect();
            return Err(format!("no step {name:?}; there are {}", known.join(", ")));
        }
        Ok(named)
    }

    /// Of the steps, the one that is farthest from keeping the threshold.
    fn worst<'a>(
        &self,
        rows: &[&'a Row],
        clock: Clock,
        statistic: Statistic,
    ) -> Result<(f64, &'a Row), String> {
        let mut worst: Option<(f64, &Row)> = None;
        for row in rows {
            // Only the first call of a flow has a moment at which it is due.
            if clock == Clock::Late && row.late.is_none() {
                continue;
            }
            let figure = clock.of(row).and_then(|times| statistic.of(times));
            let figure = figure.ok_or_else(|| format!("nothing was measured of {}", row.step))?;
            let is_worse = worst.is_none_or(|(so_far, _)| match self.compare {
                Compare::Below | Compare::AtMost => figure > so_far,
                Compare::Above | Compare::AtLeast => figure < so_far,
                Compare::Equal | Compare::Unequal => !self.compare.holds(figure, self.limit),
            });
            if is_worse {
                worst = Some((figure, row));
            }
        }
        worst.ok_or_else(|| "nothing was measured".to_owned())
    }
}

/// How many, and of how many. A count of nothing that was measured is not known to be zero.
fn count(counted: Counted, rows: &[&Row]) -> Result<(u64, u64), String> {
    let made: u64 = rows.iter().map(|row| row.count).sum();
    let dropped: u64 = rows.iter().map(|row| row.dropped).sum();
    let (count, whole) = match counted {
        Counted::Errors => (rows.iter().map(|row| row.errors).sum(), made),
        Counted::Dropped => (dropped, made + dropped),
        Counted::Wrong => (rows.iter().flat_map(|row| row.wrong.values()).sum(), made),
        Counted::Class(class) => {
            let statuses = rows.iter().flat_map(|row| &row.statuses);
            let of_class = statuses.filter(|(status, _)| **status / 100 == u16::from(class) + 1);
            (of_class.map(|(_, count)| count).sum(), made)
        }
    };
    if whole == 0 {
        return Err("nothing was measured".to_owned());
    }
    Ok((count, whole))
}

/// A step is named by its whole path or by the end of it: `token` is `users/login/token`.
fn is_named(path: &str, name: &str) -> bool {
    let before = path.strip_suffix(name);
    before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The judgements as lines for the terminal.
pub(crate) fn render(judgements: &[Judgement]) -> Result<String, fmt::Error> {
    let widths = judgements.iter().map(|it| it.threshold.chars().count());
    let width = widths.max().unwrap_or(0);
    let mut out = String::new();
    for it in judgements {
        let word = if it.passed { "pass" } else { "FAIL" };
        write!(out, "{word}  {:width$}  {}", it.threshold, it.figure)?;
        if let Some(step) = &it.step {
            write!(out, " ({step})")?;
        }
        writeln!(out)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
