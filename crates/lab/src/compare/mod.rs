//! Repeated runs of two setups, side by side: what differs by more than chance, and by how much. The
//! side A is what there was, B is what is new, and every ratio and verdict is about B. It must not
//! know how runs are made: it reads their summaries and nothing else.

mod figure;
mod gather;
mod json;
pub(crate) mod judge;
mod markdown;
pub(crate) mod metric;
pub(crate) mod order;
mod plans;
mod statistics;
mod table;
mod text;
mod verdict;

use std::path::PathBuf;

use figure::Unit;
use gather::{Measured, gather};
use metric::{Better, Metric, USUAL};
use plans::BadPlan;
use statistics::bootstrap::{Interval, ratio_interval};
use statistics::ranks;
pub(crate) use statistics::ranks::repeats_needed;
pub(crate) use verdict::Verdict;
use verdict::{Decision, Rule, Samples};

use crate::record::summary::{Summary, Unreadable};

/// How many repeats of each side `ab` makes unless told otherwise: with ten, 4,618 rows may be tested
/// at once, and a difference of 5 % shows through runs that vary by 1.5 %.
pub(crate) const REPEATS: usize = 10;

#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// How often a comparison of equals may see a difference in any of its rows.
    pub(crate) alpha: f64,
    /// Differences of the medians below this share are not worth a verdict.
    pub(crate) least: f64,
    pub(crate) metrics: Vec<Metric>,
    /// Also compare what processes and databases used.
    pub(crate) resources: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            least: 0.0,
            metrics: USUAL.to_vec(),
            resources: false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CompareError {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    Plan(#[from] BadPlan),
    #[error("side {0} has no runs; give the directories of its runs: compare A… -- B…")]
    NoRuns(&'static str),
    #[error("{} is given twice; a run counts once", .0.display())]
    Twice(PathBuf),
    #[error("alpha is {0}, but must lie between 0 and 1, as 0.05 does")]
    Alpha(f64),
    #[error("the least difference is {0}, but must not be negative")]
    Least(f64),
}

#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) a: SideOf,
    pub(crate) b: SideOf,
    pub(crate) alpha: f64,
    pub(crate) least: f64,
    /// How many rows were tested, for which the p values are corrected.
    pub(crate) family: usize,
    pub(crate) lines: Vec<Line>,
    /// What the reader should know before trusting the lines.
    pub(crate) notes: Vec<String>,
}

/// What the runs of a side have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SideOf {
    pub(crate) runs: usize,
    /// Every different one; more than one is worth a note.
    pub(crate) plans: Vec<String>,
    pub(crate) targets: Vec<String>,
}

/// One figure of one step on both sides.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) step: String,
    pub(crate) metric: String,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    /// How many runs of each side had it.
    pub(crate) runs: (usize, usize),
    pub(crate) medians: (Option<f64>, Option<f64>),
    pub(crate) ratio: Option<f64>,
    pub(crate) interval: Option<Interval>,
    pub(crate) p: Option<f64>,
    pub(crate) adjusted: Option<f64>,
    pub(crate) verdict: Verdict,
}

impl Comparison {
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        text::render(self)
    }

    pub(crate) fn markdown(&self) -> Result<String, std::fmt::Error> {
        markdown::render(self)
    }

    pub(crate) fn json(&self) -> Result<String, serde_json::Error> {
        json::render(self)
    }

    /// Whether any row is worse: what a pipeline that guards against regressions asks.
    pub(crate) fn is_worse(&self) -> bool {
        let mut lines = self.lines.iter();
        lines.any(|line| line.verdict == Verdict::Worse)
    }
}

