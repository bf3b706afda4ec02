//! Clients are created, read, changed and deleted by an administrator. The whole object is
//! validated on every write.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use signet_oauth::client::{AuthMethod, Client, ClientSecret, GrantType};
use signet_oauth::ids::ClientId;
use signet_oauth::jose::JwkSet;
use signet_oauth::secret::{Digest, Secret};
use signet_oauth::{Error, ErrorCode};
use std::sync::Arc;

use super::{Failure, Fault, conflict, keys, not_found};
use crate::app::App;
use crate::cache::CachedClient;
use crate::hashing::{self, HashSpec};
use crate::sealing::Purpose;
pub use crate::store::Page;
use crate::store::{Created, Deleted, Updated};

/// How often a change is tried again when somebody else changed the client meanwhile.
const ATTEMPTS: usize = 50;

/// The shortest secret that may sign assertions: HMAC-SHA-256 asks for a key as long as its
/// output (RFC 7518 §3.2).
const MIN_SIGNING_SECRET: usize = 32;

/// What the caller says about the secret of a client.
#[derive(Clone, Debug)]
pub enum SecretChoice {
    /// Nothing: generate one for a new client, keep that of an existing one.
    Unsaid,
    /// This secret, hashed in this way (the configured one where it does not say).
    Given(Secret, Option<HashSpec>),
    /// This hash, made elsewhere.
    Imported(String),
}

/// A client as the caller describes it; its secret, generation and times are not the caller's.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The description.
    pub client: Client,
    /// Its secret.
    pub secret: SecretChoice,
}

/// A client, and its secret where one was just generated: the only time that it is told.
#[derive(Debug)]
pub struct Registered {
    /// The client.
    pub client: Client,
    /// The generated secret.
    pub secret: Option<Secret>,
}

/// A fresh client identifier.
pub fn draw_id(app: &App) -> Result<ClientId, Failure> {
    let mut random = [0; 16];
    app.rng.fill(&mut random);
    let text = signet_oauth::token::hex(random);
    ClientId::parse(&text).ok_or_else(|| Fault::lasting("an id that is not one").into())
}

/// Creates a client. A taken id is `conflict`.
pub async fn create(app: &App, draft: Draft) -> Result<Registered, Failure> {
    let now = app.clock.now();
    let kept = secret_for(app, &draft, &ClientSecret::None).await?;
    let client = Client {
        secret: kept.secret,
        created_at: now,
        updated_at: now,
        ..draft.client
    };
    validate(&client)?;
    sign_with(app, &client).await?;
    let mut attempt = [0; 16];
    app.rng.fill(&mut attempt);
    match app.store.create_client(client, attempt).await? {
        Created::Done { client, .. } => Ok(Registered {
            client: *client,
            secret: kept.told,
        }),
        Created::Exists => Err(conflict("a client of this id exists", "client_exists")),
    }
}

/// Which versions of a client or a user a request is meant for (`If-Match`, RFC 9110 §13.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Whichever there is.
    Any,
    /// One of these.
    Versions(Vec<u64>),
}

impl Expected {
    /// Whether this version is one of them.
    pub(super) fn admits(&self, version: u64) -> bool {
        match self {
            Self::Any => true,
            Self::Versions(versions) => versions.contains(&version),
        }
    }
}

fn stale() -> Error {
    Error::new(
        ErrorCode::PreconditionFailed,
        "the client changed meanwhile: read it again",
        "client_version",
    )
}

/// One client, as it is in memory.
pub async fn get(app: &App, id: &ClientId) -> Result<Arc<CachedClient>, Failure> {
    app.find_client(id)
        .await?
        .ok_or_else(|| not_found("client"))
}

/// A page of clients in the order of their ids.
pub async fn list(app: &App, page: Page) -> Result<Vec<Client>, Failure> {
    Ok(app.store.list_clients(page).await?)
}

