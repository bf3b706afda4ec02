//! A server in this process, on free ports, on a store of its own; and a client that speaks to it
//! over real sockets.

pub(crate) mod agent;
pub(crate) mod browser;
pub(crate) mod certificates;
pub(crate) mod http;
pub(crate) mod jwt;
pub(crate) mod people;
mod proxy;

use http::{Answer, Call};
pub(crate) use proxy::Proxy;
use serde_json::{Value, json};
use signet::clock::Clock;
use signet::config::{Config, Outside};
use signet::rng::Rng;
use signet::serve::{self, Running};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The issuer of every server here; its endpoints are elsewhere, because ports are free ones.
pub(crate) const ISSUER: &str = "http://127.0.0.1:4444";

/// The stores that the doors are tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Sqlite,
    Memory,
    Postgres,
}

/// Runs each test on each store: `sqlite::NAME`, `memory::NAME` and `postgres::NAME`.
macro_rules! on_every_store {
    ($($name:ident)*) => {
        mod sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name($crate::support::On::Sqlite).await; }
        )* }
        mod memory { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name($crate::support::On::Memory).await; }
        )* }
        mod postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name($crate::support::On::Postgres).await; }
        )* }
    };
}
pub(crate) use on_every_store;

impl On {
    pub(crate) const ALL: [Self; 3] = [Self::Sqlite, Self::Memory, Self::Postgres];
}

/// Does what must not be done on a thread that drives futures: it blocks on some of its own.
fn aside<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let done = std::thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs `count` tasks at the same time and gives what they return, in order.
pub(crate) async fn together<T, F>(count: usize, task: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..count)
        .map(|number| tokio::spawn(task(number)))
        .collect();
    let mut done = Vec::with_capacity(count);
    for task in tasks {
        let outcome = tokio::time::timeout(PATIENCE, task)
            .await
            .expect("a task hangs");
        done.push(outcome.unwrap());
    }
    done
}

/// So long a test waits for what must come, before it says that something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until it is so; panics where it never is.
pub(crate) async fn until(what: &str, so: impl AsyncFn() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// A running server and what belongs to it.
pub(crate) struct Server {
    pub(crate) running: Option<Running>,
    pub(crate) admin_token: String,
    pub(crate) dir: Arc<tempfile::TempDir>,
    pub(crate) overrides: Vec<(String, String)>,
    pub(crate) clock: Clock,
}

/// A text that no other call returns.
pub(crate) fn unique() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!(
        "{}-{}",
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::SeqCst)
    )
}

/// What `make test` puts into the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "tests have no configuration but this"
)]
pub(crate) fn environment(name: &str) -> String {
    let value = std::env::var(name);
    value.unwrap_or_else(|_| {
        panic!("{name} is not set: run the tests by `make test`, which sets it")
    })
}

/// Runs statements behind the server's back; what they return, as text.
pub(crate) async fn query(database: &str, sql: &str) -> Vec<String> {
    let connected = tokio_postgres::connect(database, tokio_postgres::NoTls).await;
    let (client, connection) = connected.unwrap();
    let driving = tokio::spawn(connection);
    let messages = client.simple_query(sql).await.unwrap();
    driving.abort();
    let rows = messages.iter().filter_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    rows.collect()
}

/// The URL of a new, empty database on the test server that `make test` starts.
pub(crate) fn new_database() -> String {
    let server = environment("SIGNET_TEST_POSTGRES");
    let name = format!("it_{}", unique().replace('-', "_"));
    aside(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let make = format!("CREATE DATABASE {name}");
        runtime.block_on(query(&server, &make));
    });
    with_database(&server, &name)
}

/// The same server, another database.
fn with_database(server: &str, name: &str) -> String {
    let (address, query) = server.split_once('?').unwrap_or((server, ""));
    let cut = address
        .rfind('/')
        .filter(|at| *at > "postgres://".len())
        .unwrap_or(address.len());
    let query = if query.is_empty() {
        String::new()
    } else {
        format!("?{query}")
    };
    format!("{}/{name}{query}", &address[..cut])
}

impl Server {
    /// A development server on an `SQLite` file.
    pub(crate) fn start() -> Self {
        Self::on(On::Sqlite, &[])
    }

    /// A development server with options changed.
    pub(crate) fn with(options: &[(&str, &str)]) -> Self {
        Self::on(On::Sqlite, options)
    }

    /// A development server on this store.
    pub(crate) fn on(store: On, options: &[(&str, &str)]) -> Self {
        Self::at(Clock::system(), store, options)
    }

