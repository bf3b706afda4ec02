//! A histogram small enough to keep one for every second: cells of 3 % width from a microsecond to two
//! minutes. It must not know what is measured.

use crate::clock::Nanos;

/// Cells of each doubling.
const PART: u64 = 32;
const PART_BITS: u32 = 5;
/// The microseconds one by one, then 22 doublings up to 2^27 µs, which are 134 s; what takes longer is
/// in the last cell.
pub(super) const CELLS: usize = 32 * 23;

/// The cell of a latency: one for each microsecond at first, then 32 for each doubling.
pub(super) fn cell(ns: Nanos) -> u16 {
    let micros = ns / 1000;
    let doubling = (micros / PART).checked_ilog2().map_or(0, |log| log + 1);
    // Above the first doubling the highest bit says which one, the next five which part of it.
    let part = match doubling {
        0 => micros,
        _ => (micros >> (doubling - 1)) - PART,
    };
    let index = u64::from(doubling) * PART + part;
    let last = CELLS - 1;
    let index = usize::try_from(index).map_or(last, |index| index.min(last));
    u16::try_from(index).unwrap_or(u16::MAX)
}

/// The middle of a cell.
pub(super) fn middle(cell: u16) -> Nanos {
    let (doubling, part) = (u32::from(cell >> PART_BITS), u64::from(cell) % PART);
    let (low, width) = match doubling {
        0 => (part, 1),
        _ => ((PART + part) << (doubling - 1), 1 << (doubling - 1)),
    };
    low * 1000 + width * 500
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cells_begin_at_zero_and_end_at_two_minutes() {
        assert_eq!(cell(0), 0);
        assert_eq!(cell(999), 0);
        assert_eq!(cell(31_999), 31);
        assert_eq!(cell(32_000), 32);
        assert_eq!(cell(64_000), 64);
        assert_eq!(usize::from(cell(134_217_727_000)), CELLS - 1);
        assert_eq!(usize::from(cell(u64::MAX)), CELLS - 1);
    }

    proptest! {
        #[test]
        fn the_middle_of_its_cell_is_near_a_latency(ns in 20_000..134_000_000_000_u64) {
            let near = middle(cell(ns));
            prop_assert!(near.abs_diff(ns) <= ns / 32, "{} for {}", near, ns);
        }

        #[test]
        fn a_longer_latency_has_no_earlier_cell(a: u64, b: u64) {
            prop_assert!(cell(a.min(b)) <= cell(a.max(b)));
        }
    }
}
