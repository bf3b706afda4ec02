//! Clients prove who they are by the one method that they are registered for.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;

use super::{assert_invalid_client, asserting, claims, request, signing_client};
use crate::support::http::Call;
use crate::support::jwt::{self, Key};
use crate::support::{On, Server, on_every_store};

on_every_store! {
    a_secret_in_the_header_or_in_the_body_gets_a_token
    an_assertion_under_the_secret_gets_a_token
    an_assertion_under_a_private_key_gets_a_token
    an_expired_secret_is_refused
}

async fn a_secret_in_the_header_or_in_the_body_gets_a_token(store: On) {
    let server = Server::on(store, &[]);
    for method in ["client_secret_basic", "client_secret_post"] {
        let fields = json!({"token_endpoint_auth_method": method});
        let secret = server.client(method, fields).await;
        let basic = request(&server, &[]).basic(method, &secret);
        let post = request(
            &server,
            &[("client_id", method), ("client_secret", &secret)],
        );
        let named = request(&server, &[("client_id", method)]).basic(method, &secret);
        for (way, call) in [
            ("basic", basic),
            ("post", post),
            ("basic and client_id", named),
        ] {
            let answer = call.await;
            assert_eq!(answer.status, 200, "{method} by {way}: {}", answer.text());
            assert_eq!(answer.json()["token_type"], "Bearer");
            assert_eq!(answer.header("cache-control"), "no-store");
            assert_eq!(answer.header("content-type"), "application/json");
        }
    }
}

async fn an_assertion_under_the_secret_gets_a_token(store: On) {
    let server = Server::on(store, &[]);
    let method = json!({"token_endpoint_auth_method": "client_secret_jwt"});
    let generated = server.quick("generated", method.clone()).await;
    let chosen = "a secret that is long enough for HMAC-SHA-256";
    let mut fields = method;
    fields["client_id"] = "chosen".into();
    fields["client_secret"] = chosen.into();
    server.create(fields).await;
    for (client, secret) in [("generated", generated.as_str()), ("chosen", chosen)] {
        let header = json!({"alg": "HS256"});
        let assertion = jwt::hs256(secret.as_bytes(), &header, &claims(&server, client));
        let answer = asserting(&server, &assertion).await;
        assert_eq!(answer.status, 200, "{client}: {}", answer.text());
        let answer = asserting(&server, &assertion).await;
        assert_invalid_client("the same once more", &answer);
        let wrong = jwt::hs256(
            b"a secret that nobody gave to anybody",
            &header,
            &claims(&server, client),
        );
        assert_invalid_client("another secret", &asserting(&server, &wrong).await);
    }
}

async fn an_assertion_under_a_private_key_gets_a_token(store: On) {
    let server = Server::on(store, &[]);
    for alg in ["ES256", "EdDSA", "RS256", "PS256"] {
        let key = Key::of(alg);
        signing_client(&server, alg, &key, json!({})).await;
        for header in [json!({"alg": alg}), json!({"alg": alg, "kid": "k"})] {
            let answer = asserting(&server, &key.sign(&header, &claims(&server, alg))).await;
            assert_eq!(answer.status, 200, "{header}: {}", answer.text());
        }
        let other = Key::new();
        let header = json!({"alg": "ES256", "kid": "k"});
        let answer = asserting(&server, &other.sign(&header, &claims(&server, alg))).await;
        assert_invalid_client("a key that is not registered", &answer);
    }
}

