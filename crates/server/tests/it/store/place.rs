//! Where a test has its database, and the values that it writes.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use signet::store::{Store, StoreOptions, StoreUrl, StoredToken};
use signet_oauth::claims::ClaimSet;
use signet_oauth::client::{
    AuthMethod, Client, ClientLogin, ClientMetadata, ClientSecret, GrantType, Persistence,
    TokenForm, TokenPolicy,
};
use signet_oauth::ids::{ClientId, Locator, TokenId};
use signet_oauth::scope::{Scope, ScopePatterns};
use signet_oauth::time::Timestamp;
use signet_oauth::token::AccessToken;

/// An instant in the future of every database's clock.
pub(super) const NOW: Timestamp = Timestamp(4_000_000_000);

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// What `make test` tells the tests about the components that it has started.
#[expect(
    clippy::disallowed_methods,
    reason = "tests have no configuration but this"
)]
pub(super) fn environment(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: `make test` sets it (scripts/with-postgres COMMAND)")
    })
}

/// Runs statements on a connection of their own.
pub(super) async fn run(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
}

/// A database for one test.
pub(super) struct Place {
    pub(super) url: StoreUrl,
    pub(super) dir: Option<tempfile::TempDir>,
}

impl Place {
    pub(super) fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = StoreUrl::Sqlite(dir.path().join("signet.db"));
        Self {
            url,
            dir: Some(dir),
        }
    }

    pub(super) fn memory() -> Self {
        Self {
            url: StoreUrl::Memory,
            dir: None,
        }
    }

    /// A new database on the server that `make test` starts.
    pub(super) async fn postgres() -> Self {
        let server = environment("SIGNET_TEST_POSTGRES");
        let name = format!(
            "store_{}_{}",
            std::process::id(),
            NUMBER.fetch_add(1, Relaxed)
        );
        run(&server, &format!("CREATE DATABASE {name}")).await;
        let (place, _) = server.rsplit_once('/').unwrap();
        let url = StoreUrl::Postgres(format!("{place}/{name}"));
        Self { url, dir: None }
    }

    pub(super) fn open(&self) -> Store {
        Store::open(&self.url, StoreOptions::default()).unwrap()
    }

    /// A second handle on the same database, where the backend has such a thing.
    pub(super) fn open_second(&self, first: &Store) -> Store {
        match self.url {
            StoreUrl::Postgres(_) => self.open(),
            _ => first.clone(),
        }
    }

    /// The same database after a restart of the process; in memory there is none.
    pub(super) async fn reopen(&self, store: Store) -> Store {
        if self.url == StoreUrl::Memory {
            return store;
        }
        store.close().await;
        self.open()
    }
}

pub(super) fn client_id(text: &str) -> ClientId {
    ClientId::parse(text).unwrap()
}

/// A client with nothing special about it.
pub(super) fn client(id: &str) -> Client {
    Client {
        id: client_id(id),
        generation: 1,
        version: 1,
        enabled: true,
        secret: ClientSecret::Hash("$2b$08$abc".to_owned()),
        secret_expires_at: None,
        auth_method: AuthMethod::ClientSecretBasic,
        auth_signing_alg: None,
        grants: vec![GrantType::ClientCredentials],
        scope: ScopePatterns::parse("api:read device_*").unwrap(),
        audience: vec!["https://api.example".to_owned()],
        jwks: None,
        jwks_uri: None,
        tokens: TokenPolicy {
            form: TokenForm::Opaque,
            persistence: Persistence::Persisted,
            lifetime: None,
        },
        grant_tokens: Vec::new(),
        access_token_alg: None,
        reuse_live_token: false,
        introspection_alg: None,
        login: ClientLogin::default(),
        metadata: ClientMetadata::default(),
        created_at: NOW,
        updated_at: NOW,
    }
}

/// The `sequence`-th token of client `app` that expires at this instant.
pub(super) fn token(sequence: u32, expires_at: Timestamp) -> StoredToken {
    let locator = Locator::new(expires_at, 1, sequence);
    let random = u128::from(sequence).to_be_bytes();
    StoredToken {
        token: AccessToken {
            id: TokenId::new(locator, random),
            client: client_id("app"),
            subject: "app".into(),
            scope: Scope::parse("api:read").unwrap(),
            audience: vec!["https://api.example".to_owned()],
            issued_at: expires_at.minus(300),
            expires_at,
            client_generation: 1,
            user_generation: None,
            family: None,
            session: None,
            claims: ClaimSet::EMPTY,
        },
        form: TokenForm::Opaque,
        live: None,
    }
}

pub(super) fn key(number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

impl Place {
    /// Runs a statement behind the store's back; `false` where there is no way to.
    pub(super) async fn execute(&self, sql: &str) -> bool {
        match &self.url {
            StoreUrl::Memory => return false,
            StoreUrl::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.execute_batch(sql).unwrap();
            }
            StoreUrl::Postgres(url) => run(url, sql).await,
        }
        true
    }
}
