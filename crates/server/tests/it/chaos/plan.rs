//! How long a run is, and with which seed. The only reader of the environment of these tests.

use super::dice::Dice;

/// `SIGNET_TEST_LENGTH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// A few of each, for `make test`.
    Short,
    /// As many as the issue asks for, for `make chaos`.
    Full,
}

impl Length {
    pub(crate) fn of_this_run() -> Self {
        match variable("SIGNET_TEST_LENGTH").as_deref() {
            Some("full") => Self::Full,
            None | Some("short") => Self::Short,
            Some(other) => panic!("SIGNET_TEST_LENGTH is `full` or `short`, not {other:?}"),
        }
    }

    /// One value or the other.
    pub(crate) fn pick<T>(self, short: T, full: T) -> T {
        match self {
            Self::Short => short,
            Self::Full => full,
        }
    }
}

/// A variable of the environment; none where it is empty.
#[expect(
    clippy::disallowed_methods,
    reason = "the tests are told about their surroundings so"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The seed of a test: `SIGNET_TEST_SEED` where it is set, and printed in any case.
pub(crate) fn dice(test: &str) -> Dice {
    let given = variable("SIGNET_TEST_SEED").map(|seed| seed.parse().unwrap());
    let seed = given.unwrap_or_else(Dice::any_seed);
    println!("{test}: SIGNET_TEST_SEED={seed}");
    Dice::new(seed)
}
