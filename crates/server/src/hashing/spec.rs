//! Ways to hash, as configuration and the admin interface name them: `bcrypt:8`,
//! `argon2id:m=19456,t=2,p=1`, `pbkdf2-sha256:600000`.

use super::argon2::Argon2Cost;
use super::modular::{bounded, decimal, parameters};
use super::{HashError, bcrypt, pbkdf2};
use std::fmt;
use std::num::NonZeroU32;

/// How a secret is hashed. The default is Argon2id as OWASP's minimum has it: 19 MiB, two passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashSpec {
    /// bcrypt with 2^cost rounds.
    Bcrypt {
        /// 4 to 15.
        cost: u32,
    },
    /// Argon2id.
    Argon2id(Argon2Cost),
    /// PBKDF2.
    Pbkdf2 {
        /// The digest of its HMAC.
        digest: Pbkdf2Digest,
        /// How often it runs.
        iterations: NonZeroU32,
    },
}

/// The digest that PBKDF2 uses; its hashes are as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pbkdf2Digest {
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Pbkdf2Digest {
    /// The name in hashes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "pbkdf2-sha256",
            Self::Sha512 => "pbkdf2-sha512",
        }
    }

    /// Bytes of a digest.
    pub(super) const fn len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// What OWASP asks for.
    const fn usual_iterations(self) -> u32 {
        match self {
            Self::Sha256 => 600_000,
            Self::Sha512 => 210_000,
        }
    }
}

impl Default for HashSpec {
    fn default() -> Self {
        Self::Argon2id(Argon2Cost {
            memory: 19_456,
            passes: 2,
            lanes: 1,
        })
    }
}

/// The cost of Hydra's own default.
const USUAL_BCRYPT: u32 = 10;

impl HashSpec {
    /// Reads `scheme` or `scheme:cost`.
    pub fn parse(text: &str) -> Result<Self, HashError> {
        let unknown = || HashError::Spec(text.chars().take(64).collect());
        let (scheme, cost) = match text.split_once(':') {
            Some((scheme, cost)) => (scheme, Some(cost)),
            None => (text, None),
        };
        let number = |usual| cost.map_or(Some(usual), decimal).ok_or_else(unknown);
        match scheme {
            "bcrypt" => {
                let cost = number(USUAL_BCRYPT)?;
                bounded("the cost of bcrypt", u64::from(cost), &bcrypt::COST)?;
                Ok(Self::Bcrypt { cost })
            }
            "argon2id" => match cost.map(|cost| parameters(cost, ["m", "t", "p"])) {
                None => Ok(Self::default()),
                Some(Some([Some(memory), Some(passes), Some(lanes)])) => {
                    let cost = Argon2Cost {
                        memory,
                        passes,
                        lanes,
                    };
                    cost.check().map(|()| Self::Argon2id(cost))
                }
                Some(_) => Err(unknown()),
            },
            "pbkdf2-sha256" | "pbkdf2-sha512" => {
                let digest = match scheme {
                    "pbkdf2-sha256" => Pbkdf2Digest::Sha256,
                    _ => Pbkdf2Digest::Sha512,
                };
                let count = number(digest.usual_iterations())?;
                bounded(
                    "the iterations of PBKDF2",
                    u64::from(count),
                    &pbkdf2::ROUNDS,
                )?;
                let iterations = NonZeroU32::new(count).ok_or_else(unknown)?;
                Ok(Self::Pbkdf2 { digest, iterations })
            }
            _ => Err(unknown()),
        }
    }
}

/// The text that [`HashSpec::parse`] reads.
impl fmt::Display for HashSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bcrypt { cost } => write!(f, "bcrypt:{cost}"),
            Self::Argon2id(Argon2Cost {
                memory,
                passes,
                lanes,
            }) => write!(f, "argon2id:m={memory},t={passes},p={lanes}"),
            Self::Pbkdf2 { digest, iterations } => write!(f, "{}:{iterations}", digest.name()),
        }
    }
}
