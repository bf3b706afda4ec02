//! The parts are built from the configuration, in the order in which they need one another.

use arc_swap::ArcSwap;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderValue;
use signet_guard::AccessTokenVerifier;
use signet_guard::KeySet;
use signet_guard::Revoked;
use signet_guard::TokenCache;
use signet_oauth::client::TokenPolicy;
use signet_oauth::grant::Settings;
use signet_oauth::jose::JwkSet;
use signet_oauth::secret::{Digest, Secret};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::app::{App, KeyPolicy, Limits, Locators, Lockout, Logins, Policy};
use crate::cache::client_keys::ClientKeys;
use crate::cache::verified::VerifiedSecrets;
use crate::cache::{Bounds, Caches, ClientCache, FailureCounts, UserCache};
use crate::clock::Clock;
use crate::config::{self, Backend, ClusterKey as KeyPlace, Config, Switch};
use crate::fetch::{Fetcher, Roots};
use crate::flow::{Failure, demo, keys};
use crate::hashing::{FailureTimer, Pool, PoolSettings};
use crate::log::Follower;
use crate::rng::Rng;
use crate::sealing::ClusterKey;
use crate::signer::{RemoteSettings, Signer};
use crate::store::{CheckedKey, Store, StoreOptions, StoreUrl};
use crate::telemetry::metrics::Metrics;

/// Seconds by which clocks of issuers and verifiers may differ.
const TOKEN_LEEWAY: u64 = 5;
/// How long clients and users stay in memory although nothing was heard of a change.
const ENTRY_LIFETIME: Duration = Duration::from_mins(10);
/// The shortest bootstrap token that is taken from its file.
const MIN_ADMIN_TOKEN: usize = 32;
/// Bytes of one cached token, for the budget of the cache.
const TOKEN_BYTES: usize = 400;
/// Clients at a time that are being told of a logout.
const LOGOUT_NOTICES: usize = 4096;

/// Why the parts could not be built. The text says what to do.
#[derive(Debug)]
pub struct BuildError(String);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}

fn failed<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> BuildError {
    move |error| BuildError(format!("{what}: {error}"))
}

fn fault(what: &'static str) -> impl FnOnce(Failure) -> BuildError {
    move |failure| match failure {
        Failure::Denied(error) => BuildError(format!("{what}: {}", error.description)),
        Failure::Fault(fault) => BuildError(format!("{what}: {}", fault.context)),
    }
}

/// Builds everything; the server is ready to serve when this returns.
/// `languages` are those of the pages.
pub async fn build(
    config: &Config,
    languages: Vec<String>,
    clock: Clock,
    rng: Rng,
) -> Result<App, BuildError> {
    let dir = &config.data_dir;
    fs::create_dir_all(dir).map_err(failed(format_args!("cannot make {}", dir.display())))?;
    let sealing = cluster_key(config, &rng)?;
    let store = open_store(config)?;
    check_cluster_key(&store, &sealing, config).await?;
    let mut app = assemble(config, sealing, store, (clock, rng)).await?;
    app.policy.ui_locales = languages;
    keys::keep(&app)
        .await
        .map_err(fault("cannot prepare the signing keys"))?;
    keys::load(&app)
        .await
        .map_err(fault("cannot load the signing keys"))?;
    if config.demo {
        demo::create(&app)
            .await
            .map_err(fault("cannot create the demo data"))?;
    }
    Ok(app)
}

/// Caches and what keeps them coherent; the state is loaded when this returns.
async fn follow(
    config: &Config,
    store: &Store,
    clock: &Clock,
    rng: &Rng,
) -> Result<Follower, BuildError> {
    let caches = Arc::new(Caches {
        clients: ClientCache::new(bounds(config.caches.clients, true), clock.clone()),
        users: UserCache::new(bounds(config.caches.users, false), clock.clone()),
        failures: FailureCounts::new(config.caches.users, clock.clone()),
        tokens: TokenCache::new(config.caches.tokens.saturating_mul(TOKEN_BYTES)),
    });
    let verified = Arc::new(verified(config, clock, rng));
    let follower = Follower::new(
        caches,
        verified,
        Arc::new(Revoked::default()),
        clock.clone(),
    );
    follower
        .reload(store)
        .await
        .map_err(failed("cannot load the state"))?;
    Ok(follower)
}

fn bounds(capacity: usize, keeps_absent: bool) -> Bounds {
    Bounds {
        capacity,
        lifetime: ENTRY_LIFETIME,
        keeps_absent,
    }
}

