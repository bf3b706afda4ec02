//! A sample: one call, when it was to start, when it did, when its answer was whole, and what came of
//! it. It must not know how it is kept or counted.

use crate::clock::Nanos;
use crate::wire::Kind;

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// An answer that passed its checks.
    Right { status: u16 },
    /// An answer that failed a check; `check` is an index into the run's list of check names.
    Wrong { status: u16, check: u16 },
    /// No answer.
    Failed(Kind),
}

/// All times are nanoseconds since the beginning of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Index into the run's list of steps (`population/flow/step`), where whole flows have indices, too.
    pub(crate) step: u16,
    /// When it was to start; the same as `start` where nothing but the user decides.
    pub(crate) due: Nanos,
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    /// Bytes of the answer's body.
    pub(crate) bytes: u64,
    pub(crate) outcome: Outcome,
    /// In the warm-up: kept, and left out of the figures.
    pub(crate) warm: bool,
}
