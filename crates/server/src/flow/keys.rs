//! Signing keys: carried between the store and the signer, made, rotated and retired as the
//! schedule or an administrator says.

use bytes::Bytes;
use signet_oauth::discovery::{self, LoginOffer, Offer};
use signet_oauth::ids::KeyId;
use signet_oauth::jose::{Algorithm, Jwk, JwkSet};
use signet_oauth::time::Timestamp;
use signet_oauth::{Error, ErrorCode};
use std::sync::Arc;

use super::{Failure, Fault, conflict, not_found};
use crate::app::{App, CLOCK_SKEW};
use crate::signer::rotation::{self, KeyState, KeyTimes, Schedule, ScheduledKey, Step};
use crate::signer::{self, KeyMaterial, KeyParts, RemoteReference, SignError};
use crate::store::{self, KeyInserted, KeyRecord, KeyUpdated};

/// Keys that are published at a time: whoever reads the set bounds it, too.
const MAX_KEYS: usize = 40;

/// Who makes the signatures of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// This server.
    Local,
    /// A configured signing service, under the name that the key has there.
    Remote {
        /// The name of the service.
        signer: String,
        /// The name of the key.
        kid: KeyId,
    },
}

/// A key as an administrator sees it.
#[derive(Clone, Debug)]
pub struct ListedKey {
    /// Its name.
    pub kid: KeyId,
    /// The one algorithm that it signs with.
    pub algorithm: Algorithm,
    /// `local`, or the name of the signing service.
    pub source: String,
    /// Where in its life it is.
    pub state: &'static str,
    /// From when on it signs.
    pub active_from: Timestamp,
    /// When it stops signing.
    pub retires_at: Option<Timestamp>,
    /// When it leaves the key set.
    pub gone_at: Option<Timestamp>,
    /// The public half as JSON.
    pub public_jwk: String,
}

/// Everything published at `/.well-known/jwks.json`.
pub fn jwks(app: &App) -> Bytes {
    app.signer.jwks(app.clock.now())
}

/// Everything published at `/.well-known/openid-configuration`.
pub fn metadata(app: &App) -> Bytes {
    Bytes::clone(&app.metadata.load())
}

/// All keys, oldest first.
pub async fn list(app: &App) -> Result<Vec<ListedKey>, Failure> {
    let now = app.clock.now();
    let records = app.store.list_keys().await?.value;
    Ok(records.iter().map(|record| listed(record, now)).collect())
}

/// Makes a key that signs once it has been published for long enough, or at once where its
/// algorithm has no other.
pub async fn create(
    app: &App,
    algorithm: Algorithm,
    source: KeySource,
) -> Result<ListedKey, Failure> {
    let now = app.clock.now();
    let known = app.store.list_keys().await?.value;
    let alive = known
        .iter()
        .filter(|key| times(key).state(now) != KeyState::Gone)
        .count();
    if alive >= MAX_KEYS {
        return Err(conflict(
            "there are too many keys: wait until retired ones are gone",
            "keys_many",
        ));
    }
    let keys = scheduled(app, algorithm).await?;
    let times = rotation::rotate(&keys, &schedule(app), now);
    let record = match source {
        KeySource::Local => local(app, algorithm, times).await?,
        KeySource::Remote { signer, kid } => remote(app, &signer, &kid, algorithm, times).await?,
    };
    match app.store.insert_key(record.clone(), None).await? {
        KeyInserted::Done { .. } => {}
        KeyInserted::Exists | KeyInserted::SlotTaken => {
            return Err(conflict(
                "a key of this name is known already",
                "key_exists",
            ));
        }
    }
    // The key before it retires when this one begins.
    keep_algorithm(app, algorithm).await?;
    load(app).await?;
    Ok(listed(&record, now))
}

/// The same, said by who wants the present key replaced.
pub async fn rotate(
    app: &App,
    algorithm: Algorithm,
    source: KeySource,
) -> Result<ListedKey, Failure> {
    create(app, algorithm, source).await
}

/// Lets a key sign no more. It stays published until its tokens are dead.
pub async fn retire(app: &App, kid: &KeyId) -> Result<ListedKey, Failure> {
    let now = app.clock.now();
    let record = find(app, kid).await?;
    let keys = scheduled(app, record.algorithm).await?;
    let steps = rotation::retire(&keys, kid, &schedule(app), now).ok_or_else(|| {
        conflict(
            "no other key could sign in its place: create one first",
            "key_last",
        )
    })?;
    carry_out(app, record.algorithm, steps).await?;
    load(app).await?;
    Ok(listed(&find(app, kid).await?, now))
}

