//! Readings become figures: what counts up becomes a rate, and what cannot be known becomes a gap. It
//! must not know what is read or where figures go.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// One value as a source gives it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) name: Cow<'static, str>,
    /// Of the figure; for a rate, that is "per second" already.
    pub(crate) unit: Cow<'static, str>,
    pub(crate) measure: Measure,
}

/// How a value becomes a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    /// The value is the figure.
    Level(f64),
    /// The value only grows; the figure is its growth per second.
    Count(f64),
    /// Both grow; the figure is the growth of the part by the growth of the whole, in percent.
    Share { part: f64, whole: f64 },
}

impl Reading {
    pub(crate) fn new(
        name: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
        measure: Measure,
    ) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            measure,
        }
    }
}

/// What a source gives at one tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Poll {
    pub(crate) readings: Vec<Reading>,
    /// What the reader of the figures should know. The same note may come at every tick.
    pub(crate) notes: Vec<String>,
}

/// The figures of one moment. `None` is a gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// Seconds since the beginning of the run.
    pub(crate) at: f64,
    /// Name and unit of what is seen for the first time.
    pub(crate) new: Vec<(String, String)>,
    pub(crate) values: Vec<(String, Option<f64>)>,
    /// Names of counters that began again.
    pub(crate) reset: Vec<String>,
}

/// Remembers the readings before.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    before: BTreeMap<String, Option<(f64, Measure)>>,
}

impl Meter {
    /// The figures of the stretch that ends now.
    pub(crate) fn take(&mut self, at: f64, readings: Vec<Reading>) -> Row {
        let mut row = Row {
            at,
            ..Row::default()
        };
        let mut before = std::mem::take(&mut self.before);
        for reading in readings {
            let name = reading.name.into_owned();
            let last = before.remove(&name);
            if last.is_none() && !self.before.contains_key(&name) {
                row.new.push((name.clone(), reading.unit.into_owned()));
            }
            let figure = figure(at, reading.measure, last.flatten());
            if matches!(figure, Figure::Reset) {
                row.reset.push(name.clone());
            }
            row.values.push((name.clone(), figure.value()));
            self.before.insert(name, Some((at, reading.measure)));
        }
        // What was there before and is not now is a gap, and starts anew when it comes back.
        for name in before.into_keys() {
            row.values.push((name.clone(), None));
            self.before.insert(name, None);
        }
        row
    }

    /// Nothing could be read: gaps, after which counters start anew.
    pub(crate) fn miss(&mut self, at: f64) -> Row {
        self.take(at, Vec::new())
    }
}

enum Figure {
    Value(f64),
    Unknown,
    Reset,
}

impl Figure {
    fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value).filter(|value| value.is_finite()),
            Self::Unknown | Self::Reset => None,
        }
    }
}

fn figure(at: f64, now: Measure, before: Option<(f64, Measure)>) -> Figure {
    match (now, before) {
        (Measure::Level(value), _) => Figure::Value(value),
        (Measure::Count(now), Some((since, Measure::Count(before)))) => {
            if now < before {
                Figure::Reset
            } else if at > since {
                Figure::Value((now - before) / (at - since))
            } else {
                Figure::Unknown
            }
        }
        (
            Measure::Share { part, whole },
            Some((
                _,
                Measure::Share {
                    part: part_before,
                    whole: whole_before,
                },
            )),
        ) => {
            if part < part_before || whole < whole_before {
                Figure::Reset
            } else if whole > whole_before {
                Figure::Value(100.0 * (part - part_before) / (whole - whole_before))
            } else {
                Figure::Unknown
            }
        }
        _ => Figure::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn count(value: f64) -> Vec<Reading> {
        vec![Reading::new("calls", "1/s", Measure::Count(value))]
    }

    fn value(row: &Row) -> Option<f64> {
        assert_eq!(row.values.len(), 1);
        row.values[0].1
    }

    #[test]
    fn a_count_becomes_a_rate_from_its_second_reading() {
        let mut meter = Meter::default();
        let first = meter.take(1.0, count(100.0));
        assert_eq!(value(&first), None);
        assert_eq!(first.new, [("calls".to_owned(), "1/s".to_owned())]);
        let second = meter.take(3.0, count(150.0));
        assert_eq!(value(&second), Some(25.0));
        assert!(second.new.is_empty() && second.reset.is_empty());
    }

    #[test]
    fn a_count_that_begins_again_is_a_gap_and_is_told() {
        let mut meter = Meter::default();
        meter.take(1.0, count(100.0));
        let row = meter.take(2.0, count(10.0));
        assert_eq!((value(&row), row.reset), (None, vec!["calls".to_owned()]));
        assert_eq!(value(&meter.take(3.0, count(30.0))), Some(20.0));
    }

    #[test]
    fn nothing_is_made_up_across_a_gap() {
        let mut meter = Meter::default();
        meter.take(1.0, count(100.0));
        assert_eq!(value(&meter.miss(2.0)), None);
        let back = meter.take(3.0, count(500.0));
        assert_eq!(value(&back), None);
        assert!(back.new.is_empty(), "it was known already");
        assert_eq!(value(&meter.take(4.0, count(501.0))), Some(1.0));
    }

    #[test]
    fn a_share_is_that_of_the_stretch() {
        let mut meter = Meter::default();
        let hits = |part, whole| vec![Reading::new("hits", "%", Measure::Share { part, whole })];
        meter.take(0.0, hits(1000.0, 1000.0));
        assert_eq!(value(&meter.take(1.0, hits(1003.0, 1004.0))), Some(75.0));
        assert_eq!(value(&meter.take(2.0, hits(1003.0, 1004.0))), None);
    }

    #[test]
    fn a_moment_without_length_has_no_rate() {
        let mut meter = Meter::default();
        meter.take(1.0, count(1.0));
        assert_eq!(value(&meter.take(1.0, count(2.0))), None);
    }

    #[test]
    fn what_is_no_number_is_a_gap() {
        let mut meter = Meter::default();
        for wrong in [f64::NAN, f64::INFINITY] {
            let row = meter.take(1.0, vec![Reading::new("x", "", Measure::Level(wrong))]);
            assert_eq!(value(&row), None);
        }
    }

    proptest! {
        #[test]
        fn rates_add_up_to_the_growth(steps in prop::collection::vec((0.1..3.0_f64, 0.0..1e6_f64), 1..50)) {
            let mut meter = Meter::default();
            let (mut at, mut total) = (0.0, 5.0);
            meter.take(at, count(total));
            let mut sum = 0.0;
            for (step, more) in steps {
                at += step;
                total += more;
                sum += value(&meter.take(at, count(total))).unwrap() * step;
            }
            prop_assert!((sum - (total - 5.0)).abs() <= 1e-6 * total);
        }
    }
}
