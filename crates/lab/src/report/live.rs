//! How a run goes, on stderr, while it goes on: a few lines that are drawn anew on a terminal, one line
//! now and then elsewhere. It must not know how the run is driven.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _, stderr};

use indicatif::{ProgressBar, ProgressStyle};

use crate::clock::{Nanos, seconds};
use crate::record::books::glance::Glance;
use crate::record::books::windows::Window;
use crate::report::table::counts;

/// Without a terminal to draw on, a new line comes this often.
const LINE_EVERY: Nanos = 5_000_000_000;
/// Whole seconds that the rate and the percentiles are of.
const RECENT: u64 = 5;
/// Seconds of the drawn rate.
const DRAWN: u64 = 40;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How much of a run is still to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Left {
    Time(Nanos),
    /// Passes of flows, in runs that are limited by their number.
    Passes(u64),
    #[default]
    Unknown,
}

/// A run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) elapsed: Nanos,
    pub(crate) warming_up: bool,
    pub(crate) left: Left,
    /// All so far.
    pub(crate) samples: u64,
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) dropped: u64,
    pub(crate) in_flight: u64,
    /// Samples per second, over the last seconds.
    pub(crate) rate: f64,
    pub(crate) p50: Nanos,
    pub(crate) p95: Nanos,
    pub(crate) p99: Nanos,
    /// Samples of each of the last whole seconds, oldest first.
    pub(crate) rates: Vec<u64>,
}

impl Snapshot {
    /// What all generators together see now. `checks` are the names of failed checks.
    pub(crate) fn of(glance: &Glance, checks: &[String], elapsed: Nanos) -> Self {
        let now = elapsed / 1_000_000_000;
        let mut recent = Window::default();
        for (_, window) in glance.seconds.range(now.saturating_sub(RECENT)..now) {
            recent.merge(window);
        }
        // In its first second a run has no whole one yet.
        let of = match now {
            0 => {
                glance
                    .seconds
                    .values()
                    .for_each(|window| recent.merge(window));
                seconds(elapsed)
            }
            now => seconds(now.min(RECENT) * 1_000_000_000),
        };
        let count = |second: u64| glance.seconds.get(&second).map_or(0, |window| window.count);
        let wrong = glance.wrong.iter().map(|(check, count)| {
            let name = checks.get(usize::from(*check)).cloned();
            (name.unwrap_or_else(|| format!("check {check}")), *count)
        });
        let failed = glance.failed.iter();
        let failed = failed.map(|(kind, count)| (kind.to_string(), *count));
        Self {
            elapsed,
            samples: glance.samples,
            errors: wrong.chain(failed).collect(),
            dropped: glance.dropped,
            rate: crate::record::summary::per_second(recent.count, of),
            p50: recent.quantile(0.50),
            p95: recent.quantile(0.95),
            p99: recent.quantile(0.99),
            rates: (now.saturating_sub(DRAWN)..now).map(count).collect(),
            ..Self::default()
        }
    }
}

/// Where the view goes.
#[derive(Debug)]
pub(crate) struct Live {
    place: Place,
    shown: Option<Nanos>,
}

#[derive(Debug)]
enum Place {
    Nowhere,
    Terminal(ProgressBar),
    Lines,
}

impl Live {
    pub(crate) fn new(quiet: bool) -> Self {
        let place = if quiet {
            Place::Nowhere
        } else if stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            Place::Terminal(match ProgressStyle::with_template("{msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            })
        } else {
            Place::Lines
        };
        Self { place, shown: None }
    }

    /// Whether anybody looks; a snapshot costs something.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.place, Place::Nowhere)
    }

    pub(crate) fn show(&mut self, snapshot: &Snapshot) {
        match &self.place {
            Place::Terminal(bar) => bar.set_message(render(snapshot)),
            Place::Lines if is_due(self.shown, snapshot.elapsed) => {
                self.shown = Some(snapshot.elapsed);
                // A view that nobody can read any more is no reason to fail a run.
                drop(writeln!(stderr(), "{}", line(snapshot)));
            }
            Place::Nowhere | Place::Lines => {}
        }
    }

    pub(crate) fn clear(&self) {
        if let Place::Terminal(bar) = &self.place {
            bar.finish_and_clear();
        }
    }
}

/// The first line comes with the first look that is late enough to say something.
fn is_due(shown: Option<Nanos>, elapsed: Nanos) -> bool {
    elapsed >= shown.unwrap_or(0).saturating_add(LINE_EVERY)
}

/// Three lines for a terminal.
fn render(snapshot: &Snapshot) -> String {
    let Snapshot {
        samples,
        in_flight,
        rate,
        ..
    } = snapshot;
    let [p50, p95, p99] = percentiles(snapshot);
    format!(
        "{:6.0} s  {}  {}\n{samples:8} samples  {rate:.0} /s  p50 {p50} ms  p95 {p95} ms  p99 {p99} ms\n{in_flight:8} in flight  {}",
        seconds(snapshot.elapsed),
        sparkline(&snapshot.rates),
        left(snapshot),
        trouble(snapshot),
    )
}