/// Compares the runs in the directories of side A with those of side B.
pub(crate) fn compare(
    a: &[PathBuf],
    b: &[PathBuf],
    options: &Options,
) -> Result<Comparison, CompareError> {
    for (index, run) in a.iter().chain(b).enumerate() {
        if a.iter().chain(b).take(index).any(|other| other == run) {
            return Err(CompareError::Twice(run.clone()));
        }
    }
    let read = |runs: &[PathBuf]| {
        let summaries = runs.iter().map(|run| Summary::read(run));
        summaries.collect::<Result<Vec<_>, _>>()
    };
    let (a_runs, b_runs) = (read(a)?, read(b)?);
    let mut comparison = compare_summaries(&a_runs, &b_runs, options)?;
    let tables = a.iter().chain(b).map(|run| plans::read(run));
    let tables = tables.collect::<Result<Vec<_>, _>>()?;
    let runs = a_runs.iter().chain(&b_runs).zip(&tables);
    let plans: Vec<_> = runs
        .filter_map(|(run, plan)| Some((run.plan.as_str(), plan.as_ref()?)))
        .collect();
    comparison.notes.extend(plans::notes(&plans));
    Ok(comparison)
}

/// The same for runs that were read before.
pub(crate) fn compare_summaries(
    a: &[Summary],
    b: &[Summary],
    options: &Options,
) -> Result<Comparison, CompareError> {
    if a.is_empty() {
        return Err(CompareError::NoRuns("A"));
    }
    if b.is_empty() {
        return Err(CompareError::NoRuns("B"));
    }
    let Options { alpha, least, .. } = *options;
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(CompareError::Alpha(alpha));
    }
    if !(least >= 0.0 && least.is_finite()) {
        return Err(CompareError::Least(least));
    }
    let measured = gather(a, b, options);
    let samples: Vec<Samples> = measured.iter().map(|row| row.samples.clone()).collect();
    let decisions = verdict::decide(&samples, Rule { alpha, least });
    let family = verdict::family(&decisions);
    let lines: Vec<Line> = measured
        .into_iter()
        .zip(decisions)
        .map(|(row, decision)| line(row, decision, alpha))
        .collect();
    let mut notes = gather::notes(a, b);
    notes.extend(possible(&lines, family, alpha));
    Ok(Comparison {
        a: side(a),
        b: side(b),
        alpha,
        least,
        family,
        lines,
        notes,
    })
}

fn line(row: Measured, decision: Decision, alpha: f64) -> Line {
    let samples = &row.samples;
    Line {
        better: samples.better,
        runs: (samples.a.len(), samples.b.len()),
        medians: (decision.median_a, decision.median_b),
        ratio: decision.ratio,
        interval: ratio_interval(&samples.a, &samples.b, 1.0 - alpha),
        p: decision.p,
        adjusted: decision.adjusted,
        verdict: decision.verdict,
        step: row.step,
        metric: row.metric,
        unit: row.unit,
    }
}

fn side(summaries: &[Summary]) -> SideOf {
    let distinct = |name: fn(&Summary) -> &String| {
        let mut names: Vec<String> = summaries.iter().map(name).cloned().collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    SideOf {
        runs: summaries.len(),
        plans: distinct(|summary| &summary.plan),
        targets: distinct(|summary| &summary.target),
    }
}

/// Says so when there were too few runs for any verdict, and how many it takes.
fn possible(lines: &[Line], family: usize, alpha: f64) -> Option<String> {
    let few = |line: &&Line| line.verdict == Verdict::TooFewRepeats;
    let line = lines.iter().find(few)?;
    let (a, b) = line.runs;
    let smallest = figure::p_value(ranks::smallest_p(a, b));
    let needed = repeats_needed(family, alpha);
    Some(format!(
        "with {a} and {b} runs no p value is below {smallest}; a verdict at {alpha} over {family} rows takes \
         {needed} runs of each side, or fewer rows (--metric)"
    ))
}

/// A count as a number to reckon with.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of runs and rows are far below 2^53"
)]
fn float(count: usize) -> f64 {
    count as f64
}

/// A count of samples as a number to reckon with.
#[expect(
    clippy::cast_precision_loss,
    reason = "2^53 samples would take thousands of years"
)]
fn many(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod bars;
#[cfg(test)]
mod tests;
