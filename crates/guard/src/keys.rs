//! The keys of one issuer, replaced as a whole while others verify with them.

use arc_swap::ArcSwap;
use signet_oauth::jose::{Algorithm, JwkSet, VerificationKey};
use std::sync::Arc;

/// The public keys of one issuer. Where they come from is not known here.
#[derive(Debug, Default)]
pub struct KeySet(ArcSwap<Edition>);

/// One state of the key set. What was verified under an earlier one is verified again.
#[derive(Debug, Default)]
pub(crate) struct Edition {
    pub(crate) number: u64,
    pub(crate) keys: Arc<JwkSet>,
}

impl KeySet {
    /// A set of these keys.
    pub fn new(keys: JwkSet) -> Self {
        let keys = Arc::new(keys);
        Self(ArcSwap::from_pointee(Edition { number: 1, keys }))
    }

    /// Replaces the keys. A key that is gone verifies nothing from here on, cached or not.
    pub fn replace(&self, keys: JwkSet) {
        let keys = Arc::new(keys);
        self.0.rcu(|current| Edition {
            number: current.number + 1,
            keys: Arc::clone(&keys),
        });
    }

    /// The key for a header, under the rules of [`JwkSet::find`].
    pub fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<Arc<VerificationKey>> {
        self.0.load().keys.find(kid, algorithm).cloned()
    }

    pub(crate) fn edition(&self) -> arc_swap::Guard<Arc<Edition>> {
        self.0.load()
    }
}
