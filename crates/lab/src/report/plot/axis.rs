//! Axes: where a value is, and which round values get a label. It must not know pixels or elements.

use super::Scale;

/// From a value to a share of the axis, with labels at round values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    scale: Scale,
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// For values; with a linear scale it reaches to zero.
    pub(crate) fn of_values(values: impl Iterator<Item = f64>, scale: Scale) -> Self {
        let fits = |value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
        let ends = values.filter(fits).fold(None, |ends, value| match ends {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        match scale {
            Scale::Linear => {
                let (low, high) = ends.unwrap_or((0.0, 1.0));
                linear(low.min(0.0), high.max(0.0))
            }
            Scale::Log => {
                let (low, high) = ends.unwrap_or((1.0, 10.0));
                logarithmic(low, high)
            }
        }
    }

    /// For seconds since the beginning.
    pub(crate) fn of_time(end: f64) -> Self {
        let high = if end.is_finite() && end > 0.0 {
            end
        } else {
            1.0
        };
        let step = time_step(high);
        let count = (high / step + 1e-9).floor();
        let ticks = steps(count).map(|index| index * step);
        Self {
            low: 0.0,
            high,
            scale: Scale::Linear,
            ticks: ticks.map(|at| (at, time_label(at, high))).collect(),
        }
    }

    /// With ends and labels as given.
    pub(crate) fn fixed(low: f64, high: f64, ticks: Vec<(f64, String)>) -> Self {
        Self {
            low,
            high,
            scale: Scale::Linear,
            ticks,
        }
    }

    /// Between 0 and 1 for what is on the axis; `None` for what has no place on it.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value > 0.0 => (value / self.low).ln() / (self.high / self.low).ln(),
            Scale::Log => return None,
        };
        place.is_finite().then_some(place)
    }
}

/// 0, 1, 2 … up to `count`, which is small.
fn steps(count: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(0.0), |index| Some(index + 1.0)).take_while(move |index| {
        // Whatever the ends are, no axis has so many labels.
        *index <= count.min(100.0)
    })
}

fn linear(low: f64, high: f64) -> Axis {
    let high = if high > low { high } else { low + 1.0 };
    let step = round_step((high - low) / 5.0);
    let low = (low / step).floor() * step;
    let count = ((high - low) / step - 1e-9).ceil().max(1.0);
    let ticks = steps(count).map(|index| low + index * step);
    Axis {
        low,
        high: low + count * step,
        scale: Scale::Linear,
        ticks: ticks
            .map(|value| (value, label(snapped(value, step))))
            .collect(),
    }
}

/// Without the dust that adding steps leaves.
fn snapped(value: f64, step: f64) -> f64 {
    (value / step).round() * step
}

fn logarithmic(low: f64, high: f64) -> Axis {
    let first = low.log10().floor();
    let last = high.log10().ceil().max(first + 1.0);
    let decades = last - first;
    let within: &[f64] = if decades <= 2.0 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    // A label per decade, or per so many where there are a lot.
    let stride = (decades / 12.0).ceil().max(1.0);
    let mut ticks = Vec::new();
    for index in steps((decades / stride).floor()) {
        let decade = first + index * stride;
        for factor in within {
            let value = factor * 10_f64.powf(decade);
            if decade + factor.log10() <= last + 1e-9 {
                ticks.push((value, label(value)));
            }
        }
    }
    Axis {
        low: 10_f64.powf(first),
        high: 10_f64.powf(last),
        scale: Scale::Log,
        ticks,
    }
}

/// The next 1, 2 or 5 times a power of ten.
fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power >= rough * (1.0 - 1e-9));
    let step = factor.unwrap_or(10.0) * power;
    if step.is_normal() { step } else { 1.0 }
}

/// About ten labels, at times that people count in.
fn time_step(end: f64) -> f64 {
    const STEPS: [f64; 19] = [
        0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0,
        3600.0, 7200.0, 21_600.0, 86_400.0,
    ];
    let fits = STEPS.into_iter().find(|step| end / step <= 12.0);
    fits.unwrap_or_else(|| round_step(end / 10.0))
}

fn time_label(at: f64, end: f64) -> String {
    let parts = |unit: f64| ((at / unit).floor(), (at % unit).round());
    if end < 120.0 {
        format!("{} s", label(at))
    } else if end < 7200.0 {
        let (minutes, seconds) = parts(60.0);
        format!("{minutes}:{seconds:02} min")
    } else {
        let (hours, seconds) = parts(3600.0);
        format!("{hours}:{:02} h", (seconds / 60.0).floor())
    }
}

