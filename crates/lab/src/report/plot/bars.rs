//! Bars in groups, such as throughput by concurrency, one bar of each group per run. It must not know
//! what they count.

use super::Scale;
use super::axis::{Axis, label};
use super::frame::{Frame, LEFT, RIGHT, ROW, Sample, legend};
use super::svg::{Anchor, Page, fill};
use super::time::heading;

const HEIGHT: f64 = 280.0;
/// The part of a group's room that its bars take.
const FILLED: f64 = 0.8;

/// Groups beside one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BarChart {
    pub(crate) title: String,
    pub(crate) unit: String,
    /// What tells the groups apart, such as `concurrent users`.
    pub(crate) axis: String,
    /// A label for every group.
    pub(crate) groups: Vec<String>,
    pub(crate) bars: Vec<Bars>,
}

/// One bar in every group, all of one colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bars {
    pub(crate) name: String,
    /// As many as there are groups; `None` where nothing was measured.
    pub(crate) values: Vec<Option<f64>>,
}

impl BarChart {
    pub(crate) fn svg(&self) -> String {
        let mut page = Page::default();
        page.text((LEFT, 26.0), "h", Anchor::Start, &self.title);
        let mut top = heading(&mut page, 36.0, "", &self.unit);
        let names = self.bars.iter().enumerate();
        let names: Vec<_> = names
            .map(|(index, bars)| (index, bars.name.as_str()))
            .collect();
        top += legend(&mut page, top, Sample::Fill, &names);
        let values = self
            .bars
            .iter()
            .flat_map(|bars| bars.values.iter().flatten());
        let frame = Frame {
            top: top + 16.0,
            height: HEIGHT,
            x: Axis::fixed(0.0, 1.0, Vec::new()),
            y: Axis::of_values(values.copied(), Scale::Linear),
        };
        frame.draw(&mut page, true);
        let room = (RIGHT - LEFT) / count(self.groups.len());
        let mut left = LEFT;
        for (index, group) in self.groups.iter().enumerate() {
            let below = (left + room / 2.0, frame.bottom() + ROW);
            page.text(below, "s", Anchor::Middle, group);
            self.group(&mut page, &frame, index, (left, room));
            left += room;
        }
        let below = frame.bottom() + 2.0 * ROW + 2.0;
        page.text(
            (f64::midpoint(LEFT, RIGHT), below),
            "s",
            Anchor::Middle,
            &self.axis,
        );
        page.finish(&self.title, below + 12.0)
    }

    fn group(&self, page: &mut Page, frame: &Frame, index: usize, (left, room): (f64, f64)) {
        let width = room * FILLED / count(self.bars.len());
        let mut x = left + room * (1.0 - FILLED) / 2.0;
        for (colour, bars) in self.bars.iter().enumerate() {
            let value = bars.values.get(index).copied().flatten();
            let place = value.and_then(|value| Some((value, frame.up(value)?, frame.up(0.0)?)));
            if let Some((value, y, zero)) = place {
                let (high, low) = (y.min(zero), y.max(zero));
                page.rect(&fill(colour), (x, high), (width - 1.0, low - high));
                let above = (x + width / 2.0, high - 4.0);
                page.text(above, "s", Anchor::Middle, &label(rounded(value)));
            }
            x += width;
        }
    }
}

fn count(length: usize) -> f64 {
    f64::from(u32::try_from(length.max(1)).unwrap_or(u32::MAX))
}

/// Three digits are what fits over a bar.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10_f64.powf(value.abs().log10().floor() - 2.0);
    (value / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(name: &str, values: &[Option<f64>]) -> Bars {
        Bars {
            name: name.to_owned(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn every_measured_value_has_a_bar_of_its_height() {
        let chart = BarChart {
            title: "Throughput".to_owned(),
            unit: "tokens/s".to_owned(),
            axis: "concurrent users".to_owned(),
            groups: vec!["50".to_owned(), "100".to_owned()],
            bars: vec![
                bars("a", &[Some(764.3), Some(1000.0)]),
                bars("b", &[Some(500.0), None]),
            ],
        };
        let svg = chart.svg();
        for text in [
            ">764<",
            ">1000<",
            ">500<",
            ">concurrent users<",
            ">tokens/s<",
            ">100<",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        // Three bars, and one of each colour in the legend.
        assert_eq!(svg.matches("<rect class=\"f").count(), 5);
        assert!(svg.contains("height=\"280\"/>"), "1000 is the whole height");
        assert!(svg.contains("height=\"140\"/>"), "500 is half of it");
    }

    #[test]
    fn missing_and_impossible_values_have_none() {
        let chart = BarChart {
            groups: vec!["x".to_owned()],
            bars: vec![bars("", &[]), bars("", &[Some(f64::NAN)])],
            ..BarChart::default()
        };
        let svg = chart.svg();
        assert_eq!(svg.matches("<rect class=\"f").count(), 0);
        assert!(BarChart::default().svg().ends_with("</svg>\n"));
    }

    #[test]
    fn numbers_over_bars_have_three_digits() {
        for (value, expected) in [(764.31, 764.0), (0.012_345, 0.0123), (123_456.0, 123_000.0)] {
            assert!((rounded(value) / expected - 1.0).abs() < 1e-9, "{value}");
        }
    }
}
