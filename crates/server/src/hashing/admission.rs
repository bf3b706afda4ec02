//! Who may enter the pool: a number of jobs per client and per address, and a lane of its own for
//! those who were right before.
//!
//! A guesser is limited by client and by address. A pair of both that succeeded before is counted
//! by itself, so that guessing at a client from elsewhere does not keep the client out.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::workers::Lane;

/// Whose secret is checked, and who sent it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The digest by which the log knows the client or the user.
    pub client: [u8; 16],
    /// Where the request came from.
    pub address: IpAddr,
}

impl Origin {
    /// The address, or its network: whoever has one IPv6 address has the other 2⁶⁴ of its network too.
    pub fn network(&self) -> IpAddr {
        match self.address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            v4 @ IpAddr::V4(_) => v4,
        }
    }
}

/// Jobs in the pool, by whom they are for.
#[derive(Debug)]
pub(super) struct Admission {
    per_client: usize,
    per_address: usize,
    hasher: RandomState,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How many jobs each client, network or known pair has in the pool; empty when idle.
    jobs: HashMap<u64, usize>,
    known: Known,
}

/// Pairs that succeeded: of two halves, the older is forgotten when the younger is full. Pairs
/// that keep succeeding stay.
#[derive(Debug)]
struct Known {
    half: usize,
    young: HashSet<u64>,
    old: HashSet<u64>,
}

/// What is counted. The name of the variant is part of what is hashed.
#[derive(Hash)]
enum Counted {
    Client([u8; 16]),
    Network(IpAddr),
    Pair([u8; 16], IpAddr),
}

/// A job's place; dropping it gives the place back.
#[derive(Debug)]
pub(super) struct Permit {
    admission: Arc<Admission>,
    counted: [Option<u64>; 2],
}

impl Admission {
    pub(super) fn new(per_client: usize, per_address: usize, remembered: usize) -> Arc<Self> {
        Arc::new(Self {
            per_client,
            per_address,
            hasher: RandomState::new(),
            state: Mutex::new(State {
                jobs: HashMap::new(),
                known: Known {
                    half: remembered.div_ceil(2),
                    young: HashSet::new(),
                    old: HashSet::new(),
                },
            }),
        })
    }

    /// A place and the lane to wait in; `None` where the origin has its share already.
    pub(super) fn admit(self: &Arc<Self>, origin: &Origin) -> Option<(Permit, Lane)> {
        let pair = self.key(&Counted::Pair(origin.client, origin.network()));
        let mut state = self.lock();
        let (limits, lane) = if state.known.holds(pair) {
            ([Some((pair, self.per_client)), None], Lane::Kept)
        } else {
            let client = self.key(&Counted::Client(origin.client));
            let network = self.key(&Counted::Network(origin.network()));
            let limits = [(client, self.per_client), (network, self.per_address)];
            (limits.map(Some), Lane::Open)
        };
        let jobs = |key| state.jobs.get(&key).copied().unwrap_or(0);
        if limits
            .iter()
            .flatten()
            .any(|(key, limit)| jobs(*key) >= *limit)
        {
            return None;
        }
        let counted = limits.map(|limit| limit.map(|(key, _)| key));
        for key in counted.iter().flatten() {
            *state.jobs.entry(*key).or_default() += 1;
        }
        let permit = Permit {
            admission: Arc::clone(self),
            counted,
        };
        Some((permit, lane))
    }

    /// Remembers that the origin knew the secret.
    pub(super) fn succeeded(&self, origin: &Origin) {
        let pair = self.key(&Counted::Pair(origin.client, origin.network()));
        self.lock().known.remember(pair);
    }

    /// Whether the origin knew the secret before.
    pub(super) fn knows(&self, origin: &Origin) -> bool {
        let pair = self.key(&Counted::Pair(origin.client, origin.network()));
        self.lock().known.holds(pair)
    }

    fn key(&self, counted: &Counted) -> u64 {
        self.hasher.hash_one(counted)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.admission.lock();
        for key in self.counted.iter().flatten() {
            state.release(*key);
        }
    }
}

impl State {
    fn release(&mut self, key: u64) {
        let left = self.jobs.get(&key).copied().unwrap_or(0).saturating_sub(1);
        if left == 0 {
            self.jobs.remove(&key);
        } else {
            self.jobs.insert(key, left);
        }
    }
}

impl Known {
    fn holds(&self, pair: u64) -> bool {
        self.young.contains(&pair) || self.old.contains(&pair)
    }

    fn remember(&mut self, pair: u64) {
        if self.half == 0 {
            return;
        }
        if self.young.len() >= self.half && !self.young.contains(&pair) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn origin(client: u8, address: u8) -> Origin {
        Origin {
            client: [client; 16],
            address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, address)),
        }
    }

    #[test]
    fn clients_and_addresses_have_a_number_of_places_each() {
        let admission = Admission::new(2, 3, 10);
        let places: Vec<_> = (1..=2)
            .map(|a| admission.admit(&origin(1, a)).unwrap())
            .collect();
        assert!(admission.admit(&origin(1, 3)).is_none(), "two per client");
        let more: Vec<_> = (2..=3)
            .map(|c| admission.admit(&origin(c, 1)).unwrap())
            .collect();
        assert!(
            admission.admit(&origin(4, 1)).is_none(),
            "three per address"
        );
        drop((places, more));
        assert!(admission.admit(&origin(1, 3)).is_some());
        assert!(
            admission.lock().jobs.is_empty(),
            "nothing is kept of the idle"
        );
    }

    #[test]
    fn guessing_at_a_client_does_not_keep_out_who_knew_its_secret() {
        let admission = Admission::new(2, 2, 10);
        admission.succeeded(&origin(1, 9));
        let guesses: Vec<_> = (1..=2)
            .map(|a| admission.admit(&origin(1, a)).unwrap())
            .collect();
        assert!(guesses.iter().all(|(_, lane)| *lane == Lane::Open));
        let first = admission.admit(&origin(1, 9)).unwrap();
        let second = admission.admit(&origin(1, 9)).unwrap();
        assert_eq!((first.1, second.1), (Lane::Kept, Lane::Kept));
        assert!(
            admission.admit(&origin(1, 9)).is_none(),
            "but not without end"
        );
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let admission = Admission::new(10, 1, 10);
        let from = |client, address: &str| Origin {
            client: [client; 16],
            address: address.parse().unwrap(),
        };
        let place = admission.admit(&from(1, "2001:db8::1"));
        assert!(admission.admit(&from(2, "2001:db8::ffff:2")).is_none());
        assert!(admission.admit(&from(3, "2001:db8:0:1::1")).is_some());
        let mapped = admission.admit(&from(4, "::ffff:192.0.2.1"));
        assert!(admission.admit(&from(5, "192.0.2.1")).is_none());
        drop((place, mapped));
    }

    #[test]
    fn a_bounded_number_of_pairs_is_remembered_and_the_busy_ones_stay() {
        let admission = Admission::new(1, 1, 8);
        let busy = origin(0, 0);
        for client in 1..=100 {
            admission.succeeded(&origin(client, 1));
            admission.succeeded(&busy);
            let state = admission.lock();
            assert!(state.known.young.len() + state.known.old.len() <= 8);
        }
        assert_eq!(admission.admit(&busy).unwrap().1, Lane::Kept);
        assert_eq!(admission.admit(&origin(1, 1)).unwrap().1, Lane::Open);
        assert_eq!(admission.admit(&origin(100, 1)).unwrap().1, Lane::Kept);
    }
}