/// Changes a client: `change` makes the new description from the present one. It is called again
/// when somebody else wrote meanwhile, unless that made it a version that was not `expected`.
pub async fn update(
    app: &App,
    id: &ClientId,
    expected: &Expected,
    change: impl Fn(&Client) -> Result<Draft, Error> + Send + Sync,
) -> Result<Registered, Failure> {
    for _ in 0..ATTEMPTS {
        let present = stored(app, id, expected).await?;
        let draft = change(&present)?;
        let kept = secret_for(app, &draft, &present.secret).await?;
        let ends = kept.is_another || (present.enabled && !draft.client.enabled);
        let client = Client {
            secret: kept.secret,
            ..draft.client
        };
        if let Some(done) = write(app, present, client, ends).await? {
            return Ok(Registered {
                client: *done,
                secret: kept.told,
            });
        }
    }
    Err(Fault::passing("client: lost every race for the row").into())
}

async fn stored(app: &App, id: &ClientId, expected: &Expected) -> Result<Client, Failure> {
    let found = app.store.find_client(id).await?.value;
    let present = found.ok_or_else(|| not_found("client"))?;
    if !expected.admits(present.version) {
        return Err(stale().into());
    }
    Ok(present)
}

/// Gives a client a new generated secret. Tokens issued before are dead.
pub async fn rotate_secret(
    app: &App,
    id: &ClientId,
    expected: &Expected,
) -> Result<Registered, Failure> {
    let renew = |present: &Client| {
        if !present.auth_method.has_secret() {
            return Err(Error::new(
                ErrorCode::InvalidRequest,
                "this client authenticates without a secret",
                "client_no_secret",
            ));
        }
        let client = Client {
            secret: ClientSecret::None,
            ..present.clone()
        };
        Ok(Draft {
            client,
            secret: SecretChoice::Unsaid,
        })
    };
    for _ in 0..ATTEMPTS {
        let present = stored(app, id, expected).await?;
        let draft = renew(&present)?;
        let kept = secret_for(app, &draft, &ClientSecret::None).await?;
        let client = Client {
            secret: kept.secret,
            secret_expires_at: None,
            ..draft.client
        };
        if let Some(done) = write(app, present, client, true).await? {
            return Ok(Registered {
                client: *done,
                secret: kept.told,
            });
        }
    }
    Err(Fault::passing("client: lost every race for the row").into())
}

/// Ends every token that was issued to the client so far.
pub async fn end_tokens(app: &App, id: &ClientId, expected: &Expected) -> Result<Client, Failure> {
    for _ in 0..ATTEMPTS {
        let present = stored(app, id, expected).await?;
        let same = present.clone();
        if let Some(done) = write(app, present, same, true).await? {
            return Ok(*done);
        }
    }
    Err(Fault::passing("client: lost every race for the row").into())
}

/// Deletes a client. Its tokens are dead, also if a client of the same id is created later.
pub async fn delete(app: &App, id: &ClientId, expected: &Expected) -> Result<(), Failure> {
    let version = match expected {
        Expected::Any => None,
        Expected::Versions(_) => Some(stored(app, id, expected).await?.version),
    };
    let until = app.longest_until();
    match app.store.delete_client(id, version, until).await? {
        Deleted::Done { .. } => Ok(()),
        Deleted::Stale => Err(stale().into()),
        Deleted::Missing => Err(not_found("client")),
    }
}

/// Hashes a secret that was right anew in the configured way, in the place of a hash that another
/// server made; the new hash. `None`: somebody else changed the client first. Ends no token.
pub async fn renew_hash(
    app: &App,
    client: &Client,
    secret: &Secret,
) -> Result<Option<String>, Failure> {
    let renewed = hash(app, secret.clone(), app.policy.secret_hash).await?;
    let client_now = Client {
        secret: ClientSecret::Hash(renewed.clone()),
        ..client.clone()
    };
    let written = write(app, client.clone(), client_now, false).await?;
    Ok(written.map(|_| renewed))
}

