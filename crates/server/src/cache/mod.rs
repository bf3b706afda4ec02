//! Read-through caches of what the store holds: bounded, single flight, kept coherent by the log.
//!
//! An entry is filled from a snapshot whose position in the log is known. Invalidation leaves its
//! position in a slot chosen by the key's hash; a fill that is older than its slot is answered but
//! not kept. Without that, a slow read that began before a change could put the old value back
//! after the change was announced.

pub mod client_keys;
mod failures;
mod read_through;
mod users;
pub mod verified;

pub use failures::FailureCounts;
pub use read_through::{Bounds, ReadThrough};
pub use users::UserCache;

use signet_guard::{TokenCache, Weigh};
use signet_oauth::client::Client;
use signet_oauth::ids::ClientId;
use signet_oauth::jose::JwkSet;
use signet_oauth::log::{EventKey, Position, token_key, user_key};
use signet_oauth::token::AccessToken;
use std::sync::{Arc, OnceLock};

/// A client as the cache holds it, with what is derived from it once.
#[derive(Debug)]
pub struct CachedClient {
    /// The client.
    pub client: Client,
    keys: OnceLock<Option<Arc<JwkSet>>>,
    rendered: OnceLock<bytes::Bytes>,
}

impl CachedClient {
    /// Wraps a client that was just read.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            keys: OnceLock::new(),
            rendered: OnceLock::new(),
        }
    }

    /// The registered keys, parsed at the first use; `None` where there are none by value.
    pub fn keys(&self) -> Option<&Arc<JwkSet>> {
        let parse = || {
            let text = self.client.jwks.as_ref()?;
            JwkSet::parse(text.as_bytes()).ok().map(Arc::new)
        };
        self.keys.get_or_init(parse).as_ref()
    }

    /// The representation that the admin interface answers with, rendered at the first use.
    pub fn rendered(&self, render: impl FnOnce(&Client) -> Vec<u8>) -> bytes::Bytes {
        self.rendered
            .get_or_init(|| render(&self.client).into())
            .clone()
    }
}

/// A verified access token: signature or digest checked, liveness not.
#[derive(Debug)]
pub struct CachedToken {
    /// What it says.
    pub token: AccessToken,
    /// How the log knows it.
    pub key: EventKey,
    /// How the log knows the user behind it, where there is one.
    pub user: Option<EventKey>,
}

impl CachedToken {
    /// Wraps a token that was just verified.
    pub fn new(token: AccessToken) -> Self {
        let user = token.user_generation.map(|_| user_key(&token.subject));
        Self {
            key: token_key(token.id),
            user,
            token,
        }
    }
}

/// The clients that were used lately, unknown names included.
pub type ClientCache = ReadThrough<ClientId, CachedClient>;

/// The caches that the log keeps coherent.
#[derive(Debug)]
pub struct Caches {
    /// Clients by id.
    pub clients: ClientCache,
    /// Users.
    pub users: UserCache,
    /// How often logins failed lately.
    pub failures: FailureCounts,
    /// Verified tokens by the digest of their text.
    pub tokens: TokenCache<CachedToken>,
}

impl Caches {
    /// Forgets everything, as of `position`.
    pub fn clear(&self, position: Position) {
        self.clients.clear(position);
        self.users.clear(position);
        self.tokens.clear();
    }
}

impl Weigh for CachedToken {
    fn bytes(&self) -> usize {
        let token = &self.token;
        let audience: usize = token.audience.iter().map(|one| one.len() + 24).sum();
        let text = token.subject.len() + token.client.as_str().len() + token.scope.as_str().len();
        size_of::<Self>() + text + audience + 64
    }
}
