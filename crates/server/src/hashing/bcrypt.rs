//! bcrypt: `$2b$<cost>$<salt and hash>`; `$2a$` and `$2y$` are other names of the same.
//!
//! It reads 72 bytes of a secret and takes a zero byte for the end. Secrets that are longer are
//! checked as whoever made the hash checked them, but never hashed anew.

use super::modular::{bounded, decimal};
use super::{HashError, HashSpec};
use std::ops::RangeInclusive;

/// 2^15 rounds take about 1.6 seconds.
pub(super) const COST: RangeInclusive<u64> = 4..=15;
const MAX_SECRET: usize = 72;

#[derive(Clone, Debug)]
pub(super) struct Hash {
    text: String,
    cost: u32,
}

impl Hash {
    pub(super) fn parse(text: &str) -> Result<Self, HashError> {
        let malformed = |what| HashError::Malformed("bcrypt", what);
        // Reads salt and hash, and refuses what is not 60 characters.
        let parts: ::bcrypt::HashParts = text
            .parse()
            .map_err(|_| malformed("not $2b$, two digits, $, and 53 characters"))?;
        let digits = text.get(4..6).unwrap_or_default();
        let cost = decimal(digits.strip_prefix('0').unwrap_or(digits));
        let cost = cost.ok_or_else(|| malformed("the cost is not a number"))?;
        bounded("the cost of bcrypt", u64::from(cost), &COST)?;
        debug_assert_eq!(parts.get_cost(), cost);
        Ok(Self {
            text: text.to_owned(),
            cost,
        })
    }

    pub(super) fn verify(&self, secret: &[u8]) -> bool {
        // `a` and `a\0a` have the same hash: the key repeats itself after its zero byte.
        !secret.contains(&0) && ::bcrypt::verify(secret, &self.text).unwrap_or(false)
    }

    pub(super) fn spec(&self) -> HashSpec {
        HashSpec::Bcrypt { cost: self.cost }
    }
}

pub(super) fn hash(cost: u32, secret: &[u8], salt: [u8; 16]) -> Result<String, HashError> {
    bounded("the cost of bcrypt", u64::from(cost), &COST)?;
    if secret.len() > MAX_SECRET {
        return Err(HashError::TooLong(secret.len()));
    }
    if secret.contains(&0) {
        return Err(HashError::ZeroByte);
    }
    let parts = ::bcrypt::hash_with_salt(secret, cost, salt);
    let parts = parts.map_err(|_| HashError::Malformed("bcrypt", "the cost is out of range"))?;
    Ok(parts.to_string())
}
