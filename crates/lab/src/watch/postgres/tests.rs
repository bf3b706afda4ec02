mod server;

use std::time::Duration;

use super::*;
use crate::watch::config::DatabaseUrl;
use crate::watch::meter::Measure;

/// What `make test` puts into the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "tests have no configuration but this"
)]
fn environment(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run the tests by `make test`, which sets it")
    })
}

fn url() -> String {
    environment("SIGNET_TEST_POSTGRES")
}

fn source(url: &str, password_env: Option<&str>) -> config::Postgres {
    config::Postgres {
        name: "database".to_owned(),
        url: DatabaseUrl::new(url),
        password_env: password_env.map(str::to_owned),
    }
}

fn database(url: &str) -> Database {
    Database::new(&source(url, None), &|_| None).unwrap()
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

fn figure(poll: &Poll, name: &str) -> f64 {
    let reading = poll.readings.iter().find(|reading| reading.name == name);
    match reading.map(|reading| reading.measure) {
        Some(Measure::Level(value) | Measure::Count(value)) => value,
        Some(Measure::Share { part, .. }) => part,
        None => panic!("{name} is missing in {poll:?}"),
    }
}

async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[test]
fn a_server_gives_all_its_figures() {
    let poll = run(database(&url()).poll()).unwrap();
    for name in [
        "commits",
        "block_hits",
        "cache_hit_ratio",
        "size",
        "connections",
        "waits_io",
        "wal_bytes",
        "wal_records",
        "wal_writes",
        "checkpoints",
        "checkpoint_blocks",
        "block_writes",
        "cpu",
        "io_calls",
        "rss",
    ] {
        figure(&poll, name);
    }
    assert!(figure(&poll, "size") > 1e6);
    assert!(
        figure(&poll, "processes") >= 5.0,
        "the server is many processes"
    );
}

#[test]
fn work_shows_in_the_figures() {
    let url = url();
    run(async {
        let mut database = database(&url);
        let before = database.poll().await.unwrap();
        let table = format!("watched_{}", std::process::id());
        let work = format!(
            "CREATE TABLE {table} AS SELECT generate_series(1, 20000) AS n; UPDATE {table} SET n = n + 1"
        );
        let worker = client(&url).await;
        worker.simple_query(&work).await.unwrap();
        let during = database.poll().await.unwrap();
        assert!(figure(&during, "connections") >= 1.0);
        drop(worker);
        // Sessions tell what they did when they end, which nobody else can wait for.
        let mut after = during;
        while figure(&after, "tuples_updated") < figure(&before, "tuples_updated") + 20_000.0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            after = database.poll().await.unwrap();
        }
        let tidy = format!("DROP TABLE {table}");
        client(&url).await.simple_query(&tidy).await.unwrap();
        assert!(figure(&after, "commits") > figure(&before, "commits"));
    });
}

#[test]
fn an_absent_extension_is_told() {
    let poll = run(database(&url()).poll()).unwrap();
    let told = poll
        .notes
        .iter()
        .any(|note| note.contains("pg_stat_statements"));
    let counted = poll
        .readings
        .iter()
        .any(|reading| reading.name == "statements");
    assert!(told != counted, "{:?}", poll.notes);
}

#[test]
fn statements_are_counted_exactly_and_without_the_watchers_own() {
    let server = server::Server::start(&["shared_preload_libraries=pg_stat_statements"]);
    run(async {
        let worker = client(&server.url()).await;
        let install = "CREATE SCHEMA \"Odd place\"; \
            CREATE EXTENSION pg_stat_statements SCHEMA \"Odd place\"";
        worker.simple_query(install).await.unwrap();
        let mut database = database(&server.url());
        let before = database.poll().await.unwrap();
        for _ in 0..300 {
            worker.query("SELECT $1::int4", &[&7]).await.unwrap();
        }
        database.poll().await.unwrap();
        let after = database.poll().await.unwrap();
        let grown = |name| figure(&after, name) - figure(&before, name);
        assert!((grown("statements") - 300.0).abs() < 0.5, "{after:?}");
        assert!((grown("statement_rows") - 300.0).abs() < 0.5, "{after:?}");
        assert!(grown("statement_time") > 0.0);
    });
}

#[test]
fn an_extension_that_is_not_loaded_is_told() {
    let server = server::Server::start(&[]);
    run(async {
        let worker = client(&server.url()).await;
        let install = "CREATE EXTENSION pg_stat_statements";
        worker.simple_query(install).await.unwrap();
        let poll = database(&server.url()).poll().await.unwrap();
        let told = poll.notes.iter().any(|note| {
            note.starts_with("statements are not counted: ")
                && note.contains("shared_preload_libraries")
        });
        assert!(told, "{:?}", poll.notes);
    });
}

#[test]
fn a_session_that_was_cut_is_opened_again() {
    let url = url();
    run(async {
        let mut database = database(&url);
        database.poll().await.unwrap();
        let session = database.session.as_ref().unwrap();
        let pid = session
            .first("SELECT pg_backend_pid()")
            .await
            .unwrap()
            .unwrap();
        let client = client(&url).await;
        let cut = format!("SELECT pg_terminate_backend({pid}, 10000)");
        client.simple_query(&cut).await.unwrap();
        let error = database.poll().await.unwrap_err();
        assert!(!error.is_empty());
        database.poll().await.unwrap();
    });
}

#[test]
fn a_password_comes_from_the_environment_and_is_never_printed() {
    let whole = url();
    let mut without: url::Url = whole.parse().unwrap();
    let password = without.password().unwrap().to_owned();
    without.set_password(None).unwrap();
    let asked = |name: &str| (name == "DB_PASSWORD").then(|| password.clone());
    let source = source(without.as_str(), Some("DB_PASSWORD"));
    let mut database = Database::new(&source, &asked).unwrap();
    run(database.poll()).unwrap();
    assert!(!format!("{database:?}").contains(&password));
    let missing = Database::new(&source, &|_| None).unwrap_err();
    assert!(matches!(missing, BadSource::Password(..)), "{missing}");
}

#[test]
fn a_wrong_password_and_a_wrong_url_are_told_without_it() {
    let mut wrong: url::Url = url().parse().unwrap();
    wrong.set_password(Some("hunter2")).unwrap();
    let error = run(database(wrong.as_str()).poll()).unwrap_err();
    assert!(error.contains("password authentication failed"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    for text in [
        "postgresq://me:hunter2@x/db?a=b",
        "postgres://me:hunter2@x:port/db",
    ] {
        let error = Database::new(&source(text, None), &|_| None).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://me@{}/db", nobody.local_addr().unwrap());
    drop(nobody);
    let error = run(database(&url).poll()).unwrap_err();
    assert!(error.contains("error connecting to server"), "{error}");
}

#[test]
fn only_loopback_and_sockets_are_near() {
    for (url, expected) in [
        ("postgres://me@127.0.0.1/db", true),
        ("postgres://me@localhost/db", true),
        ("postgres://me@[::1]/db", true),
        ("postgres://me@%2Fvar%2Frun/db", true),
        ("postgres://me@10.0.0.1/db", false),
        ("postgres://me@db.example/db?hostaddr=127.0.0.1", false),
    ] {
        assert_eq!(database(url).is_near(), expected, "{url}");
    }
}
