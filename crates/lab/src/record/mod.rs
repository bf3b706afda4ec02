//! The record of a run: its directory and everything in it. It must not know how load is driven or
//! how a report looks.

pub(crate) mod books;
pub(crate) mod control;
pub(crate) mod directory;
pub(crate) mod environment;
pub(crate) mod kept;
pub(crate) mod names;
pub(crate) mod redact;
pub(crate) mod samples;
pub(crate) mod summary;
