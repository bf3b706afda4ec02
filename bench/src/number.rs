//! Numbers: counts as floats, medians, and how a table writes them. It must not know what they count.

/// A count as a float, for ratios and rates.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}

/// The middle of some figures, with the lowest and the highest.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
    pub(crate) count: usize,
}

impl Spread {
    /// `None` where there are no figures, or one of them is no number.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        if figures.iter().any(|figure| !figure.is_finite()) {
            return None;
        }
        figures.sort_by(f64::total_cmp);
        let middle = figures.len() / 2;
        let above = *figures.get(middle)?;
        let median = if figures.len() % 2 == 1 {
            above
        } else {
            f64::midpoint(*figures.get(middle - 1)?, above)
        };
        Some(Self {
            median,
            lowest: *figures.first()?,
            highest: *figures.last()?,
            count: figures.len(),
        })
    }
}

/// A figure with as many digits as mean something: `12,345`, `123`, `12.3`, `0.812`.
pub(crate) fn figure(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        return grouped(value);
    }
    let digits = match size {
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

fn grouped(value: f64) -> String {
    let text = format!("{value:.0}");
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or(("", text.as_str()), |rest| ("-", rest));
    let mut out = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_an_even_number_is_between_the_middle_two() {
        let spread = Spread::of([4.0, 1.0, 2.0, 9.0]).unwrap();
        assert_eq!(
            spread,
            Spread {
                median: 3.0,
                lowest: 1.0,
                highest: 9.0,
                count: 4
            }
        );
        assert!(Spread::of([]).is_none());
        assert!(Spread::of([1.0, f64::NAN]).is_none());
    }

    #[test]
    fn figures_keep_the_digits_that_mean_something() {
        let written = [1_234_567.8, 999.6, 45.67, 1.234, 0.8123, -1234.0].map(figure);
        assert_eq!(
            written,
            ["1,234,568", "1000", "45.7", "1.23", "0.812", "-1,234"]
        );
    }
}
