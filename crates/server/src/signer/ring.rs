//! The keys of this moment: which one signs, and which are published (RFC 7517 §5).
//!
//! Readers never wait: a new set of keys replaces the old one as a whole.

use super::key::SigningKey;
use super::rotation::succession;
use arc_swap::ArcSwap;
use bytes::Bytes;
use signet_oauth::ids::KeyId;
use signet_oauth::jose::Algorithm;
use signet_oauth::time::Timestamp;
use std::sync::Arc;

/// The signing keys.
#[derive(Debug)]
pub struct KeyRing {
    current: ArcSwap<Keys>,
}

/// One set of keys, the newest first.
#[derive(Debug)]
pub(super) struct Keys {
    keys: Vec<Arc<SigningKey>>,
    rendered: ArcSwap<Rendered>,
}

/// The key set as JSON, and for how long it is that.
#[derive(Debug)]
struct Rendered {
    from: Timestamp,
    until: Timestamp,
    body: Bytes,
}

impl Default for KeyRing {
    fn default() -> Self {
        Self {
            current: ArcSwap::from_pointee(Keys::new(Vec::new())),
        }
    }
}

impl KeyRing {
    /// Replaces all keys.
    pub fn replace(&self, keys: Vec<Arc<SigningKey>>) {
        self.current.store(Arc::new(Keys::new(keys)));
    }

    pub(super) fn keys(&self) -> arc_swap::Guard<Arc<Keys>> {
        self.current.load()
    }

    /// The published keys as JSON.
    pub fn jwks(&self, now: Timestamp) -> Bytes {
        self.current.load().jwks(now)
    }

    /// A published key by its name.
    pub fn find(&self, kid: &KeyId, now: Timestamp) -> Option<Arc<SigningKey>> {
        let keys = self.current.load();
        let found = keys.keys.iter().find(|key| key.kid() == kid);
        found.filter(|key| key.times().is_published(now)).cloned()
    }

    /// The algorithms that something can be signed with.
    pub fn algorithms(&self, now: Timestamp) -> Vec<Algorithm> {
        let keys = self.current.load();
        let has_key = |algorithm: &Algorithm| keys.signing(*algorithm, now).is_some();
        Algorithm::ALL.into_iter().filter(has_key).collect()
    }
}

impl Keys {
    fn new(mut keys: Vec<Arc<SigningKey>>) -> Self {
        let age = |key: &Arc<SigningKey>| {
            let (from, published, kid) = succession(key.times(), key.kid());
            (from, published, kid.clone())
        };
        keys.sort_by_cached_key(|key| std::cmp::Reverse(age(key)));
        // True of no instant: the first reader renders.
        let rendered = ArcSwap::from_pointee(Rendered {
            from: Timestamp(0),
            until: Timestamp(0),
            body: Bytes::new(),
        });
        Self { keys, rendered }
    }

    /// The newest key that may sign.
    pub(super) fn signing(&self, algorithm: Algorithm, now: Timestamp) -> Option<&Arc<SigningKey>> {
        let may =
            |key: &&Arc<SigningKey>| key.algorithm() == algorithm && key.times().may_sign(now);
        self.keys.iter().find(may)
    }

    fn jwks(&self, now: Timestamp) -> Bytes {
        let rendered = self.rendered.load();
        if rendered.from <= now && now < rendered.until {
            return rendered.body.clone();
        }
        let rendered = self.render(now);
        let body = rendered.body.clone();
        self.rendered.store(Arc::new(rendered));
        body
    }

    fn render(&self, now: Timestamp) -> Rendered {
        let published = self.keys.iter().filter(|key| key.times().is_published(now));
        let keys: Vec<&str> = published.map(|key| key.public_jwk()).collect();
        let changes = self.keys.iter().flat_map(|key| {
            let times = key.times();
            [Some(times.publish_at), times.gone_at]
                .into_iter()
                .flatten()
        });
        let until = changes.filter(|at| *at > now).min();
        Rendered {
            from: now,
            until: until.unwrap_or(Timestamp(u64::MAX)),
            body: format!("{{\"keys\":[{}]}}", keys.join(",")).into(),
        }
    }
}

#[cfg(test)]
mod tests;
