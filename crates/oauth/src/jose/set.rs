//! Sets of public keys (RFC 7517 §5).

use super::jwk::{self, Jwk};
use super::{Algorithm, Error, VerificationKey, json};
use serde_json::Value;
use std::sync::Arc;

/// Keys that a set may have.
const MAX_KEYS: usize = 100;

/// Public keys of one issuer or client, parsed once. Shared secrets are never in a set.
#[derive(Clone, Debug, Default)]
pub struct JwkSet {
    keys: Vec<Arc<VerificationKey>>,
    ignored: Vec<Ignored>,
}

/// A key of a set that is not used, and why. Whoever registers keys refuses sets with any; whoever
/// fetches the keys of others lives with them (RFC 7517 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Where in the set it stands, counted from 0.
    pub index: usize,
    /// `UnsupportedKey`, `WeakKey` or `MalformedKey`.
    pub error: Error,
}

impl JwkSet {
    /// A set of these keys.
    ///
    /// # Errors
    /// `MalformedKey` where the numbers of one are not a key; `TooLarge` above 100 keys.
    pub fn new(jwks: impl IntoIterator<Item = Jwk>) -> Result<Self, Error> {
        let mut keys = Vec::new();
        for jwk in jwks {
            if keys.len() == MAX_KEYS {
                return Err(Error::TooLarge);
            }
            keys.push(Arc::new(VerificationKey::new(jwk)?));
        }
        Ok(Self {
            keys,
            ignored: Vec::new(),
        })
    }

    /// Reads a set: `{"keys": [ … ]}`, at most 64 KiB and 100 keys. Keys that cannot be used are
    /// listed in [`JwkSet::ignored`]; a private member anywhere refuses the whole set, because
    /// whoever publishes one has lost it.
    ///
    /// # Errors
    /// `TooLarge`, `Json`, `DuplicateMember`, `PrivateMember`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        if text.len() > jwk::MAX_LEN {
            return Err(Error::TooLarge);
        }
        let members = json::parse_object(text)?;
        let Some(Value::Array(listed)) = members.get("keys") else {
            return Err(Error::Json);
        };
        if listed.len() > MAX_KEYS {
            return Err(Error::TooLarge);
        }
        let mut set = Self::default();
        for (index, value) in listed.iter().enumerate() {
            let Value::Object(members) = value else {
                return Err(Error::Json);
            };
            if jwk::has_private_member(members) {
                return Err(Error::PrivateMember);
            }
            match Jwk::from_members(members).and_then(VerificationKey::new) {
                Ok(key) => set.keys.push(Arc::new(key)),
                Err(error) => set.ignored.push(Ignored { index, error }),
            }
        }
        Ok(set)
    }

    /// The key that verifies a token with this header. A name selects the keys of that name;
    /// without one, every key is a candidate. Only a single candidate that allows the algorithm
    /// is an answer: there is no trying one after the other.
    pub fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<&Arc<VerificationKey>> {
        let mut fitting = self
            .keys
            .iter()
            .filter(|key| kid.is_none() || key.kid() == kid)
            .filter(|key| key.allows(algorithm));
        let found = fitting.next()?;
        fitting.next().is_none().then_some(found)
    }

    /// The keys that can be used, in the order of the set.
    pub fn keys(&self) -> &[Arc<VerificationKey>] {
        &self.keys
    }

    /// The keys that cannot.
    pub fn ignored(&self) -> &[Ignored] {
        &self.ignored
    }

    /// The set as JSON, ready to be published.
    pub fn render(&self) -> String {
        let keys = self.keys.iter().filter_map(|key| key.jwk());
        let keys: Vec<String> = keys.map(Jwk::render).collect();
        format!("{{\"keys\":[{}]}}", keys.join(","))
    }
}
