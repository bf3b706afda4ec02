//! Numbers of one to ten bytes, seven bits each, least first; all but the last have the high bit. It
//! must not know what the numbers mean.

/// Bytes of the longest number.
const LONGEST: usize = 10;

pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(low_bits(number) | 0x80);
        number >>= 7;
    }
    out.push(low_bits(number));
}

/// Takes a number off the front; `None` when there is none.
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for (index, byte) in bytes.iter().take(LONGEST).enumerate() {
        let bits = u64::from(byte & 0x7f);
        let shift = 7 * u32::try_from(index).ok()?;
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            *bytes = bytes.get(index + 1..)?;
            return Some(number);
        }
    }
    None
}

/// How far `to` is from `from`, small when they are near each other whichever is the greater.
pub(super) fn distance(from: u64, to: u64) -> u64 {
    let difference = to.wrapping_sub(from).cast_signed();
    ((difference << 1) ^ (difference >> 63)).cast_unsigned()
}

/// The other end of a [`distance`].
pub(super) fn moved(from: u64, distance: u64) -> u64 {
    let difference = (distance >> 1) ^ (distance & 1).wrapping_neg();
    from.wrapping_add(difference)
}

fn low_bits(number: u64) -> u8 {
    number.to_le_bytes()[0] & 0x7f
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_numbers_are_one_byte_and_the_greatest_ten() {
        for (number, length) in [(0, 1), (127, 1), (128, 2), (u64::MAX, 10)] {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            assert_eq!(bytes.len(), length, "{number}");
        }
        assert_eq!(distance(5, 4), 1);
        assert_eq!(distance(5, 6), 2);
    }

    #[test]
    fn a_number_without_an_end_is_none() {
        for bytes in [&[][..], &[0x80], &[0xff; 12], &[0x80; 9]] {
            assert_eq!(take(&mut &*bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(numbers in prop::collection::vec(any::<u64>(), 0..20)) {
            let mut bytes = Vec::new();
            for number in &numbers {
                put(&mut bytes, *number);
            }
            let mut rest = &bytes[..];
            for number in numbers {
                prop_assert_eq!(take(&mut rest), Some(number));
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn distances_lead_back(from: u64, to: u64) {
            prop_assert_eq!(moved(from, distance(from, to)), to);
        }
    }
}