/// The same as one line.
fn line(snapshot: &Snapshot) -> String {
    let [p50, p95, p99] = percentiles(snapshot);
    format!(
        "{:6.0} s  {} samples  {:.0} /s  p50 {p50} ms  p95 {p95} ms  p99 {p99} ms  {} in flight  {}  {}",
        seconds(snapshot.elapsed),
        snapshot.samples,
        snapshot.rate,
        snapshot.in_flight,
        trouble(snapshot),
        left(snapshot),
    )
}

fn percentiles(snapshot: &Snapshot) -> [String; 3] {
    [snapshot.p50, snapshot.p95, snapshot.p99].map(|ns| format!("{:.2}", seconds(ns) * 1e3))
}

fn trouble(snapshot: &Snapshot) -> String {
    let kinds = match snapshot.errors.len() {
        0 => String::new(),
        _ => format!(" ({})", counts(&snapshot.errors)),
    };
    let dropped = match snapshot.dropped {
        0 => String::new(),
        dropped => format!("  {dropped} dropped"),
    };
    let errors: u64 = snapshot.errors.values().sum();
    format!("{errors} errors{kinds}{dropped}")
}

fn left(snapshot: &Snapshot) -> String {
    let left = match snapshot.left {
        Left::Time(ns) => Some(format!("{:.0} s left", seconds(ns))),
        Left::Passes(count) => Some(format!("{count} passes left")),
        Left::Unknown => None,
    };
    let phase = snapshot.warming_up.then(|| "warming up".to_owned());
    let words: Vec<String> = phase.into_iter().chain(left).collect();
    words.join(", ")
}

/// A bar for each count, the greatest being full.
fn sparkline(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let top = BARS.len() as u64 - 1;
    let bar = |count: &u64| {
        let height = (u128::from(*count) * u128::from(top)).div_ceil(u128::from(most));
        let height = usize::try_from(height).unwrap_or(0);
        BARS.get(height).copied().unwrap_or(BARS[0])
    };
    counts.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::record::books::Books;
    use crate::record::names::{Step, Unit};
    use crate::sample::{Outcome, Sample};

    const SECOND: Nanos = 1_000_000_000;

    fn snapshot() -> Snapshot {
        Snapshot {
            elapsed: 12 * SECOND,
            warming_up: false,
            left: Left::Time(48 * SECOND),
            samples: 18_234,
            errors: BTreeMap::from([("status".to_owned(), 5), ("timeout".to_owned(), 2)]),
            dropped: 3,
            in_flight: 32,
            rate: 1523.4,
            p50: 1_200_000,
            p95: 3_400_000,
            p99: 9_100_000,
            rates: vec![0, 700, 1400, 1400],
        }
    }

    #[test]
    fn a_terminal_shows_three_lines() {
        let expected = "    12 s  ▁▅██  48 s left\n   18234 samples  1523 /s  p50 1.20 ms  p95 3.40 ms  p99 9.10 ms\n      32 in flight  7 errors (5 × status, 2 × timeout)  3 dropped";
        assert_eq!(render(&snapshot()), expected);
    }

    #[test]
    fn a_file_gets_one_line() {
        let mut snapshot = snapshot();
        snapshot.errors.clear();
        snapshot.dropped = 0;
        snapshot.warming_up = true;
        snapshot.left = Left::Passes(10);
        let expected = "    12 s  18234 samples  1523 /s  p50 1.20 ms  p95 3.40 ms  p99 9.10 ms  32 in flight  0 errors  warming up, 10 passes left";
        assert_eq!(line(&snapshot), expected);
    }

    #[test]
    fn lines_come_every_five_seconds() {
        assert!(!is_due(None, 4 * SECOND));
        assert!(is_due(None, 5 * SECOND));
        assert!(!is_due(Some(5 * SECOND), 9 * SECOND));
        assert!(is_due(Some(5 * SECOND), 10 * SECOND));
    }

    #[test]
    fn the_least_of_a_bar_is_seen() {
        assert_eq!(sparkline(&[0, 1, 1000]), "▁▂█");
        assert_eq!(sparkline(&[]), "");
    }

    #[test]
    fn a_snapshot_is_of_the_last_whole_seconds() {
        let step = Step {
            name: "a/f/one".to_owned(),
            unit: Unit::Sample,
        };
        let mut books = Books::new(Arc::new([step])).unwrap();
        // Ten a second for ten seconds, the last five of them slow, and one in a second not over.
        for index in 0..=100_u64 {
            let end = index * SECOND / 10;
            let took = if index < 50 { 1_000_000 } else { 9_000_000 };
            let outcome = match index {
                7 => Outcome::Wrong {
                    status: 200,
                    check: 0,
                },
                _ => Outcome::Right { status: 200 },
            };
            let start = end.saturating_sub(took);
            books.book(&Sample {
                step: 0,
                due: start,
                start,
                end,
                bytes: 0,
                outcome,
                warm: false,
            });
        }
        let elapsed = 10 * SECOND + SECOND / 2;
        let seen = Snapshot::of(&books.glance(elapsed), &["nonce".to_owned()], elapsed);
        assert_eq!(seen.samples, 101);
        assert!((seen.rate - 10.0).abs() < 1e-9, "{}", seen.rate);
        assert!(seen.p50.abs_diff(9_000_000) < 300_000, "{}", seen.p50);
        assert_eq!(seen.rates, [10; 10]);
        assert_eq!(seen.errors, BTreeMap::from([("nonce".to_owned(), 1)]));
    }
}