async fn assemble(
    config: &Config,
    sealing: ClusterKey,
    store: Store,
    (clock, rng): (Clock, Rng),
) -> Result<App, BuildError> {
    let node = store
        .next_node()
        .await
        .map_err(failed("cannot number this node"))?;
    let follower = Arc::new(follow(config, &store, &clock, &rng).await?);
    let following = Arc::clone(&follower);
    store.on_append(move |row| following.apply(row));
    let keys = Arc::new(KeySet::new(empty_keys()?));
    let roots = roots(config)?;
    let fetcher = fetcher(config, &roots);
    Ok(App {
        verifier: AccessTokenVerifier {
            issuer: config.issuer.clone(),
            keys: Arc::clone(&keys),
            leeway: TOKEN_LEEWAY,
        },
        keys,
        caches: follower.caches(),
        revoked: follower.revoked(),
        verified: follower.verified(),
        follower,
        client_keys: ClientKeys::new(clock.clone(), fetcher.clone()),
        fetcher,
        notices: Arc::new(tokio::sync::Semaphore::new(LOGOUT_NOTICES)),
        signer: signer(config, &roots, &clock)?,
        hashing: Pool::new(hashing(config)).map_err(failed("cannot start the hashing threads"))?,
        failures: FailureTimer::new(Duration::from_millis(config.hashing.failure_delay_ms)),
        locators: Locators::new(node),
        metrics: Metrics::new(),
        grants: Settings {
            issuer: config.issuer.clone(),
            access_token_lifetime: config.tokens.access_token_lifetime,
            refresh_token_lifetime: config.tokens.refresh_token_lifetime,
            id_token_lifetime: config.tokens.id_token_lifetime,
            refresh_grace: config.tokens.refresh_grace,
        },
        limits: limits(config),
        policy: policy(config, bootstrap(&config.data_dir, &rng)?),
        metadata: ArcSwap::default(),
        stopping: AtomicBool::new(false),
        sealing,
        store,
        clock,
        rng,
    })
}

fn empty_keys() -> Result<JwkSet, BuildError> {
    JwkSet::new([]).map_err(|error| BuildError(format!("an empty key set: {}", error.reason())))
}

fn cluster_key(config: &Config, rng: &Rng) -> Result<ClusterKey, BuildError> {
    match config.cluster_key() {
        KeyPlace::File(path) => ClusterKey::load(path).map_err(failed("cluster key")),
        KeyPlace::FileOrNew(path) => {
            ClusterKey::load_or_create(path, rng).map_err(failed("cluster key"))
        }
        KeyPlace::Ephemeral => Ok(ClusterKey::new(&rng.array())),
    }
}

fn open_store(config: &Config) -> Result<Store, BuildError> {
    let url = StoreUrl::parse(config.store.expose()).map_err(failed("store"))?;
    let options = StoreOptions {
        deadline: Duration::from_millis(config.storage.deadline_ms),
        queue: config.storage.queue,
        ..StoreOptions::default()
    };
    Store::open(&url, options).map_err(failed("store"))
}

async fn check_cluster_key(
    store: &Store,
    sealing: &ClusterKey,
    config: &Config,
) -> Result<(), BuildError> {
    let checked = store.check_cluster_key(sealing.check_value()).await;
    match checked.map_err(failed("cannot check the cluster key"))? {
        CheckedKey::Stored | CheckedKey::Matches => Ok(()),
        CheckedKey::Differs => Err(BuildError(format!(
            "the cluster key does not fit this store: its signing keys were sealed with another \
             one; give the file that belongs to the store (SIGNET_CLUSTER_KEY_FILE, now {:?})",
            config.cluster.key_file
        ))),
    }
}

fn verified(config: &Config, clock: &Clock, rng: &Rng) -> VerifiedSecrets {
    let capacity = match config.secrets.verified {
        Switch::On => config.secrets.verified_capacity,
        Switch::Off => 0,
    };
    let lifetime = Duration::from_secs(config.secrets.verified_ttl);
    VerifiedSecrets::new(capacity, lifetime, clock.clone(), rng)
}

fn hashing(config: &Config) -> PoolSettings {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let settings = &config.hashing;
    PoolSettings {
        threads: settings.threads_for(cores),
        queue: settings.queue,
        per_client: settings.per_client,
        per_address: settings.per_address,
    }
}

fn signer(config: &Config, roots: &Roots, clock: &Clock) -> Result<Signer, BuildError> {
    let remotes = config.signers.iter().map(|signer| RemoteSettings {
        name: signer.settings.name.clone(),
        url: signer.settings.url.clone(),
        token: signer.token.clone(),
        roots: roots.clone(),
        timeout: Duration::from_millis(signer.settings.timeout_ms),
        connections: signer.settings.connections,
        queue: signer.settings.queue,
    });
    Signer::new(
        config.tokens.signing_alg.algorithm(),
        remotes.collect(),
        clock,
    )
    .map_err(failed("cannot start the signers"))
}