/// Withdraws a key whose private half may be known to others: it leaves the key set at once, and
/// every token that it signed is dead here, and wherever the set is read.
pub async fn withdraw(app: &App, kid: &KeyId) -> Result<(), Failure> {
    let record = find(app, kid).await?;
    let keys = scheduled(app, record.algorithm).await?;
    let steps = rotation::withdraw(&keys, kid, &schedule(app), app.clock.now());
    carry_out(app, record.algorithm, steps).await?;
    load(app).await
}

/// Makes sure that something can be signed with this algorithm.
pub async fn ensure(app: &App, algorithm: Algorithm) -> Result<(), Failure> {
    if app
        .signer
        .ring()
        .algorithms(app.clock.now())
        .contains(&algorithm)
    {
        return Ok(());
    }
    keep_algorithm(app, algorithm).await?;
    load(app).await
}

/// Signs claims; where the algorithm has no key yet, one is made.
pub async fn sign(
    app: &App,
    algorithm: Algorithm,
    typ: &str,
    claims: &[u8],
) -> Result<String, Failure> {
    let now = app.clock.now();
    match app.signer.sign(Some(algorithm), typ, claims, now).await {
        Err(SignError::NoKey(_)) => ensure(app, algorithm).await?,
        signed => return Ok(signed?),
    }
    Ok(app.signer.sign(Some(algorithm), typ, claims, now).await?)
}

/// Does what the schedule asks for now. Several nodes may do it at once: they meet at the slot of
/// the key to be made, and at the versions of the keys to be changed.
pub async fn keep(app: &App) -> Result<(), Failure> {
    let records = app.store.list_keys().await?.value;
    for algorithm in Algorithm::ALL {
        let known = records.iter().any(|record| record.algorithm == algorithm);
        if known || algorithm == app.policy.signing_alg {
            keep_algorithm(app, algorithm).await?;
        }
    }
    Ok(())
}

/// Reads the keys into the signer and the verifier.
pub async fn load(app: &App) -> Result<(), Failure> {
    let now = app.clock.now();
    let records = app.store.list_keys().await?.value;
    let parts: Vec<KeyParts> = records.iter().map(parts).collect();
    let unreadable = |error: &dyn std::fmt::Display| Fault::lasting(format!("keys: {error}"));
    app.signer
        .load(&parts, &app.sealing, now)
        .map_err(|error| unreadable(&error))?;
    let alive = parts
        .iter()
        .filter(|part| part.times.state(now) != KeyState::Gone);
    let public = alive.map(|part| Jwk::parse(part.public_jwk.as_bytes()));
    let public: Vec<Jwk> = public
        .collect::<Result<_, _>>()
        .map_err(|error| unreadable(&error.reason()))?;
    app.keys
        .replace(JwkSet::new(public).map_err(|error| unreadable(&error.reason()))?);
    // What a withdrawn key signed must be verified again, and fail.
    app.caches.tokens.clear();
    let offer = Offer {
        issuer: &app.grants.issuer,
        signing_algs: app.signer.ring().algorithms(now),
        login: Some(LoginOffer {
            ui_locales: app.policy.ui_locales.iter().map(String::as_str).collect(),
            userinfo: true,
            pushed_requests: true,
            logout: true,
            backchannel_logout: true,
        }),
    };
    app.metadata
        .store(Arc::new(discovery::render(&offer).into()));
    Ok(())
}

async fn keep_algorithm(app: &App, algorithm: Algorithm) -> Result<(), Failure> {
    let keys = scheduled(app, algorithm).await?;
    let steps = rotation::plan(&keys, &schedule(app), app.clock.now());
    carry_out(app, algorithm, steps).await
}

async fn carry_out(app: &App, algorithm: Algorithm, steps: Vec<Step>) -> Result<(), Failure> {
    for step in steps {
        match step {
            Step::Create { times, after } => {
                let record = local(app, algorithm, times).await?;
                let slot = format!("{} {}", algorithm.name(), Step::slot(after.as_ref()));
                // Where another node was faster, its key is as good.
                let _whoever = app.store.insert_key(record, Some(slot)).await?;
            }
            Step::Change { kid, times } => {
                let record = find(app, &kid).await?;
                let changed = KeyRecord {
                    publish_at: Some(times.publish_at),
                    active_from: times.active_from,
                    retires_at: times.retires_at,
                    gone_at: times.gone_at,
                    ..record
                };
                match app.store.update_key(changed).await? {
                    KeyUpdated::Done { .. } | KeyUpdated::Stale | KeyUpdated::Missing => {}
                }
            }
            // The row of a key that is gone is small, and tells an auditor that it existed.
            Step::Drop { .. } => {}
        }
    }
    Ok(())
}