async fn write(
    app: &App,
    present: Client,
    client: Client,
    ends_tokens: bool,
) -> Result<Option<Box<Client>>, Failure> {
    let version = present.version;
    let client = Client {
        id: present.id,
        generation: present.generation,
        version,
        created_at: present.created_at,
        updated_at: app.clock.now(),
        ..client
    };
    validate(&client)?;
    sign_with(app, &client).await?;
    let until = app.longest_until();
    match app
        .store
        .update_client(client, version, ends_tokens, until)
        .await?
    {
        Updated::Done { client, .. } => Ok(Some(client)),
        Updated::Stale => Ok(None),
        Updated::Missing => Err(not_found("client")),
    }
}

/// A client may ask for any algorithm: the key is made when the first one does.
async fn sign_with(app: &App, client: &Client) -> Result<(), Failure> {
    let named = [
        client.access_token_alg,
        client.introspection_alg,
        // Whoever gets ID tokens finds their key published before the first of them.
        gets_id_tokens(client).then(|| client.id_token_alg()),
    ];
    for algorithm in named.into_iter().flatten() {
        keys::ensure(app, algorithm).await?;
    }
    Ok(())
}

fn gets_id_tokens(client: &Client) -> bool {
    let for_people = [
        GrantType::AuthorizationCode,
        GrantType::Implicit,
        GrantType::Password,
    ];
    for_people.iter().any(|grant| client.grants.contains(grant))
}

fn validate(client: &Client) -> Result<(), Error> {
    client.validate()?;
    if let Some(jwks) = &client.jwks {
        let refuse = |reason: &'static str| {
            Error::new(
                ErrorCode::InvalidClientMetadata,
                format!("jwks: {reason}"),
                "client_jwks",
            )
        };
        let set = JwkSet::parse(jwks.as_bytes()).map_err(|error| refuse(error.reason()))?;
        if let Some(ignored) = set.ignored().first() {
            return Err(refuse(ignored.error.reason()));
        }
        if set.keys().is_empty() {
            return Err(refuse("none of its keys can verify a signature here"));
        }
    }
    Ok(())
}

/// What becomes of a client's secret.
struct Kept {
    /// The form that is stored.
    secret: ClientSecret,
    /// The secret itself, where it was generated now.
    told: Option<Secret>,
    /// It is not the secret that the client had, so tokens that it got end.
    is_another: bool,
}

impl Kept {
    fn same(secret: ClientSecret) -> Self {
        Self {
            secret,
            told: None,
            is_another: false,
        }
    }

    fn another(secret: ClientSecret) -> Self {
        Self {
            secret,
            told: None,
            is_another: true,
        }
    }
}

async fn secret_for(app: &App, draft: &Draft, present: &ClientSecret) -> Result<Kept, Failure> {
    let client = &draft.client;
    let signs = client.auth_method == AuthMethod::ClientSecretJwt;
    if !client.auth_method.has_secret() {
        return match draft.secret {
            SecretChoice::Unsaid => Ok(Kept {
                is_another: *present != ClientSecret::None,
                ..Kept::same(ClientSecret::None)
            }),
            _ => Err(refuse(
                "this token_endpoint_auth_method has no secret",
                "secret_unwanted",
            ))?,
        };
    }
    match &draft.secret {
        SecretChoice::Unsaid if fits(present, signs) => Ok(Kept::same(present.clone())),
        SecretChoice::Unsaid => Ok(generated(app, client, signs)),
        SecretChoice::Imported(hash) => imported(hash, present, signs),
        SecretChoice::Given(secret, _) if signs => signing(app, client, secret, present),
        SecretChoice::Given(secret, spec) => given(app, client, (secret, *spec), present).await,
    }
}

fn refuse(description: &'static str, reason: &'static str) -> Error {
    Error::new(ErrorCode::InvalidClientMetadata, description, reason)
}

fn generated(app: &App, client: &Client, signs: bool) -> Kept {
    let mut random = zeroize::Zeroizing::new([0; 32]);
    app.rng.fill(&mut *random);
    let secret = Secret::new(URL_SAFE_NO_PAD.encode(*random));
    let kept = if signs {
        seal(app, client, &secret)
    } else {
        ClientSecret::Digest(secret.digest())
    };
    Kept {
        told: Some(secret),
        ..Kept::another(kept)
    }
}