    /// The same, with a clock that stands still until the test moves it.
    pub(crate) fn frozen(store: On, options: &[(&str, &str)]) -> Self {
        Self::at(Clock::frozen(Clock::system().now()), store, options)
    }

    fn at(clock: Clock, store: On, options: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = match store {
            On::Sqlite => format!("sqlite:{}", dir.path().join("signet.db").display()),
            On::Memory => "memory:".to_owned(),
            On::Postgres => new_database(),
        };
        Self::inside(dir, clock, url, options)
    }

    fn inside(dir: tempfile::TempDir, clock: Clock, url: String, options: &[(&str, &str)]) -> Self {
        let at = |name: &str| dir.path().join(name).display().to_string();
        let mut overrides = vec![("data_dir".to_owned(), at("data"))];
        if url.starts_with("postgres") {
            let key = dir.path().join("cluster.key");
            signet::sealing::ClusterKey::load_or_create(&key, &Rng::system()).unwrap();
            overrides.push(("cluster.key_file".to_owned(), at("cluster.key")));
        }
        overrides.push(("store".to_owned(), url));
        let options = options
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        overrides.extend(options);
        let mut server = Self {
            running: None,
            admin_token: String::new(),
            dir: Arc::new(dir),
            overrides,
            clock,
        };
        server.restart();
        server
    }

