//! Samples as columns of small numbers, which compress better than rows of large ones. It must not
//! know files, compression or names.

use super::{kinds, varint};
use crate::sample::{Outcome, Sample};

const RIGHT: u8 = 0;
const WRONG: u8 = 1;
const FAILED: u8 = 2;
const OUTCOME: u8 = 0b011;
const WARM: u8 = 0b100;

/// Times wrap around instead of overflowing: whatever is put in comes back, even nonsense.
pub(super) fn encode(samples: &[Sample], out: &mut Vec<u8>) {
    for sample in samples {
        varint::put(out, u64::from(sample.step));
    }
    let mut last = 0;
    for sample in samples {
        varint::put(out, varint::distance(last, sample.end));
        last = sample.end;
    }
    for sample in samples {
        varint::put(out, sample.end.wrapping_sub(sample.start));
    }
    for sample in samples {
        varint::put(out, sample.start.wrapping_sub(sample.due));
    }
    let mut sizes = Sizes::default();
    for sample in samples {
        let last = sizes.of(sample.step);
        varint::put(out, varint::distance(*last, sample.bytes));
        *last = sample.bytes;
    }
    out.extend(samples.iter().map(flags));
    for sample in samples {
        match sample.outcome {
            Outcome::Right { status } => varint::put(out, u64::from(status)),
            Outcome::Wrong { status, check } => {
                varint::put(out, u64::from(status));
                varint::put(out, u64::from(check));
            }
            Outcome::Failed(kind) => out.push(kinds::byte(kind)),
        }
    }
}

/// Reads back what [`encode`] wrote of so many samples; `None` when it is something else.
pub(super) fn decode(mut bytes: &[u8], count: usize, into: &mut Vec<Sample>) -> Option<()> {
    let first = into.len();
    let bytes = &mut bytes;
    for _ in 0..count {
        let step = u16::try_from(varint::take(bytes)?).ok()?;
        into.push(blank(step));
    }
    let samples = into.get_mut(first..)?;
    let mut last = 0;
    for sample in &mut *samples {
        last = varint::moved(last, varint::take(bytes)?);
        sample.end = last;
    }
    for sample in &mut *samples {
        sample.start = sample.end.wrapping_sub(varint::take(bytes)?);
    }
    for sample in &mut *samples {
        sample.due = sample.start.wrapping_sub(varint::take(bytes)?);
    }
    let mut sizes = Sizes::default();
    for sample in &mut *samples {
        let last = sizes.of(sample.step);
        *last = varint::moved(*last, varint::take(bytes)?);
        sample.bytes = *last;
    }
    let flags = bytes.split_off(..count)?;
    for (sample, flags) in samples.iter_mut().zip(flags) {
        sample.warm = flags & WARM != 0;
        sample.outcome = outcome(*flags, bytes)?;
    }
    bytes.is_empty().then_some(())
}

fn flags(sample: &Sample) -> u8 {
    let outcome = match sample.outcome {
        Outcome::Right { .. } => RIGHT,
        Outcome::Wrong { .. } => WRONG,
        Outcome::Failed(_) => FAILED,
    };
    outcome | if sample.warm { WARM } else { 0 }
}

fn outcome(flags: u8, bytes: &mut &[u8]) -> Option<Outcome> {
    let small = |bytes: &mut &[u8]| u16::try_from(varint::take(bytes)?).ok();
    match flags & OUTCOME {
        _ if flags & !(OUTCOME | WARM) != 0 => None,
        RIGHT => Some(Outcome::Right {
            status: small(bytes)?,
        }),
        WRONG => Some(Outcome::Wrong {
            status: small(bytes)?,
            check: small(bytes)?,
        }),
        FAILED => kinds::kind(*bytes.split_off_first()?).map(Outcome::Failed),
        _ => None,
    }
}

fn blank(step: u16) -> Sample {
    Sample {
        step,
        due: 0,
        start: 0,
        end: 0,
        bytes: 0,
        outcome: Outcome::Right { status: 0 },
        warm: false,
    }
}

/// The size of the last answer of every step: the next one is often the same.
#[derive(Debug, Default)]
struct Sizes(Vec<u64>);

impl Sizes {
    fn of(&mut self, step: u16) -> &mut u64 {
        let index = usize::from(step);
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        &mut self.0[index]
    }
}
