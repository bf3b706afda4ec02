//! Keys that a signing service holds, a KMS or an HSM behind HTTP (docs/signer.md: the protocol).
//!
//! Each service has a thread with a runtime of its own, because the connections of an HTTP client
//! belong to one runtime and the server has several. Requests come to it through a bounded queue;
//! each connection takes one at a time. Whoever asks gets an answer within the timeout, at once
//! where the queue is full or the service has failed repeatedly. A signature is checked against
//! the published key before it leaves: a signer that errs must not poison what clients hold.

mod circuit;
mod link;
mod target;

use super::SignError;
use super::key::{RemoteReference, SigningKey};
use crate::clock::Clock;
use crate::fetch::Roots;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use circuit::{Change, Circuit};
use link::{Ask, Fault, Link};
use serde::{Deserialize, Serialize};
use signet_oauth::ids::KeyId;
use signet_oauth::jose::{Algorithm, Jwk, JwkSet};
use signet_oauth::secret::Secret;
use std::fmt;
use std::fmt::Write;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use target::Target;
use tokio::sync::{mpsc, oneshot};

/// A signing service, as the configuration describes it.
#[derive(Clone, Debug)]
pub struct RemoteSettings {
    /// The name by which keys refer to it; no slash.
    pub name: String,
    /// Where it is: `https`, or `http` on loopback.
    pub url: String,
    /// The bearer token that it expects.
    pub token: Option<Secret>,
    /// Who is believed about it, where it is `https`.
    pub roots: Roots,
    /// How long a signature may take, waiting included.
    pub timeout: Duration,
    /// Connections, at least one; as many signatures are made at a time.
    pub connections: usize,
    /// Signatures that may wait for a connection, at least one.
    pub queue: usize,
}

/// A key of a signing service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteKey {
    /// Its name, there and in tokens.
    pub kid: KeyId,
    /// The one algorithm that it signs with.
    pub algorithm: Algorithm,
    /// The public half: a JWK as JSON.
    pub public_jwk: String,
}

#[derive(Serialize)]
struct SignRequest<'a> {
    alg: &'a str,
    input: &'a str,
}

#[derive(Deserialize)]
struct SignResponse<'a> {
    signature: &'a str,
}

/// The client of one signing service. Dropping it ends its thread.
pub(super) struct Remote {
    name: String,
    jobs: mpsc::Sender<Job>,
    timeout: Duration,
    circuit: Arc<Mutex<Circuit>>,
    clock: Clock,
}

struct Job {
    ask: Ask,
    /// On the clock's uptime.
    deadline: Duration,
    answer: oneshot::Sender<Result<Bytes, Fault>>,
}

impl Remote {
    pub(super) fn start(settings: RemoteSettings, clock: Clock) -> io::Result<Self> {
        let target = Arc::new(Target::new(
            &settings.url,
            settings.token.as_ref(),
            &settings.roots,
        )?);
        let (jobs, queue) = mpsc::channel(settings.queue.max(1));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let times = clock.clone();
        let connections = settings.connections.max(1);
        std::thread::Builder::new()
            .name(format!("signer-{}", settings.name))
            .spawn(move || runtime.block_on(serve(queue, connections, &target, &times)))?;
        Ok(Self {
            name: settings.name,
            jobs,
            timeout: settings.timeout,
            circuit: Arc::default(),
            clock,
        })
    }

    /// Has the service sign, and checks what it signed.
    pub(super) async fn sign(
        &self,
        key: &SigningKey,
        reference: &RemoteReference,
        input: Vec<u8>,
    ) -> Result<String, SignError> {
        let body = serde_json::to_vec(&SignRequest {
            alg: key.algorithm().name(),
            input: &URL_SAFE_NO_PAD.encode(&input),
        });
        let body = body.map_err(|_| SignError::Failed)?;
        let ask = Ask {
            path: format!("/keys/{}/sign", Escaped(reference.kid.as_str())),
            body: Some(body.into()),
        };
        self.ask(ask, |answer| {
            let answer: SignResponse<'_> = serde_json::from_slice(answer).ok()?;
            let signature = URL_SAFE_NO_PAD.decode(answer.signature).ok()?;
            key.attach(input, &signature)
        })
        .await
    }

