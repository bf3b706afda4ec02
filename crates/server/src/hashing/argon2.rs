//! Argon2 (RFC 9106) in the PHC form: `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>`.
//!
//! New hashes are Argon2id of version 19. Argon2i and version 16 are only checked.

use super::modular::{bounded, decode, encode, fields, parameters};
use super::{HashError, HashSpec};
use ::argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::constant_time;
use std::ops::RangeInclusive;

/// Every check of the pool's workers may hold this much at once: 256 MiB.
pub(super) const MEMORY: RangeInclusive<u64> = 8..=262_144;
/// Memory times passes decide the time: 2 GiB take about 0.6 seconds.
const WORK: RangeInclusive<u64> = 8..=2_097_152;
const LANES: RangeInclusive<u64> = 1..=16;
const HASH_LEN: RangeInclusive<usize> = 16..=64;
const SALT_LEN: RangeInclusive<usize> = 8..=64;

/// What one hash costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argon2Cost {
    /// Memory in KiB.
    pub memory: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes; they run one after the other.
    pub lanes: u32,
}

impl Argon2Cost {
    pub(super) fn check(self) -> Result<(), HashError> {
        let [memory, passes, lanes] = [self.memory, self.passes, self.lanes].map(u64::from);
        bounded("the lanes (p) of Argon2", lanes, &LANES)?;
        bounded("the passes (t) of Argon2", passes, &(1..=*WORK.end()))?;
        let least = *MEMORY.start() * lanes;
        bounded("the memory (m) of Argon2", memory, &(least..=*MEMORY.end()))?;
        bounded(
            "memory times passes (m × t) of Argon2",
            memory * passes,
            &WORK,
        )
    }
}

#[derive(Clone, Debug)]
pub(super) struct Hash {
    algorithm: Algorithm,
    version: Version,
    cost: Argon2Cost,
    salt: Vec<u8>,
    output: Vec<u8>,
}

impl Hash {
    pub(super) fn parse(text: &str) -> Result<Self, HashError> {
        let malformed = |what| HashError::Malformed("Argon2", what);
        let algorithm = if text.starts_with("$argon2id$") {
            Algorithm::Argon2id
        } else {
            Algorithm::Argon2i
        };
        let (version, cost, salt, hash) = match fields(text).as_slice() {
            ["v=19", cost, salt, hash] => (Version::V0x13, *cost, *salt, *hash),
            ["v=16", cost, salt, hash] | [cost, salt, hash] => {
                (Version::V0x10, *cost, *salt, *hash)
            }
            _ => return Err(malformed("not version, parameters, salt and hash")),
        };
        let Some([Some(memory), Some(passes), Some(lanes)]) = parameters(cost, ["m", "t", "p"])
        else {
            return Err(malformed(
                "the parameters are m, t and p, as in m=19456,t=2,p=1",
            ));
        };
        let cost = Argon2Cost {
            memory,
            passes,
            lanes,
        };
        cost.check()?;
        Ok(Self {
            algorithm,
            version,
            cost,
            salt: decode(salt, &SALT_LEN)
                .ok_or_else(|| malformed("the salt is not base64 of 8 to 64 bytes"))?,
            output: decode(hash, &HASH_LEN)
                .ok_or_else(|| malformed("the hash is not base64 of 16 to 64 bytes"))?,
        })
    }

    pub(super) fn verify(&self, secret: &[u8]) -> bool {
        let mut computed = vec![0; self.output.len()];
        let kind = (self.algorithm, self.version);
        let made = compute(kind, self.cost, (secret, &self.salt), &mut computed);
        made.is_ok() && constant_time::verify_slices_are_equal(&computed, &self.output).is_ok()
    }

    /// `None` for what is not made any more.
    pub(super) fn spec(&self) -> Option<HashSpec> {
        let current = self.algorithm == Algorithm::Argon2id && self.version == Version::V0x13;
        current.then_some(HashSpec::Argon2id(self.cost))
    }
}

pub(super) fn hash(cost: Argon2Cost, secret: &[u8], salt: &[u8]) -> Result<String, HashError> {
    cost.check()?;
    let mut out = [0; 32];
    let kind = (Algorithm::Argon2id, Version::V0x13);
    compute(kind, cost, (secret, salt), &mut out)
        .map_err(|_| HashError::Malformed("Argon2", "the parameters do not fit together"))?;
    let Argon2Cost {
        memory,
        passes,
        lanes,
    } = cost;
    let (salt, hash) = (encode(salt), encode(&out));
    Ok(format!(
        "$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${hash}"
    ))
}

fn compute(
    (algorithm, version): (Algorithm, Version),
    cost: Argon2Cost,
    (secret, salt): (&[u8], &[u8]),
    out: &mut [u8],
) -> Result<(), ::argon2::Error> {
    let params = Params::new(cost.memory, cost.passes, cost.lanes, Some(out.len()))?;
    Argon2::new(algorithm, version, params).hash_password_into(secret, salt, out)
}
