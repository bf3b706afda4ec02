//! Reports: each is made from a finished run and nothing else, except the progress line, which is
//! made from what the generators post.

pub(crate) mod answers;
pub(crate) mod grid;
pub(crate) mod json;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the engine that uses it comes with the plans")
)]
pub(crate) mod kept;
pub(crate) mod layout;
#[expect(dead_code, reason = "the engine that uses it comes with the plans")]
pub(crate) mod live;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod text;
