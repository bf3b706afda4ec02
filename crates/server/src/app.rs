//! The parts of the process, built once. No logic: flows use the parts, doors use the flows.

use arc_swap::ArcSwap;
use http::HeaderValue;
use signet_guard::AccessTokenVerifier;
use signet_guard::KeySet;
use signet_guard::Revoked;
use signet_oauth::client::TokenPolicy;
use signet_oauth::grant::Settings;
use signet_oauth::ids::{ClientId, Locator};
use signet_oauth::jose::Algorithm;
use signet_oauth::log::{EventKey, Position, user_key};
use signet_oauth::secret::Digest;
use signet_oauth::time::Timestamp;
use signet_oauth::user::{User, UserId, Username};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

use crate::cache::client_keys::ClientKeys;
use crate::cache::verified::VerifiedSecrets;
use crate::cache::{CachedClient, Caches};
use crate::clock::Clock;
use crate::config::Requests;
use crate::fetch::Fetcher;
use crate::hashing::{FailureTimer, HashSpec, Pool};
use crate::log::Follower;
use crate::rng::Rng;
use crate::sealing::ClusterKey;
use crate::signer::Signer;
use crate::store::{self, Store};
use crate::telemetry::metrics::Metrics;

/// Seconds by which clocks of nodes and database may differ: rows outlive their expiry by that.
pub const CLOCK_SKEW: u64 = 30;

/// What the process consists of.
#[derive(Debug)]
pub struct App {
    /// All that is durable.
    pub store: Store,
    /// What is kept in memory of it.
    pub caches: Arc<Caches>,
    /// Keeps the caches coherent.
    pub follower: Arc<Follower>,
    /// What was ended.
    pub revoked: Arc<Revoked>,
    /// Client secrets that were verified.
    pub verified: Arc<VerifiedSecrets>,
    /// Client keys that were fetched.
    pub client_keys: ClientKeys,
    /// Calls clients.
    pub fetcher: Fetcher,
    /// Places for clients that are told of a logout.
    pub notices: Arc<Semaphore>,
    /// Signs tokens.
    pub signer: Signer,
    /// Verifies them.
    pub verifier: AccessTokenVerifier,
    /// What the server says about itself, rendered.
    pub metadata: ArcSwap<bytes::Bytes>,
    /// The published keys, as the verifier sees them.
    pub keys: Arc<KeySet>,
    /// Seals what must not be read at rest.
    pub sealing: ClusterKey,
    /// Computes slow hashes.
    pub hashing: Pool,
    /// Says when failures are answered.
    pub failures: FailureTimer,
    /// Tells time.
    pub clock: Clock,
    /// Draws random numbers.
    pub rng: Rng,
    /// Tells where rows go.
    pub locators: Locators,
    /// Counts.
    pub metrics: Metrics,
    /// What the grants depend on.
    pub grants: Settings,
    /// What the doors depend on.
    pub limits: Limits,
    /// The rest of the settings that flows depend on.
    pub policy: Policy,
    /// Set when the process has been asked to stop.
    pub stopping: AtomicBool,
}

/// What a peer may take of the server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a body at the public door.
    pub body_bytes: usize,
    /// The same at the admin door.
    pub admin_body_bytes: usize,
    /// Bytes of the headers.
    pub header_bytes: usize,
    /// Time for the headers to arrive.
    pub header_timeout: Duration,
    /// Time for the body to arrive.
    pub body_timeout: Duration,
    /// Time between requests.
    pub idle_timeout: Duration,
    /// Time to finish after a signal.
    pub drain_timeout: Duration,
    /// Connections at a time, per door.
    pub connections: usize,
    /// Which requests leave a line in the log.
    pub request_log: Requests,
}

/// Settings that flows depend on.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Digest of the bootstrap token.
    pub bootstrap: Digest,
    /// What `aud` of a client's assertion may be.
    pub assertion_audiences: Vec<String>,
    /// What holds for clients that do not say.
    pub client_defaults: TokenPolicy,
    /// How people log in.
    pub logins: Logins,
    /// The languages of the pages.
    pub ui_locales: Vec<String>,
    /// How chosen secrets are hashed.
    pub secret_hash: HashSpec,
    /// How many wrong passwords are too many.
    pub lockout: Lockout,
    /// What signs tokens where the client does not say.
    pub signing_alg: Algorithm,
    /// The schedule of the signing keys.
    pub keys: KeyPolicy,
    /// After this long without a look at the log, a node is stale.
    pub staleness_bound: Duration,
    /// Whether a stale node refuses instead of serving.
    pub refuse_when_stale: bool,
    /// Whether other nodes may write to the store: then the log is polled.
    pub shared_store: bool,
    /// Whether metrics are answered.
    pub metrics: bool,
    /// `Cache-Control` of the documents that anybody may read: keys and metadata.
    pub documents_kept: HeaderValue,
}

