//! Reports: each is made from a finished run and nothing else, except the progress line, which is
//! made from what the generators post.

pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod text;
