//! Whether a run says something about the target or about the generator. It must not know how anything
//! was measured.

use std::fmt;

use super::series::{Watched, Window};

/// A thread this busy, in percent of a core, has nothing left to be on time with.
const BUSY: f64 = 90.0;
/// Beats this late on average, in milliseconds, are worth a word when they are also `LATE_SHARE` of the
/// median latency.
const LATE: f64 = 1.0;
const LATE_SHARE: f64 = 0.1;
/// A single stall this long, in milliseconds, is worth a word when it is also longer than the latency at
/// 99 %.
const STALL: f64 = 50.0;

/// What there is to judge by, over the measured part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    /// The busiest thread, in percent of a core.
    pub(crate) busiest: Option<f64>,
    /// How late the beats of the event loops were, in milliseconds.
    pub(crate) lag_mean: Option<f64>,
    pub(crate) lag_max: Option<f64>,
    /// Latencies of the run, in milliseconds.
    pub(crate) response_median: f64,
    pub(crate) response_p99: f64,
}

impl Facts {
    /// From the series of the source with kind `generator`; latencies in milliseconds.
    pub(crate) fn gather(
        watched: &Watched,
        source: &str,
        window: Window,
        median: f64,
        p99: f64,
    ) -> Self {
        let figures = |name: &str| {
            let series = watched.find(&format!("{source}.{name}"))?;
            series.figures(window)
        };
        Self {
            busiest: figures("cpu_busiest").map(|figures| figures.mean),
            lag_mean: figures("lag_mean").map(|figures| figures.mean),
            lag_max: figures("lag_max").map(|figures| figures.max),
            response_median: median,
            response_p99: p99,
        }
    }
}

/// The judgement, in words that a report prints.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The generator was not watched, or too short a time.
    Unknown,
    /// The figures are the target's.
    Free,
    /// A moment of the run is the generator's, the rest is the target's.
    Disturbed(String),
    /// The figures are the generator's.
    Limited(Vec<String>),
}

impl Verdict {
    pub(crate) fn of(facts: &Facts) -> Self {
        if facts.busiest.is_none() && facts.lag_mean.is_none() {
            return Self::Unknown;
        }
        let mut reasons = Vec::new();
        if let Some(busiest) = facts.busiest.filter(|busiest| *busiest >= BUSY) {
            reasons.push(format!("its busiest thread used {busiest:.0} % of a core"));
        }
        let late = LATE.max(LATE_SHARE * facts.response_median);
        if let Some(lag) = facts.lag_mean.filter(|lag| *lag >= late) {
            reasons.push(format!(
                "it came {lag:.1} ms late on average to what was due, while the median latency was {:.1} ms",
                facts.response_median
            ));
        }
        if !reasons.is_empty() {
            return Self::Limited(reasons);
        }
        let stall = STALL.max(facts.response_p99);
        match facts.lag_max {
            Some(lag) if lag >= stall => Self::Disturbed(format!("it stood still for {lag:.0} ms")),
            _ => Self::Free,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => out.write_str(
                "It is not known whether the generator limited this run: it was not watched, or not for long enough.",
            ),
            Self::Free => out.write_str("The generator did not limit this run."),
            Self::Disturbed(stall) => write!(
                out,
                "The generator disturbed this run once: {stall}; the slowest samples may be its own. Free its core."
            ),
            Self::Limited(reasons) => write!(
                out,
                "This run was limited by the generator: {}. The target may be faster than this: give the generator more threads and cores of their own.",
                reasons.join("; ")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::series::Series;
    use super::*;

    const QUIET: Facts = Facts {
        busiest: Some(40.0),
        lag_mean: Some(0.1),
        lag_max: Some(3.0),
        response_median: 5.0,
        response_p99: 20.0,
    };

    fn is_limited(facts: Facts) -> bool {
        matches!(Verdict::of(&facts), Verdict::Limited(_))
    }

    #[test]
    fn a_generator_with_time_to_spare_is_not_the_limit() {
        assert_eq!(Verdict::of(&QUIET), Verdict::Free);
    }

    #[test]
    fn a_thread_that_fills_its_core_is_the_limit() {
        for (busiest, expected) in [(89.9, false), (90.0, true), (100.0, true)] {
            let busiest = Some(busiest);
            assert_eq!(is_limited(Facts { busiest, ..QUIET }), expected);
        }
    }

    #[test]
    fn lateness_is_the_limit_when_it_is_part_of_the_latency() {
        for (lag, median, expected) in [
            (0.9, 1.0, false),
            (1.0, 1.0, true),
            (1.0, 100.0, false),
            (10.0, 100.0, true),
        ] {
            let facts = Facts {
                lag_mean: Some(lag),
                response_median: median,
                ..QUIET
            };
            assert_eq!(is_limited(facts), expected, "{lag} {median}");
        }
    }

    #[test]
    fn one_stall_disturbs_and_does_not_limit() {
        for (lag_max, p99, expected) in [(49.0, 1.0, false), (50.0, 1.0, true), (60.0, 80.0, false)]
        {
            let facts = Facts {
                lag_max: Some(lag_max),
                response_p99: p99,
                ..QUIET
            };
            let is_disturbed = matches!(Verdict::of(&facts), Verdict::Disturbed(_));
            assert_eq!(is_disturbed, expected, "{lag_max} {p99}");
        }
    }

    #[test]
    fn the_words_say_what_to_do() {
        let facts = Facts {
            busiest: Some(97.4),
            ..QUIET
        };
        let words = Verdict::of(&facts).to_string();
        assert!(
            words.starts_with(
                "This run was limited by the generator: its busiest thread used 97 % of a core."
            ),
            "{words}"
        );
        assert!(words.contains("more threads"), "{words}");
    }

    #[test]
    fn facts_come_from_the_window_without_the_warm_up() {
        let series = |name: &str, points: &[(f64, f64)]| Series {
            name: name.to_owned(),
            unit: String::new(),
            points: points.to_vec(),
        };
        let watched = Watched {
            series: vec![
                series("g.cpu_busiest", &[(1.0, 100.0), (2.0, 100.0), (3.0, 50.0)]),
                series("g.lag_max", &[(1.0, 500.0), (2.0, 500.0), (3.0, 2.0)]),
            ],
            notes: Vec::new(),
        };
        let window = Window { from: 2.0, to: 3.0 };
        let facts = Facts::gather(&watched, "g", window, 5.0, 20.0);
        assert_eq!(facts.busiest, Some(50.0));
        assert_eq!((facts.lag_mean, facts.lag_max), (None, Some(2.0)));
        let nobody = Facts::gather(&watched, "other", window, 5.0, 20.0);
        assert_eq!(Verdict::of(&nobody), Verdict::Unknown);
    }
}
