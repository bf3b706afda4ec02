//! Figures as a reader wants them: four digits and a unit that suits their size. It must not know what
//! was measured.

/// What a figure counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    PerSecond,
    /// Of one; shown in percent.
    Share,
    Count,
    Other(String),
}

impl Unit {
    /// The word for documents that machines read.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Seconds => "seconds",
            Self::PerSecond => "per second",
            Self::Share => "share",
            Self::Count => "count",
            Self::Other(name) => name,
        }
    }
}

pub(crate) fn show(value: f64, unit: &Unit) -> String {
    match unit {
        Unit::Seconds => time(value),
        Unit::PerSecond => format!("{}/s", digits(value)),
        Unit::Share => format!("{} %", digits(value * 100.0)),
        Unit::Count => digits(value),
        Unit::Other(name) if name.is_empty() => digits(value),
        Unit::Other(name) => format!("{} {name}", digits(value)),
    }
}

fn time(seconds: f64) -> String {
    const SMALLER: [(f64, &str); 3] = [(1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    if seconds == 0.0 || seconds >= 1.0 {
        return format!("{} s", digits(seconds));
    }
    let fitting = SMALLER.iter().find(|(size, _)| seconds >= *size);
    let (size, name) = fitting.unwrap_or(&SMALLER[2]);
    format!("{} {name}", digits(seconds / size))
}

/// Four significant digits, but never fewer than the whole part has; zeros at the end are left out.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 || size == 0.0 => 3,
        size if size >= 0.1 => 4,
        size if size >= 0.01 => 5,
        _ => 6,
    };
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, part)) => match part.trim_end_matches('0') {
            "" => whole.to_owned(),
            part => format!("{whole}.{part}"),
        },
        None => text,
    }
}

/// A p value: three decimals, more where they would all be zero.
pub(crate) fn p_value(p: f64) -> String {
    if p >= 0.001 {
        format!("{p:.3}")
    } else {
        format!("{p:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits_and_a_fitting_unit() {
        for (value, unit, expected) in [
            (0.0, Unit::Seconds, "0 s"),
            (1.5e-9, Unit::Seconds, "1.5 ns"),
            (0.000_012_345, Unit::Seconds, "12.35 µs"),
            (0.012, Unit::Seconds, "12 ms"),
            (0.999_9, Unit::Seconds, "999.9 ms"),
            (75.25, Unit::Seconds, "75.25 s"),
            (20_012.4, Unit::PerSecond, "20012/s"),
            (500.0, Unit::PerSecond, "500/s"),
            (0.012_5, Unit::Share, "1.25 %"),
            (0.000_01, Unit::Share, "0.001 %"),
            (3.0, Unit::Count, "3"),
            (81.5, Unit::Other("%".to_owned()), "81.5 %"),
            (7.0, Unit::Other(String::new()), "7"),
        ] {
            assert_eq!(show(value, &unit), expected);
        }
    }

    #[test]
    fn small_p_value_keeps_its_first_digits() {
        assert_eq!(p_value(1.0), "1.000");
        assert_eq!(p_value(0.0079), "0.008");
        assert_eq!(p_value(0.000_010_8), "1.1e-5");
    }
}
