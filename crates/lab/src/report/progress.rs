//! The line on stderr that says how far a run is. It must not know how the run is driven.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::clock::{Nanos, nanos, seconds};
use crate::hit::board::Progress;
use crate::timing::pace::Until;

/// Without a terminal to redraw a line on, a new line comes this often.
const LINE_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Display {
    place: Place,
    until: Until,
    shown: Nanos,
}

#[derive(Debug)]
enum Place {
    Nowhere,
    Terminal(ProgressBar),
    Lines,
}

impl Display {
    pub(crate) fn new(quiet: bool, until: Until) -> Self {
        let place = if quiet {
            Place::Nowhere
        } else if stderr().is_terminal() {
            let style = ProgressStyle::with_template("{msg}");
            let bar = ProgressBar::new_spinner();
            Place::Terminal(match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            })
        } else {
            Place::Lines
        };
        Self {
            place,
            until,
            shown: 0,
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.place, Place::Nowhere)
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        match &self.place {
            Place::Nowhere => {}
            Place::Terminal(bar) => bar.set_message(line(progress, self.until)),
            Place::Lines => {
                let due = self.shown.saturating_add(nanos(LINE_EVERY));
                // A phase that has just begun reads less than what was shown of the one before.
                if progress.elapsed < self.shown || progress.elapsed >= due {
                    self.shown = progress.elapsed;
                    // Progress that nobody can read any more is no reason to fail a run.
                    drop(writeln!(stderr(), "{}", line(progress, self.until)));
                }
            }
        }
    }

    pub(crate) fn clear(&self) {
        if let Place::Terminal(bar) = &self.place {
            bar.finish_and_clear();
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a rate is read to a few digits only"
)]
fn line(progress: &Progress, until: Until) -> String {
    let answers = progress.latencies.count();
    let elapsed = seconds(progress.elapsed);
    let rate = answers as f64 / elapsed.max(f64::MIN_POSITIVE);
    let left = match until {
        _ if progress.warming_up => "warming up".to_owned(),
        Until::Count(count) => {
            let done = answers + progress.errors + progress.dropped;
            format!("{} left", count.saturating_sub(done))
        }
        Until::Elapsed(end) => {
            format!(
                "{:.0} s left",
                seconds(end.saturating_sub(progress.elapsed))
            )
        }
    };
    let milliseconds = |share| seconds(progress.latencies.quantile(share)) * 1e3;
    let dropped = match progress.dropped {
        0 => String::new(),
        dropped => format!("  {dropped} dropped"),
    };
    format!(
        "{elapsed:6.1} s  {rate:9.0} /s  p50 {:.2} ms  p99 {:.2} ms  {} errors  {} in flight{dropped}  {left}",
        milliseconds(0.5),
        milliseconds(0.99),
        progress.errors,
        progress.in_flight,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Latencies;

    #[test]
    fn line_says_how_far_the_run_is() {
        let mut latencies = Latencies::new().unwrap();
        (0..100).for_each(|_| latencies.record(2_000_000));
        let mut progress = Progress {
            warming_up: false,
            elapsed: 2_000_000_000,
            latencies,
            errors: 3,
            dropped: 0,
            in_flight: 7,
        };
        let expected =
            "   2.0 s         50 /s  p50 2.00 ms  p99 2.00 ms  3 errors  7 in flight  97 left";
        assert_eq!(line(&progress, Until::Count(200)), expected);
        assert!(line(&progress, Until::Elapsed(5_000_000_000)).ends_with("3 s left"));
        progress.warming_up = true;
        progress.dropped = 1;
        assert!(line(&progress, Until::Count(200)).ends_with("1 dropped  warming up"));
    }
}