fn imported(hash: &str, present: &ClientSecret, signs: bool) -> Result<Kept, Failure> {
    if signs {
        Err(refuse(
            "client_secret_jwt needs the secret itself, not a hash",
            "secret_form",
        ))?;
    }
    if matches!(present, ClientSecret::Hash(had) | ClientSecret::Imported(had) if had == hash) {
        return Ok(Kept::same(present.clone()));
    }
    match hashing::check(hash) {
        Ok(()) => Ok(Kept::another(ClientSecret::Imported(hash.to_owned()))),
        Err(error) => Err(Error::new(
            ErrorCode::InvalidClientMetadata,
            format!("client_secret_hash: {error}"),
            "secret_hash",
        ))?,
    }
}

fn signing(
    app: &App,
    client: &Client,
    secret: &Secret,
    present: &ClientSecret,
) -> Result<Kept, Failure> {
    if secret.expose().len() < MIN_SIGNING_SECRET {
        Err(refuse(
            "client_secret_jwt needs a secret of 32 bytes or more",
            "secret_short",
        ))?;
    }
    if let ClientSecret::Sealed(sealed) = present {
        let context = client.id.as_str().as_bytes();
        let had = app.sealing.open(Purpose::ClientSecret, context, sealed);
        if had.is_ok_and(|had| Digest::of(&had) == secret.digest()) {
            return Ok(Kept::same(present.clone()));
        }
    }
    Ok(Kept::another(seal(app, client, secret)))
}

/// A secret that the caller chose. Whoever sends a client whole sends the secret that it has, too:
/// that ends no token, and is hashed anew only where another way is asked for.
async fn given(
    app: &App,
    client: &Client,
    (secret, spec): (&Secret, Option<HashSpec>),
    present: &ClientSecret,
) -> Result<Kept, Failure> {
    let is_same = match present {
        ClientSecret::Digest(digest) => *digest == secret.digest(),
        ClientSecret::Hash(hash) | ClientSecret::Imported(hash) => {
            app.verified.knows(&client.id, hash, secret)
                || verify(app, hash.clone(), secret.clone()).await?
        }
        ClientSecret::None | ClientSecret::Sealed(_) => false,
    };
    let stays = match (present, spec) {
        (ClientSecret::Hash(hash) | ClientSecret::Imported(hash), Some(spec)) => {
            hashing::is_made_by(hash, spec)
        }
        (_, spec) => spec.is_none(),
    };
    if is_same && stays {
        return Ok(Kept::same(present.clone()));
    }
    let spec = spec.unwrap_or(app.policy.secret_hash);
    let hash = hash(app, secret.clone(), spec).await?;
    Ok(Kept {
        is_another: !is_same,
        ..Kept::another(ClientSecret::Hash(hash))
    })
}

async fn verify(app: &App, hash: String, secret: Secret) -> Result<bool, Failure> {
    let job = move || hashing::verify(&hash, secret.expose());
    let verdict = app.hashing.run_trusted(job).await?;
    Ok(verdict.map_err(|error| Fault::lasting(format!("hash of a client: {error}")))?)
}

fn fits(present: &ClientSecret, signs: bool) -> bool {
    match present {
        ClientSecret::None => false,
        ClientSecret::Sealed(_) => signs,
        ClientSecret::Digest(_) | ClientSecret::Hash(_) | ClientSecret::Imported(_) => !signs,
    }
}

fn seal(app: &App, client: &Client, secret: &Secret) -> ClientSecret {
    let (context, plain) = (client.id.as_str().as_bytes(), secret.expose().as_bytes());
    ClientSecret::Sealed(
        app.sealing
            .seal(Purpose::ClientSecret, context, plain, &app.rng),
    )
}

async fn hash(app: &App, secret: Secret, spec: HashSpec) -> Result<String, Failure> {
    let rng = app.rng.clone();
    let made = app
        .hashing
        .run_trusted(move || hashing::hash(spec, secret.expose(), &rng))
        .await?;
    Ok(made.map_err(|error| {
        Error::new(
            ErrorCode::InvalidClientMetadata,
            format!("client_secret: {error}"),
            "secret_unhashable",
        )
    })?)
}
