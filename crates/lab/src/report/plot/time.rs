//! Curves over the time of a run: panels below one another that share the axis, several runs over one
//! another in each. It must not know what the curves mean.

use super::axis::Axis;
use super::frame::{Frame, LEFT, RIGHT, ROW, Sample, colour, colours, legend};
use super::svg::{Anchor, Page};
use super::{Line, Scale};

const PANEL: f64 = 150.0;

/// Panels below one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TimeChart {
    pub(crate) title: String,
    pub(crate) panels: Vec<Panel>,
    /// Moments with a name, through all panels.
    pub(crate) markers: Vec<Marker>,
    /// Stretches with a name, such as the warm-up, through all panels.
    pub(crate) bands: Vec<Band>,
}

/// Curves of one unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) scale: Scale,
    pub(crate) lines: Vec<Line>,
    /// Values with a name, such as what is not to be exceeded.
    pub(crate) levels: Vec<Level>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Level {
    pub(crate) at: f64,
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Marker {
    pub(crate) at: f64,
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) name: String,
}

impl TimeChart {
    /// Times are seconds since the beginning of each run.
    pub(crate) fn svg(&self) -> String {
        let lines = || self.panels.iter().flat_map(|panel| &panel.lines);
        let names = colours(lines());
        let ends = lines().flat_map(|line| &line.points).map(|point| point.0);
        let ends = ends.chain(self.markers.iter().map(|marker| marker.at));
        let end = ends.filter(|end| end.is_finite()).fold(0.0, f64::max);
        let mut page = Page::default();
        page.text((LEFT, 26.0), "h", Anchor::Start, &self.title);
        let mut top = 36.0;
        for (index, panel) in self.panels.iter().enumerate() {
            let is_last = index + 1 == self.panels.len();
            top = self.draw(&mut page, panel, top, (end, &names, index == 0, is_last));
        }
        page.finish(&self.title, top + 12.0)
    }

    /// Returns where the next panel may begin.
    fn draw(
        &self,
        page: &mut Page,
        panel: &Panel,
        top: f64,
        (end, names, is_first, is_last): (f64, &[&str], bool, bool),
    ) -> f64 {
        let mut top = heading(page, top, &panel.title, &panel.unit);
        let entries: Vec<_> = panel
            .lines
            .iter()
            .map(|line| (colour(names, &line.name), line.name.as_str()))
            .collect();
        top += legend(page, top, Sample::Stroke, &entries);
        if is_first && !(self.markers.is_empty() && self.bands.is_empty()) {
            top += ROW;
        }
        let values = panel.lines.iter().flat_map(|line| &line.points);
        let values = values.map(|point| point.1);
        let values = values.chain(panel.levels.iter().map(|level| level.at));
        let frame = Frame {
            top: top + 6.0,
            height: PANEL,
            x: Axis::of_time(end),
            y: Axis::of_values(values, panel.scale),
        };
        self.bands(page, &frame, is_first);
        frame.draw(page, is_last);
        self.markers(page, &frame, is_first);
        levels(page, &frame, &panel.levels);
        for (line, (colour, _)) in panel.lines.iter().zip(&entries) {
            frame.curve(page, *colour, &line.points);
        }
        frame.bottom() + if is_last { ROW + 6.0 } else { 12.0 }
    }

    fn bands(&self, page: &mut Page, frame: &Frame, with_names: bool) {
        for band in &self.bands {
            let (Some(from), Some(to)) = (frame.across(band.from), frame.across(band.to)) else {
                continue;
            };
            let (from, to) = (from.clamp(LEFT, RIGHT), to.clamp(LEFT, RIGHT));
            page.rect("band", (from, frame.top), (to - from, frame.height));
            if with_names {
                page.text(
                    (from + 2.0, frame.top - 4.0),
                    "s",
                    Anchor::Start,
                    &band.name,
                );
            }
        }
    }

    fn markers(&self, page: &mut Page, frame: &Frame, with_names: bool) {
        for marker in &self.markers {
            let place = frame.across(marker.at);
            let Some(x) = place.filter(|x| (LEFT..=RIGHT).contains(x)) else {
                continue;
            };
            page.line("mark", (x, frame.top), (x, frame.bottom()));
            // Towards the side where there is room.
            let is_right = x > f64::midpoint(LEFT, RIGHT);
            let anchor = [Anchor::Start, Anchor::End][usize::from(is_right)];
            if with_names {
                page.text((x, frame.top - 4.0), "s", anchor, &marker.name);
            }
        }
    }
}

/// Lines across, each with its name above it at the right.
fn levels(page: &mut Page, frame: &Frame, levels: &[Level]) {
    for level in levels {
        let Some(y) = frame.up(level.at) else {
            continue;
        };
        page.line("mark", (LEFT, y), (RIGHT, y));
        page.text((RIGHT - 2.0, y - 3.0), "s", Anchor::End, &level.name);
    }
}

