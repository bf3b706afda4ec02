//! One virtual user: its variables, its random numbers and how often it has gone through a flow.
//! It must not know steps, feeds or connections.
//!
//! A user is a value: the same seed, population and number make the same user on every machine.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

#[cfg(test)]
use rand::RngExt as _;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

/// What all users share: the variables of the plan, its secrets as `env:NAME`, and what the target
/// tells as `target.…`.
#[derive(Clone, Default)]
pub(crate) struct Values(pub(crate) BTreeMap<String, String>);

impl fmt::Debug for Values {
    /// Names only: values may be secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
}

/// The random numbers of one place of a run, which are the same in every run with the seed.
/// `room` says what they are for, `index` and `number` whose they are.
pub(crate) fn random(seed: u64, room: u64, index: u64, number: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    let parts = [seed, room, index, number];
    for (bytes, part) in key.chunks_exact_mut(8).zip(parts) {
        bytes.copy_from_slice(&part.to_le_bytes());
    }
    ChaCha8Rng::from_seed(key)
}

/// The rooms of [`random`].
pub(crate) mod room {
    pub(crate) const USER: u64 = 1;
    pub(crate) const ARRIVALS: u64 = 2;
    pub(crate) const MIX: u64 = 3;
    pub(crate) const ROW: u64 = 4;
    pub(crate) const ORDER: u64 = 5;
}

/// One virtual user. With an arrival rate every arrival is a user of its own.
pub(crate) struct User {
    /// From 0, over all generators of the population.
    pub(crate) number: u64,
    /// Passes begun before this one.
    pub(crate) pass: u64,
    own: BTreeMap<String, String>,
    common: Arc<Values>,
    random: ChaCha8Rng,
}

impl fmt::Debug for User {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("User")
            .field("number", &self.number)
            .field("pass", &self.pass)
            .finish_non_exhaustive()
    }
}

impl User {
    /// User `number` of population `population`.
    pub(crate) fn new(seed: u64, population: u64, number: u64, common: Arc<Values>) -> Self {
        let mut user = Self {
            number,
            pass: 0,
            own: BTreeMap::new(),
            common,
            random: random(seed, room::USER, population, number),
        };
        user.set("user", number.to_string());
        user.set("pass", "0".to_owned());
        user
    }

    /// No user of a population, but whoever fills templates with such random numbers.
    pub(crate) fn with(random: ChaCha8Rng, common: Arc<Values>) -> Self {
        Self {
            number: 0,
            pass: 0,
            own: BTreeMap::new(),
            common,
            random,
        }
    }

    /// The next pass begins: what was extracted stays, `${pass}` counts on.
    pub(crate) fn next_pass(&mut self) {
        self.pass += 1;
        self.set("pass", self.pass.to_string());
    }

    /// Sets a variable of this user, in front of one of the plan.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        // Names recur in every pass: only the first takes a new key.
        match self.own.get_mut(name) {
            Some(held) => *held = value,
            None => drop(self.own.insert(name.to_owned(), value)),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.own.get(name).or_else(|| self.common.0.get(name));
        found.map(String::as_str)
    }

    /// The random numbers of this user.
    pub(crate) fn random(&mut self) -> &mut ChaCha8Rng {
        &mut self.random
    }

    /// A random number from 0 to below 1.
    #[cfg(test)]
    pub(crate) fn chance(&mut self) -> f64 {
        self.random.random::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(seed: u64, population: u64, number: u64) -> User {
        User::new(seed, population, number, Arc::default())
    }

    #[test]
    fn users_of_one_seed_repeat_themselves_and_differ_from_others() {
        let draw = |mut user: User| [user.chance(), user.chance()].map(f64::to_bits);
        assert_eq!(draw(user(1, 2, 3)), draw(user(1, 2, 3)));
        for other in [user(2, 2, 3), user(1, 3, 3), user(1, 2, 4)] {
            assert_ne!(draw(user(1, 2, 3)), draw(other));
        }
    }

    #[test]
    fn a_variable_of_the_user_is_in_front_of_one_of_the_plan() {
        let values = BTreeMap::from([("a".to_owned(), "plan".to_owned())]);
        let mut user = User::new(0, 0, 0, Arc::new(Values(values)));
        assert_eq!(user.get("a"), Some("plan"));
        user.set("a", "own".to_owned());
        assert_eq!((user.get("a"), user.get("b")), (Some("own"), None));
    }

    #[test]
    fn nothing_printed_of_a_user_tells_a_value() {
        let values = BTreeMap::from([("env:X".to_owned(), "hunter2".to_owned())]);
        let mut user = User::new(0, 0, 0, Arc::new(Values(values.clone())));
        user.set("password", "hunter2".to_owned());
        let printed = format!("{user:?} {:?}", Values(values));
        assert!(!printed.contains("hunter2"), "{printed}");
    }
}
