//! Rows of the table of bars: what was to be reached, what was measured, and whether it is enough.

use serde::Serialize;
use std::fmt::Write as _;

use crate::failure::{Failed, Outcome};
use crate::lab::Lab;
use crate::number::{Spread, figure};
use crate::pair::{Pairs, Series};

/// What is to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bar {
    AtLeast(f64),
    Below(f64),
    AtMost(f64),
    /// Measured for its own sake.
    None,
}

impl Bar {
    fn is_met(self, value: f64) -> Option<bool> {
        match self {
            Self::AtLeast(bar) => Some(value >= bar),
            Self::Below(bar) => Some(value < bar),
            Self::AtMost(bar) => Some(value <= bar),
            Self::None => None,
        }
    }

    fn text(self, unit: &str) -> String {
        match self {
            Self::AtLeast(bar) => format!("≥ {bar}{unit}"),
            Self::Below(bar) => format!("< {bar}{unit}"),
            Self::AtMost(bar) => format!("≤ {bar}{unit}"),
            Self::None => "–".to_owned(),
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) what: String,
    pub(crate) bar: Bar,
    /// Written behind the figure.
    pub(crate) unit: &'static str,
    pub(crate) figure: Option<Spread>,
    /// The same ratio made from the server's processor time, which other programs disturb less.
    pub(crate) by_cpu: Option<Spread>,
    pub(crate) passed: Option<bool>,
    pub(crate) notes: Vec<String>,
    pub(crate) series: Vec<Series>,
}

impl Row {
    /// A ratio to a ceiling.
    pub(crate) fn ratio(key: &str, what: &str, bar: Bar, pairs: Pairs) -> Outcome<Self> {
        let by_cpu = pairs.by_cpu().ok();
        let row = Self::figure(key, what, bar, "", pairs.by_rate()?);
        Ok(Self {
            by_cpu,
            series: vec![pairs.subject, pairs.ceiling],
            ..row
        })
    }

    /// A figure with a unit.
    pub(crate) fn figure(
        key: &str,
        what: &str,
        bar: Bar,
        unit: &'static str,
        spread: Spread,
    ) -> Self {
        Self {
            key: key.to_owned(),
            what: what.to_owned(),
            bar,
            unit,
            passed: bar.is_met(spread.median),
            figure: Some(spread),
            by_cpu: None,
            notes: Vec::new(),
            series: Vec::new(),
        }
    }

    /// A figure that was read once.
    pub(crate) fn reading(key: &str, what: &str, bar: Bar, unit: &'static str, value: f64) -> Self {
        let spread = Spread {
            median: value,
            lowest: value,
            highest: value,
            count: 1,
        };
        Self::figure(key, what, bar, unit, spread)
    }

    fn missing(key: &str, why: &Failed) -> Self {
        Self {
            key: key.to_owned(),
            what: key.to_owned(),
            bar: Bar::None,
            unit: "",
            figure: None,
            by_cpu: None,
            passed: None,
            notes: vec![format!("not measured: {why}")],
            series: Vec::new(),
        }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    fn verdict(&self) -> &'static str {
        match (self.passed, self.figure) {
            (Some(true), _) => "pass",
            (Some(false), _) => "MISS",
            (None, Some(_)) => "–",
            (None, None) => "NOT MEASURED",
        }
    }