/// How many wrong passwords are too many.
#[derive(Clone, Copy, Debug)]
pub struct Lockout {
    /// Seconds for which a failed login counts.
    pub window: u64,
    /// Failures for one user from one address.
    pub per_user: u64,
    /// Failures for any users from one address.
    pub per_address: u64,
}

/// How people log in; times in seconds.
#[derive(Clone, Debug)]
pub struct Logins {
    /// How long a session lives.
    pub session_lifetime: u64,
    /// How long the pages of a login may be open.
    pub page_lifetime: u64,
    /// The login page, where it is not ours.
    pub login_url: Option<String>,
    /// The consent page, where it is not ours.
    pub consent_url: Option<String>,
    /// Whether there is demo data, and the page that belongs to it.
    pub demo: bool,
}

/// The schedule of the signing keys, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct KeyPolicy {
    /// After this long the next key signs; 0: never by itself.
    pub rotate_every: u64,
    /// So long the next key is published before it signs.
    pub publish_before: u64,
    /// The longest life of any token.
    pub longest_token_lifetime: u64,
}

/// Hands out the places of new rows.
#[derive(Debug)]
pub struct Locators {
    node: u16,
    sequence: AtomicU32,
}

impl Locators {
    /// Places of this node.
    pub fn new(node: u16) -> Self {
        Self {
            node,
            sequence: AtomicU32::new(0),
        }
    }

    /// The place of a row that expires then.
    pub fn next(&self, expires_at: Timestamp) -> Locator {
        Locator::new(
            expires_at,
            self.node,
            self.sequence.fetch_add(1, Ordering::Relaxed),
        )
    }

    /// The number of this node.
    pub fn node(&self) -> u16 {
        self.node
    }
}

impl App {
    /// The client of this id, from memory or from the store.
    pub async fn find_client(
        &self,
        id: &ClientId,
    ) -> Result<Option<Arc<CachedClient>>, store::Error> {
        // Boxed, because almost nobody comes here: in place it would be part of every request.
        let load = async || {
            let found = Box::pin(self.store.find_client(id)).await?;
            Ok((found.head, found.value.map(CachedClient::new)))
        };
        self.caches.clients.get(id, load).await
    }

    /// The user of this id, from memory or from the store.
    pub async fn find_user(&self, id: &UserId) -> Result<Option<Arc<User>>, store::Error> {
        self.find_user_by_key(&user_key(id.as_str()), id.as_str())
            .await
    }

    /// The same, where the key by which the log knows the subject was computed before.
    pub async fn find_user_by_key(
        &self,
        key: &EventKey,
        subject: &str,
    ) -> Result<Option<Arc<User>>, store::Error> {
        let load = async || {
            let Some(id) = UserId::parse(subject) else {
                return Ok((Position::default(), None));
            };
            let found = Box::pin(self.store.find_user(&id)).await?;
            Ok((found.head, found.value))
        };
        self.caches.users.get(key, load).await
    }

    /// The user of this name, from memory or from the store.
    pub async fn find_user_by_name(
        &self,
        name: &Username,
    ) -> Result<Option<Arc<User>>, store::Error> {
        if let Some(id) = self.caches.users.named(name)
            && let Some(user) = self.find_user(&id).await?
            && user.username == *name
        {
            return Ok(Some(user));
        }
        let Some(found) = self.store.find_user_by_name(name).await?.value else {
            return Ok(None);
        };
        self.caches.users.remember_name(&found);
        self.find_user(&found.id).await
    }

    /// When the last token that exists now will have expired.
    pub fn longest_until(&self) -> Timestamp {
        self.clock
            .now()
            .plus(self.policy.keys.longest_token_lifetime)
    }

    /// Whether this node has not read the log for longer than the bound.
    pub fn is_stale(&self) -> bool {
        self.policy.shared_store && self.follower.staleness() > self.policy.staleness_bound
    }

    /// Says to every part that the process is about to stop.
    pub fn begin_stopping(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}
