//! Latency by percentile, with as much room for the slowest thousandth as for the rest: the axis counts
//! nines. It must not know how latencies were measured.

use super::axis::Axis;
use super::frame::{Frame, LEFT, RIGHT, ROW, Sample, colour, colours, legend};
use super::svg::{Anchor, Page};
use super::time::heading;
use super::{Line, Scale};

const HEIGHT: f64 = 320.0;
/// More nines than any run has samples for.
const MOST_NINES: f64 = 9.0;
const LABELS: [&str; 10] = [
    "0 %",
    "90 %",
    "99 %",
    "99.9 %",
    "99.99 %",
    "99.999 %",
    "99.9999 %",
    "99.99999 %",
    "99.999999 %",
    "99.9999999 %",
];

/// Several runs over one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PercentileChart {
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) scale: Scale,
    /// Share of the samples (0 to 1) and the latency that it did not exceed.
    pub(crate) lines: Vec<Line>,
}

impl PercentileChart {
    pub(crate) fn svg(&self) -> String {
        let lines: Vec<Line> = self.lines.iter().map(by_nines).collect();
        let points = || lines.iter().flat_map(|line| &line.points);
        // The last label needs some room to its right.
        let most = points().map(|point| point.0).fold(1.0, f64::max) + 0.2;
        let mut page = Page::default();
        page.text((LEFT, 26.0), "h", Anchor::Start, &self.title);
        let mut top = heading(&mut page, 36.0, "", &self.unit);
        let names = colours(lines.iter());
        let entries: Vec<_> = lines
            .iter()
            .map(|line| (colour(&names, &line.name), line.name.as_str()))
            .collect();
        top += legend(&mut page, top, Sample::Stroke, &entries);
        let frame = Frame {
            top: top + 6.0,
            height: HEIGHT,
            x: Axis::fixed(0.0, most, ticks(most)),
            y: Axis::of_values(points().map(|point| point.1), self.scale),
        };
        frame.draw(&mut page, true);
        for (line, (colour, _)) in lines.iter().zip(&entries) {
            frame.curve(&mut page, *colour, &line.points);
        }
        let below = frame.bottom() + 2.0 * ROW;
        let middle = f64::midpoint(LEFT, RIGHT);
        page.text(
            (middle, below),
            "s",
            Anchor::Middle,
            "share of the samples that were not slower",
        );
        page.finish(&self.title, below + 12.0)
    }
}

/// From a share to its nines: 0.9 is one, 0.99 is two. The slowest sample, at 1, stands one step beyond
/// the last share below it.
fn by_nines(line: &Line) -> Line {
    let shares = line.points.iter().map(|point| point.0);
    let below_one = shares.filter(|share| *share < 1.0).fold(0.0, f64::max);
    let end = (nines(below_one) + 0.3).min(MOST_NINES);
    let points = line.points.iter().filter(|point| point.0 >= 0.0);
    let points = points.map(|(share, value)| (nines(*share).min(end), *value));
    Line {
        name: line.name.clone(),
        points: points.collect(),
    }
}

fn nines(share: f64) -> f64 {
    // Taking it from zero leaves no zero with a sign.
    (0.0 - (1.0 - share.min(1.0)).log10()).clamp(0.0, MOST_NINES)
}

fn ticks(most: f64) -> Vec<(f64, String)> {
    let places = std::iter::successors(Some(0.0), |nines| Some(nines + 1.0));
    let mut ticks: Vec<_> = places
        .zip(LABELS)
        .take_while(|(nines, _)| *nines <= most)
        .map(|(nines, label)| (nines, label.to_owned()))
        .collect();
    ticks.insert(1, (nines(0.5), "50 %".to_owned()));
    ticks
}

/// The shares worth asking of so many samples, from 0 to 1: ten for every nine, as far as there is a
/// sample beyond it.
pub(crate) fn shares(samples: u64) -> Vec<f64> {
    if samples == 0 {
        return Vec::new();
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "only its order of magnitude matters"
    )]
    let last = (samples as f64).log10().min(MOST_NINES);
    let tenths = std::iter::successors(Some(0.0), |tenths| Some(tenths + 1.0));
    let nines = tenths.map(|tenths| tenths / 10.0);
    let mut shares: Vec<_> = nines
        .take_while(|nines| *nines <= last + 1e-9)
        .map(|nines| 1.0 - 10_f64.powf(-nines))
        .collect();
    shares.push(1.0);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(f64, f64)]) -> PercentileChart {
        PercentileChart {
            title: "Latency".to_owned(),
            unit: "ms".to_owned(),
            scale: Scale::Log,
            lines: vec![Line {
                name: "run".to_owned(),
                points: points.to_vec(),
            }],
        }
    }

    #[test]
    fn every_nine_has_the_same_room() {
        for (share, expected) in [
            (0.0, 0.0),
            (0.9, 1.0),
            (0.99, 2.0),
            (0.999, 3.0),
            (1.0, 9.0),
        ] {
            assert!((nines(share) - expected).abs() < 1e-9, "{share}");
        }
    }

    #[test]
    fn the_slowest_sample_stands_behind_the_last_share() {
        let points = [(0.0, 1.0), (0.99, 5.0), (1.0, 70.0)];
        let placed = by_nines(&chart(&points).lines[0]).points;
        assert!((placed[2].0 - 2.3).abs() < 1e-9 && placed[2].1 > 69.0);
    }

    #[test]
    fn labels_are_shares() {
        let svg = chart(&[
            (0.0, 1.0),
            (0.5, 2.0),
            (0.9, 3.0),
            (0.999, 9.0),
            (1.0, 12.0),
        ])
        .svg();
        for label in [
            ">0 %<", ">50 %<", ">90 %<", ">99 %<", ">99.9 %<", ">ms<", ">10<",
        ] {
            assert!(svg.contains(label), "{label}");
        }
        assert!(!svg.contains(">99.999 %<"));
    }

    #[test]
    fn shares_go_as_far_as_there_are_samples() {
        assert!(shares(0).is_empty());
        assert_eq!(shares(1), [0.0, 1.0]);
        let thousand = shares(1000);
        assert!((thousand[thousand.len() - 2] - 0.999).abs() < 1e-9);
        assert!(thousand.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_chart_of_nothing_is_a_document() {
        let svg = PercentileChart::default().svg();
        assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"));
        assert!(
            chart(&[(f64::NAN, 1.0), (-1.0, 2.0), (2.0, 3.0)])
                .svg()
                .contains("</svg>")
        );
    }
}