    /// What a reader must know before believing the figure.
    fn warnings(&self) -> Vec<String> {
        let runs = || self.series.iter().flat_map(|series| &series.runs);
        let noisy = runs().filter(|run| run.strangers.are_noisy()).count();
        let mut warnings = Vec::new();
        if noisy > 0 {
            let worst = runs().map(|run| run.strangers.busy + run.strangers.stolen);
            warnings.push(format!(
                "{noisy} of {} runs beside other programs (up to {:.0} % of a core)",
                runs().count(),
                100.0 * worst.fold(0.0, f64::max)
            ));
        }
        for series in &self.series {
            let share = series.median(|run| run.generator_share);
            if share >= 0.9 {
                let name = &series.name;
                warnings.push(format!(
                    "{name}: the generator was at {:.0} % of its core",
                    share * 100.0
                ));
            }
        }
        warnings
    }
}

/// The table, kept on disk as it grows.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    lab: &'a Lab,
    rows: Vec<Row>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(lab: &'a Lab) -> Self {
        Self {
            lab,
            rows: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, row: Row) -> Outcome<()> {
        let told = row
            .figure
            .map_or(String::new(), |spread| written(spread, row.unit));
        self.lab
            .say(format_args!("== {}: {told} {}", row.what, row.verdict()));
        self.rows.push(row);
        self.lab.results.json("bars.json", &self.rows)?;
        self.lab.results.text("bars.md", &self.markdown())
    }

    /// A measurement that could not be made is a line too.
    pub(crate) fn try_group(
        &mut self,
        name: &str,
        group: impl FnOnce(&Lab, &mut Self) -> Outcome<()>,
    ) -> Outcome<()> {
        self.lab.say(format_args!("-- {name}"));
        match group(self.lab, self) {
            Ok(()) => Ok(()),
            Err(why) => {
                self.lab.say(format_args!("{name} failed: {why}"));
                self.push(Row::missing(name, &why))
            }
        }
    }

    pub(crate) fn missed(&self) -> usize {
        let is_miss = |row: &&Row| row.passed == Some(false) || row.figure.is_none();
        self.rows.iter().filter(is_miss).count()
    }

    pub(crate) fn markdown(&self) -> String {
        let plan = &self.lab.plan;
        let mut out = String::from("# Bars\n\n");
        let _ = writeln!(out, "{}", self.lab.environment.markdown());
        let _ = writeln!(
            out,
            "Server on one core, generator on the other, concurrency {} where nothing else is said. \
             A ratio is the median of {} pairs of runs of {} s, measured in turn; lowest and highest \
             behind it. *By CPU* is the same ratio made from the server's processor time per request: \
             other programs disturb it less.\n",
            plan.concurrency, plan.rounds, plan.seconds
        );
        out.push_str("| what | bar | figure | by CPU | |\n|---|---|---|---|---|\n");
        for row in &self.rows {
            let told = row
                .figure
                .map_or("–".to_owned(), |spread| written(spread, row.unit));
            let by_cpu = row
                .by_cpu
                .map_or("–".to_owned(), |spread| written(spread, ""));
            let bar = row.bar.text(row.unit);
            let _ = writeln!(
                out,
                "| {} | {bar} | {told} | {by_cpu} | {} |",
                row.what,
                row.verdict()
            );
        }
        self.notes(&mut out);
        self.absolutes(&mut out);
        out
    }

    fn notes(&self, out: &mut String) {
        out.push_str("\n## Notes\n\n");
        for row in &self.rows {
            for note in row.notes.iter().cloned().chain(row.warnings()) {
                let _ = writeln!(out, "- {}: {note}.", row.what);
            }
        }
    }

    fn absolutes(&self, out: &mut String) {
        out.push_str(
            "\n## What the ratios are made of\n\nMedians; times in milliseconds, processor time of the \
             server in microseconds a request.\n\n| row | side | req/s | p50 | p99 | server CPU | \
             generator's core |\n|---|---|--:|--:|--:|--:|--:|\n",
        );
        for row in &self.rows {
            for series in &row.series {
                let _ = writeln!(
                    out,
                    "| {} | {} | {} | {} | {} | {} | {:.0} % |",
                    row.key,
                    series.name,
                    figure(series.median(|run| run.rate)),
                    figure(series.median(|run| run.p50 * 1e3)),
                    figure(series.median(|run| run.p99 * 1e3)),
                    figure(series.median(|run| run.server_cpu)),
                    series.median(|run| run.generator_share * 100.0),
                );
            }
        }
    }
}

fn written(spread: Spread, unit: &str) -> String {
    let median = figure(spread.median);
    if spread.count == 1 {
        return format!("{median}{unit}");
    }
    format!(
        "{median}{unit} ({}–{})",
        figure(spread.lowest),
        figure(spread.highest)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_met_by_the_median() {
        assert_eq!(Bar::AtLeast(0.75).is_met(0.75), Some(true));
        assert_eq!(Bar::Below(20.0).is_met(20.0), Some(false));
        assert_eq!(Bar::None.is_met(1.0), None);
    }

    #[test]
    fn spread_is_written_behind_the_median() {
        let spread = Spread::of([0.81, 0.79, 0.9]).unwrap();
        assert_eq!(written(spread, " s"), "0.810 s (0.790–0.900)");
    }
}
