//! What the machine does while a run lasts: processes, databases, metric endpoints and the generator
//! itself, read at equal distances on the clock of the run. It must not know flows, samples or reports.

pub(crate) mod config;
pub(crate) mod file;
pub(crate) mod generator;
mod glob;
mod meter;
mod postgres;
mod process;
mod prometheus;
pub(crate) mod series;
pub(crate) mod verdict;
pub(crate) mod watcher;
