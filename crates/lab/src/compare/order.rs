//! The order in which the runs of two sides take turns. It must not know what a run is.
//!
//! `A B B A A B B A …`: every pair has one run of each side, and each side goes first in every other
//! pair. A machine that warms up, fills its disk or slows down steadily then favours neither side,
//! which it would if all of A came before all of B, and neither side always follows the other.

/// One of the two setups that are compared: A is what there was, B is what is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    A,
    B,
}

/// The sides in the order of their runs: `repeats` runs of each.
pub(crate) fn interleaved(repeats: usize) -> impl Iterator<Item = Side> {
    (0..repeats).flat_map(|pair| {
        if pair % 2 == 0 {
            [Side::A, Side::B]
        } else {
            [Side::B, Side::A]
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sides_take_turns_at_going_first() {
        let letter = |side| if side == Side::A { 'A' } else { 'B' };
        let letters: String = interleaved(5).map(letter).collect();
        assert_eq!(letters, "ABBAABBAAB");
        assert_eq!(interleaved(0).count(), 0);
    }

    proptest! {
        #[test]
        fn each_side_has_every_run_and_an_even_number_of_pairs_has_no_favourite(repeats in 0..60_usize) {
            let order: Vec<Side> = interleaved(repeats).collect();
            let places = |side| order.iter().enumerate().filter(move |(_, it)| **it == side);
            prop_assert_eq!(places(Side::A).count(), repeats);
            prop_assert_eq!(places(Side::B).count(), repeats);
            // The sum of the places is what a steady drift adds to a side.
            let sum = |side| places(side).map(|(place, _)| place).sum::<usize>();
            prop_assert_eq!(sum(Side::A) + repeats % 2, sum(Side::B));
        }
    }
}