    /// A development server on an `SQLite` file, with a configuration file besides: for what only a
    /// file can say. Its clock stands still.
    pub(crate) fn with_file(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("signet.toml"), text).unwrap();
        let clock = Clock::frozen(Clock::system().now());
        let url = format!("sqlite:{}", dir.path().join("signet.db").display());
        Self::inside(dir, clock, url, &[])
    }

    /// A development server on a database that is reached through a proxy.
    pub(crate) fn behind(proxy: &Proxy, options: &[(&str, &str)]) -> Self {
        let url = proxy.redirect(&new_database());
        Self::inside(tempfile::tempdir().unwrap(), Clock::system(), url, options)
    }

    /// A development server on a database somewhere.
    pub(crate) fn on_database(url: String, options: &[(&str, &str)]) -> Self {
        Self::inside(tempfile::tempdir().unwrap(), Clock::system(), url, options)
    }

    /// A second node on the same database (`PostgreSQL`: the others have one node).
    pub(crate) fn beside(&self) -> Self {
        let mut overrides = self.overrides.clone();
        let data = self.dir.path().join(format!("data-{}", unique()));
        overrides.retain(|(name, _)| name != "data_dir");
        overrides.push(("data_dir".to_owned(), data.display().to_string()));
        let (dir, clock) = (Arc::clone(&self.dir), self.clock.clone());
        let mut server = Self {
            running: None,
            admin_token: String::new(),
            dir,
            overrides,
            clock,
        };
        server.restart();
        server
    }

    /// The URL of its store.
    pub(crate) fn store_url(&self) -> &str {
        let found = self.overrides.iter().find(|(name, _)| name == "store");
        &found.unwrap().1
    }

    /// The directory of what the server writes itself.
    pub(crate) fn data_dir(&self) -> &Path {
        let found = self.overrides.iter().find(|(name, _)| name == "data_dir");
        Path::new(&found.unwrap().1)
    }

    /// The configuration of this server.
    pub(crate) fn config(&self) -> Config {
        config(self.dir.path(), &self.overrides)
    }

    /// Stops the server where it runs, and starts it on the same data.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let (config, clock) = (self.config(), self.clock.clone());
        let running = aside(|| serve::start_with(&config, clock, Rng::system()));
        self.running = Some(running.unwrap_or_else(|error| panic!("{error}")));
        let token = std::fs::read_to_string(self.data_dir().join("admin.token")).unwrap();
        token.trim().clone_into(&mut self.admin_token);
    }

    pub(crate) fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            aside(|| running.stop());
        }
    }

    pub(crate) fn app(&self) -> &signet::app::App {
        &self.running.as_ref().unwrap().app
    }

    /// A call at the public door.
    pub(crate) fn public(&self, method: &str, path: &str) -> Call {
        Call::new(self.running.as_ref().unwrap().public, method, path)
    }

    /// A call at the admin door, with the bootstrap token.
    pub(crate) fn admin(&self, method: &str, path: &str) -> Call {
        self.admin_bare(method, path)
            .header("authorization", &format!("Bearer {}", self.admin_token))
    }

    /// A call at the admin door, without any token.
    pub(crate) fn admin_bare(&self, method: &str, path: &str) -> Call {
        Call::new(self.running.as_ref().unwrap().admin, method, path)
    }

    /// Creates a client; panics where the server refuses.
    pub(crate) async fn create(&self, fields: Value) -> Value {
        let answer = self.admin("POST", "/admin/clients").json(&fields).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()
    }

    /// Durable writes so far, but for those by which the server removes what has expired.
    pub(crate) fn written(&self) -> u64 {
        let done = self.app().store.statistics();
        done.operations - done.expirations
    }

    /// A client `id` with the secret `secret-of-ID`, and these fields besides.
    pub(crate) async fn client(&self, id: &str, fields: Value) -> String {
        let secret = format!("secret-of-{id}");
        let mut body = json!({"client_id": id, "client_secret": secret, "secret_hash": "bcrypt:4"});
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        self.create(body).await;
        secret
    }

    /// A client `id` with these fields and a generated secret, which costs no slow hash.
    pub(crate) async fn quick(&self, id: &str, fields: Value) -> String {
        let mut body = json!({"client_id": id});
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        self.create(body).await["client_secret"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Changes some fields of a client; panics where the server refuses.
    pub(crate) async fn patch(&self, id: &str, fields: Value) -> Value {
        let path = format!("/admin/clients/{}", http::escape(id));
        let answer = self.admin("PATCH", &path).json(&fields).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Makes a signing key; panics where the server refuses.
    pub(crate) async fn key(&self, alg: &str) -> Value {
        let answer = self
            .admin("POST", "/admin/keys")
            .json(&json!({"alg": alg}))
            .await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()
    }

    /// The published keys.
    pub(crate) async fn jwks(&self) -> Value {
        self.public("GET", "/.well-known/jwks.json").await.json()
    }

    /// Asks for a token with HTTP Basic.
    pub(crate) async fn token(&self, id: &str, secret: &str, form: &[(&str, &str)]) -> Answer {
        let grant = [("grant_type", "client_credentials")];
        let form: Vec<_> = grant.iter().chain(form).copied().collect();
        self.public("POST", "/oauth2/token")
            .basic(id, secret)
            .form(&form)
            .await
    }

    /// The text of a token; panics where there is none.
    pub(crate) async fn issued(&self, id: &str, secret: &str, form: &[(&str, &str)]) -> String {
        let answer = self.token(id, secret, form).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["access_token"].as_str().unwrap().to_owned()
    }

    /// What the admin door says about a token.
    pub(crate) async fn introspect(&self, token: &str) -> Value {
        let answer = self
            .admin("POST", "/admin/oauth2/introspect")
            .form(&[("token", token)])
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Asks about a token at the public door.
    pub(crate) async fn ask(&self, caller: (&str, &str), token: &str) -> Answer {
        let call = self
            .public("POST", "/oauth2/introspect")
            .basic(caller.0, caller.1);
        call.form(&[("token", token)]).await
    }

    /// Revokes a token at the public door.
    pub(crate) async fn revoke(&self, caller: (&str, &str), token: &str) -> Answer {
        let call = self
            .public("POST", "/oauth2/revoke")
            .basic(caller.0, caller.1);
        call.form(&[("token", token)]).await
    }

    /// Whether the admin door calls a token active.
    pub(crate) async fn is_active(&self, token: &str) -> bool {
        self.introspect(token).await["active"] == true
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A development configuration in a directory, with options changed.
pub(crate) fn config(dir: &Path, overrides: &[(String, String)]) -> Config {
    let mut options: Vec<(String, String)> = [
        ("dev", "true"),
        ("public_listen", "127.0.0.1:0"),
        ("admin_listen", "127.0.0.1:0"),
        ("issuer", ISSUER),
        ("hashing.failure_delay_ms", "0"),
        ("log.level", "error"),
        ("threads", "2"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    options.push(("data_dir".to_owned(), dir.display().to_string()));
    options.retain(|(name, _)| overrides.iter().all(|(changed, _)| changed != name));
    options.extend(overrides.iter().cloned());
    let file = dir.join("signet.toml");
    let outside = Outside {
        variables: BTreeMap::new(),
        ..Outside::real()
    };
    let options: Vec<_> = options
        .iter()
        .map(|(name, text)| (name.as_str(), text.clone()))
        .collect();
    let config = Config::load(file.exists().then_some(&*file), &outside, &options);
    config.unwrap_or_else(|error| panic!("{error}"))
}
