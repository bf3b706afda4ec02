//! What is in a token: claims, algorithm, form and lifetime, by client and by grant.

use serde_json::json;
use std::collections::HashSet;

use super::{kinds, request};
use crate::support::http::Session;
use crate::support::{ISSUER, On, Server, jwt, on_every_store, together};

on_every_store! {
    lifetimes_are_of_the_server_the_client_or_the_grant
    every_form_and_persistence_can_be_introspected
    no_two_tokens_are_alike
}

/// With these options, a new key signs at once.
const KEYS: [(&str, &str); 2] = [("keys.publish_before", "0"), ("keys.jwks_max_age", "0")];

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn a_token_has_the_claims_of_the_profile() {
    let server = Server::frozen(On::Sqlite, &[]);
    let secret = server
        .quick(
            "app",
            json!({"scope": "read", "audience": ["https://a.example"]}),
        )
        .await;
    let answer = server.token("app", &secret, &[]).await.json();
    let token = answer["access_token"].as_str().unwrap();
    let (header, claims) = jwt::read(token);
    let keys = server.jwks().await;
    assert_eq!(
        (&header["typ"], &header["alg"]),
        (&json!("at+jwt"), &json!("ES256"))
    );
    assert!(
        keys["keys"]
            .as_array()
            .unwrap()
            .iter()
            .any(|key| key["kid"] == header["kid"])
    );
    assert!(jwt::verifies(token, &keys));
    let now = server.clock.now().0;
    for (name, value) in [
        ("iss", json!(ISSUER)),
        ("sub", json!("app")),
        ("client_id", json!("app")),
        ("aud", json!("https://a.example")),
        ("scope", json!("read")),
        ("iat", json!(now)),
        ("exp", json!(now + 300)),
    ] {
        assert_eq!(claims[name], value, "{name} of {claims}");
    }
    assert!(
        claims["jti"].as_str().unwrap().len() >= 22,
        "128 bits: {claims}"
    );
    assert_eq!(answer["expires_in"], 300);
    let known = [
        "iss",
        "sub",
        "aud",
        "client_id",
        "exp",
        "iat",
        "jti",
        "scope",
        "cgn",
    ];
    let surplus: Vec<_> = claims
        .as_object()
        .unwrap()
        .keys()
        .filter(|name| !known.contains(&name.as_str()))
        .collect();
    assert!(surplus.is_empty(), "{surplus:?}");
    let told = server.introspect(token).await;
    let names = [
        "iss",
        "sub",
        "aud",
        "client_id",
        "exp",
        "iat",
        "jti",
        "scope",
    ];
    assert!(
        names.iter().all(|name| told[name] == claims[name]),
        "{told}"
    );
}

#[tokio::test]
async fn every_algorithm_signs_what_its_published_key_verifies() {
    let server = Server::with(&KEYS);
    for alg in ["EdDSA", "RS256", "PS256"] {
        server.key(alg).await;
    }
    for alg in ["ES256", "EdDSA", "RS256", "PS256"] {
        let fields = json!({"access_token_signed_response_alg": alg});
        let secret = server.quick(alg, fields).await;
        let token = server.issued(alg, &secret, &[]).await;
        let (header, _) = jwt::read(&token);
        let keys = server.jwks().await;
        let key = keys["keys"]
            .as_array()
            .unwrap()
            .iter()
            .find(|key| key["kid"] == header["kid"]);
        assert_eq!(
            (&header["alg"], &key.unwrap()["alg"]),
            (&json!(alg), &json!(alg))
        );
        assert!(jwt::verifies(&token, &keys), "{alg}");
        assert!(server.is_active(&token).await, "{alg}");
        let changed = jwt::with_claims(&token, |claims| claims["scope"] = "all".into());
        assert!(!jwt::verifies(&changed, &keys), "{alg}");
        assert!(!server.is_active(&changed).await, "{alg}");
    }
}

#[tokio::test]
async fn the_server_may_sign_with_another_algorithm_by_default() {
    for alg in ["EdDSA", "RS256", "PS256"] {
        let server = Server::with(&[("tokens.signing_alg", alg)]);
        let secret = server.quick("app", json!({})).await;
        let token = server.issued("app", &secret, &[]).await;
        assert_eq!(jwt::read(&token).0["alg"], alg);
        assert!(jwt::verifies(&token, &server.jwks().await), "{alg}");
        assert!(server.is_active(&token).await, "{alg}");
    }
}

