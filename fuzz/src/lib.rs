//! A fuzzer for the stable toolchain: seeds are mutated from a numbered state, so every input can
//! be made again from the target's name and its number.
//!
//! It does not follow coverage; the seeds are real messages and the dictionaries hold what the
//! grammars turn on, so that mutants get past the first checks.

pub mod mutate;
mod people;
pub mod targets;

use mutate::Mutator;
use std::panic::{AssertUnwindSafe, catch_unwind};
use targets::Target;

/// An input that broke a promise.
#[derive(Debug)]
pub struct Finding {
    /// The number of the input.
    pub number: u64,
    /// The input.
    pub input: Vec<u8>,
    /// What it broke.
    pub why: String,
}

/// Feeds `count` inputs to a target, beginning with number `from`. Says how many were accepted,
/// or the first that broke a promise.
pub fn run(target: &Target, from: u64, count: u64) -> Result<u64, Finding> {
    let mut accepted = 0;
    for number in from..from.saturating_add(count) {
        let input = Mutator::new(target.name, number).make(target.seeds, target.words);
        match catch_unwind(AssertUnwindSafe(|| (target.check)(&input))) {
            Ok(Ok(taken)) => accepted += u64::from(taken),
            Ok(Err(why)) => return Err(Finding { number, input, why }),
            Err(_) => {
                return Err(Finding {
                    number,
                    input,
                    why: "it panicked".to_owned(),
                });
            }
        }
    }
    Ok(accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inputs per target in `make test`; `make fuzz` feeds ten million.
    const SHORT: u64 = 50_000;

    #[test]
    fn no_parser_breaks_its_promise() {
        for target in targets::ALL {
            let accepted = run(target, 0, SHORT);
            let accepted =
                accepted.unwrap_or_else(|finding| panic!("{}: {finding:?}", target.name));
            assert!(
                accepted > 0,
                "{}: no mutant was accepted, the seeds are stale",
                target.name
            );
        }
    }

    #[test]
    fn a_broken_promise_is_found() {
        let broken = Target {
            name: "broken",
            seeds: &[b"abc"],
            words: &[b"x"],
            check: |input| {
                if input.contains(&b'x') {
                    Err("an x".to_owned())
                } else {
                    Ok(true)
                }
            },
        };
        assert_eq!(run(&broken, 0, 10_000).unwrap_err().why, "an x");
        let panics = Target {
            check: |input| {
                if input.len() > 4 {
                    panic!("long")
                } else {
                    Ok(true)
                }
            },
            ..broken
        };
        assert_eq!(run(&panics, 0, 10_000).unwrap_err().why, "it panicked");
    }
}
