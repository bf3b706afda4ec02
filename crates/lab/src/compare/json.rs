//! A comparison for machines: figures in seconds, shares of one and per second, whole and unrounded.
//! It must not know how it was made.

use serde::Serialize;

use super::metric::Better;
use super::statistics::bootstrap::Interval;
use super::{Comparison, Line, SideOf, Verdict};

const FORMAT: u32 = 1;

#[derive(Debug, Serialize)]
struct ComparisonDocument<'a> {
    format: u32,
    a: SideDocument<'a>,
    b: SideDocument<'a>,
    alpha: f64,
    least: f64,
    family: usize,
    rows: Vec<RowDocument<'a>>,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct SideDocument<'a> {
    runs: usize,
    plans: &'a [String],
    targets: &'a [String],
}

#[derive(Debug, Serialize)]
struct RowDocument<'a> {
    step: &'a str,
    metric: &'a str,
    unit: &'a str,
    better: &'static str,
    runs_a: usize,
    runs_b: usize,
    median_a: Option<f64>,
    median_b: Option<f64>,
    ratio: Option<f64>,
    interval: Option<Interval>,
    p: Option<f64>,
    p_adjusted: Option<f64>,
    verdict: Verdict,
}

pub(super) fn render(comparison: &Comparison) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&ComparisonDocument {
        format: FORMAT,
        a: side(&comparison.a),
        b: side(&comparison.b),
        alpha: comparison.alpha,
        least: comparison.least,
        family: comparison.family,
        rows: comparison.lines.iter().map(row).collect(),
        notes: &comparison.notes,
    })
}

fn side(side: &SideOf) -> SideDocument<'_> {
    SideDocument {
        runs: side.runs,
        plans: &side.plans,
        targets: &side.targets,
    }
}

fn row(line: &Line) -> RowDocument<'_> {
    RowDocument {
        step: &line.step,
        metric: &line.metric,
        unit: line.unit.name(),
        better: match line.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => "neither",
        },
        runs_a: line.runs.0,
        runs_b: line.runs.1,
        median_a: line.medians.0,
        median_b: line.medians.1,
        ratio: line.ratio,
        interval: line.interval,
        p: line.p,
        p_adjusted: line.adjusted,
        verdict: line.verdict,
    }
}