#[tokio::test]
async fn an_algorithm_that_a_client_asks_for_gets_its_key() {
    let server = Server::start();
    let secret = server
        .quick("app", json!({"access_token_signed_response_alg": "EdDSA"}))
        .await;
    let token = server.issued("app", &secret, &[]).await;
    assert!(
        jwt::verifies(&token, &server.jwks().await),
        "a key was made for it"
    );
    let secret = server.quick("later", json!({})).await;
    server
        .patch(
            "later",
            json!({"access_token_signed_response_alg": "PS256"}),
        )
        .await;
    let token = server.issued("later", &secret, &[]).await;
    assert_eq!(jwt::read(&token).0["alg"], "PS256");
    server
        .patch(
            "later",
            json!({"introspection_signed_response_alg": "RS256"}),
        )
        .await;
    let call = server
        .public("POST", "/oauth2/introspect")
        .basic("later", &secret);
    let call = call.header("accept", "application/token-introspection+jwt");
    let answer = call.form(&[("token", &token)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

async fn lifetimes_are_of_the_server_the_client_or_the_grant(store: On) {
    let server = Server::frozen(store, &[("tokens.access_token_lifetime", "120")]);
    let grant = |seconds: u64| json!({"client_credentials": {"access_token_lifetime": seconds}});
    let opaque = json!({"access_token": "opaque", "access_token_lifetime": 60});
    for (id, fields, expected) in [
        ("server", json!({}), 120),
        ("client", json!({"access_token_lifetime": 40}), 40),
        (
            "grant",
            json!({"access_token_lifetime": 40, "grant_tokens": grant(7)}),
            7,
        ),
        ("only-grant", json!({"grant_tokens": grant(9)}), 9),
        (
            "other-grant",
            json!({"grant_tokens": {"password": {"access_token_lifetime": 3}}}),
            120,
        ),
        ("opaque", opaque, 60),
        ("shortest", json!({"access_token_lifetime": 1}), 1),
        ("longest", json!({"access_token_lifetime": 86_400}), 86_400),
    ] {
        let secret = server.quick(id, fields).await;
        let answer = server.token(id, &secret, &[]).await.json();
        assert_eq!(answer["expires_in"], expected, "{id}");
        let token = answer["access_token"].as_str().unwrap();
        let told = server.introspect(token).await;
        assert_eq!(
            told["exp"].as_u64().unwrap() - told["iat"].as_u64().unwrap(),
            expected,
            "{id}"
        );
        server.clock.advance(expected - 1);
        assert!(server.is_active(token).await, "{id}: in its last second");
        server.clock.advance(1);
        assert!(!server.is_active(token).await, "{id}: at its end");
    }
}

async fn every_form_and_persistence_can_be_introspected(store: On) {
    let server = Server::on(store, &[]);
    for (id, mut fields) in kinds() {
        fields["scope"] = "read".into();
        let secret = server.client(id, fields).await;
        let token = server.issued(id, &secret, &[]).await;
        let is_opaque = token.starts_with("sgt_") && token.len() == 44 && !token.contains('.');
        assert_eq!(is_opaque, id == "opaque", "{id}: {token}");
        let told = server.introspect(&token).await;
        let expected = [
            ("active", json!(true)),
            ("client_id", json!(id)),
            ("sub", json!(id)),
            ("scope", json!("read")),
            ("iss", json!(ISSUER)),
            ("aud", json!(ISSUER)),
            ("token_type", json!("Bearer")),
        ];
        for (name, value) in expected {
            assert_eq!(told[name], value, "{name} of {id}");
        }
        assert_eq!(told["nbf"], told["iat"], "{id}");
        assert!(told["jti"].is_string(), "{id}");
    }
    let grants = json!({"grant_tokens": {"client_credentials": {"access_token": "opaque"}}});
    let secret = server.quick("by-grant", grants).await;
    let token = server.issued("by-grant", &secret, &[]).await;
    assert!(token.starts_with("sgt_"), "the grant's form: {token}");
}

#[tokio::test]
async fn an_opaque_token_cannot_be_stateless() {
    let server = Server::start();
    let pair = json!({"access_token": "opaque", "persistence": "stateless"});
    let by_grant = json!({"grant_tokens": {"client_credentials": pair}});
    server.client("app", json!({})).await;
    server
        .client("opaque", json!({"access_token": "opaque"}))
        .await;
    for fields in [pair, by_grant] {
        for (method, path) in [
            ("POST", "/admin/clients"),
            ("PUT", "/admin/clients/app"),
            ("PATCH", "/admin/clients/app"),
        ] {
            let answer = server.admin(method, path).json(&fields).await;
            assert_eq!(
                answer.refusal(),
                (400, "invalid_client_metadata".to_owned()),
                "{method} {fields}"
            );
            assert!(
                answer.text().contains("opaque"),
                "it says why: {}",
                answer.text()
            );
        }
    }
    let answer = server
        .admin("PATCH", "/admin/clients/opaque")
        .json(&json!({"persistence": "stateless"}))
        .await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_client_metadata".to_owned()),
        "one half at a time"
    );
}

async fn no_two_tokens_are_alike(store: On) {
    const EACH: usize = 500;
    let server = Server::on(store, &[]);
    let mut secrets = vec![];
    for (id, fields) in kinds() {
        secrets.push((id, server.quick(id, fields).await));
    }
    let to = server.running.as_ref().unwrap().public;
    let sessions = together(21, |number| {
        let (id, secret) = &secrets[number % 3];
        let calls: Vec<_> = (0..EACH)
            .map(|_| request(&server, &[]).basic(id, secret))
            .collect();
        async move {
            let mut session = Session::open(to).await;
            let mut texts = Vec::with_capacity(EACH);
            for call in calls {
                let answer = session.send(call).await;
                assert_eq!(answer.status, 200, "{}", answer.text());
                texts.push(answer.json()["access_token"].as_str().unwrap().to_owned());
            }
            texts
        }
    });
    let texts: Vec<String> = sessions.await.into_iter().flatten().collect();
    let all: HashSet<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(all.len(), 21 * EACH, "no text twice");
    let ids: HashSet<String> = texts
        .iter()
        .filter(|text| !text.starts_with("sgt_"))
        .map(|text| jwt::read(text).1["jti"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 14 * EACH, "no jti twice");
}
