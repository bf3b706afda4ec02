//! Curves over time as an SVG. It must not know what they mean.

use plotters::prelude::*;
use std::path::Path;

use crate::failure::{Context, Outcome};

/// What is drawn over the same seconds, one below the other.
#[derive(Debug)]
pub(crate) struct Panel<'a> {
    pub(crate) title: &'a str,
    pub(crate) unit: &'a str,
    pub(crate) curves: Vec<(&'a str, Vec<(f64, f64)>)>,
}

const SIZE: (u32, u32) = (960, 640);
const COLORS: [RGBColor; 4] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(120, 120, 120),
];

/// Writes the panels into a file.
pub(crate) fn write(file: &Path, panels: &[Panel]) -> Outcome<()> {
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE).context("the plot")?;
    for (area, panel) in root.split_evenly((panels.len(), 1)).iter().zip(panels) {
        draw(area, panel)?;
    }
    root.present().context(file.display())
}

fn draw(area: &DrawingArea<SVGBackend, plotters::coord::Shift>, panel: &Panel) -> Outcome<()> {
    let points = || panel.curves.iter().flat_map(|(_, points)| points);
    let end = points().map(|point| point.0).fold(1.0, f64::max);
    let top = points().map(|point| point.1).fold(1.0, f64::max) * 1.1;
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, ("sans-serif", 20))
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..end, 0.0..top)
        .context("the plot")?;
    let mut mesh = chart.configure_mesh();
    mesh.x_desc("seconds")
        .y_desc(panel.unit)
        .max_light_lines(0)
        .bold_line_style(BLACK.mix(0.1));
    mesh.draw().context("the plot")?;
    for ((name, points), color) in panel.curves.iter().zip(COLORS) {
        let line = LineSeries::new(points.iter().copied(), color.stroke_width(2));
        let drawn = chart.draw_series(line).context("the plot")?;
        drawn
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
    }
    let mut legend = chart.configure_series_labels();
    legend
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8));
    legend
        .border_style(BLACK.mix(0.2))
        .draw()
        .context("the plot")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plot_holds_every_curve_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("plot.svg");
        let curves = vec![
            ("database", vec![(0.0, 1.0), (1.0, 2.0)]),
            ("log", vec![(0.0, 0.5)]),
        ];
        write(
            &file,
            &[Panel {
                title: "Disk",
                unit: "MB",
                curves,
            }],
        )
        .unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains("database") && text.contains("log") && text.contains("Disk"));
    }
}
