//! A server in this process, on free ports, on a store of its own; and a client that speaks to it
//! over real sockets.

pub mod http;
pub mod jwt;

use http::{Answer, Call};
use serde_json::{Value, json};
use signet::config::Config;
use signet::serve::{self, Running};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The stores that the doors are tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Sqlite,
    Memory,
    Postgres,
}

impl On {
    pub const ALL: [Self; 3] = [Self::Sqlite, Self::Memory, Self::Postgres];
}

/// A running server and what belongs to it.
pub struct Server {
    pub running: Option<Running>,
    pub admin_token: String,
    pub dir: tempfile::TempDir,
    pub overrides: Vec<(String, String)>,
}

/// The URL of a new, empty database on the test server that `make test` starts.
pub fn new_database() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let server = std::env::var("SIGNET_TEST_POSTGRES")
        .expect("SIGNET_TEST_POSTGRES is not set: run the tests by `make test`, which sets it");
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    let name = format!("it_{}_{number}", std::process::id());
    let make = format!("CREATE DATABASE {name}");
    std::thread::scope(|scope| {
        let made = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (client, connection) =
                    tokio_postgres::connect(&server, tokio_postgres::NoTls).await.unwrap();
                let driving = tokio::spawn(connection);
                client.batch_execute(&make).await.unwrap();
                driving.abort();
            });
        });
        made.join().unwrap();
    });
    with_database(&server, &name)
}

/// The same server, another database.
fn with_database(server: &str, name: &str) -> String {
    let (address, query) = server.split_once('?').unwrap_or((server, ""));
    let cut = address.rfind('/').filter(|at| *at > "postgres://".len()).unwrap_or(address.len());
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    format!("{}/{name}{query}", &address[..cut])
}

impl Server {
    /// A development server on an SQLite file.
    pub fn start() -> Self {
        Self::on(On::Sqlite, &[])
    }

    /// A development server with options changed.
    pub fn with(options: &[(&str, &str)]) -> Self {
        Self::on(On::Sqlite, options)
    }

    /// A development server on this store.
    pub fn on(store: On, options: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = match store {
            On::Sqlite => format!("sqlite:{}", dir.path().join("signet.db").display()),
            On::Memory => "memory:".to_owned(),
            On::Postgres => new_database(),
        };
        let mut overrides = vec![("store".to_owned(), url)];
        if store == On::Postgres {
            let key = dir.path().join("cluster.key");
            signet::sealing::ClusterKey::load_or_create(&key, &signet::rng::Rng::system()).unwrap();
            overrides.push(("cluster.key_file".to_owned(), key.display().to_string()));
        }
        overrides.extend(options.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let mut server =
            Self { running: None, admin_token: String::new(), dir, overrides };
        server.restart();
        server
    }

    /// The configuration of this server.
    pub fn config(&self) -> Config {
        config(self.dir.path(), &self.overrides)
    }

    /// Stops the server where it runs, and starts it on the same data.
    pub fn restart(&mut self) {
        self.stop();
        let running = serve::start(&self.config()).unwrap_or_else(|error| panic!("{error}"));
        self.running = Some(running);
        let token = std::fs::read_to_string(self.dir.path().join("admin.token")).unwrap();
        token.trim().clone_into(&mut self.admin_token);
    }

    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
        }
    }

    pub fn app(&self) -> &signet::app::App {
        &self.running.as_ref().unwrap().app
    }

    /// A call at the public door.
    pub fn public(&self, method: &str, path: &str) -> Call {
        Call::new(self.running.as_ref().unwrap().public, method, path)
    }

    /// A call at the admin door, with the bootstrap token.
    pub fn admin(&self, method: &str, path: &str) -> Call {
        self.admin_bare(method, path).header("authorization", &format!("Bearer {}", self.admin_token))
    }

    /// A call at the admin door, without any token.
    pub fn admin_bare(&self, method: &str, path: &str) -> Call {
        Call::new(self.running.as_ref().unwrap().admin, method, path)
    }

    /// Creates a client; panics where the server refuses.
    pub async fn create(&self, fields: Value) -> Value {
        let answer = self.admin("POST", "/admin/clients").json(&fields).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()
    }

    /// A client `id` with the secret `secret-of-ID`, and these fields besides.
    pub async fn client(&self, id: &str, fields: Value) -> String {
        let secret = format!("secret-of-{id}");
        let mut body = json!({"client_id": id, "client_secret": secret, "secret_hash": "bcrypt:4"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.create(body).await;
        secret
    }

    /// Asks for a token with HTTP Basic.
    pub async fn token(&self, id: &str, secret: &str, form: &[(&str, &str)]) -> Answer {
        let grant = [("grant_type", "client_credentials")];
        let form: Vec<_> = grant.iter().chain(form).copied().collect();
        self.public("POST", "/oauth2/token").basic(id, secret).form(&form).await
    }

    /// The text of a token; panics where there is none.
    pub async fn issued(&self, id: &str, secret: &str, form: &[(&str, &str)]) -> String {
        let answer = self.token(id, secret, form).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["access_token"].as_str().unwrap().to_owned()
    }

    /// What the admin door says about a token.
    pub async fn introspect(&self, token: &str) -> Value {
        let answer = self.admin("POST", "/admin/oauth2/introspect").form(&[("token", token)]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Whether the admin door calls a token active.
    pub async fn is_active(&self, token: &str) -> bool {
        self.introspect(token).await["active"] == true
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A development configuration in a directory, with options changed.
pub fn config(dir: &Path, overrides: &[(String, String)]) -> Config {
    let mut options: Vec<(String, String)> = [
        ("dev", "true"),
        ("public_listen", "127.0.0.1:0"),
        ("admin_listen", "127.0.0.1:0"),
        ("issuer", "http://127.0.0.1:4444"),
        ("hashing.failure_delay_ms", "0"),
        ("log.level", "error"),
        ("threads", "2"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    options.push(("data_dir".to_owned(), dir.display().to_string()));
    options.retain(|(name, _)| overrides.iter().all(|(changed, _)| changed != name));
    options.extend(overrides.iter().cloned());
    Config::from_options(&options).unwrap_or_else(|error| panic!("{error}"))
}
