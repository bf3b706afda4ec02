//! What was read, as figures over time, and what a stretch of it comes to. It must not know where it
//! was read.

/// A figure over time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// `source.figure`, such as `database.commits`.
    pub(crate) name: String,
    pub(crate) unit: String,
    /// Seconds since the beginning of the run, and the value of the stretch that ended then. Not a
    /// number where nothing could be read.
    pub(crate) points: Vec<(f64, f64)>,
}

/// What a reader of the series should know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    /// Seconds since the beginning of the run.
    pub(crate) at: f64,
    pub(crate) source: String,
    pub(crate) text: String,
}

/// Everything that was watched in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Watched {
    pub(crate) series: Vec<Series>,
    pub(crate) notes: Vec<Note>,
}

impl Watched {
    pub(crate) fn find(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }
}

/// A part of a run, in seconds since its beginning: usually all but the warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// What a series comes to in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    /// Weighted by the time that each point stands for.
    pub(crate) mean: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Seconds of the window that were seen.
    pub(crate) seen: f64,
}

impl Series {
    /// `None` when nothing was read in the window. A point belongs to the window that holds the middle
    /// of its stretch.
    pub(crate) fn figures(&self, window: Window) -> Option<Figures> {
        let mut sum = 0.0;
        let mut weights = 0.0;
        let mut figures: Option<Figures> = None;
        let mut before = self.points.first()?.0;
        for (at, value) in &self.points {
            let length = at - before;
            let middle = before + length / 2.0;
            before = *at;
            if value.is_nan() || middle < window.from || middle > window.to {
                continue;
            }
            sum += value * length;
            weights += length;
            let so_far = figures.get_or_insert(Figures {
                mean: *value,
                min: *value,
                max: *value,
                seen: 0.0,
            });
            so_far.min = so_far.min.min(*value);
            so_far.max = so_far.max.max(*value);
        }
        if let Some(figures) = figures.as_mut().filter(|_| weights > 0.0) {
            figures.mean = sum / weights;
            figures.seen = weights;
        }
        figures
    }
}

/// How much of something one operation took: statements per token, bytes of log per login. The series
/// is a rate; `None` when it was seen for less than half of the window, or nothing was done.
pub(crate) fn per_operation(rate: &Series, window: Window, operations: u64) -> Option<f64> {
    let length = window.to - window.from;
    let figures = rate.figures(window)?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "a quotient is read to a few digits only"
    )]
    let operations = operations as f64;
    (operations > 0.0 && figures.seen >= length / 2.0).then(|| figures.mean * length / operations)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(points: &[(f64, f64)]) -> Series {
        Series {
            name: "a.b".to_owned(),
            unit: "1/s".to_owned(),
            points: points.to_vec(),
        }
    }

    fn window(from: f64, to: f64) -> Window {
        Window { from, to }
    }

    const GAP: f64 = f64::NAN;

    #[test]
    fn the_warm_up_is_left_out() {
        let series = series(&[(0.0, GAP), (1.0, 900.0), (2.0, 10.0), (3.0, 20.0)]);
        let figures = series.figures(window(1.0, 3.0)).unwrap();
        assert_eq!(
            figures,
            Figures {
                mean: 15.0,
                min: 10.0,
                max: 20.0,
                seen: 2.0
            }
        );
    }

    #[test]
    fn a_gap_is_neither_zero_nor_the_value_after_it() {
        let series = series(&[
            (0.0, GAP),
            (1.0, 10.0),
            (2.0, GAP),
            (9.0, GAP),
            (10.0, 30.0),
        ]);
        let figures = series.figures(window(0.0, 10.0)).unwrap();
        assert!((figures.mean - 20.0).abs() < 1e-9 && (figures.seen - 2.0).abs() < 1e-9);
        assert_eq!(series.figures(window(3.0, 8.0)), None);
    }

    #[test]
    fn a_long_stretch_weighs_more_than_a_short_one() {
        let series = series(&[(0.0, GAP), (3.0, 10.0), (4.0, 50.0)]);
        let figures = series.figures(window(0.0, 4.0)).unwrap();
        assert!((figures.mean - 20.0).abs() < 1e-9);
    }

    #[test]
    fn a_single_reading_is_its_own_mean() {
        let figures = series(&[(5.0, 7.0)]).figures(window(0.0, 10.0)).unwrap();
        assert!((figures.mean - 7.0).abs() < 1e-9);
    }

    #[test]
    fn statements_per_operation_are_the_rate_over_the_window_by_operations() {
        let rate = series(&[(0.0, GAP), (1.0, 300.0), (2.0, 300.0)]);
        assert_eq!(per_operation(&rate, window(0.0, 2.0), 200), Some(3.0));
        assert_eq!(per_operation(&rate, window(0.0, 2.0), 0), None);
        assert_eq!(
            per_operation(&rate, window(0.0, 20.0), 200),
            None,
            "seen for a tenth of the window"
        );
    }

    proptest! {
        #[test]
        fn the_mean_is_between_the_extremes(
            steps in prop::collection::vec((0.0..5.0_f64, prop::option::of(0.0..1e6_f64)), 0..40),
            from in 0.0..50.0_f64,
            length in 0.0..50.0_f64,
        ) {
            let mut at = 0.0;
            let points: Vec<_> = steps
                .into_iter()
                .map(|(step, value)| {
                    at += step;
                    (at, value.unwrap_or(GAP))
                })
                .collect();
            if let Some(figures) = series(&points).figures(window(from, from + length)) {
                prop_assert!(figures.min <= figures.mean * (1.0 + 1e-9) + 1e-9);
                prop_assert!(figures.mean <= figures.max * (1.0 + 1e-9) + 1e-9);
            }
        }
    }
}
