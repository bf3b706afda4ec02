//! The names that samples refer to by number: steps, which are known when a run starts, and checks,
//! which become known when they first fail. It must not know what is counted under a name.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// What one count of a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    /// One call.
    #[default]
    Sample,
    /// One pass through a whole flow, from its first call to its last answer.
    Flow,
}

impl Unit {
    pub(crate) const fn singular(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Flow => "flow",
        }
    }

    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Sample => "samples",
            Self::Flow => "flows",
        }
    }
}

/// A step, or a flow as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// `population/flow/step`; a flow as a whole is `population/flow`.
    pub(crate) name: String,
    pub(crate) unit: Unit,
}

/// The names of failed checks in the order of their first failure, shared by all generators of a run.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    names: Mutex<Vec<String>>,
}

impl Checks {
    /// The number of a check. The names are few, so the 65,536th and later share a number.
    pub(crate) fn index(&self, name: &str) -> u16 {
        let mut names = self.lock();
        let known = names.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            if u16::try_from(names.len()).is_ok() {
                names.push(name.to_owned());
            }
            names.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// The names from this number on.
    pub(crate) fn since(&self, first: usize) -> Vec<String> {
        self.lock().get(first..).unwrap_or_default().to_vec()
    }

    /// A thread that died while adding a name has added it or not; both leave a list in order.
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_keeps_the_number_of_its_first_failure() {
        let checks = Checks::default();
        assert_eq!(checks.index("status"), 0);
        assert_eq!(checks.index("nonce"), 1);
        assert_eq!(checks.index("status"), 0);
        assert_eq!(checks.names(), ["status", "nonce"]);
        assert_eq!(checks.since(1), ["nonce"]);
        assert!(checks.since(2).is_empty() && checks.since(9).is_empty());
    }
}
