//! PBKDF2 (RFC 8018 §5.2) in two forms: Ory's `$pbkdf2-sha256$i=25000,l=32$<salt>$<hash>` and the
//! modular `$pbkdf2-sha256$25000$<salt>$<hash>` that passlib writes. New hashes have the first.

use super::modular::{bounded, decimal, decode, encode, fields, parameters};
use super::spec::Pbkdf2Digest;
use super::{HashError, HashSpec};
use aws_lc_rs::pbkdf2;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

/// Rounds of the digest, over all blocks of the output: four million take about a second.
pub(super) const ROUNDS: RangeInclusive<u64> = 1..=4_000_000;
const HASH_LEN: RangeInclusive<usize> = 16..=128;
const SALT_LEN: RangeInclusive<usize> = 1..=128;

#[derive(Clone, Debug)]
pub(super) struct Hash {
    digest: Pbkdf2Digest,
    iterations: NonZeroU32,
    salt: Vec<u8>,
    output: Vec<u8>,
}

impl Hash {
    pub(super) fn parse(text: &str) -> Result<Self, HashError> {
        let malformed = |what| HashError::Malformed("PBKDF2", what);
        let digest = if text.starts_with("$pbkdf2-sha512$") {
            Pbkdf2Digest::Sha512
        } else {
            Pbkdf2Digest::Sha256
        };
        let parts = fields(text);
        let [cost, salt, hash] = parts.as_slice() else {
            return Err(malformed("not iterations, salt and hash"));
        };
        let (iterations, length) = match (decimal(cost), parameters(cost, ["i", "l"])) {
            (Some(iterations), _) => (iterations, None),
            (None, Some([Some(iterations), length])) => (iterations, length),
            _ => {
                return Err(malformed(
                    "the iterations are neither i=25000,l=32 nor 25000",
                ));
            }
        };
        let hash = decode(hash, &HASH_LEN)
            .ok_or_else(|| malformed("the hash is not base64 of 16 to 128 bytes"))?;
        if length.is_some_and(|said| usize::try_from(said) != Ok(hash.len())) {
            return Err(malformed("l is not the length of the hash"));
        }
        let blocks = hash.len().div_ceil(digest.len()) as u64;
        let rounds = u64::from(iterations) * blocks;
        bounded(
            "the rounds of PBKDF2 (iterations × blocks)",
            rounds,
            &ROUNDS,
        )?;
        Ok(Self {
            digest,
            iterations: NonZeroU32::new(iterations).ok_or_else(|| malformed("no iterations"))?,
            salt: decode(salt, &SALT_LEN)
                .ok_or_else(|| malformed("the salt is not base64 of 1 to 128 bytes"))?,
            output: hash,
        })
    }

    pub(super) fn verify(&self, secret: &[u8]) -> bool {
        let algorithm = algorithm(self.digest);
        pbkdf2::verify(algorithm, self.iterations, &self.salt, secret, &self.output).is_ok()
    }

    pub(super) fn spec(&self) -> HashSpec {
        HashSpec::Pbkdf2 {
            digest: self.digest,
            iterations: self.iterations,
        }
    }
}

/// A hash as long as the digest.
pub(super) fn hash(
    digest: Pbkdf2Digest,
    iterations: NonZeroU32,
    secret: &[u8],
    salt: &[u8],
) -> String {
    let mut out = vec![0; digest.len()];
    pbkdf2::derive(algorithm(digest), iterations, salt, secret, &mut out);
    let (name, length) = (digest.name(), out.len());
    let (salt, hash) = (encode(salt), encode(&out));
    format!("${name}$i={iterations},l={length}${salt}${hash}")
}

fn algorithm(digest: Pbkdf2Digest) -> pbkdf2::Algorithm {
    match digest {
        Pbkdf2Digest::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
        Pbkdf2Digest::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
    }
}
