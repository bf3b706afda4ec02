//! `/admin/keys`: signing keys are made, published, rotated and retired; and `/keys/{set}`, as
//! Hydra's users know it.

use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::support::{On, Server, jwt, on_every_store};

on_every_store! {
    the_next_key_is_published_before_it_signs
    a_retired_key_verifies_until_its_tokens_are_dead
    keys_survive_a_restart
    the_schedule_replaces_keys_before_they_are_old
}

/// Clients may cache the key set for a minute, so the next key waits for two.
const SCHEDULE: [(&str, &str); 2] = [("keys.publish_before", "120"), ("keys.jwks_max_age", "60")];

/// The names of the published keys.
async fn published(server: &Server) -> BTreeSet<String> {
    let keys = server.jwks().await;
    keys["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["kid"].as_str().unwrap().to_owned())
        .collect()
}

/// The keys as the administrator sees them.
async fn listed(server: &Server) -> Vec<Value> {
    let answer = server.admin("GET", "/admin/keys").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["keys"].as_array().unwrap().clone()
}

async fn state(server: &Server, kid: &str) -> String {
    let found = listed(server)
        .await
        .into_iter()
        .find(|key| key["kid"] == kid);
    found.map_or_else(
        || "gone".to_owned(),
        |key| key["state"].as_str().unwrap().to_owned(),
    )
}

/// A token's key.
fn kid(token: &str) -> String {
    jwt::read(token).0["kid"].as_str().unwrap().to_owned()
}

async fn rotate(server: &Server) -> Value {
    let answer = server
        .admin("POST", "/admin/keys/rotate")
        .json(&json!({}))
        .await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

async fn the_next_key_is_published_before_it_signs(store: On) {
    let server = Server::frozen(store, &SCHEDULE);
    let secret = server
        .quick("app", json!({"access_token_lifetime": 1000}))
        .await;
    let old = server.issued("app", &secret, &[]).await;
    assert_eq!(
        published(&server).await.len(),
        1,
        "the first key signs at once: nobody knows another"
    );
    let next = rotate(&server).await;
    let name = next["kid"].as_str().unwrap();
    assert_ne!(kid(&old), name);
    assert!(
        next["active_from"].as_u64().unwrap() >= server.clock.now().0 + 120,
        "{next}"
    );
    assert_eq!(
        published(&server).await,
        BTreeSet::from([kid(&old), name.to_owned()])
    );
    assert_eq!(
        (state(&server, name).await, state(&server, &kid(&old)).await),
        ("pending".into(), "active".into())
    );
    server.clock.advance(119);
    assert_eq!(
        kid(&server.issued("app", &secret, &[]).await),
        kid(&old),
        "in its last second"
    );
    server.clock.advance(1);
    let new = server.issued("app", &secret, &[]).await;
    assert_eq!(kid(&new), name);
    assert!(jwt::verifies(&new, &server.jwks().await) && jwt::verifies(&old, &server.jwks().await));
    assert!(server.is_active(&new).await && server.is_active(&old).await);
    assert_eq!(
        (state(&server, name).await, state(&server, &kid(&old)).await),
        ("active".into(), "retired".into())
    );
}

async fn a_retired_key_verifies_until_its_tokens_are_dead(store: On) {
    let server = Server::frozen(
        store,
        &[
            SCHEDULE[0],
            SCHEDULE[1],
            ("keys.longest_token_lifetime", "3600"),
        ],
    );
    let secret = server
        .quick("app", json!({"access_token_lifetime": 3600}))
        .await;
    let old = server.issued("app", &secret, &[]).await;
    let retire = async |kid: &str| {
        server
            .admin("POST", &format!("/admin/keys/{kid}/retire"))
            .await
    };
    let answer = retire(&kid(&old)).await;
    assert_eq!(
        answer.refusal(),
        (409, "conflict".to_owned()),
        "nothing else could sign"
    );
    let next = rotate(&server).await;
    server.clock.advance(120);
    let last = server.issued("app", &secret, &[]).await;
    assert_eq!(kid(&last), next["kid"].as_str().unwrap());
    let answer = retire(&kid(&old)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["state"], "retired");
    assert!(published(&server).await.contains(&kid(&old)));
    server.clock.advance(3600 - 120 - 1);
    assert!(server.is_active(&old).await, "its last second");
    assert!(jwt::verifies(&old, &server.jwks().await));
    server.clock.advance(1);
    assert!(!server.is_active(&old).await);
    server.clock.advance(100_000);
    let gone = async || !published(&server).await.contains(&kid(&old));
    crate::support::until("the key is no longer published", gone).await;
    let answer = retire("nobody").await;
    assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
}

#[tokio::test]
async fn retiring_the_active_key_hands_over_to_the_next() {
    let server = Server::frozen(On::Sqlite, &SCHEDULE);
    let secret = server.quick("app", json!({})).await;
    let old = server.issued("app", &secret, &[]).await;
    let next = rotate(&server).await;
    // A key that leaked must stop at once, though not everybody knows the next one yet.
    let path = format!("/admin/keys/{}/retire", kid(&old));
    let answer = server.admin("POST", &path).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let new = server.issued("app", &secret, &[]).await;
    assert_eq!(kid(&new), next["kid"].as_str().unwrap());
    assert!(
        server.is_active(&new).await && server.is_active(&old).await,
        "it verifies what it has signed"
    );
    let again = server.admin("POST", &path).await;
    assert_eq!(
        (again.status, again.json()),
        (200, answer.json()),
        "once more changes nothing"
    );
}

#[tokio::test]
async fn keys_of_every_algorithm_are_made_and_never_show_their_private_half() {
    let server = Server::with(&[("keys.publish_before", "0"), ("keys.jwks_max_age", "0")]);
    for (alg, kty) in [
        ("ES256", "EC"),
        ("EdDSA", "OKP"),
        ("RS256", "RSA"),
        ("PS256", "RSA"),
    ] {
        let key = server.key(alg).await;
        assert_eq!(
            (&key["alg"], &key["source"]),
            (&json!(alg), &json!("local"))
        );
        assert_eq!(
            (&key["jwk"]["kty"], &key["jwk"]["alg"]),
            (&json!(kty), &json!(alg))
        );
        assert_eq!(
            (&key["jwk"]["use"], &key["jwk"]["kid"]),
            (&json!("sig"), &key["kid"])
        );
        if kty == "RSA" {
            assert!(
                key["jwk"]["n"].as_str().unwrap().len() >= 342,
                "2048 bits or more: {key}"
            );
        }
    }
    let mut texts = vec![];
    for path in [
        "/admin/keys",
        "/keys/signet",
        "/keys/hydra.openid.id-token",
        "/keys/hydra.jwt.access-token",
        "/.well-known/jwks.json",
    ] {
        let answer = server.admin("GET", path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        texts.push(answer.text());
    }
    for key in listed(&server).await {
        let answer = server
            .admin(
                "GET",
                &format!("/keys/signet/{}", key["kid"].as_str().unwrap()),
            )
            .await;
        assert_eq!(answer.json()["keys"], json!([key["jwk"]]));
        texts.push(answer.text());
    }
    for text in texts {
        for private in [
            "\"d\"", "\"p\"", "\"q\"", "\"dp\"", "\"dq\"", "\"qi\"", "\"k\"", "\"oth\"", "PRIVATE",
        ] {
            assert!(!text.contains(private), "{private} in {text}");
        }
    }
}

#[tokio::test]
async fn requests_for_keys_that_cannot_be_are_refused() {
    let server = Server::start();
    for (body, status) in [
        (json!({"alg": "HS256"}), 400),
        (json!({"alg": "none"}), 400),
        (json!({"alg": "ES512"}), 400),
        (json!({"alg": 1}), 400),
        (json!({"algorithm": "ES256"}), 400),
        (json!({"remote": "nowhere"}), 400),
        (json!({"kid": "x"}), 400),
        (json!({"remote": "nowhere", "kid": "x"}), 404),
        (json!({"remote": "nowhere", "kid": "a b"}), 400),
    ] {
        for path in ["/admin/keys", "/admin/keys/rotate"] {
            let answer = server.admin("POST", path).json(&body).await;
            assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
        }
    }
    for path in ["/keys/other", "/keys/signet/nobody", "/keys/other/nobody"] {
        assert_eq!(
            server.admin("GET", path).await.refusal(),
            (404, "not_found".to_owned()),
            "{path}"
        );
    }
    assert_eq!(published(&server).await.len(), 1, "and none was made");
}

async fn keys_survive_a_restart(store: On) {
    let mut server = Server::on(store, &SCHEDULE);
    let secret = server.quick("app", json!({})).await;
    let token = server.issued("app", &secret, &[]).await;
    let next = rotate(&server).await;
    let before = (listed(&server).await, server.jwks().await);
    if store == On::Memory {
        return; // Its keys die with the process, as its data does.
    }
    server.restart();
    assert_eq!((listed(&server).await, server.jwks().await), before);
    assert!(server.is_active(&token).await);
    assert_eq!(
        kid(&server.issued("app", &secret, &[]).await),
        kid(&token),
        "the same key signs"
    );
    if store == On::Postgres {
        let second = server.beside();
        assert_eq!(second.jwks().await, before.1, "one set for all nodes");
        assert!(second.is_active(&token).await);
        assert_eq!(kid(&second.issued("app", &secret, &[]).await), kid(&token));
    }
    assert_eq!(
        state(&server, next["kid"].as_str().unwrap()).await,
        "pending"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_key_reaches_the_other_node_by_itself() {
    let server = Server::frozen(
        On::Postgres,
        &[
            ("keys.publish_before", "0"),
            ("keys.jwks_max_age", "0"),
            ("cluster.staleness_bound_ms", "200"),
        ],
    );
    let second = server.beside();
    let secret = server.quick("app", json!({})).await;
    server.clock.advance(1);
    let next = rotate(&server).await;
    let name = next["kid"].as_str().unwrap();
    let token = server.issued("app", &secret, &[]).await;
    assert_eq!(kid(&token), name);
    let known = async || published(&second).await.contains(name);
    crate::support::until("the other node publishes it", known).await;
    let signs = async || kid(&second.issued("app", &secret, &[]).await) == name;
    crate::support::until("the other node signs with it", signs).await;
    assert!(second.is_active(&token).await);
}

async fn the_schedule_replaces_keys_before_they_are_old(store: On) {
    let schedule = [SCHEDULE[0], SCHEDULE[1], ("keys.rotate_every", "1000")];
    let server = Server::frozen(store, &schedule);
    let second = (store == On::Postgres).then(|| server.beside());
    let secret = server.quick("app", json!({})).await;
    let look = async || {
        // What every node does by itself twice a minute.
        for node in [Some(&server), second.as_ref()].into_iter().flatten() {
            signet::flow::keys::keep(node.app()).await.unwrap();
            node.app()
                .follower
                .catch_up(&node.app().store)
                .await
                .unwrap();
            signet::flow::keys::load(node.app()).await.unwrap();
        }
    };
    let mut signers = vec![];
    for _ in 0..3 {
        let token = server.issued("app", &secret, &[]).await;
        signers.push(kid(&token));
        server.clock.advance(879);
        look().await;
        let before = published(&server).await;
        server.clock.advance(1);
        look().await;
        look().await;
        let after = published(&server).await;
        assert_eq!(
            after.difference(&before).count(),
            1,
            "one more, on all nodes together"
        );
        if let Some(second) = &second {
            assert_eq!(published(second).await, after);
        }
        server.clock.advance(119);
        assert_eq!(
            kid(&server.issued("app", &secret, &[]).await),
            signers[signers.len() - 1]
        );
        server.clock.advance(1);
        assert!(
            !signers.contains(&kid(&server.issued("app", &secret, &[]).await)),
            "the next one signs"
        );
    }
}
