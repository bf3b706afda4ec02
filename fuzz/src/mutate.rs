//! Inputs from seeds: a numbered, repeatable stream of mutations.

/// Makes one input.
#[derive(Debug)]
pub struct Mutator(u64);

impl Mutator {
    /// The mutator of the `number`-th input of a target.
    pub fn new(target: &str, number: u64) -> Self {
        let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
        for byte in target.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
        }
        Self(state)
    }

    /// splitmix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(1);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    fn pick<'a>(&mut self, from: &[&'a [u8]]) -> &'a [u8] {
        from.get(self.below(from.len()))
            .copied()
            .unwrap_or_default()
    }

    /// An input: a seed with some mutations, rarely noise alone.
    pub fn make(mut self, seeds: &[&[u8]], words: &[&[u8]]) -> Vec<u8> {
        if self.below(64) == 0 {
            let length = self.below(96);
            return (0..length).map(|_| self.byte()).collect();
        }
        let mut input = self.pick(seeds).to_vec();
        for _ in 0..self.below(5) {
            self.mutate(&mut input, seeds, words);
        }
        input
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    fn mutate(&mut self, input: &mut Vec<u8>, seeds: &[&[u8]], words: &[&[u8]]) {
        let at = self.below(input.len() + 1);
        let length = self.below(12).min(input.len() - at);
        match self.below(8) {
            0 => {
                let bit = self.below(8);
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            1 => {
                let byte = self.byte();
                input.insert(at, byte);
            }
            2 => drop(input.drain(at..at + length)),
            3 => {
                let word = self.pick(words);
                drop(input.splice(at..at, word.iter().copied()));
            }
            4 => {
                let word = self.pick(words);
                drop(input.splice(at..at + length, word.iter().copied()));
            }
            5 => {
                let other = self.pick(seeds);
                let tail = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[tail..]);
            }
            6 => {
                let copy = input[at..at + length].to_vec();
                let to = self.below(input.len() + 1);
                drop(input.splice(to..to, copy));
            }
            _ => input.truncate(at),
        }
    }
}
