//! `PostgreSQL` that lets nobody in without TLS.

use serde_json::json;
use signet::clock::Clock;
use signet::rng::Rng;
use signet::sealing::ClusterKey;
use signet::serve;
use std::path::Path;

use crate::chaos::postgres::Postgres;
use crate::support::certificates::Authority;
use crate::support::{Server, config, until};

/// Why a server does not start on this database.
fn refusal(url: String) -> String {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("cluster.key");
    ClusterKey::load_or_create(&key, &Rng::system()).unwrap();
    let options = [
        ("store".to_owned(), url),
        ("cluster.key_file".to_owned(), key.display().to_string()),
    ];
    let config = config(dir.path(), &options);
    let started =
        std::thread::spawn(move || serve::start_with(&config, Clock::system(), Rng::system()));
    match started.join().unwrap() {
        Ok(running) => {
            std::thread::spawn(move || running.stop()).join().unwrap();
            panic!("it started");
        }
        Err(error) => error.to_string(),
    }
}

fn trusting(url: &str, mode: &str, roots: &Path) -> String {
    format!("{url}?sslmode={mode}&sslrootcert={}", roots.display())
}

async fn serves(server: &Server, client: &str) {
    let secret = server
        .quick(client, json!({"access_token": "opaque"}))
        .await;
    let token = server.issued(client, &secret, &[]).await;
    assert!(server.is_active(&token).await);
    server.revoke((client, &secret), &token).await;
    assert!(!server.is_active(&token).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_behind_tls_serves_and_comes_back() {
    let authority = Authority::new();
    let dir = tempfile::tempdir().unwrap();
    let issued = authority.issue("127.0.0.1");
    let mut postgres = Postgres::start_with_tls(&issued.certificate, &issued.key).await;
    let roots = authority.file(dir.path());
    for (number, mode) in ["", "?sslmode=prefer", "?sslmode=require"]
        .iter()
        .enumerate()
    {
        let name = format!("fresh_{number}");
        postgres.run_here(&format!("CREATE DATABASE {name}")).await;
        let url = format!("{}{mode}", postgres.url_of(&name));
        serves(&Server::on_database(url, &[]), "app").await;
    }
    let url = trusting(&postgres.url(), "verify-full", &roots);
    let server = Server::on_database(url, &[]);
    serves(&server, "before").await;
    postgres.crash();
    postgres.start().await;
    until("it is ready again", async || {
        server.public("GET", "/health/ready").await.status == 200
    })
    .await;
    serves(&server, "after").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_somebody_else_is_not_believed() {
    let authority = Authority::new();
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = authority.issue("db.example");
    let postgres = Postgres::start_with_tls(&elsewhere.certificate, &elsewhere.key).await;
    let roots = authority.file(dir.path());
    let named = refusal(trusting(&postgres.url(), "verify-full", &roots));
    assert!(named.contains("not valid for name"), "{named}");
    let other = Authority::new().file(dir.path());
    let unknown = refusal(trusting(&postgres.url(), "verify-full", &other));
    assert!(unknown.contains("UnknownIssuer"), "{unknown}");
    let unknown = refusal(trusting(&postgres.url(), "require", &other));
    assert!(unknown.contains("UnknownIssuer"), "{unknown}");
    let system = refusal(format!("{}?sslmode=verify-full", postgres.url()));
    assert!(system.contains("certificate"), "{system}");
    let plain = refusal(format!("{}?sslmode=disable", postgres.url()));
    assert!(
        plain.contains("no encryption") || plain.contains("pg_hba"),
        "{plain}"
    );
    let gone = refusal(trusting(
        &postgres.url(),
        "verify-full",
        &dir.path().join("gone"),
    ));
    assert!(gone.contains("sslrootcert"), "{gone}");
}