/// A number with four significant digits at most, and thousands as letters.
pub(crate) fn label(value: f64) -> String {
    const LETTERS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")];
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e15).contains(&size) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    let found = LETTERS.into_iter().find(|(least, _)| size >= *least);
    let (value, letter) = match found {
        Some((_, "k")) => (value / 1e3, "k"),
        Some((least, letter)) => (value / least, letter),
        None => (value, ""),
    };
    let digits = match value.abs() {
        ..1.0 => 4,
        1.0..10.0 => 3,
        10.0..100.0 => 2,
        100.0..1000.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    // Rounding may leave a zero with a sign.
    let text = if text == "-0" { "0" } else { text };
    format!("{text}{letter}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    fn values(values: &[f64], scale: Scale) -> Axis {
        Axis::of_values(values.iter().copied(), scale)
    }

    #[test]
    fn values_are_labelled_at_round_places_from_zero() {
        let axis = values(&[3.0, 97.0, f64::NAN], Scale::Linear);
        assert_eq!(labels(&axis), ["0", "20", "40", "60", "80", "100"]);
        let axis = values(&[0.07], Scale::Linear);
        assert_eq!(labels(&axis), ["0", "0.02", "0.04", "0.06", "0.08"]);
        let axis = values(&[-5.0, 5.0], Scale::Linear);
        assert_eq!(labels(&axis), ["-6", "-4", "-2", "0", "2", "4", "6"]);
    }

    #[test]
    fn no_values_still_make_an_axis() {
        for scale in [Scale::Linear, Scale::Log] {
            let axis = values(&[f64::NAN], scale);
            assert!(axis.ticks.len() >= 2, "{axis:?}");
        }
        assert_eq!(labels(&values(&[0.0], Scale::Linear)).first(), Some(&"0"));
    }

    #[test]
    fn decades_are_labelled_on_a_logarithmic_axis() {
        let axis = values(&[0.0, 0.3, 4000.0], Scale::Log);
        assert_eq!(labels(&axis), ["0.1", "1", "10", "100", "1000", "10k"]);
        assert_eq!(axis.place(0.0), None);
        assert!((axis.place(1.0).unwrap() - 0.2).abs() < 1e-9);
        let axis = values(&[2.0, 30.0], Scale::Log);
        assert_eq!(labels(&axis), ["1", "2", "5", "10", "20", "50", "100"]);
    }

    #[test]
    fn times_are_labelled_as_people_count_them() {
        for (end, first, last) in [
            (0.5, "0 s", "0.5 s"),
            (10.0, "0 s", "10 s"),
            (60.0, "0 s", "60 s"),
            (600.0, "0:00 min", "10:00 min"),
            (3600.0, "0:00 min", "60:00 min"),
            (86_400.0, "0:00 h", "24:00 h"),
        ] {
            let axis = Axis::of_time(end);
            let labels = labels(&axis);
            assert_eq!(
                (labels[0], labels[labels.len() - 1]),
                (first, last),
                "{end}"
            );
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.25, "0.25"),
            (100.0, "100"),
            (1500.0, "1500"),
            (15_000.0, "15k"),
            (1_250_000.0, "1.25M"),
            (3e9, "3G"),
            (-20_000.0, "-20k"),
            (1e-6, "1e-6"),
            (1e18, "1e18"),
        ] {
            assert_eq!(label(value), expected);
        }
    }

    proptest! {
        #[test]
        fn every_value_is_on_its_axis(all in prop::collection::vec(-1e12..1e12_f64, 1..20)) {
            let axis = values(&all, Scale::Linear);
            for value in &all {
                let place = axis.place(*value).unwrap();
                prop_assert!((-1e-6..=1.0 + 1e-6).contains(&place), "{} {:?}", value, axis);
            }
            prop_assert!((2..=12).contains(&axis.ticks.len()), "{:?}", axis.ticks);
        }

        #[test]
        fn every_positive_value_is_on_its_logarithmic_axis(powers in prop::collection::vec(-12.0..12.0_f64, 1..20)) {
            let all: Vec<_> = powers.iter().map(|power| 10_f64.powf(*power)).collect();
            let axis = values(&all, Scale::Log);
            for value in &all {
                prop_assert!((-1e-6..=1.0 + 1e-6).contains(&axis.place(*value).unwrap()));
            }
            prop_assert!((2..=16).contains(&axis.ticks.len()), "{:?}", axis.ticks);
        }

        #[test]
        fn any_end_of_time_makes_an_axis(end in any::<f64>()) {
            let axis = Axis::of_time(end);
            prop_assert!((1..=110).contains(&axis.ticks.len()));
        }
    }
}
