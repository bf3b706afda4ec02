//! Clients are created, read, changed and deleted by an administrator. The whole object is
//! validated on every write.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use signet_oauth::client::{AuthMethod, Client, ClientSecret};
use signet_oauth::ids::ClientId;
use signet_oauth::jose::JwkSet;
use signet_oauth::secret::Secret;
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
    let (secret, told) = secret_for(app, &draft, &ClientSecret::None).await?;
    let client = Client {
        secret,
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
            secret: told,
        }),
        Created::Exists => Err(conflict("a client of this id exists", "client_exists")),
    }
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
/// when somebody else wrote meanwhile, unless the caller named the `version` that it saw.
pub async fn update(
    app: &App,
    id: &ClientId,
    version: Option<u64>,
    change: impl Fn(&Client) -> Result<Draft, Error> + Send + Sync,
) -> Result<Registered, Failure> {
    for _ in 0..ATTEMPTS {
        let present = app
            .store
            .find_client(id)
            .await?
            .value
            .ok_or_else(|| not_found("client"))?;
        if version.is_some_and(|version| version != present.version) {
            return Err(conflict(
                "the client changed meanwhile: read it again",
                "client_version",
            ));
        }
        let draft = change(&present)?;
        let (secret, told) = secret_for(app, &draft, &present.secret).await?;
        let ends = secret != present.secret || (present.enabled && !draft.client.enabled);
        let client = Client {
            secret,
            ..draft.client
        };
        if let Some(done) = write(app, present, client, ends).await? {
            return Ok(Registered {
                client: *done,
                secret: told,
            });
        }
    }
    Err(Fault::passing("client: lost every race for the row").into())
}

/// Gives a client a new generated secret. Tokens issued before are dead.
pub async fn rotate_secret(app: &App, id: &ClientId) -> Result<Registered, Failure> {
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
        let present = app
            .store
            .find_client(id)
            .await?
            .value
            .ok_or_else(|| not_found("client"))?;
        let draft = renew(&present)?;
        let (secret, told) = secret_for(app, &draft, &ClientSecret::None).await?;
        let client = Client {
            secret,
            secret_expires_at: None,
            ..draft.client
        };
        if let Some(done) = write(app, present, client, true).await? {
            return Ok(Registered {
                client: *done,
                secret: told,
            });
        }
    }
    Err(Fault::passing("client: lost every race for the row").into())
}

/// Ends every token that was issued to the client so far.
pub async fn end_tokens(app: &App, id: &ClientId) -> Result<Client, Failure> {
    for _ in 0..ATTEMPTS {
        let present = app
            .store
            .find_client(id)
            .await?
            .value
            .ok_or_else(|| not_found("client"))?;
        let same = present.clone();
        if let Some(done) = write(app, present, same, true).await? {
            return Ok(*done);
        }
    }
    Err(Fault::passing("client: lost every race for the row").into())
}

/// Deletes a client. Its tokens are dead, also if a client of the same id is created later.
pub async fn delete(app: &App, id: &ClientId) -> Result<(), Failure> {
    match app.store.delete_client(id, app.longest_until()).await? {
        Deleted::Done { .. } => Ok(()),
        Deleted::Missing => Err(not_found("client")),
    }
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
    for algorithm in [client.access_token_alg, client.introspection_alg]
        .into_iter()
        .flatten()
    {
        keys::ensure(app, algorithm).await?;
    }
    Ok(())
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

/// The secret to keep, and the one to tell where it was generated.
async fn secret_for(
    app: &App,
    draft: &Draft,
    present: &ClientSecret,
) -> Result<(ClientSecret, Option<Secret>), Failure> {
    let client = &draft.client;
    let refuse = |description: &'static str, reason: &'static str| {
        Error::new(ErrorCode::InvalidClientMetadata, description, reason)
    };
    if !client.auth_method.has_secret() {
        return match draft.secret {
            SecretChoice::Unsaid => Ok((ClientSecret::None, None)),
            _ => Err(refuse(
                "this token_endpoint_auth_method has no secret",
                "secret_unwanted",
            ))?,
        };
    }
    let signs = client.auth_method == AuthMethod::ClientSecretJwt;
    match &draft.secret {
        SecretChoice::Unsaid if fits(present, signs) => Ok((present.clone(), None)),
        SecretChoice::Unsaid => {
            let mut random = zeroize::Zeroizing::new([0; 32]);
            app.rng.fill(&mut *random);
            let secret = Secret::new(URL_SAFE_NO_PAD.encode(*random));
            let kept = if signs {
                seal(app, client, &secret)
            } else {
                ClientSecret::Digest(secret.digest())
            };
            Ok((kept, Some(secret)))
        }
        SecretChoice::Imported(_) if signs => Err(refuse(
            "client_secret_jwt needs the secret itself, not a hash",
            "secret_form",
        ))?,
        SecretChoice::Imported(hash) => match hashing::check(hash) {
            Ok(()) => Ok((ClientSecret::Hash(hash.clone()), None)),
            Err(error) => Err(Error::new(
                ErrorCode::InvalidClientMetadata,
                format!("client_secret_hash: {error}"),
                "secret_hash",
            ))?,
        },
        SecretChoice::Given(secret, _) if signs => {
            if secret.expose().len() < MIN_SIGNING_SECRET {
                Err(refuse(
                    "client_secret_jwt needs a secret of 32 bytes or more",
                    "secret_short",
                ))?;
            }
            Ok((seal(app, client, secret), None))
        }
        SecretChoice::Given(secret, spec) => {
            let spec = spec.unwrap_or(app.policy.secret_hash);
            Ok((
                ClientSecret::Hash(hash(app, secret.clone(), spec).await?),
                None,
            ))
        }
    }
}

fn fits(present: &ClientSecret, signs: bool) -> bool {
    match present {
        ClientSecret::None => false,
        ClientSecret::Sealed(_) => signs,
        ClientSecret::Digest(_) | ClientSecret::Hash(_) => !signs,
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