fn roots(config: &Config) -> Result<Roots, BuildError> {
    let further = config.outgoing.ca_file.as_deref();
    further
        .map_or_else(|| Ok(Roots::system()), Roots::with_file)
        .map_err(failed("outgoing.ca_file"))
}

fn fetcher(config: &Config, roots: &Roots) -> Fetcher {
    let settings = &config.outgoing;
    let timeout = Duration::from_millis(settings.timeout_ms);
    Fetcher::new(roots.clone(), &settings.private_hosts, timeout)
}

fn limits(config: &Config) -> Limits {
    let limits = &config.limits;
    Limits {
        body_bytes: limits.body_bytes,
        admin_body_bytes: limits.admin_body_bytes,
        header_bytes: limits.header_bytes,
        header_timeout: Duration::from_secs(limits.header_timeout),
        body_timeout: Duration::from_secs(limits.body_timeout),
        idle_timeout: Duration::from_secs(limits.idle_timeout),
        drain_timeout: Duration::from_secs(limits.drain_timeout),
        connections: limits.connections,
        request_log: config.log.requests,
    }
}

fn policy(config: &Config, bootstrap: Digest) -> Policy {
    Policy {
        bootstrap,
        assertion_audiences: assertion_audiences(&config.issuer),
        client_defaults: TokenPolicy {
            form: config.tokens.access_token.form(),
            persistence: config.tokens.persistence.persistence(),
            lifetime: None,
        },
        logins: logins(config),
        ui_locales: Vec::new(),
        secret_hash: config.secrets.hash.0,
        lockout: Lockout {
            window: config.lockout.window,
            per_user: config.lockout.per_user,
            per_address: config.lockout.per_address,
        },
        signing_alg: config.tokens.signing_alg.algorithm(),
        keys: KeyPolicy {
            rotate_every: config.keys.rotate_every,
            publish_before: config.keys.publish_before,
            longest_token_lifetime: config.keys.longest_token_lifetime,
        },
        documents_kept: kept_for(config.keys.jwks_max_age),
        staleness_bound: Duration::from_millis(config.cluster.staleness_bound_ms),
        refuse_when_stale: config.cluster.on_stale == config::OnStale::Refuse,
        shared_store: config.store.backend() == Backend::Postgres,
        metrics: config.metrics.enabled,
    }
}

/// What `aud` of a client's assertion may be: the issuer, or the endpoint that it is shown to.
fn assertion_audiences(issuer: &str) -> Vec<String> {
    let endpoints = ["token", "introspect", "revoke", "par"].map(|end| format!("/oauth2/{end}"));
    let paths = std::iter::once(String::new()).chain(endpoints);
    paths.map(|path| format!("{issuer}{path}")).collect()
}

fn logins(config: &Config) -> Logins {
    let login = &config.login;
    Logins {
        demo: config.demo,
        session_lifetime: login.session_lifetime,
        page_lifetime: login.page_lifetime,
        login_url: login.login_url.clone(),
        consent_url: login.consent_url.clone(),
    }
}

/// The digest of the bootstrap token; the token itself is written once, for its owner only.
fn bootstrap(data_dir: &Path, rng: &Rng) -> Result<Digest, BuildError> {
    let path = data_dir.join("admin.token");
    match fs::read_to_string(&path) {
        Ok(text) if text.trim().len() >= MIN_ADMIN_TOKEN => Ok(Secret::new(text.trim()).digest()),
        Ok(_) => Err(BuildError(format!(
            "{} holds no usable token: remove the file, and a new one is made",
            path.display()
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let token = Secret::new(format!("sga_{}", URL_SAFE_NO_PAD.encode(rng.array::<32>())));
            write_token(data_dir, &path, &token)
                .map_err(failed(format_args!("cannot write {}", path.display())))?;
            Ok(token.digest())
        }
        Err(error) => Err(failed(format_args!("cannot read {}", path.display()))(
            error,
        )),
    }
}

/// Whole or not at all, and still there after a loss of power: somebody may have read it.
fn write_token(data_dir: &Path, path: &Path, token: &Secret) -> std::io::Result<()> {
    let draft = data_dir.join("admin.token.new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    writeln!(file, "{}", token.expose())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    fs::File::open(data_dir)?.sync_all()
}

fn kept_for(seconds: u64) -> HeaderValue {
    let text = format!("public, max-age={seconds}");
    // A number is always a header's text; were it not, not keeping a document is never wrong.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("no-store"))
}
