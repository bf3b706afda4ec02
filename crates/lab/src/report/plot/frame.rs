//! The part of a plot with axes: grid, labels, legend, and places for points. It must not know what is
//! plotted.

use super::Line;
use super::axis::Axis;
use super::svg::{Anchor, Page, WIDTH, fill, stroke};
use super::thin::{Spot, thin};

/// Left of the frame are the labels of its values.
pub(crate) const LEFT: f64 = 64.0;
pub(crate) const RIGHT: f64 = WIDTH - 24.0;
/// A row of text.
pub(crate) const ROW: f64 = 18.0;
/// The widest of twelve pixels high letters, on average; a legend that is too wide is worse than one
/// that is too short.
const LETTER: f64 = 6.8;

/// Where the axes stand.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) top: f64,
    pub(crate) height: f64,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

impl Frame {
    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(crate) fn across(&self, value: f64) -> Option<f64> {
        Some(LEFT + self.x.place(value)? * (RIGHT - LEFT))
    }

    pub(crate) fn up(&self, value: f64) -> Option<f64> {
        Some(self.bottom() - self.y.place(value)? * self.height)
    }

    /// Lines at the labels of the values; the labels of the other axis only where they are wanted.
    pub(crate) fn draw(&self, page: &mut Page, with_labels_below: bool) {
        for (value, label) in &self.y.ticks {
            if let Some(y) = self.up(*value) {
                page.line("grid", (LEFT, y), (RIGHT, y));
                page.text((LEFT - 8.0, y + 4.0), "s", Anchor::End, label);
            }
        }
        for (value, label) in &self.x.ticks {
            let Some(x) = self.across(*value) else {
                continue;
            };
            page.line("grid", (x, self.top), (x, self.bottom()));
            if with_labels_below {
                let below = (x, self.bottom() + ROW);
                page.text(below, "s", Anchor::Middle, label);
            }
        }
        page.line("axis", (LEFT, self.bottom()), (RIGHT, self.bottom()));
    }

    /// The curve, thinned out; what is outside of the axes is a gap.
    pub(crate) fn curve(&self, page: &mut Page, colour: usize, points: &[(f64, f64)]) {
        let spots: Vec<Spot> = points
            .iter()
            .map(|(x, y)| {
                let x = self
                    .across(*x)
                    .filter(|x| (LEFT - 0.5..=RIGHT + 0.5).contains(x))?;
                Some((x, self.up(*y)?))
            })
            .collect();
        page.curve(colour, &thin(&spots));
    }
}

/// How names are shown: by a piece of their line, or of their area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    Stroke,
    Fill,
}

/// The rows of a legend that begins at this height; returns how high it is. Names without letters have no
/// entry.
pub(crate) fn legend(page: &mut Page, top: f64, sample: Sample, names: &[(usize, &str)]) -> f64 {
    let (mut x, mut row) = (LEFT, 0.0);
    let names: Vec<_> = names.iter().filter(|(_, name)| !name.is_empty()).collect();
    for (colour, name) in &names {
        let width = 26.0 + LETTER * letters(name) + 16.0;
        if x > LEFT && x + width > RIGHT {
            x = LEFT;
            row += 1.0;
        }
        let middle = top + row * ROW + ROW / 2.0;
        match sample {
            Sample::Stroke => {
                let class = format!("l {}", stroke(*colour));
                page.line(&class, (x, middle), (x + 20.0, middle));
            }
            Sample::Fill => page.rect(&fill(*colour), (x + 4.0, middle - 6.0), (12.0, 12.0)),
        }
        page.text((x + 26.0, middle + 4.0), "", Anchor::Start, name);
        x += width;
    }
    if names.is_empty() {
        0.0
    } else {
        (row + 1.0) * ROW
    }
}

fn letters(text: &str) -> f64 {
    let count = u32::try_from(text.chars().count());
    f64::from(count.unwrap_or(u32::MAX))
}

/// The names in the order in which they come first: the place of a name is its colour.
pub(crate) fn colours<'a>(lines: impl Iterator<Item = &'a Line>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for line in lines {
        if !names.contains(&line.name.as_str()) {
            names.push(&line.name);
        }
    }
    names
}

/// The colour of a name.
pub(crate) fn colour(names: &[&str], name: &str) -> usize {
    let place = names.iter().position(|known| *known == name);
    place.unwrap_or(names.len())
}