async fn an_expired_secret_is_refused(store: On) {
    let server = Server::frozen(store, &[]);
    let end = server.clock.now().0 + 100;
    let fields = json!({"client_secret_expires_at": end});
    let hashed = server.client("hashed", fields.clone()).await;
    let generated = server.quick("generated", fields).await;
    let calls = || {
        [
            ("hashed", request(&server, &[]).basic("hashed", &hashed)),
            (
                "generated",
                request(&server, &[]).basic("generated", &generated),
            ),
        ]
    };
    server.clock.advance(99);
    for (client, call) in calls() {
        assert_eq!(call.await.status, 200, "{client}, a second before");
    }
    server.clock.advance(1);
    for (client, call) in calls() {
        assert_invalid_client(client, &call.await);
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn wrong_credentials_are_refused_in_the_same_words() {
    let server = Server::start();
    let secret = server.client("app", json!({})).await;
    let disabled = server.client("off", json!({"enabled": false})).await;
    server
        .create(json!({"client_id": "public", "token_endpoint_auth_method": "none"}))
        .await;
    signing_client(&server, "signer", &Key::new(), json!({})).await;
    let sealed = server
        .quick(
            "sealed",
            json!({"token_endpoint_auth_method": "client_secret_jwt"}),
        )
        .await;
    let basic = |id: &str, secret: &str| request(&server, &[]).basic(id, secret);
    let post =
        |id: &str, secret: &str| request(&server, &[("client_id", id), ("client_secret", secret)]);
    for (case, call) in [
        ("no credentials", request(&server, &[])),
        ("unknown client", basic("nobody", &secret)),
        ("unknown client, in the body", post("nobody", &secret)),
        (
            "unknown client without a secret",
            request(&server, &[("client_id", "nobody")]),
        ),
        ("wrong secret", basic("app", "secret-of-nobody")),
        ("wrong secret, in the body", post("app", "secret-of-nobody")),
        ("secret of another client", basic("app", &disabled)),
        (
            "secret in another case",
            basic("app", &secret.to_uppercase()),
        ),
        (
            "a part of the secret",
            basic("app", &secret[..secret.len() - 1]),
        ),
        ("a space too many", basic("app", &format!("{secret} "))),
        ("id in another case", basic("APP", &secret)),
        ("id with a space", post(" app", &secret)),
        ("no secret", request(&server, &[("client_id", "app")])),
        ("empty secret", basic("app", "")),
        ("empty secret, in the body", post("app", "")),
        ("disabled client", basic("off", &disabled)),
        ("public client with a secret", basic("public", "anything")),
        ("client with keys and a secret", basic("signer", "anything")),
        (
            "client with keys and no assertion",
            request(&server, &[("client_id", "signer")]),
        ),
        (
            "secret sent that was meant to sign",
            basic("sealed", &sealed),
        ),
        ("the same in the body", post("sealed", &sealed)),
        (
            "an id longer than ids are",
            basic(&"x".repeat(256), &secret),
        ),
    ] {
        assert_invalid_client(case, &call.await);
    }
    assert_eq!(basic("app", &secret).await.status, 200);
}

#[tokio::test]
async fn a_broken_authorization_header_is_refused() {
    let server = Server::start();
    let secret = server.client("app", json!({})).await;
    let pair = STANDARD.encode(format!("app:{secret}"));
    let encoded = |text: &str| format!("Basic {}", STANDARD.encode(text));
    for header in [
        "",
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic =",
        "Bearer app",
        &format!("Digest {pair}"),
        &format!("Basic{pair}"),
        &format!("Basic {pair}{pair}"),
        &format!("Basic {pair}, Basic {pair}"),
        &format!("Basic {}", pair.trim_end_matches('=').get(1..).unwrap()),
        &encoded("app"),
        &encoded(&secret),
        &encoded(":"),
        &encoded("app:"),
        &encoded(&format!(":{secret}")),
        &encoded(&format!("app:{secret}:")),
        &encoded("app:%zz"),
        &encoded("app:%ff"),
        &encoded("app:%00"),
        &encoded(&format!("app%00:{secret}")),
        &encoded(&format!("app\0:{secret}")),
        &encoded(&format!("app:{secret}\n")),
        &format!(
            "Basic {}",
            STANDARD.encode([b"app:".as_slice(), &[0xff, 0xfe]].concat())
        ),
    ] {
        let answer = request(&server, &[]).header("authorization", header).await;
        assert_invalid_client(header, &answer);
    }
    for good in [
        format!("Basic {pair}"),
        format!("basic {pair}"),
        format!("BASIC  {pair} "),
    ] {
        let answer = request(&server, &[]).header("authorization", &good).await;
        assert_eq!(answer.status, 200, "{good}: {}", answer.text());
    }
}

#[tokio::test]
async fn both_halves_of_a_basic_pair_are_form_encoded() {
    let server = Server::start();
    let (id, secret) = (
        "https://app.example/a+b%20?c=d:e",
        "ä secret: 100 % + more&=",
    );
    let fields = json!({"client_id": id, "client_secret": secret, "secret_hash": "bcrypt:4"});
    server.create(fields).await;
    let answer = request(&server, &[]).basic(id, secret).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = request(&server, &[("client_id", id), ("client_secret", secret)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn two_ways_to_authenticate_at_once_are_refused() {
    let server = Server::start();
    let secret = server.client("app", json!({})).await;
    let key = Key::new();
    signing_client(&server, "signer", &key, json!({})).await;
    let assertion = || key.sign(&json!({"alg": "ES256"}), &claims(&server, "signer"));
    let with_secret = |call: Call| call.basic("app", &secret);
    for (case, call) in [
        (
            "header and body",
            with_secret(request(
                &server,
                &[("client_id", "app"), ("client_secret", &secret)],
            )),
        ),
        (
            "header and assertion",
            with_secret(asserting(&server, &assertion())),
        ),
        (
            "another client_id",
            with_secret(request(&server, &[("client_id", "signer")])),
        ),
        (
            "body and assertion",
            request(
                &server,
                &[
                    ("client_id", "signer"),
                    ("client_secret", "x"),
                    ("client_assertion_type", super::BEARER),
                    ("client_assertion", &assertion()),
                ],
            ),
        ),
        (
            "assertion of no type",
            request(&server, &[("client_assertion", &assertion())]),
        ),
        (
            "assertion of another type",
            request(
                &server,
                &[
                    (
                        "client_assertion_type",
                        "urn:ietf:params:oauth:client-assertion-type:saml2-bearer",
                    ),
                    ("client_assertion", &assertion()),
                ],
            ),
        ),
    ] {
        let answer = call.await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_request".to_owned()),
            "{case}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn an_expired_secret_signs_nothing() {
    let server = Server::frozen(On::Sqlite, &[]);
    let fields = json!({
        "token_endpoint_auth_method": "client_secret_jwt",
        "client_secret_expires_at": server.clock.now().0 + 100,
    });
    let secret = server.quick("app", fields).await;
    let call = || {
        let claims = claims(&server, "app");
        let assertion = jwt::hs256(secret.as_bytes(), &json!({"alg": "HS256"}), &claims);
        asserting(&server, &assertion)
    };
    server.clock.advance(99);
    assert_eq!(call().await.status, 200, "a second before");
    server.clock.advance(1);
    assert_invalid_client("an expired secret", &call().await);
}

#[tokio::test]
async fn two_authorization_headers_are_refused() {
    let server = Server::start();
    let secret = server.client("app", json!({})).await;
    for (first, second) in [
        (&*secret, "other"),
        ("other", &*secret),
        (&*secret, &*secret),
    ] {
        let call = request(&server, &[]);
        let answer = call.basic("app", first).basic("app", second).await;
        assert!([400, 401].contains(&answer.status), "{}", answer.text());
    }
    let token = format!("Bearer {}", server.admin_token);
    let call = server.admin_bare("GET", "/admin/clients");
    let answer = call
        .header("authorization", &token)
        .header("authorization", "Bearer x")
        .await;
    assert!([400, 401].contains(&answer.status), "{}", answer.text());
}

#[tokio::test]
async fn a_public_client_gets_no_token_in_its_own_name() {
    let server = Server::start();
    server
        .create(json!({"client_id": "public", "token_endpoint_auth_method": "none"}))
        .await;
    let answer = request(&server, &[("client_id", "public")]).await;
    assert_eq!(
        answer.refusal(),
        (400, "unauthorized_client".to_owned()),
        "{}",
        answer.text()
    );
    let fields = json!({"client_id": "p", "token_endpoint_auth_method": "none",
                        "grant_types": ["client_credentials"]});
    let answer = server.admin("POST", "/admin/clients").json(&fields).await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_client_metadata".to_owned())
    );
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn every_method_of_the_metadata_works_at_every_endpoint_that_lists_it() {
    let server = Server::start();
    let metadata = server
        .public("GET", "/.well-known/oauth-authorization-server")
        .await
        .json();
    let key = Key::new();
    signing_client(&server, "private_key_jwt", &key, json!({})).await;
    server
        .create(json!({"client_id": "none", "token_endpoint_auth_method": "none"}))
        .await;
    let mut secrets = std::collections::BTreeMap::new();
    for method in [
        "client_secret_basic",
        "client_secret_post",
        "client_secret_jwt",
    ] {
        let fields = json!({"token_endpoint_auth_method": method});
        secrets.insert(method, server.quick(method, fields).await);
    }
    for endpoint in ["token", "introspection", "revocation"] {
        let url = metadata[format!("{endpoint}_endpoint")].as_str().unwrap();
        let path = url.strip_prefix(crate::support::ISSUER).unwrap();
        let methods = &metadata[format!("{endpoint}_endpoint_auth_methods_supported")];
        for method in methods
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|method| method.as_str())
        {
            if (endpoint, method) == ("token", "none") {
                continue; // For the grants of public clients, of which there is none yet.
            }
            let mut form = vec![
                ("grant_type", "client_credentials"),
                ("token", "x"),
                ("client_id", method),
            ];
            let mut assertion = String::new();
            let mut claims = claims(&server, method);
            claims["aud"] = url.into();
            match method {
                "client_secret_jwt" => {
                    assertion = jwt::hs256(
                        secrets[method].as_bytes(),
                        &json!({"alg": "HS256"}),
                        &claims,
                    );
                }
                "private_key_jwt" => assertion = key.sign(&json!({"alg": "ES256"}), &claims),
                "client_secret_post" => form.push(("client_secret", &secrets[method])),
                _ => {}
            }
            if !assertion.is_empty() {
                form.extend([
                    ("client_assertion_type", super::BEARER),
                    ("client_assertion", &*assertion),
                ]);
            }
            let mut call = server.public("POST", path);
            if method == "client_secret_basic" {
                call = call.basic(method, &secrets[method]);
            }
            let answer = call.form(&form).await;
            assert_eq!(
                answer.status,
                200,
                "{method} at {endpoint}: {}",
                answer.text()
            );
        }
    }
}

#[tokio::test]
async fn every_refusal_takes_as_long_as_the_others() {
    let server = Server::with(&[("hashing.failure_delay_ms", "300")]);
    let secret = server.client("app", json!({})).await;
    let off = server.client("off", json!({"enabled": false})).await;
    let basic = |id: &str, secret: &str| request(&server, &[]).basic(id, secret);
    for (case, call) in [
        ("unknown client", basic("nobody", &secret)),
        ("wrong secret", basic("app", "wrong")),
        ("disabled client", basic("off", &off)),
        ("wrong method", request(&server, &[("client_id", "app")])),
        ("malformed assertion", asserting(&server, "x")),
    ] {
        let started = tokio::time::Instant::now();
        assert_invalid_client(case, &call.await);
        let took = started.elapsed();
        assert!(took.as_millis() >= 300, "{case}: {took:?}");
    }
}
