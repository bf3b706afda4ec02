//! The statistics of a comparison: medians, the rank test, its correction for many rows, and intervals.
//! Pure. They must not know what was measured.

pub(super) mod bootstrap;
pub(super) mod holm;
mod normal;
pub(super) mod ranks;
