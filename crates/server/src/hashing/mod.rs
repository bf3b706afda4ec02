//! Slow hashes: made, checked, and bounded.
//!
//! Hashes from other servers are accepted as they are: bcrypt (`$2a$`, `$2b$`, `$2y$`), Argon2
//! (`$argon2id$`, `$argon2i$`, RFC 9106) and PBKDF2 (`$pbkdf2-sha256$`, `$pbkdf2-sha512$`,
//! RFC 8018). What a stored hash may cost is bounded, because whoever imports one decides how long
//! every later check keeps a core busy. They are computed in a bounded pool ([`Pool`]), never
//! on a thread that serves. This module knows neither clients nor users, only text.
//!
//! docs/hashes.md says how the hashes of Hydra and Keycloak are written here.

mod admission;
mod argon2;
mod bcrypt;
mod modular;
mod pbkdf2;
mod pool;
mod spec;
mod timer;
pub(crate) mod workers;

pub use admission::Origin;
pub use argon2::Argon2Cost;
pub use pool::{Pool, PoolError, PoolSettings};
pub use spec::{HashSpec, Pbkdf2Digest};
pub use timer::FailureTimer;

use crate::rng::Rng;

/// The longest text that is read as a hash.
const MAX_TEXT: usize = 512;

/// Why a hash was not made, or not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    /// Another scheme, or no hash at all.
    #[error(
        "not a hash of a known kind: $2a$, $2b$, $2y$, $argon2id$, $argon2i$, $pbkdf2-sha256$, \
         $pbkdf2-sha512$"
    )]
    Unknown,
    /// The kind is known, the text is not one of it.
    #[error("malformed {0} hash: {1}")]
    Malformed(&'static str, &'static str),
    /// Computing it would keep a core or the memory busy for too long.
    #[error("{0} is {1}, and at most {2} is accepted: every check of the secret pays it")]
    TooCostly(&'static str, u64, u64),
    /// A parameter below what the scheme allows.
    #[error("{0} is {1}, and {2} is the least")]
    TooLittle(&'static str, u64, u64),
    /// bcrypt would ignore the rest.
    #[error("bcrypt reads 72 bytes, the secret has {0}: shorten it or choose argon2id")]
    TooLong(usize),
    /// bcrypt would take the zero byte for the end.
    #[error("bcrypt cannot hash a secret with a zero byte: choose argon2id")]
    ZeroByte,
    /// Not the description of a way to hash.
    #[error(
        "{0:?} is not a way to hash: write bcrypt, bcrypt:10, argon2id, argon2id:m=19456,t=2,p=1, \
         pbkdf2-sha256:600000 or pbkdf2-sha512:210000"
    )]
    Spec(String),
}

/// A stored hash, read and found acceptable.
#[derive(Clone, Debug)]
enum Stored {
    Bcrypt(bcrypt::Hash),
    Argon2(argon2::Hash),
    Pbkdf2(pbkdf2::Hash),
}

impl Stored {
    fn parse(text: &str) -> Result<Self, HashError> {
        if text.len() > MAX_TEXT {
            return Err(HashError::Unknown);
        }
        let scheme = text.split('$').nth(1).unwrap_or_default();
        match scheme {
            "2a" | "2b" | "2y" => bcrypt::Hash::parse(text).map(Self::Bcrypt),
            "argon2id" | "argon2i" => argon2::Hash::parse(text).map(Self::Argon2),
            "pbkdf2-sha256" | "pbkdf2-sha512" => pbkdf2::Hash::parse(text).map(Self::Pbkdf2),
            _ => Err(HashError::Unknown),
        }
    }
}

/// Whether `text` is a hash that can be imported: of a known kind, whole, and not too costly.
pub fn check(text: &str) -> Result<(), HashError> {
    Stored::parse(text).map(|_| ())
}

/// Whether `secret` is the one behind the stored hash. Slow by design: call it in [`Pool`].
pub fn verify(text: &str, secret: &str) -> Result<bool, HashError> {
    let secret = secret.as_bytes();
    Ok(match Stored::parse(text)? {
        Stored::Bcrypt(hash) => hash.verify(secret),
        Stored::Argon2(hash) => hash.verify(secret),
        Stored::Pbkdf2(hash) => hash.verify(secret),
    })
}

/// Hashes a secret with a new salt. Slow by design: call it in [`Pool`].
pub fn hash(spec: HashSpec, secret: &str, rng: &Rng) -> Result<String, HashError> {
    let (secret, salt) = (secret.as_bytes(), rng.array::<16>());
    match spec {
        HashSpec::Bcrypt { cost } => bcrypt::hash(cost, secret, salt),
        HashSpec::Argon2id(cost) => argon2::hash(cost, secret, &salt),
        HashSpec::Pbkdf2 { digest, iterations } => {
            Ok(pbkdf2::hash(digest, iterations, secret, &salt))
        }
    }
}

/// Whether a stored hash was made in this way; otherwise it is made anew at the next right secret.
pub fn is_made_by(text: &str, spec: HashSpec) -> bool {
    match Stored::parse(text) {
        Ok(Stored::Bcrypt(hash)) => hash.spec() == spec,
        Ok(Stored::Argon2(hash)) => hash.spec() == Some(spec),
        Ok(Stored::Pbkdf2(hash)) => hash.spec() == spec,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests;
