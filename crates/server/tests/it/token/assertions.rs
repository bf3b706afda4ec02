//! Assertions (RFC 7523 §3): each fault by itself refuses one, and none is used twice.

use serde_json::{Value, json};

use super::{assert_invalid_client, asserting, claims, request, signing_client};
use crate::support::jwt::{self, Key, encode};
use crate::support::{ISSUER, On, Server, on_every_store, together};

on_every_store! {
    a_replayed_assertion_is_refused
    one_of_a_hundred_parallel_uses_of_an_assertion_wins
}

/// Changes to the claims of a good assertion, each of which spoils it. `now` is a second long past
/// or to come, so that the time at which the test runs does not matter.
fn faults(now: u64) -> Vec<(&'static str, Value)> {
    vec![
        ("iss", json!(null)),
        ("iss", json!("other")),
        ("iss", json!(ISSUER)),
        ("iss", json!(["signer"])),
        ("sub", json!(null)),
        ("sub", json!("other")),
        ("sub", json!("nobody")),
        ("sub", json!(1)),
        ("aud", json!(null)),
        ("aud", json!("")),
        ("aud", json!([])),
        ("aud", json!("https://other.example")),
        ("aud", json!(["https://other.example"])),
        ("aud", json!(format!("{ISSUER}/"))),
        ("aud", json!(format!("{ISSUER}/oauth2/other"))),
        ("aud", json!({"x": ISSUER})),
        ("aud", json!([ISSUER, 1])),
        ("exp", json!(null)),
        ("exp", json!(now)),
        ("exp", json!(now - 1)),
        ("exp", json!(0)),
        ("exp", json!(-1)),
        ("exp", json!(now + 3601)),
        ("exp", json!((now + 60).to_string())),
        ("nbf", json!(now + 31)),
        ("nbf", json!("0")),
        ("iat", json!(now + 31)),
        ("iat", json!("0")),
        ("jti", json!(null)),
        ("jti", json!("")),
        ("jti", json!(7)),
        ("jti", json!("x".repeat(256))),
    ]
}

#[tokio::test]
async fn each_wrong_claim_refuses_an_assertion() {
    let server = Server::frozen(On::Sqlite, &[]);
    let key = Key::new();
    signing_client(&server, "signer", &key, json!({})).await;
    signing_client(&server, "other", &Key::new(), json!({})).await;
    let header = json!({"alg": "ES256", "kid": "k"});
    for (name, value) in faults(server.clock.now().0) {
        let good = claims(&server, "signer");
        let mut bad = good.clone();
        bad[name] = value.clone();
        if value.is_null() {
            bad.as_object_mut().unwrap().remove(name);
        }
        let answer = asserting(&server, &key.sign(&header, &bad)).await;
        assert_invalid_client(&format!("{name} is {value}"), &answer);
        let answer = asserting(&server, &key.sign(&header, &good)).await;
        assert_eq!(
            answer.status, 200,
            "good again after {name}: a refusal uses nothing up"
        );
    }
}

