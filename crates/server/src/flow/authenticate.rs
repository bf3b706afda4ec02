//! Clients prove who they are: secrets through the verified set and the hashing pool, assertions
//! through the registered keys and one guarded insert.
//!
//! Every refusal is answered on a timer, and unknown clients never enter the pool, so that timing
//! does not tell whether a client exists.

use signet_oauth::Error;
use signet_oauth::client::{AuthMethod, ClientSecret};
use signet_oauth::client_auth::{self, Assertion, Credentials};
use signet_oauth::ids::ClientId;
use signet_oauth::jose::{Algorithm, Compact, VerificationKey};
use signet_oauth::secret::Secret;
use signet_oauth::time::Timestamp;
use std::net::IpAddr;
use std::sync::Arc;

use super::{Failure, Fault, clients, operate};
use crate::app::App;
use crate::cache::CachedClient;
use crate::hashing::{self, Origin};
use crate::sealing::Purpose;
use crate::store::SingleUse;

/// The client behind the credentials, or `invalid_client`, said no sooner than the timer allows.
pub async fn client(
    app: &App,
    credentials: &Credentials<'_>,
    address: IpAddr,
    now: Timestamp,
) -> Result<Arc<CachedClient>, Failure> {
    operate::fresh(app)?;
    let started = app.clock.uptime();
    let outcome = match credentials {
        Credentials::Id(id) => public(app, id).await,
        Credentials::Secret { method, id, secret } => {
            by_secret(app, id, (*method, secret), address, now).await
        }
        Credentials::Assertion { jwt, id } => {
            Box::pin(by_assertion(app, jwt, id.as_ref(), now)).await
        }
    };
    if let Err(Failure::Denied(_)) = &outcome {
        let elapsed = app.clock.uptime().saturating_sub(started);
        tokio::time::sleep(app.failures.until_answer(elapsed)).await;
    }
    outcome
}

/// Refuses public clients: for endpoints that need proof (RFC 7662 §2.1).
pub fn confidential(client: &CachedClient) -> Result<(), Error> {
    match client.client.auth_method {
        AuthMethod::None => Err(Error::client("client_public")),
        _ => Ok(()),
    }
}

async fn known(app: &App, id: &ClientId) -> Result<Arc<CachedClient>, Failure> {
    let client = app
        .find_client(id)
        .await?
        .ok_or_else(|| Error::client("client_unknown"))?;
    if !client.client.enabled {
        return Err(Error::client("client_disabled").into());
    }
    Ok(client)
}

async fn public(app: &App, id: &ClientId) -> Result<Arc<CachedClient>, Failure> {
    let client = known(app, id).await?;
    client_auth::allowed(&client.client, AuthMethod::None)?;
    Ok(client)
}

async fn by_secret(
    app: &App,
    id: &ClientId,
    (method, secret): (AuthMethod, &Secret),
    address: IpAddr,
    now: Timestamp,
) -> Result<Arc<CachedClient>, Failure> {
    let client = known(app, id).await?;
    client_auth::allowed(&client.client, method)?;
    unexpired(&client, now)?;
    let right = match &client.client.secret {
        ClientSecret::Digest(digest) => *digest == secret.digest(),
        ClientSecret::Hash(hash) | ClientSecret::Imported(hash) => {
            app.verified.knows(id, hash, secret)
                || Box::pin(slow(app, &client, hash.clone(), secret.clone(), address)).await?
        }
        ClientSecret::None | ClientSecret::Sealed(_) => false,
    };
    if right {
        Ok(client)
    } else {
        Err(Error::client("client_secret_wrong").into())
    }
}

/// An expired secret proves nothing, whether it is sent or signs.
fn unexpired(client: &CachedClient, now: Timestamp) -> Result<(), Error> {
    let expired = client.client.secret_expires_at.is_some_and(|at| now >= at);
    if expired {
        Err(Error::client("client_secret_expired"))
    } else {
        Ok(())
    }
}

/// Checks a secret against its slow hash, in the pool.
async fn slow(
    app: &App,
    client: &CachedClient,
    hash: String,
    secret: Secret,
    address: IpAddr,
) -> Result<bool, Failure> {
    let id = &client.client.id;
    let flight = app.verified.flight(id, &hash, &secret);
    let check = async || {
        let origin = Origin {
            client: signet_oauth::log::client_key(id),
            address,
        };
        let (job_hash, job_secret) = (hash.clone(), secret.clone());
        let job = move || hashing::verify(&job_hash, job_secret.expose());
        let verdict = app.hashing.run(origin.clone(), job).await?;
        let right = verdict.map_err(|error| Fault::lasting(format!("hash of {id}: {error}")))?;
        if right {
            app.hashing.succeeded(&origin);
            app.verified.remember(id, &hash, &secret);
            renew(app, client, &secret).await;
        }
        Ok::<_, Failure>(right)
    };
    flight.get_or_try_init(check).await.copied()
}

