//! From the summaries of two sides to the values of each figure, run by run, and what is odd about
//! the runs. It must not know statistics.

use super::Options;
use super::figure::Unit;
use super::metric::Better;
use super::verdict::Samples;
use crate::record::summary::{Row, Summary};

/// One figure of one step in every run that has it.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) step: String,
    pub(super) metric: String,
    pub(super) unit: Unit,
    pub(super) samples: Samples,
}

/// Steps in the order in which the runs name them, those of A first; each with its metrics in the
/// order asked for. A step that only one side has is left to [`notes`].
pub(super) fn gather(a: &[Summary], b: &[Summary], options: &Options) -> Vec<Measured> {
    let mut measured = Vec::new();
    for step in steps(a).into_iter().filter(|step| has(b, step)) {
        measured.extend(options.metrics.iter().map(|metric| {
            let value = |summary: &Summary| row(summary, step).and_then(|row| metric.of(row));
            Measured {
                step: step.to_owned(),
                metric: metric.to_string(),
                unit: metric.unit(),
                samples: Samples {
                    a: a.iter().filter_map(value).collect(),
                    b: b.iter().filter_map(value).collect(),
                    better: metric.better(),
                },
            }
        }));
    }
    if options.resources {
        measured.extend(resources(a, b));
    }
    measured.retain(is_worth_a_line);
    measured
}

/// A figure that a side has in no run cannot be compared, and a share of errors that is zero in every
/// run is said once, not for each step.
fn is_worth_a_line(row: &Measured) -> bool {
    let Samples { a, b, .. } = &row.samples;
    let share_of_none = row.unit == Unit::Share && a.iter().chain(b).all(|value| *value <= 0.0);
    !(a.is_empty() || b.is_empty() || share_of_none)
}

/// The mean of each series of resources that both sides have.
fn resources(a: &[Summary], b: &[Summary]) -> Vec<Measured> {
    let mut named: Vec<(&str, &str)> = Vec::new();
    for resource in a.iter().flat_map(|summary| &summary.resources) {
        if !named.iter().any(|(name, _)| *name == resource.series) {
            named.push((&resource.series, &resource.unit));
        }
    }
    let mean = |summary: &Summary, series: &str| {
        let mut resources = summary.resources.iter();
        resources
            .find(|resource| resource.series == series)
            .map(|resource| resource.mean)
            .filter(|mean| mean.is_finite())
    };
    let values = |side: &[Summary], series: &str| {
        let means = side.iter().filter_map(|summary| mean(summary, series));
        means.collect::<Vec<f64>>()
    };
    named
        .into_iter()
        .map(|(series, unit)| Measured {
            step: series.to_owned(),
            metric: "mean".to_owned(),
            unit: Unit::Other(unit.to_owned()),
            samples: Samples {
                a: values(a, series),
                b: values(b, series),
                better: Better::Neither,
            },
        })
        .collect()
}

/// What a reader should know about the runs before trusting a verdict on them.
pub(super) fn notes(a: &[Summary], b: &[Summary]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut plans: Vec<&str> = a.iter().chain(b).map(|run| run.plan.as_str()).collect();
    plans.sort_unstable();
    plans.dedup();
    if plans.len() > 1 {
        let plans = plans.join(", ");
        let mut targets = a.iter().chain(b).map(|run| &run.target);
        let first = targets.next();
        let more = if targets.any(|target| Some(target) != first) {
            "so the plans differ as well as the targets"
        } else {
            "all against one target: what differs may be the plans' doing"
        };
        notes.push(format!("the runs are of different plans ({plans}), {more}"));
    }
    for (name, side) in [("A", a), ("B", b)] {
        if side.iter().any(|run| run.target != side[0].target) {
            notes.push(format!("the runs of {name} had different targets"));
        }
    }
    notes.extend(drift(a, b));
    notes.extend(missing(a, b));
    notes.extend(recorded(a, b));
    let rows = || a.iter().chain(b).flat_map(|run| &run.rows);
    if rows().next().is_some() && rows().all(|row| row.errors == 0 && row.dropped == 0) {
        notes.push("no errors and no dropped arrivals in any run".to_owned());
    }
    notes
}

/// Runs that did not take turns leave room for everything that changed meanwhile.
fn drift(a: &[Summary], b: &[Summary]) -> Option<String> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let first = |side: &[Summary]| {
        side.iter()
            .map(|run| run.started)
            .fold(f64::INFINITY, f64::min)
    };
    let last = |side: &[Summary]| side.iter().map(|run| run.started).fold(0.0, f64::max);
    let (one, other) = if last(a) < first(b) {
        ("A", "B")
    } else if last(b) < first(a) {
        ("B", "A")
    } else {
        return None;
    };
    Some(format!(
        "all runs of {one} were made before those of {other}: whatever changed on the machine meanwhile counts as a \
         difference (assay ab lets the sides take turns)"
    ))
}

fn missing(a: &[Summary], b: &[Summary]) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, side, other) in [("A", a, b), ("B", b, a)] {
        for step in steps(side) {
            let runs = side.iter().filter(|run| row(run, step).is_some()).count();
            if !has(other, step) {
                notes.push(format!("only {name} has the step {step}"));
            } else if runs < side.len() {
                notes.push(format!(
                    "only {runs} of {} runs of {name} have the step {step}",
                    side.len()
                ));
            }
        }
    }
    notes
}

/// What the runs say of themselves, such as that the generator was the limit.
fn recorded(a: &[Summary], b: &[Summary]) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, side) in [("A", a), ("B", b)] {
        let mut said: Vec<&String> = side.iter().flat_map(|run| &run.notes).collect();
        said.sort_unstable();
        said.dedup();
        for note in said {
            let runs = side.iter().filter(|run| run.notes.contains(note)).count();
            let note = note.trim_end_matches('.');
            notes.push(format!(
                "{runs} of {} runs of {name} say: {note}",
                side.len()
            ));
        }
    }
    notes
}

fn steps(side: &[Summary]) -> Vec<&str> {
    let mut steps: Vec<&str> = Vec::new();
    for row in side.iter().flat_map(|summary| &summary.rows) {
        if !steps.contains(&row.step.as_str()) {
            steps.push(&row.step);
        }
    }
    steps
}

fn row<'a>(summary: &'a Summary, step: &str) -> Option<&'a Row> {
    summary.rows.iter().find(|row| row.step == step)
}

fn has(side: &[Summary], step: &str) -> bool {
    side.iter().any(|summary| row(summary, step).is_some())
}