async fn find(app: &App, kid: &KeyId) -> Result<KeyRecord, Failure> {
    let records = app.store.list_keys().await?.value;
    records
        .into_iter()
        .find(|record| record.kid == *kid)
        .ok_or_else(|| not_found("key"))
}

async fn scheduled(app: &App, algorithm: Algorithm) -> Result<Vec<ScheduledKey>, Failure> {
    let records = app.store.list_keys().await?.value;
    let of = records
        .iter()
        .filter(|record| record.algorithm == algorithm);
    Ok(of
        .map(|record| ScheduledKey {
            kid: record.kid.clone(),
            times: times(record),
            is_remote: matches!(record.material, store::KeyMaterial::Remote(_)),
        })
        .collect())
}

fn schedule(app: &App) -> Schedule {
    let policy = &app.policy.keys;
    Schedule {
        rotate_every: policy.rotate_every,
        publish_before: policy.publish_before,
        longest_token: policy.longest_token_lifetime.saturating_add(CLOCK_SKEW),
    }
}

async fn local(app: &App, algorithm: Algorithm, times: KeyTimes) -> Result<KeyRecord, Failure> {
    let (sealing, rng) = (app.sealing.clone(), app.rng.clone());
    // RSA keys take a tenth of a second: not on a thread that serves.
    let made = app
        .hashing
        .run_trusted(move || signer::generate(algorithm, &sealing, &rng))
        .await?;
    let made = made.map_err(|error| Fault::lasting(format!("keys: {error}")))?;
    let material = store::KeyMaterial::Sealed(made.sealed);
    Ok(record(
        app,
        (made.kid, algorithm, made.public_jwk),
        material,
        times,
    ))
}

async fn remote(
    app: &App,
    signer: &str,
    kid: &KeyId,
    algorithm: Algorithm,
    times: KeyTimes,
) -> Result<KeyRecord, Failure> {
    let keys = app
        .signer
        .remote_keys(signer)
        .await
        .map_err(|error| match error {
            SignError::UnknownSigner(_) => not_found("remote signer"),
            other => Failure::from(other),
        })?;
    let found = keys.into_iter().find(|key| key.kid == *kid);
    let found = found.ok_or_else(|| not_found("key at the remote signer"))?;
    if found.algorithm != algorithm {
        let description = format!(
            "the key signs with {}: say so in alg",
            found.algorithm.name()
        );
        return Err(Error::new(ErrorCode::InvalidRequest, description, "key_algorithm").into());
    }
    let reference = RemoteReference {
        signer: signer.to_owned(),
        kid: kid.clone(),
    };
    let material = store::KeyMaterial::Remote(reference.to_string());
    Ok(record(
        app,
        (found.kid, algorithm, found.public_jwk),
        material,
        times,
    ))
}

fn record(
    app: &App,
    (kid, algorithm, public_jwk): (KeyId, Algorithm, String),
    material: store::KeyMaterial,
    times: KeyTimes,
) -> KeyRecord {
    KeyRecord {
        kid,
        algorithm,
        public_jwk,
        material,
        purpose: "tokens".to_owned(),
        created_at: app.clock.now(),
        publish_at: Some(times.publish_at),
        active_from: times.active_from,
        retires_at: times.retires_at,
        gone_at: times.gone_at,
        version: 0,
    }
}

fn times(record: &KeyRecord) -> KeyTimes {
    KeyTimes {
        publish_at: record.publish_at.unwrap_or_default(),
        active_from: record.active_from,
        retires_at: record.retires_at,
        gone_at: record.gone_at,
    }
}

fn parts(record: &KeyRecord) -> KeyParts {
    KeyParts {
        kid: record.kid.clone(),
        algorithm: record.algorithm,
        public_jwk: record.public_jwk.clone(),
        material: match &record.material {
            store::KeyMaterial::Sealed(sealed) => KeyMaterial::Sealed(sealed.clone()),
            store::KeyMaterial::Remote(reference) => KeyMaterial::Remote(reference.clone()),
        },
        times: times(record),
    }
}

fn listed(record: &KeyRecord, now: Timestamp) -> ListedKey {
    ListedKey {
        kid: record.kid.clone(),
        algorithm: record.algorithm,
        source: match &record.material {
            store::KeyMaterial::Sealed(_) => "local".to_owned(),
            store::KeyMaterial::Remote(reference) => RemoteReference::parse(reference)
                .map_or_else(|| reference.clone(), |reference| reference.signer),
        },
        state: times(record).state(now).as_str(),
        active_from: record.active_from,
        retires_at: record.retires_at,
        gone_at: record.gone_at,
        public_jwk: record.public_jwk.clone(),
    }
}
