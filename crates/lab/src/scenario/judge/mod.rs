//! Whether an answer is the right one, decided by pure functions of the answer and what was expected.
//! They must not know how it was asked for, or what comes next.

pub(crate) mod answer;
pub(crate) mod callback;
pub(crate) mod id_token;
pub(crate) mod token;
