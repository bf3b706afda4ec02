//! The demo client of `signet serve --dev`, created once: who deletes it keeps it deleted.

use signet_oauth::client::{
    AuthMethod, Client, ClientLogin, ClientMetadata, ClientSecret, GrantType,
};
use signet_oauth::ids::ClientId;
use signet_oauth::scope::ScopePatterns;
use signet_oauth::secret::Digest;

use super::{Failure, Fault};
use crate::app::App;

/// The name of the demo client.
pub const CLIENT: &str = "demo";
/// Its secret, which everybody knows.
pub const SECRET: &str = "demo-secret";

const CREATED: &str = "demo_client_created";

/// Creates the demo client where it was never created before.
pub async fn create(app: &App) -> Result<(), Failure> {
    if app.store.find_setting(CREATED).await?.is_some() {
        return Ok(());
    }
    let id = ClientId::parse(CLIENT).ok_or_else(|| Fault::lasting("the demo client has no id"))?;
    let now = app.clock.now();
    let client = Client {
        id,
        generation: 0,
        version: 0,
        enabled: true,
        secret: ClientSecret::Digest(Digest::of(SECRET.as_bytes())),
        secret_expires_at: None,
        auth_method: AuthMethod::ClientSecretBasic,
        auth_signing_alg: None,
        grants: vec![GrantType::ClientCredentials],
        scope: ScopePatterns::parse("read write device_*")?,
        audience: vec![],
        jwks: None,
        jwks_uri: None,
        tokens: app.policy.client_defaults,
        grant_tokens: vec![],
        access_token_alg: None,
        reuse_live_token: false,
        introspection_alg: None,
        login: ClientLogin::default(),
        metadata: ClientMetadata {
            name: Some("Demo".to_owned()),
            ..ClientMetadata::default()
        },
        created_at: now,
        updated_at: now,
    };
    client.validate()?;
    let mut attempt = [0; 16];
    app.rng.fill(&mut attempt);
    app.store.create_client(client, attempt).await?;
    app.store.put_setting(CREATED, &now.to_string()).await?;
    Ok(())
}
