//! Signatures: the keys of the server, local or held by a signing service, and who of them signs.
//!
//! ES256 and `EdDSA` are made where they are asked for: they take a few microseconds. RSA is made
//! in a bounded pool of threads, what a service signs by its client; both say no at once when they
//! are full. Every future here may be awaited on any runtime. It does not know where keys are
//! kept: `flow::keys` carries them between here and the store.

pub mod key;
mod public;
pub mod remote;
pub mod ring;
pub mod rotation;

pub use key::{KeyError, KeyMaterial, KeyParts, NewKey, RemoteReference, SigningKey, generate};
pub use remote::{RemoteKey, RemoteSettings};
pub use ring::KeyRing;

use crate::clock::Clock;
use crate::hashing::workers::{Lane, Shape, Workers};
use crate::sealing::ClusterKey;
use bytes::Bytes;
use key::Pace;
use remote::Remote;
use signet_oauth::ids::KeyId;
use signet_oauth::jose::Algorithm;
use signet_oauth::time::Timestamp;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Signatures that may wait for each thread: a tenth of a second of work.
const QUEUE_PER_THREAD: usize = 512;

/// Why nothing was signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// No key may sign with this algorithm now.
    #[error("no key signs {} now", .0.name())]
    NoKey(Algorithm),
    /// Too much waits already.
    #[error("too many signatures wait")]
    Busy,
    /// The signing service does not answer, or not rightly.
    #[error("the signing service {signer} is unavailable: {reason}")]
    Unavailable {
        /// Which.
        signer: String,
        /// What happened.
        reason: String,
    },
    /// The signing service answers that it will not: the key, the token or the configuration is
    /// wrong.
    #[error("the signing service {signer} refuses: {reason}")]
    Refused {
        /// Which.
        signer: String,
        /// What it answered.
        reason: String,
    },
    /// A key refers to a signing service that is not configured.
    #[error("no signing service is called {0}")]
    UnknownSigner(String),
    /// The cryptographic library made no signature.
    #[error("the signature could not be made")]
    Failed,
}

impl SignError {
    /// Whether the same request may succeed later: the answer is 503, not 500.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Busy | Self::Unavailable { .. })
    }
}

/// A key that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("signing key {kid}: {error}")]
pub struct LoadError {
    /// Which.
    pub kid: KeyId,
    /// Why.
    pub error: KeyError,
}

/// Signs.
#[derive(Debug)]
pub struct Signer {
    ring: KeyRing,
    default: Algorithm,
    slow: Workers,
    remotes: HashMap<String, Remote>,
}

/// What [`Signer::begin`] came to.
enum Begun {
    Signed(String),
    Slow(Arc<SigningKey>, Vec<u8>),
    Remote(Arc<SigningKey>, Vec<u8>),
}

impl Signer {
    /// Starts the threads; there are no keys yet. `default` signs what names no algorithm.
    pub fn new(
        default: Algorithm,
        remotes: Vec<RemoteSettings>,
        clock: &Clock,
    ) -> io::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(1, Into::into);
        let queue = QUEUE_PER_THREAD * threads;
        let slow = Workers::start(Shape {
            name: "signing",
            threads,
            queue,
            kept: 0,
            gives_way: false,
        })?;
        let start = |settings: RemoteSettings| {
            Ok((
                settings.name.clone(),
                Remote::start(settings, clock.clone())?,
            ))
        };
        Ok(Self {
            ring: KeyRing::default(),
            default,
            slow,
            remotes: remotes.into_iter().map(start).collect::<io::Result<_>>()?,
        })
    }

    /// Replaces all keys. Where one cannot be read, all stay as they are; those that are gone are
    /// not read.
    pub fn load(
        &self,
        parts: &[KeyParts],
        sealing: &ClusterKey,
        now: Timestamp,
    ) -> Result<(), LoadError> {
        let alive = parts
            .iter()
            .filter(|key| key.times.state(now) != rotation::KeyState::Gone);
        let load = |parts: &KeyParts| {
            SigningKey::load(parts, sealing)
                .map(Arc::new)
                .map_err(|error| LoadError {
                    kid: parts.kid.clone(),
                    error,
                })
        };
        self.ring
            .replace(alive.map(load).collect::<Result<_, _>>()?);
        Ok(())
    }

    /// The keys.
    pub fn ring(&self) -> &KeyRing {
        &self.ring
    }

    /// The published keys as JSON: the body of the JWKS endpoint.
    pub fn jwks(&self, now: Timestamp) -> Bytes {
        self.ring.jwks(now)
    }

    /// Signs claims (JSON) and returns the token in compact form (RFC 7515 §7.1).
    pub async fn sign(
        &self,
        algorithm: Option<Algorithm>,
        typ: &str,
        claims: &[u8],
        now: Timestamp,
    ) -> Result<String, SignError> {
        match self.begin(algorithm.unwrap_or(self.default), typ, claims, now)? {
            Begun::Signed(token) => Ok(token),
            Begun::Slow(key, input) => {
                let sign = move || key.sign_here(input);
                let answer = self
                    .slow
                    .submit(Lane::Kept, sign)
                    .map_err(|_| SignError::Busy)?;
                answer.await.ok().flatten().ok_or(SignError::Failed)
            }
            Begun::Remote(key, input) => {
                let Pace::Remote(reference) = key.pace() else {
                    return Err(SignError::Failed);
                };
                self.remote(&reference.signer)?
                    .sign(&key, reference, input)
                    .await
            }
        }
    }

    /// The keys that a signing service has.
    pub async fn remote_keys(&self, signer: &str) -> Result<Vec<RemoteKey>, SignError> {
        self.remote(signer)?.keys().await
    }

    /// How many signatures wait for a thread, for the metrics.
    pub fn waiting(&self) -> usize {
        self.slow.waiting()
    }

    /// What needs no waiting, so that nothing borrowed from the ring lives while anything waits.
    fn begin(
        &self,
        algorithm: Algorithm,
        typ: &str,
        claims: &[u8],
        now: Timestamp,
    ) -> Result<Begun, SignError> {
        let keys = self.ring.keys();
        let key = keys
            .signing(algorithm, now)
            .ok_or(SignError::NoKey(algorithm))?;
        let input = key.signing_input(typ, claims);
        Ok(match key.pace() {
            Pace::Fast => Begun::Signed(key.sign_here(input).ok_or(SignError::Failed)?),
            Pace::Slow => Begun::Slow(Arc::clone(key), input),
            Pace::Remote(_) => Begun::Remote(Arc::clone(key), input),
        })
    }

    fn remote(&self, name: &str) -> Result<&Remote, SignError> {
        let remote = self.remotes.get(name);
        remote.ok_or_else(|| SignError::UnknownSigner(name.to_owned()))
    }
}

#[cfg(test)]
mod tests;