/// A row with the title and the unit of what follows; returns where that begins.
pub(crate) fn heading(page: &mut Page, top: f64, title: &str, unit: &str) -> f64 {
    let text = match (title, unit) {
        (title, "") => title.to_owned(),
        ("", unit) => unit.to_owned(),
        (title, unit) => format!("{title}, {unit}"),
    };
    if text.is_empty() {
        return top;
    }
    page.text((LEFT, top + 14.0), "b", Anchor::Start, &text);
    top + ROW
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(name: &str, points: &[(f64, f64)]) -> Line {
        Line {
            name: name.to_owned(),
            points: points.to_vec(),
        }
    }

    fn panel(lines: Vec<Line>) -> Panel {
        Panel {
            title: "Server CPU".to_owned(),
            unit: "% of a core".to_owned(),
            scale: Scale::Linear,
            lines,
            levels: Vec::new(),
        }
    }

    fn chart() -> TimeChart {
        let both = || {
            vec![
                line(
                    "with <persistence>",
                    &[(0.0, f64::NAN), (1.0, 50.0), (60.0, 80.0)],
                ),
                line("without", &[(0.0, f64::NAN), (1.0, 90.0), (60.0, 100.0)]),
            ]
        };
        TimeChart {
            title: "Refresh & more".to_owned(),
            panels: vec![panel(both()), panel(vec![line("without", &[(3.0, 1.0)])])],
            markers: vec![Marker {
                at: 30.0,
                name: "checkpoint".to_owned(),
            }],
            bands: vec![Band {
                from: 0.0,
                to: 10.0,
                name: "warm-up".to_owned(),
            }],
        }
    }

    /// Every `<` that opens is closed again: names of elements in their order of opening.
    fn assert_well_formed(svg: &str) {
        let mut open = Vec::new();
        for piece in svg.split('<').skip(1) {
            let (tag, _) = piece.split_once('>').expect("a tag that ends");
            let name = tag
                .split([' ', '/'])
                .find(|name| !name.is_empty())
                .unwrap_or_default();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(name);
            }
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn both_runs_are_over_one_another_with_a_legend() {
        let svg = chart().svg();
        assert_well_formed(&svg);
        for text in [
            ">Refresh &amp; more<",
            ">Server CPU, % of a core<",
            ">with &lt;persistence&gt;<",
            ">warm-up<",
            ">checkpoint<",
            ">30 s<",
            ">100<",
        ] {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
        assert_eq!(svg.matches("<path").count(), 3);
    }

    #[test]
    fn a_name_has_the_same_colour_in_every_panel() {
        let svg = chart().svg();
        assert_eq!(svg.matches("<path class=\"l c0\"").count(), 1);
        assert_eq!(svg.matches("<path class=\"l c1\"").count(), 2);
    }

    #[test]
    fn only_the_last_panel_has_times_and_only_the_first_has_names_of_moments() {
        let svg = chart().svg();
        assert_eq!(svg.matches(">60 s<").count(), 1);
        assert_eq!(svg.matches(">checkpoint<").count(), 1);
        assert_eq!(svg.matches("class=\"mark\"").count(), 2);
    }

    #[test]
    fn a_level_is_drawn_where_no_curve_reaches() {
        let mut panel = panel(vec![line("p99", &[(0.0, 20.0), (1.0, 40.0)])]);
        panel.levels.push(Level {
            at: 500.0,
            name: "p99 < 500 ms".to_owned(),
        });
        let chart = TimeChart {
            panels: vec![panel],
            ..TimeChart::default()
        };
        let svg = chart.svg();
        assert_well_formed(&svg);
        assert!(
            svg.contains(">p99 &lt; 500 ms<") && svg.contains(">500<"),
            "{svg}"
        );
        assert_eq!(svg.matches("class=\"mark\"").count(), 1);
    }

    #[test]
    fn a_moment_after_the_last_point_is_on_the_axis() {
        let mut chart = chart();
        chart.markers[0].at = 75.0;
        let svg = chart.svg();
        assert!(
            svg.contains(">checkpoint<") && svg.contains(">70 s<"),
            "{svg}"
        );
    }

    #[test]
    fn a_chart_of_nothing_is_a_document() {
        assert_well_formed(&TimeChart::default().svg());
        let empty = TimeChart {
            panels: vec![panel(Vec::new())],
            ..TimeChart::default()
        };
        assert_well_formed(&empty.svg());
    }

    #[test]
    fn an_hour_at_ten_readings_a_second_stays_small() {
        let points: Vec<_> = (0..36_000)
            .map(|i| (f64::from(i) / 10.0, f64::from(i % 977)))
            .collect();
        let chart = TimeChart {
            panels: vec![panel(vec![line("a", &points)])],
            ..TimeChart::default()
        };
        assert!(chart.svg().len() < 60_000, "{}", chart.svg().len());
    }

    proptest! {
        #[test]
        fn any_data_makes_a_document(
            points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..30),
            name in any::<String>(),
            at in any::<f64>(),
            is_log in any::<bool>(),
        ) {
            let mut panel = panel(vec![line(&name, &points)]);
            panel.scale = if is_log { Scale::Log } else { Scale::Linear };
            panel.title.clone_from(&name);
            let chart = TimeChart {
                title: name.clone(),
                panels: vec![panel],
                markers: vec![Marker { at, name: name.clone() }],
                bands: vec![Band { from: at, to: at + 1.0, name }],
            };
            let svg = chart.svg();
            assert_well_formed(&svg);
            prop_assert!(!svg.contains("NaN") || chart.title.contains("NaN"));
        }
    }
}
