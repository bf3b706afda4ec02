//! The cells of a comparison, the same for every table that shows it. It must not know how tables are
//! drawn.

use super::figure::{Unit, p_value, show};
use super::{Comparison, Line, SideOf};

pub(super) const HEADINGS: [&str; 8] = [
    "step",
    "metric",
    "median A",
    "median B",
    "B/A",
    "interval of B/A",
    "p",
    "verdict on B",
];
/// The columns from here up to the last hold figures, which are aligned to the right.
pub(super) const FIGURES: std::ops::Range<usize> = 2..7;

const NOTHING: &str = "–";

pub(super) fn cells(line: &Line) -> [String; 8] {
    let figure = |median: Option<f64>| median.map_or_else(nothing, |it| show(it, &line.unit));
    let interval = line.interval.map_or_else(nothing, |interval| {
        format!("{:.3} … {:.3}", interval.low, interval.high)
    });
    [
        line.step.clone(),
        line.metric.clone(),
        figure(line.medians.0),
        figure(line.medians.1),
        line.ratio.map_or_else(nothing, |it| format!("{it:.3}")),
        interval,
        line.adjusted.map_or_else(nothing, p_value),
        line.verdict.words().to_owned(),
    ]
}

fn nothing() -> String {
    NOTHING.to_owned()
}

/// "A: 10 runs of plan on target".
pub(super) fn about(name: &str, side: &SideOf) -> String {
    let runs = if side.runs == 1 { "run" } else { "runs" };
    let of = |word: &str, names: &[String]| match names.join(", ") {
        names if names.is_empty() => String::new(),
        names => format!(" {word} {names}"),
    };
    format!(
        "{name}: {} {runs}{}{}",
        side.runs,
        of("of", &side.plans),
        of("on", &side.targets)
    )
}

/// How the figures came to be, sentence by sentence.
pub(super) fn method(comparison: &Comparison) -> Vec<String> {
    let mut sentences = vec![
        format!(
            "Two-sided Mann-Whitney U test per row, p values corrected for {} rows (Holm); a verdict needs p ≤ {}.",
            comparison.family, comparison.alpha
        ),
        format!(
            "Intervals hold the ratio of the medians at {} (bootstrap, each row for itself).",
            show(1.0 - comparison.alpha, &Unit::Share)
        ),
    ];
    if comparison.least > 0.0 {
        sentences.push(format!(
            "Differences of the medians below {} count as none.",
            show(comparison.least, &Unit::Share)
        ));
    }
    sentences
}
