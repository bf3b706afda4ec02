//! `reuse_live_token`: a repeated request is answered with the token that is still alive.

use serde_json::{Value, json};
use std::collections::BTreeSet;

use super::request;
use crate::support::{On, Server, jwt, on_every_store, together};

on_every_store! {
    a_repeated_request_gets_the_live_token
    a_token_that_is_dead_or_nearly_so_is_not_told_again
    parallel_requests_get_one_token
}

/// Clients that reuse tokens of either form.
async fn clients(server: &Server) -> [(&'static str, String); 2] {
    let fields = |form: &str| {
        json!({"access_token": form, "persistence": "persisted", "reuse_live_token": true,
               "scope": "read write", "audience": ["https://a.example", "https://b.example"]})
    };
    [
        ("opaque", server.quick("opaque", fields("opaque")).await),
        ("jwt", server.quick("jwt", fields("jwt")).await),
    ]
}

/// A token and its id.
async fn issued(
    server: &Server,
    client: &(&str, String),
    form: &[(&str, &str)],
) -> (String, Value) {
    let text = server.issued(client.0, &client.1, form).await;
    let told = server.introspect(&text).await;
    assert_eq!(told["active"], true);
    (text, told["jti"].clone())
}

async fn a_repeated_request_gets_the_live_token(store: On) {
    let server = Server::frozen(store, &[]);
    for client in clients(&server).await {
        let (first, id) = issued(&server, &client, &[]).await;
        server.clock.advance(100);
        let answer = server.token(client.0, &client.1, &[]).await.json();
        assert_eq!(answer["expires_in"], 200, "what is left of its life");
        let text = answer["access_token"].as_str().unwrap();
        assert_eq!(
            server.introspect(text).await,
            server.introspect(&first).await
        );
        if client.0 == "opaque" {
            assert_eq!(text, first);
        } else {
            assert_eq!(jwt::read(text).1, jwt::read(&first).1);
        }
        let asked: [&[(&str, &str)]; 3] = [
            &[("scope", "read")],
            &[("resource", "https://a.example")],
            &[("scope", "write read")],
        ];
        let mut ids = BTreeSet::from([id.to_string()]);
        for form in asked {
            let (_, other) = issued(&server, &client, form).await;
            assert!(ids.insert(other.to_string()), "another request: {form:?}");
            assert_eq!(
                issued(&server, &client, form).await.1,
                other,
                "{form:?} again"
            );
        }
        assert_eq!(
            issued(&server, &client, &[]).await.1,
            id,
            "the first one lives on"
        );
    }
}

async fn a_token_that_is_dead_or_nearly_so_is_not_told_again(store: On) {
    let server = Server::frozen(store, &[]);
    for client in clients(&server).await {
        let path = |rest: &str| format!("/admin/clients/{}{rest}", client.0);
        let mut ids = BTreeSet::new();
        let (text, id) = issued(&server, &client, &[]).await;
        ids.insert(id.to_string());
        assert_eq!(
            server.revoke((client.0, &client.1), &text).await.status,
            200
        );
        let (_, id) = issued(&server, &client, &[]).await;
        assert!(ids.insert(id.to_string()), "after it was revoked");
        assert!(!server.is_active(&text).await, "and the old one stays dead");
        assert_eq!(
            issued(&server, &client, &[]).await.1,
            id,
            "the new one is told again"
        );
        assert_eq!(server.admin("DELETE", &path("/tokens")).await.status, 204);
        let (_, id) = issued(&server, &client, &[]).await;
        assert!(
            ids.insert(id.to_string()),
            "after all of its tokens were revoked"
        );
        server.clock.advance(300);
        let (_, id) = issued(&server, &client, &[]).await;
        assert!(ids.insert(id.to_string()), "after it expired");
        server.clock.advance(299);
        let (text, id) = issued(&server, &client, &[]).await;
        assert!(ids.insert(id.to_string()), "in its last second");
        server
            .patch(client.0, json!({"reuse_live_token": false}))
            .await;
        assert_ne!(
            issued(&server, &client, &[]).await.1,
            id,
            "no more when it is switched off"
        );
        assert!(server.is_active(&text).await, "which ends nothing");
    }
}

async fn parallel_requests_get_one_token(store: On) {
    let server = Server::on(store, &[]);
    let second = (store == On::Postgres).then(|| server.beside());
    let nodes = [&server, second.as_ref().unwrap_or(&server)];
    for (id, secret) in clients(&server).await {
        for round in ["read", "write"] {
            let answers = together(50, |number| {
                let call = request(nodes[number % 2], &[("scope", round)]).basic(id, &secret);
                async move { call.await }
            });
            let mut ids = BTreeSet::new();
            for answer in answers.await {
                assert_eq!(answer.status, 200, "{}", answer.text());
                let text = answer.json()["access_token"].as_str().unwrap().to_owned();
                ids.insert(nodes[0].introspect(&text).await["jti"].to_string());
            }
            assert_eq!(ids.len(), 1, "{id}: {ids:?}");
            assert!(!ids.contains("null"), "{id}: and it is active");
        }
    }
}

#[tokio::test]
async fn only_a_persisted_token_can_be_told_again() {
    let server = Server::start();
    let fields =
        json!({"reuse_live_token": true, "access_token": "jwt", "persistence": "stateless"});
    let answer = server.admin("POST", "/admin/clients").json(&fields).await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_client_metadata".to_owned())
    );
    let secret = server
        .quick("app", json!({"persistence": "persisted"}))
        .await;
    let (first, second) = (
        server.issued("app", &secret, &[]).await,
        server.issued("app", &secret, &[]).await,
    );
    assert_ne!(
        jwt::read(&first).1["jti"],
        jwt::read(&second).1["jti"],
        "off by default"
    );
}

#[tokio::test]
async fn a_token_told_again_is_signed_by_the_key_that_signs_now() {
    let options = [("keys.publish_before", "0"), ("keys.jwks_max_age", "0")];
    let server = Server::frozen(On::Sqlite, &options);
    let [_, client] = clients(&server).await;
    let (first, id) = issued(&server, &client, &[]).await;
    server.clock.advance(10);
    let next = server.key("ES256").await;
    let old = jwt::read(&first).0["kid"].as_str().unwrap().to_owned();
    let retire = format!("/admin/keys/{old}/retire");
    assert_eq!(server.admin("POST", &retire).await.status, 200);
    let (again, same) = issued(&server, &client, &[]).await;
    assert_eq!(same, id);
    assert_eq!(
        jwt::read(&again).0["kid"],
        next["kid"],
        "a retired key signs no more"
    );
}
