//! Reports: each is made from a finished run and nothing else, except the progress line, which is
//! made from what the generators post.

pub(crate) mod answers;
pub(crate) mod grid;
pub(crate) mod json;
pub(crate) mod kept;
pub(crate) mod layout;
pub(crate) mod live;
pub(crate) mod plot;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod text;