/// A hash that another server made goes once its secret is known. The request has had its answer
/// whether or not that works; the next first use tries again.
async fn renew(app: &App, client: &CachedClient, secret: &Secret) {
    let ClientSecret::Imported(hash) = &client.client.secret else {
        return;
    };
    if hashing::is_made_by(hash, app.policy.secret_hash) {
        return;
    }
    let id = &client.client.id;
    match clients::renew_hash(app, &client.client, secret).await {
        Ok(Some(renewed)) => app.verified.remember(id, &renewed, secret),
        Ok(None) => {}
        Err(failure) => {
            tracing::debug!(client = %id, ?failure, "an imported hash could not be made anew");
        }
    }
}

async fn by_assertion(
    app: &App,
    jwt: &str,
    named: Option<&ClientId>,
    now: Timestamp,
) -> Result<Arc<CachedClient>, Failure> {
    let compact = Compact::parse(jwt).map_err(|_| Error::client("assertion_malformed"))?;
    let malformed = |_| Error::client("assertion_claims");
    let unverified = compact.unverified_claims().map_err(malformed)?;
    let subject = unverified
        .sub()
        .map_err(malformed)?
        .and_then(ClientId::parse);
    let id = subject.ok_or_else(|| Error::client("assertion_iss_sub"))?;
    if named.is_some_and(|named| *named != id) {
        return Err(Error::client("assertion_client_id").into());
    }
    let client = known(app, &id).await?;
    let algorithm = compact.header().algorithm();
    client_auth::assertion_method(&client.client, algorithm)?;
    if algorithm == Algorithm::Hs256 {
        unexpired(&client, now)?;
    }
    let key = assertion_key(app, &client, compact.header().kid(), algorithm).await?;
    let payload = compact
        .verify(&key)
        .map_err(|_| Error::client("assertion_signature"))?;
    let claims = payload.claims().map_err(malformed)?;
    let assertion = Assertion {
        issuer: claims.iss().map_err(malformed)?,
        subject: claims.sub().map_err(malformed)?,
        audience: claims.aud().map_err(malformed)?,
        expires_at: claims.exp().map_err(malformed)?,
        not_before: claims.nbf().map_err(malformed)?,
        issued_at: claims.iat().map_err(malformed)?,
        id: claims.jti().map_err(malformed)?,
    };
    let accepted: Vec<&str> = app
        .policy
        .assertion_audiences
        .iter()
        .map(String::as_str)
        .collect();
    let once = assertion.check(&id, &accepted, now)?;
    let mut attempt = [0; 16];
    app.rng.fill(&mut attempt);
    match app
        .store
        .use_assertion(once.key, once.until, attempt)
        .await?
    {
        SingleUse::Won => Ok(client),
        SingleUse::Used => Err(Error::client("assertion_replayed").into()),
        SingleUse::Expired => Err(Error::client("assertion_expired").into()),
    }
}

/// The client's public key for a signature with this header.
pub async fn public_key(
    app: &App,
    client: &CachedClient,
    kid: Option<&str>,
    algorithm: Algorithm,
) -> Option<Arc<VerificationKey>> {
    match &client.client.jwks_uri {
        Some(uri) => app.client_keys.find(uri, kid, algorithm).await,
        None => client.keys()?.find(kid, algorithm).cloned(),
    }
}

/// The key that the assertion must be signed with. The algorithm comes from the registration and
/// from the key; the header only picks among what they allow.
async fn assertion_key(
    app: &App,
    client: &Arc<CachedClient>,
    kid: Option<&str>,
    algorithm: Algorithm,
) -> Result<Arc<VerificationKey>, Failure> {
    let unknown = || Error::client("assertion_key_unknown");
    if algorithm != Algorithm::Hs256 {
        let key = public_key(app, client, kid, algorithm).await;
        return key.ok_or_else(|| unknown().into());
    }
    let ClientSecret::Sealed(sealed) = &client.client.secret else {
        return Err(unknown().into());
    };
    let context = client.client.id.as_str().as_bytes();
    let secret = app
        .sealing
        .open(Purpose::ClientSecret, context, sealed)
        .map_err(|error| Fault::lasting(format!("secret of {}: {error}", client.client.id)))?;
    let key = VerificationKey::hs256(None, &secret).map_err(|_| unknown())?;
    Ok(Arc::new(key))
}
