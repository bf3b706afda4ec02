//! Samples on disk: a file of blocks that is readable up to its last whole block, however it ended.
//! `docs/run-directory.md` gives it byte by byte. It must not know what samples are counted for.

mod columns;
mod frame;
mod kinds;
mod reader;
pub(crate) mod recorder;
mod varint;
mod writer;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::record::names::Step;

pub(crate) use reader::{Ending, ReadError, Reader};
pub(crate) use writer::Writer;

/// The first bytes of a file; the last of them is the version of the format.
const MAGIC: [u8; 8] = *b"ASSAYSM\x01";
/// Samples in a full block.
pub(crate) const BLOCK: usize = 4096;

/// What is known when a run starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) plan: String,
    pub(crate) target: String,
    /// Which of the processes that drove the run wrote the file.
    pub(crate) generator: u32,
    /// When the clock of the samples read zero, in nanoseconds since 1970.
    pub(crate) zero_ns: u64,
    /// The unit of every time in the file.
    pub(crate) times: String,
    pub(crate) steps: Vec<Step>,
}

impl Header {
    pub(crate) const TIMES: &'static str = "nanoseconds since zero";
}

/// What is known when a run ends and no sample says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trailer {
    pub(crate) measured: Span,
    /// Arrivals that were due and never sent, by the number of their step.
    pub(crate) dropped: Vec<Dropped>,
}

/// The measured part of a run, on the clock of its samples; what was due before it is the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "their names in files, which say the unit"
)]
pub(crate) struct Span {
    /// When the first arrival could be due: some time after zero, when every thread is there.
    #[serde(default)]
    pub(crate) begin_ns: Nanos,
    pub(crate) from_ns: Nanos,
    pub(crate) until_ns: Nanos,
}

impl Span {
    pub(crate) fn length(self) -> Nanos {
        self.until_ns.saturating_sub(self.from_ns)
    }

    /// How long the warm-up before it lasted.
    pub(crate) fn warmup(self) -> Nanos {
        self.from_ns.saturating_sub(self.begin_ns)
    }

    /// The least span that holds both.
    pub(crate) fn around(self, other: Self) -> Self {
        Self {
            begin_ns: self.begin_ns.min(other.begin_ns),
            from_ns: self.from_ns.min(other.from_ns),
            until_ns: self.until_ns.max(other.until_ns),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dropped {
    pub(crate) step: u16,
    pub(crate) measured: u64,
    pub(crate) warmup: u64,
}

#[cfg(test)]
mod tests;