    /// The keys that the service has. Those without a name or a single algorithm are left out.
    pub(super) async fn keys(&self) -> Result<Vec<RemoteKey>, SignError> {
        let ask = Ask {
            path: "/keys".to_owned(),
            body: None,
        };
        let set = self.ask(ask, |answer| JwkSet::parse(answer).ok()).await?;
        let jwks = set.keys().iter().filter_map(|key| key.jwk());
        Ok(jwks.filter_map(remote_key).collect())
    }

    /// Asks, and reads the answer. What cannot be read counts as a failure of the service.
    async fn ask<T>(
        &self,
        ask: Ask,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, SignError> {
        let now = self.clock.uptime();
        if !self.circuit(|circuit| circuit.lets_through(now)) {
            return Err(self.unavailable("failed repeatedly, and is left alone for a moment"));
        }
        let (answer, answered) = oneshot::channel();
        let job = Job {
            ask,
            deadline: now + self.timeout,
            answer,
        };
        if self.jobs.try_send(job).is_err() {
            return Err(SignError::Busy);
        }
        let gone = || Err(Fault::Broken("its thread has ended".to_owned()));
        let answer = match answered.await.unwrap_or_else(|_| gone()) {
            Ok(body) => read(&body).ok_or_else(|| Fault::Broken("the answer is wrong".to_owned())),
            Err(fault) => Err(fault),
        };
        self.judge(answer)
    }

    /// Tells the circuit how it went.
    fn judge<T>(&self, answer: Result<T, Fault>) -> Result<T, SignError> {
        let now = self.clock.uptime();
        match answer {
            Ok(value) => {
                if self.circuit(Circuit::succeeded) == Change::Closed {
                    tracing::info!(signer = self.name, "the signing service is back");
                }
                Ok(value)
            }
            Err(Fault::Broken(reason)) => {
                if self.circuit(|circuit| circuit.failed(now)) == Change::Opened {
                    tracing::warn!(signer = self.name, reason, "the signing service fails");
                }
                Err(self.unavailable(&reason))
            }
            // It answers: nothing is wrong with it.
            Err(Fault::Refused(status)) => {
                self.circuit(Circuit::succeeded);
                Err(SignError::Refused {
                    signer: self.name.clone(),
                    reason: status.to_string(),
                })
            }
        }
    }

    fn circuit<T>(&self, act: impl FnOnce(&mut Circuit) -> T) -> T {
        act(&mut self.circuit.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn unavailable(&self, reason: &str) -> SignError {
        SignError::Unavailable {
            signer: self.name.clone(),
            reason: reason.to_owned(),
        }
    }
}

fn remote_key(jwk: &Jwk) -> Option<RemoteKey> {
    let mut algorithms = Algorithm::ALL.into_iter().filter(|alg| jwk.allows(*alg));
    let (algorithm, None) = (algorithms.next()?, algorithms.next()) else {
        return None;
    };
    Some(RemoteKey {
        kid: KeyId::parse(jwk.kid()?)?,
        algorithm,
        public_jwk: jwk.render(),
    })
}

/// A path segment in which everything but letters, digits and `-._~` is escaped (RFC 3986 §2.1).
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'-' | b'.' | b'_' | b'~' => f.write_char(byte.into())?,
                _ if byte.is_ascii_alphanumeric() => f.write_char(byte.into())?,
                _ => write!(f, "%{byte:02X}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote({})", self.name)
    }
}

/// The thread of a service: one task for each connection, all at one queue. It ends when the
/// senders are gone.
async fn serve(
    queue: mpsc::Receiver<Job>,
    connections: usize,
    target: &Arc<Target>,
    clock: &Clock,
) {
    let queue = Arc::new(tokio::sync::Mutex::new(queue));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..connections {
        let link = Link::new(Arc::clone(target));
        tasks.spawn(work(Arc::clone(&queue), link, clock.clone()));
    }
    while tasks.join_next().await.is_some() {}
}

async fn work(queue: Arc<tokio::sync::Mutex<mpsc::Receiver<Job>>>, mut link: Link, clock: Clock) {
    loop {
        let next = queue.lock().await.recv().await;
        let Some(job) = next else { return };
        if job.answer.is_closed() {
            continue;
        }
        let left = job.deadline.saturating_sub(clock.uptime());
        let answer = tokio::time::timeout(left, link.call(&job.ask)).await;
        let late = |_| Err(Fault::Broken("no answer in time".to_owned()));
        // The requester may have gone away meanwhile.
        drop(job.answer.send(answer.unwrap_or_else(late)));
    }
}

#[cfg(test)]
mod tests;
