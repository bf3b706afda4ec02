//! Why a measurement could not be made. It must not know what was measured.

use std::fmt;

/// A sentence for the person at the terminal.
pub(crate) struct Failed(String);

/// What most functions here return.
pub(crate) type Outcome<T> = Result<T, Failed>;

impl Failed {
    pub(crate) fn because(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what was being done when something failed.
pub(crate) trait Context<T> {
    fn context(self, doing: impl fmt::Display) -> Outcome<T>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Outcome<T> {
        self.map_err(|error| Failed(format!("{doing}: {error}")))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, doing: impl fmt::Display) -> Outcome<T> {
        self.ok_or_else(|| Failed(doing.to_string()))
    }
}
