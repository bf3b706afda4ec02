//! Plots as SVG: data in, text out. It must not know files, runs or where figures come from.

mod axis;
pub(crate) mod bars;
mod frame;
pub(crate) mod percentiles;
mod svg;
mod thin;
pub(crate) mod time;

/// A curve. Points come in the order of their first number; a second number that is not finite is a gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Line {
    /// Stands in the legend; the same name has the same colour in all panels.
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// How values become heights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scale {
    #[default]
    Linear,
    /// Values that are not more than zero have no place and are gaps.
    Log,
}