#[tokio::test]
async fn claims_at_the_edge_are_accepted() {
    let server = Server::frozen(On::Sqlite, &[]);
    let key = Key::new();
    signing_client(&server, "signer", &key, json!({})).await;
    let now = server.clock.now().0;
    for (name, value) in [
        ("aud", json!(ISSUER)),
        ("aud", json!(format!("{ISSUER}/oauth2/token"))),
        ("aud", json!(["https://other.example", ISSUER])),
        // Single use is decided by the clock of the database, which does not stand still.
        ("exp", json!(now + 20)),
        ("exp", json!(now + 3600)),
        ("nbf", json!(now)),
        ("nbf", json!(now + 30)),
        ("iat", json!(now + 30)),
        ("jti", json!("x".repeat(255))),
        ("more", json!({"of": ["our", "own"]})),
    ] {
        let mut claims = claims(&server, "signer");
        claims[name] = value.clone();
        let answer = asserting(&server, &key.sign(&json!({"alg": "ES256"}), &claims)).await;
        assert_eq!(answer.status, 200, "{name} is {value}: {}", answer.text());
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn the_algorithm_belongs_to_the_key() {
    let server = Server::start();
    let (key, rsa) = (Key::new(), Key::of("RS256"));
    signing_client(&server, "signer", &key, json!({})).await;
    signing_client(&server, "rsa", &rsa, json!({})).await;
    let only = json!({"token_endpoint_auth_signing_alg": "PS256"});
    signing_client(&server, "only", &rsa, only).await;
    let public = key.jwk("k");
    let (x, y) = (public["x"].as_str().unwrap(), public["y"].as_str().unwrap());
    let mut cases = vec![];
    // The public key as a shared secret (CVE-2015-9235 and all its children), however it is written.
    for secret in [
        public.to_string(),
        key.set("k").to_string(),
        format!("{x}{y}"),
        x.to_owned(),
    ] {
        for client in ["signer", "rsa", "only"] {
            let header = json!({"alg": "HS256", "kid": "k"});
            cases.push(jwt::hs256(
                secret.as_bytes(),
                &header,
                &claims(&server, client),
            ));
        }
    }
    for alg in [
        "none", "None", "NONE", "", "es256", "ES384", "HS512", "RS1", "RS256", "PS256", "EdDSA",
    ] {
        cases.push(key.sign(&json!({"alg": alg, "kid": "k"}), &claims(&server, "signer")));
        let unsigned =
            [json!({"alg": alg}), claims(&server, "signer")].map(|part| encode(part.to_string()));
        cases.push(format!("{}.{}.", unsigned[0], unsigned[1]));
    }
    cases.push(rsa.sign(&json!({"alg": "RS256"}), &claims(&server, "only")));
    for (name, value) in [
        ("crit", json!(["exp"])),
        ("b64", json!(false)),
        ("alg", json!(["ES256"])),
    ] {
        let mut header = json!({"alg": "ES256"});
        header[name] = value;
        cases.push(key.sign(&header, &claims(&server, "signer")));
    }
    // A header that brings its own key, or says where to fetch one.
    let own = Key::new();
    for (name, value) in [
        ("jwk", own.jwk("k")),
        ("jku", json!("http://127.0.0.1:1/keys")),
    ] {
        let mut header = json!({"alg": "ES256", "kid": "k"});
        header[name] = value;
        cases.push(own.sign(&header, &claims(&server, "signer")));
    }
    for assertion in cases {
        assert_invalid_client(&assertion, &asserting(&server, &assertion).await);
    }
    for alg in ["RS256", "PS256"] {
        let answer = asserting(
            &server,
            &rsa.sign(&json!({"alg": alg}), &claims(&server, "rsa")),
        )
        .await;
        assert_eq!(
            answer.status,
            200,
            "a key of RSA without alg does {alg}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn only_the_registered_key_speaks_for_a_client() {
    let server = Server::start();
    let (mine, theirs) = (Key::new(), Key::new());
    signing_client(&server, "mine", &mine, json!({})).await;
    signing_client(&server, "theirs", &theirs, json!({})).await;
    let header = json!({"alg": "ES256", "kid": "k"});
    let stolen = theirs.sign(&header, &claims(&server, "mine"));
    assert_invalid_client(
        "the key of another client",
        &asserting(&server, &stolen).await,
    );
    let unknown = mine.sign(
        &json!({"alg": "ES256", "kid": "other"}),
        &claims(&server, "mine"),
    );
    assert_invalid_client(
        "a key that is not in the set",
        &asserting(&server, &unknown).await,
    );
    let good = mine.sign(&header, &claims(&server, "mine"));
    let form = [
        ("client_assertion_type", super::BEARER),
        ("client_assertion", &*good),
    ];
    let named = [form[0], form[1], ("client_id", "theirs")];
    assert_invalid_client("another client_id", &request(&server, &named).await);
    let named = [form[0], form[1], ("client_id", "mine")];
    assert_eq!(
        request(&server, &named).await.status,
        200,
        "its own client_id"
    );
    server.patch("mine", json!({"jwks": theirs.set("k")})).await;
    let old = mine.sign(&header, &claims(&server, "mine"));
    assert_invalid_client("the key that was replaced", &asserting(&server, &old).await);
    let new = theirs.sign(&header, &claims(&server, "mine"));
    assert_eq!(
        asserting(&server, &new).await.status,
        200,
        "the key that replaced it"
    );
}

#[tokio::test]
async fn a_malformed_assertion_is_refused() {
    let server = Server::start();
    let key = Key::new();
    signing_client(&server, "signer", &key, json!({})).await;
    let header = json!({"alg": "ES256", "kid": "k"});
    let good = || key.sign(&header, &claims(&server, "signer"));
    let changed = jwt::with_claims(&good(), |claims| {
        claims["exp"] = json!(claims["exp"].as_u64().unwrap() + 1);
    });
    let twice = claims(&server, "signer")
        .to_string()
        .replacen('{', "{\"sub\":\"other\",", 1);
    let after = format!("{} {{}}", claims(&server, "signer"));
    for assertion in [
        "x".to_owned(),
        "..".to_owned(),
        "a.b.c".to_owned(),
        good().replacen('.', "", 1),
        good() + ".",
        good() + "=",
        good()[..good().len() - 4].to_owned(),
        format!(" {}", good()),
        format!(".{}", good()),
        good().rsplit_once('.').unwrap().0.to_owned(),
        good().rsplit_once('.').unwrap().0.to_owned() + ".",
        changed,
        key.sign_text(&header, &twice),
        key.sign_text(&header, &after),
        key.sign_text(&header, "[]"),
        key.sign_text(&header, ""),
        key.sign(&json!([]), &claims(&server, "signer")),
        key.sign(&json!({}), &claims(&server, "signer")),
        format!("{}{}", good(), "A".repeat(20_000)),
    ] {
        assert_invalid_client(&assertion, &asserting(&server, &assertion).await);
    }
}

async fn a_replayed_assertion_is_refused(store: On) {
    let mut server = Server::on(store, &[]);
    let key = Key::new();
    for client in ["signer", "another"] {
        signing_client(&server, client, &key, json!({})).await;
    }
    let mut good = claims(&server, "signer");
    good["exp"] = json!(server.clock.now().0 + 600);
    let header = json!({"alg": "ES256", "kid": "k"});
    let assertion = key.sign(&header, &good);
    assert_eq!(asserting(&server, &assertion).await.status, 200);
    assert_invalid_client("a replay", &asserting(&server, &assertion).await);
    let again = key.sign(&header, &good);
    assert_invalid_client(
        "signed anew, the same jti",
        &asserting(&server, &again).await,
    );
    let path = "/oauth2/introspect";
    let form = [
        ("client_assertion_type", super::BEARER),
        ("client_assertion", &*assertion),
        ("token", "x"),
    ];
    let elsewhere = server.public("POST", path).form(&form).await;
    assert_invalid_client("a replay at another endpoint", &elsewhere);
    let mut others = good.clone();
    (others["iss"], others["sub"]) = ("another".into(), "another".into());
    let answer = asserting(&server, &key.sign(&header, &others)).await;
    assert_eq!(
        answer.status,
        200,
        "the jti belongs to its client: {}",
        answer.text()
    );
    if store == On::Postgres {
        let second = server.beside();
        assert_invalid_client(
            "a replay on another node",
            &asserting(&second, &assertion).await,
        );
    }
    if store != On::Memory {
        server.restart();
        assert_invalid_client(
            "a replay after a restart",
            &asserting(&server, &assertion).await,
        );
    }
}

async fn one_of_a_hundred_parallel_uses_of_an_assertion_wins(store: On) {
    let server = Server::on(store, &[]);
    let second = (store == On::Postgres).then(|| server.beside());
    let nodes = [&server, second.as_ref().unwrap_or(&server)];
    let key = Key::new();
    signing_client(&server, "signer", &key, json!({})).await;
    for _ in 0..3 {
        let assertion = key.sign(&json!({"alg": "ES256"}), &claims(&server, "signer"));
        let answers = together(100, |number| {
            let call = asserting(nodes[number % 2], &assertion);
            async move { call.await }
        });
        let answers = answers.await;
        let won = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(won, 1);
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            assert_invalid_client("one that came too late", answer);
        }
    }
}
