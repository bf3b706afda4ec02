//! Client secrets: hashed slowly, verified once, known by memory from then on; and bounded work
//! for those who guess.

use serde_json::{Value, json};
use signet::hashing::Origin;
use signet_oauth::client::ClientSecret;
use signet_oauth::ids::ClientId;
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::{assert_invalid_client, request};
use crate::support::http::Answer;
use crate::support::{On, Server, on_every_store, together, until};

on_every_store! {
    a_rotated_secret_is_refused_at_once
    hashes_of_other_servers_are_imported
}

/// A pool in which one hash is computed at a time and hardly any may wait.
const NARROW: [(&str, &str); 4] = [
    ("hashing.threads", "1"),
    ("hashing.queue", "2"),
    ("hashing.per_client", "1"),
    ("hashing.per_address", "2"),
];

/// What is stored of a client's secret.
async fn kept(server: &Server, id: &str) -> ClientSecret {
    let id = ClientId::parse(id).unwrap();
    server
        .app()
        .store
        .find_client(&id)
        .await
        .unwrap()
        .value
        .unwrap()
        .secret
}

fn statuses(answers: &[Answer]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for answer in answers {
        *counts.entry(answer.status).or_default() += 1;
    }
    counts
}

/// The pool with its one thread held, and what waits behind it.
struct Held {
    release: mpsc::Sender<()>,
    jobs: JoinSet<()>,
}

impl Held {
    /// Holds the thread of the pool.
    async fn thread(server: &Server) -> Self {
        let app = Arc::clone(&server.running.as_ref().unwrap().app);
        let (release, gate) = mpsc::channel();
        let (started, has_started) = oneshot::channel();
        let mut jobs = JoinSet::new();
        jobs.spawn(async move {
            let job = move || {
                started.send(()).unwrap();
                // An error is the release: the other end is gone.
                let _released: Result<(), mpsc::RecvError> = gate.recv();
            };
            app.hashing.run_trusted(job).await.unwrap();
        });
        has_started.await.unwrap();
        Self { release, jobs }
    }

    /// Fills so many places of the queue, as strangers or else as the server itself.
    async fn queue(&mut self, server: &Server, places: u8, strangers: bool) {
        for number in 0..places {
            let app = Arc::clone(&server.running.as_ref().unwrap().app);
            self.jobs.spawn(async move {
                let origin = Origin {
                    client: [number; 16],
                    address: [192, 0, 2, number].into(),
                };
                let done = if strangers {
                    app.hashing.run(origin, || ()).await
                } else {
                    app.hashing.run_trusted(|| ()).await
                };
                done.unwrap();
            });
        }
        let waiting = usize::from(places);
        let full = async || server.app().hashing.waiting() == waiting;
        until("the places are filled", full).await;
    }

    /// Lets everything run.
    async fn release(mut self) {
        drop(self.release);
        while let Some(done) = self.jobs.join_next().await {
            done.unwrap();
        }
    }
}

fn assert_full(case: &str, answer: &Answer) {
    let refusal = (503, "temporarily_unavailable".to_owned());
    assert_eq!(answer.refusal(), refusal, "{case}: {}", answer.text());
    let wait: u32 = answer.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{case}: {wait}");
    assert_eq!(answer.header("cache-control"), "no-store", "{case}");
}

