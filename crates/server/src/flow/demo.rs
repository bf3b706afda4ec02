//! What `signet serve --dev` has to play with: a client for tokens, a client to log in to, and a
//! user. Created once: who deletes one of them keeps it deleted.

use signet_oauth::authorize::ResponseType;
use signet_oauth::client::{
    AuthMethod, Client, ClientLogin, ClientMetadata, ClientSecret, GrantType,
};
use signet_oauth::ids::ClientId;
use signet_oauth::scope::ScopePatterns;
use signet_oauth::secret::Digest;
use signet_oauth::user::{Address, PasswordHash, User, UserClaims, UserId, Username};

use super::{Failure, Fault};
use crate::app::App;
use crate::hashing::{self, HashSpec};

/// The name of the demo client.
pub const CLIENT: &str = "demo";
/// The name of the demo client to log in to.
pub const LOGIN_CLIENT: &str = "demo-login";
/// The secret of both, which everybody knows.
pub const SECRET: &str = "demo-secret";
/// The demo user.
pub const USER: &str = "demo";
/// Its password, which everybody knows, too.
pub const PASSWORD: &str = "demo-password";
/// Where an application on this machine takes its users back: its port may be any.
pub const CALLBACK: &str = "http://127.0.0.1:5555/callback";

/// What a login at the demo client begins with.
pub fn login_url(issuer: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in [
        ("client_id", LOGIN_CLIENT),
        ("response_type", "code"),
        ("scope", "openid profile email"),
        ("redirect_uri", &format!("{issuer}/ui/demo")),
        ("state", "demo"),
    ] {
        query.append_pair(name, value);
    }
    format!("{issuer}/oauth2/authorize?{}", query.finish())
}

/// Creates what was never created before.
pub async fn create(app: &App) -> Result<(), Failure> {
    if first(app, "demo_client_created").await? {
        let client = Client {
            grants: vec![GrantType::ClientCredentials],
            scope: ScopePatterns::parse("read write device_*")?,
            metadata: ClientMetadata {
                name: Some("Demo".to_owned()),
                ..ClientMetadata::default()
            },
            ..client(app, CLIENT)?
        };
        register(app, client, "demo_client_created").await?;
    }
    if first(app, "demo_login_client_created").await? {
        register(app, login_client(app)?, "demo_login_client_created").await?;
    }
    if first(app, "demo_user_created").await? {
        app.store.create_user(user(app)?, app.rng.array()).await?;
        done(app, "demo_user_created").await?;
    }
    Ok(())
}

async fn first(app: &App, setting: &str) -> Result<bool, Failure> {
    Ok(app.store.find_setting(setting).await?.is_none())
}

async fn done(app: &App, setting: &str) -> Result<(), Failure> {
    let now = app.clock.now().to_string();
    Ok(app.store.put_setting(setting, &now).await?)
}

async fn register(app: &App, client: Client, setting: &str) -> Result<(), Failure> {
    client.validate()?;
    app.store.create_client(client, app.rng.array()).await?;
    done(app, setting).await
}

/// What both clients have in common.
fn client(app: &App, id: &str) -> Result<Client, Failure> {
    let id = ClientId::parse(id).ok_or_else(|| Fault::lasting("the demo client has no id"))?;
    let now = app.clock.now();
    Ok(Client {
        id,
        generation: 0,
        version: 0,
        enabled: true,
        secret: ClientSecret::Digest(Digest::of(SECRET.as_bytes())),
        secret_expires_at: None,
        auth_method: AuthMethod::ClientSecretBasic,
        auth_signing_alg: None,
        grants: vec![],
        scope: ScopePatterns::default(),
        audience: vec![],
        jwks: None,
        jwks_uri: None,
        tokens: app.policy.client_defaults,
        grant_tokens: vec![],
        access_token_alg: None,
        reuse_live_token: false,
        introspection_alg: None,
        login: ClientLogin::default(),
        metadata: ClientMetadata::default(),
        created_at: now,
        updated_at: now,
    })
}

fn login_client(app: &App) -> Result<Client, Failure> {
    let issuer = &app.grants.issuer;
    Ok(Client {
        grants: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
        scope: ScopePatterns::parse("openid profile email address phone offline_access read")?,
        login: ClientLogin {
            post_logout_redirect_uris: vec![CALLBACK.replace("callback", "")],
            ..ClientLogin::default()
        },
        metadata: ClientMetadata {
            name: Some("Demo application".to_owned()),
            redirect_uris: vec![CALLBACK.to_owned(), format!("{issuer}/ui/demo")],
            response_types: vec![ResponseType::Code],
            ..ClientMetadata::default()
        },
        ..client(app, LOGIN_CLIENT)?
    })
}

/// A user with a value for every claim there is.
fn user(app: &App) -> Result<User, Failure> {
    let name = Username::parse(USER).ok_or_else(|| Fault::lasting("the demo user has no name"))?;
    // Cheap, since it protects nothing, and called imported, so that the first login makes it anew.
    let hash = hashing::hash(HashSpec::Bcrypt { cost: 4 }, PASSWORD, &app.rng);
    let hash = hash.map_err(|error| Fault::lasting(format!("the demo password: {error}")))?;
    let now = app.clock.now();
    Ok(User {
        id: UserId::from_random(app.rng.array()),
        username: name,
        generation: 0,
        session_generation: 0,
        version: 0,
        locked: false,
        password: PasswordHash::Imported(hash),
        roles: vec!["demo".to_owned()],
        claims: claims(),
        created_at: now,
        updated_at: now,
    })
}

fn claims() -> UserClaims {
    let text = |text: &str| Some(text.to_owned());
    UserClaims {
        name: text("Dora Demo"),
        given_name: text("Dora"),
        family_name: text("Demo"),
        middle_name: text("D."),
        nickname: text("dodo"),
        preferred_username: text(USER),
        profile: text("https://demo.example/dora"),
        picture: text("https://demo.example/dora.png"),
        website: text("https://demo.example/"),
        email: text("dora@demo.example"),
        email_verified: Some(true),
        gender: text("female"),
        birthdate: text("1990-04-01"),
        zoneinfo: text("Europe/Zurich"),
        locale: text("en-GB"),
        phone_number: text("+41 31 000 00 00"),
        phone_number_verified: Some(false),
        address: Some(Address {
            formatted: text("Demo Street 1\n3000 Bern\nSwitzerland"),
            street_address: text("Demo Street 1"),
            locality: text("Bern"),
            region: text("BE"),
            postal_code: text("3000"),
            country: text("CH"),
        }),
    }
}
