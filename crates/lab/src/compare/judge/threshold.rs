//! Thresholds: what a finished run has to keep, as text, and whether it did. Pure. It must not know
//! where the summary comes from.
//!
//! `[service] FIGURE COMPARISON LIMIT [for step "NAME"]`, such as `p99 < 500 ms`, `errors < 1 %`,
//! `rate > 1000/s`, `wrong == 0`, `service p99.9 < 1 s for step "token"`.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use super::grammar::{Compare, Reader, Token, Unclear};
use crate::compare::figure::{Unit, show};
use crate::compare::many;
use crate::compare::metric::{Clock, Statistic};
use crate::compare::summary::{self, Row, Summary};

/// Something that a run has to keep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Threshold {
    /// As it was written.
    text: String,
    subject: Subject,
    compare: Compare,
    /// In seconds, per second, of one, or a count.
    limit: f64,
    step: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Time(Clock, Statistic),
    Rate,
    Count(Counted),
    Share(Counted),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Errors,
    Dropped,
    Wrong,
}

const SUBJECTS: &str = "rate, errors, dropped, wrong, mean, p50, p75, p90, p95, p99, p99.9 or max";

impl FromStr for Threshold {
    type Err = Unclear;

    fn from_str(text: &str) -> Result<Self, Unclear> {
        let mut reader = Reader::new(text);
        let subject = subject(&mut reader)?;
        let compare = reader.compare()?;
        let (subject, limit) = limit(&mut reader, subject)?;
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

fn subject(reader: &mut Reader<'_>) -> Result<Subject, Unclear> {
    let clock = if reader.take("service") {
        Some(Clock::Service)
    } else if reader.take("response") {
        Some(Clock::Response)
    } else {
        None
    };
    let Token::Word(word) = reader.peek() else {
        return Err(reader.unclear(SUBJECTS));
    };
    let subject = match (Statistic::parse(word), clock, word) {
        (Some(statistic), clock, _) => Subject::Time(clock.unwrap_or(Clock::Response), statistic),
        (None, Some(_), _) => {
            return Err(reader.unclear("mean, p50, p75, p90, p95, p99, p99.9 or max"));
        }
        (None, None, "rate") => Subject::Rate,
        (None, None, "errors") => Subject::Count(Counted::Errors),
        (None, None, "dropped") => Subject::Count(Counted::Dropped),
        (None, None, "wrong") => Subject::Count(Counted::Wrong),
        (None, None, _) => return Err(reader.unclear(SUBJECTS)),
    };
    reader.advance();
    Ok(subject)
}

/// The limit, and the subject again: a limit in percent makes a share of a count.
fn limit(reader: &mut Reader<'_>, subject: Subject) -> Result<(Subject, f64), Unclear> {
    match subject {
        Subject::Time(_, _) => Ok((subject, reader.time()?)),
        Subject::Rate => {
            let number = reader.number("a rate, such as 1000/s")?;
            if reader.peek() == Token::Sign("/s") {
                reader.advance();
            }
            Ok((subject, number))
        }
        Subject::Count(counted) | Subject::Share(counted) => {
            let number = reader.number("a count, or a share, such as 1 %")?;
            if reader.peek() == Token::Sign("%") {
                reader.advance();
                Ok((Subject::Share(counted), number / 100.0))
            } else {
                Ok((subject, number))
            }
        }
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

impl Threshold {
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
            Subject::Time(_, _) => Unit::Seconds,
            Subject::Rate => Unit::PerSecond,
            Subject::Count(_) => Unit::Count,
            Subject::Share(_) => Unit::Share,
        }
    }

    /// The figure that decides, with its step if it is that of one step; or why there is none.
    fn figure(&self, summary: &Summary) -> Result<(f64, Option<String>), String> {
        let rows = self.rows(summary)?;
        match self.subject {
            Subject::Time(clock, statistic) => {
                let (figure, row) = self.worst(&rows, clock, statistic)?;
                Ok((figure, Some(row.step.clone())))
            }
            Subject::Rate => {
                let rates: Option<f64> = rows.iter().map(|row| row.per_second).sum();
                let rate = rates.ok_or("a step has no rate")?;
                Ok((rate, None))
            }
            Subject::Count(counted) => {
                let (count, _) = self.count(counted, summary, &rows)?;
                Ok((many(count), None))
            }
            Subject::Share(counted) => {
                let (count, whole) = self.count(counted, summary, &rows)?;
                Ok((many(count) / many(whole), None))
            }
        }
    }

    /// How many, and of how many. A count of nothing that was measured is not known to be zero.
    fn count(
        &self,
        counted: Counted,
        summary: &Summary,
        rows: &[&Row],
    ) -> Result<(u64, u64), String> {
        let made: u64 = rows.iter().map(|row| row.count).sum();
        let dropped: u64 = rows.iter().map(|row| row.dropped).sum();
        let (count, whole) = match counted {
            Counted::Errors => (rows.iter().map(|row| row.errors).sum(), made),
            Counted::Dropped => (dropped, made + dropped),
            Counted::Wrong => (self.wrong(summary, rows)?, made),
        };
        if whole == 0 {
            return Err("nothing was measured".to_owned());
        }
        Ok((count, whole))
    }

    /// What the threshold is for: the steps of that name, or all of them.
    fn rows<'a>(&self, summary: &'a Summary) -> Result<Vec<&'a Row>, String> {
        let Some(name) = &self.step else {
            let of_unit = |unit| {
                let rows = summary.rows.iter().filter(move |row| row.unit == unit);
                rows.collect::<Vec<_>>()
            };
            // Flows are made of the samples: counting both would count twice.
            let samples = of_unit(summary::Unit::Sample);
            let rows = if samples.is_empty() {
                of_unit(summary::Unit::Flow)
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
            let figure = statistic.of(clock.of(row));
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

    fn wrong(&self, summary: &Summary, rows: &[&Row]) -> Result<u64, String> {
        let of_rows: u64 = rows.iter().flat_map(|row| row.wrong.values()).sum();
        let of_all: u64 = summary.wrong.values().sum();
        if self.step.is_none() {
            return Ok(of_all.max(of_rows));
        }
        if of_rows == 0 && of_all > 0 && summary.rows.iter().all(|row| row.wrong.is_empty()) {
            return Err("wrong answers were counted for the whole run only".to_owned());
        }
        Ok(of_rows)
    }
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