/// A client whose secret is `chosen`, hashed slowly.
async fn slow_client(server: &Server, id: &str) {
    let fields = json!({"client_id": id, "client_secret": "chosen", "secret_hash": "bcrypt:8"});
    server.create(fields).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_first_use_of_a_secret_enters_the_pool() {
    let server = Server::with(&NARROW);
    slow_client(&server, "app").await;
    slow_client(&server, "cold").await;
    let generated = server.quick("generated", json!({})).await;
    assert_eq!(server.app().verified.len(), 0);
    assert_eq!(server.token("app", "chosen", &[]).await.status, 200);
    assert_eq!(server.app().verified.len(), 1);
    let mut held = Held::thread(&server).await;
    held.queue(&server, 2, false).await;
    let answers = together(100, |_| {
        let call = request(&server, &[]).basic("app", "chosen");
        async move { call.await }
    });
    assert_eq!(statuses(&answers.await), BTreeMap::from([(200, 100)]));
    assert_eq!(server.token("generated", &generated, &[]).await.status, 200);
    assert_full(
        "a wrong secret never becomes fast",
        &server.token("app", "other", &[]).await,
    );
    assert_full("a first use", &server.token("cold", "chosen", &[]).await);
    let unknown = server.token("nobody", "chosen", &[]).await;
    assert_invalid_client("an unknown client never enters the pool", &unknown);
    let body = json!({"client_secret": "chosen", "secret_hash": "bcrypt:8"});
    let created = server.admin("POST", "/admin/clients").json(&body).await;
    assert_full("a new secret must be hashed, too", &created);
    held.release().await;
    assert_invalid_client("a wrong secret", &server.token("app", "other", &[]).await);
    assert_eq!(server.token("cold", "chosen", &[]).await.status, 200);
    assert_eq!(
        server.app().verified.len(),
        2,
        "wrong secrets are not remembered"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verified_secrets_can_be_switched_off() {
    let server = Server::with(&[&NARROW[..], &[("secrets.verified", "off")]].concat());
    slow_client(&server, "app").await;
    for _ in 0..3 {
        assert_eq!(server.token("app", "chosen", &[]).await.status, 200);
        assert_eq!(server.app().verified.len(), 0);
    }
    assert_invalid_client("a wrong one", &server.token("app", "other", &[]).await);
    let mut held = Held::thread(&server).await;
    held.queue(&server, 2, false).await;
    assert_full("every use pays", &server.token("app", "chosen", &[]).await);
    held.release().await;
    assert_eq!(server.token("app", "chosen", &[]).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_right_before_has_places_kept_while_others_guess() {
    let server = Server::with(&[
        ("secrets.verified", "off"),
        ("hashing.threads", "1"),
        ("hashing.queue", "8"),
        ("hashing.per_client", "8"),
        ("hashing.per_address", "8"),
    ]);
    slow_client(&server, "guessed-at").await;
    slow_client(&server, "bystander").await;
    assert_eq!(server.token("bystander", "chosen", &[]).await.status, 200);
    let mut held = Held::thread(&server).await;
    held.queue(&server, 6, true).await;
    assert_full("a guess", &server.token("guessed-at", "guess", &[]).await);
    let call = request(&server, &[]).basic("bystander", "chosen");
    let waiting = tokio::spawn(async move { call.await });
    let admitted = async || server.app().hashing.waiting() == 7;
    until("the known pair has a place", admitted).await;
    held.release().await;
    assert_eq!(waiting.await.unwrap().status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessing_is_bounded_and_does_not_stop_the_others() {
    let server = Server::with(&NARROW);
    for id in ["guessed-at", "bystander"] {
        let fields =
            json!({"client_id": id, "client_secret": "chosen", "secret_hash": "bcrypt:12"});
        server.create(fields).await;
        assert_eq!(server.token(id, "chosen", &[]).await.status, 200);
    }
    let guesses = together(40, |number| {
        let call = request(&server, &[]).basic("guessed-at", &format!("guess {number}"));
        async move { call.await }
    });
    let good = together(40, |number| {
        let call = request(&server, &[]).basic(["guessed-at", "bystander"][number % 2], "chosen");
        async move { call.await }
    });
    let (guesses, good) = tokio::join!(guesses, good);
    assert_eq!(
        statuses(&good),
        BTreeMap::from([(200, 40)]),
        "known pairs do not wait"
    );
    for answer in guesses {
        match answer.status {
            401 => assert_invalid_client("a guess", &answer),
            _ => assert_full("a guess too many", &answer),
        }
    }
    assert_eq!(
        server.app().verified.len(),
        2,
        "wrong secrets push nothing out"
    );
    assert_invalid_client(
        "calm again",
        &server.token("guessed-at", "guess", &[]).await,
    );
}

async fn a_rotated_secret_is_refused_at_once(store: On) {
    let server = Server::on(store, &[]);
    let chosen = server.client("chosen", json!({})).await;
    let generated = server.quick("generated", json!({})).await;
    for (id, first) in [("chosen", chosen), ("generated", generated)] {
        assert_eq!(server.token(id, &first, &[]).await.status, 200, "{id}");
        let path = format!("/admin/clients/{id}");
        let rotated = server.admin("POST", &format!("{path}/secret")).await;
        assert_eq!(rotated.status, 200, "{}", rotated.text());
        let second = rotated.json()["client_secret"].as_str().unwrap().to_owned();
        assert_invalid_client(id, &server.token(id, &first, &[]).await);
        assert_eq!(server.token(id, &second, &[]).await.status, 200, "{id}");
        server
            .patch(
                id,
                json!({"client_secret": "third", "secret_hash": "bcrypt:4"}),
            )
            .await;
        assert_invalid_client(id, &server.token(id, &second, &[]).await);
        assert_eq!(server.token(id, "third", &[]).await.status, 200, "{id}");
        let body = json!({"client_secret": "fourth", "secret_hash": "bcrypt:4"});
        let replaced = server.admin("PUT", &path).json(&body).await;
        assert_eq!(replaced.status, 200, "{}", replaced.text());
        assert_invalid_client(id, &server.token(id, "third", &[]).await);
        assert_eq!(server.token(id, "fourth", &[]).await.status, 200, "{id}");
    }
}

/// The hash of "correct horse" as other programs write it: htpasswd, jBCrypt's format, the
/// reference implementation of Argon2, Keycloak (Argon2 and PBKDF2, both with padding), Hydra and
/// passlib.
const FOREIGN: [&str; 7] = [
    "$2y$04$QiW0dv76.639vwkXMcfj2OL4L0bKTlIo/JAuM3Y4nlAqcDYVeubYe",
    "$2a$04$QiW0dv76.639vwkXMcfj2OL4L0bKTlIo/JAuM3Y4nlAqcDYVeubYe",
    "$argon2id$v=19$m=256,t=3,p=2$MDEyMzQ1Njc4OWFiY2RlZg$r8r4yRUZjBl1Gchi9vVMjZcIVeeq/dweXYcWCGgv58A",
    "$argon2id$v=19$m=7168,t=5,p=1$MDEyMzQ1Njc4OWFiY2RlZg==$2Ek5zMZVGrFVTlHZZgywf+fd0fS6/y+DB3Z5fAX1+zM=",
    "$pbkdf2-sha256$27500$MDEyMzQ1Njc4OWFiY2RlZg==$H5R9LZ0QvKxHLm1Lg0IeQXdtUAa+9gf2NeOZns+WHBTpnlaWE/+JwnJ/2OXEjNPW5EusP1xxGLqEqjWDbIcGlg==",
    "$pbkdf2-sha256$i=25000,l=32$++++++++++++++++++++AQ$+HMpxG048ZGZe/KVzur2c74Jz0SQu7EopF7EHvyUaM8",
    "$pbkdf2-sha512$1000$MDEyMzQ1Njc4OWFiY2RlZg$OM0FAoIqCVK1sWtxDiffVlBejtLa.ks4TP71JiecwuSZCG8iLbnlIEPOMoVX.i2B2wkSxjQ8CRGR9OkNGuIPMQ",
];

async fn hashes_of_other_servers_are_imported(store: On) {
    let server = Server::on(store, &[]);
    for (number, hash) in FOREIGN.into_iter().enumerate() {
        let id = format!("imported-{number}");
        let created = server
            .create(json!({"client_id": id, "client_secret_hash": hash}))
            .await;
        assert!(
            created.get("client_secret").is_none() && created.get("client_secret_hash").is_none()
        );
        assert_invalid_client(hash, &server.token(&id, "correct  horse", &[]).await);
        for _ in 0..2 {
            let answer = server.token(&id, "correct horse", &[]).await;
            assert_eq!(answer.status, 200, "{hash}: {}", answer.text());
        }
        assert_invalid_client(hash, &server.token(&id, hash, &[]).await);
    }
    server.client("app", json!({})).await;
    server
        .patch("app", json!({"client_secret_hash": FOREIGN[0]}))
        .await;
    assert_eq!(
        server.token("app", "correct horse", &[]).await.status,
        200,
        "imported later"
    );
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn a_chosen_secret_is_hashed_as_it_was_asked_for() {
    let server = Server::with(&[("secrets.hash", "bcrypt:6")]);
    for (number, (spec, begins)) in [
        (json!("bcrypt:5"), "$2b$05$"),
        (
            json!("argon2id:m=64,t=2,p=1"),
            "$argon2id$v=19$m=64,t=2,p=1$",
        ),
        (json!("pbkdf2-sha256:1000"), "$pbkdf2-sha256$"),
        (Value::Null, "$2b$06$"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("app-{number}");
        server
            .create(json!({"client_id": id, "client_secret": "chosen", "secret_hash": spec}))
            .await;
        let ClientSecret::Hash(hash) = kept(&server, &id).await else {
            panic!("{spec}: no hash")
        };
        assert!(hash.starts_with(begins), "{spec}: {hash}");
        assert_eq!(server.token(&id, "chosen", &[]).await.status, 200, "{spec}");
    }
    for (name, value) in [
        ("secret_hash", "md5"),
        ("secret_hash", "bcrypt:3"),
        ("secret_hash", "bcrypt:40"),
        ("secret_hash", "argon2id:m=99999999,t=2,p=1"),
        ("secret_hash", "pbkdf2-sha256:0"),
        ("client_secret_hash", "chosen"),
        ("client_secret_hash", "$2b$04$short"),
        (
            "client_secret_hash",
            "$2b$31$QiW0dv76.639vwkXMcfj2OL4L0bKTlIo/JAuM3Y4nlAqcDYVeubYe",
        ),
        ("client_secret_hash", "$1$salt$qJH7.N4xYta3aEG/dfqo/0"),
        ("client_secret_hash", ""),
    ] {
        let mut fields = json!({"client_id": "refused"});
        fields[name] = value.into();
        if name == "secret_hash" {
            fields["client_secret"] = "chosen".into();
        }
        let answer = server.admin("POST", "/admin/clients").json(&fields).await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_client_metadata".to_owned()),
            "{fields}: {}",
            answer.text()
        );
        assert!(
            answer.text().contains(name),
            "{fields}: it says which field: {}",
            answer.text()
        );
    }
    let long = json!({"client_secret": "x".repeat(73), "secret_hash": "bcrypt:4"});
    let answer = server.admin("POST", "/admin/clients").json(&long).await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_client_metadata".to_owned()),
        "bcrypt reads 72 bytes"
    );
    let both = json!({"client_secret": "x", "client_secret_hash": FOREIGN[0]});
    let answer = server.admin("POST", "/admin/clients").json(&both).await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_client_metadata".to_owned()),
        "one or the other"
    );
}

#[tokio::test]
async fn neither_secret_nor_hash_is_ever_told_again() {
    let server = Server::start();
    let generated = server.quick("generated", json!({})).await;
    assert_eq!(generated.len(), 43, "256 bits in base64url");
    let chosen = server.client("chosen", json!({})).await;
    server
        .create(json!({"client_id": "imported", "client_secret_hash": FOREIGN[0]}))
        .await;
    let sealed = server
        .quick(
            "sealed",
            json!({"token_endpoint_auth_method": "client_secret_jwt"}),
        )
        .await;
    let mut texts = vec![];
    for id in ["generated", "chosen", "imported", "sealed"] {
        let path = format!("/admin/clients/{id}");
        texts.push(server.admin("GET", &path).await.text());
        texts.push(server.admin("GET", &format!("/clients/{id}")).await.text());
        texts.push(
            server
                .patch(id, json!({"client_name": "renamed"}))
                .await
                .to_string(),
        );
        let body = json!({"token_endpoint_auth_method": if id == "sealed" { "client_secret_jwt" } else { "client_secret_basic" }});
        texts.push(server.admin("PUT", &path).json(&body).await.text());
        texts.push(
            server
                .admin("POST", &format!("{path}/disable"))
                .await
                .text(),
        );
        texts.push(server.admin("POST", &format!("{path}/enable")).await.text());
    }
    texts.push(server.admin("GET", "/admin/clients").await.text());
    texts.push(server.admin("GET", "/clients").await.text());
    texts.push(server.admin("GET", "/admin/metrics").await.text());
    for text in texts {
        for secret in [
            &*generated,
            &*chosen,
            &*sealed,
            "client_secret\"",
            "client_secret_hash",
            "$2",
        ] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
    for (id, secret) in [("generated", &generated), ("chosen", &chosen)] {
        assert_eq!(
            server.token(id, secret, &[]).await.status,
            200,
            "{id}: it was kept all the time"
        );
    }
}

#[tokio::test]
async fn an_imported_hash_is_made_anew_at_its_first_use() {
    let server = Server::with(&[("secrets.hash", "bcrypt:5")]);
    server
        .create(json!({"client_id": "app", "client_secret_hash": FOREIGN[0]}))
        .await;
    let token = server.issued("app", "correct horse", &[]).await;
    let replaced = async || match kept(&server, "app").await {
        ClientSecret::Hash(hash) => hash.starts_with("$2b$05$"),
        _ => false,
    };
    until("the hash is made anew", replaced).await;
    assert_eq!(server.token("app", "correct horse", &[]).await.status, 200);
    assert!(server.is_active(&token).await, "which ends no token");
}
