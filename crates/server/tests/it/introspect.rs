//! `POST /oauth2/introspect` (RFC 7662, RFC 9701) and the admin's own: who sees what of a token.

use serde_json::{Value, json};

use crate::support::http::{Answer, Call, Session};
use crate::support::jwt::{self, Key, encode};
use crate::support::{ISSUER, On, Server, on_every_store};
use crate::token::kinds;

on_every_store! {
    a_client_sees_its_own_tokens_and_those_meant_for_it
    garbage_is_inactive
    a_change_that_ends_tokens_is_seen_at_once
    a_change_that_ends_nothing_leaves_tokens_alone
    warm_calls_execute_no_sql
}

const INACTIVE: &str = r#"200 {"active":false}"#;

/// A client whose tokens are of this kind, and its secret.
async fn client(server: &Server, id: &str, kind: &Value, more: Value) -> String {
    let mut fields = kind.clone();
    fields
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    server.quick(id, fields).await
}

async fn a_client_sees_its_own_tokens_and_those_meant_for_it(store: On) {
    const API: &str = "https://api.example";
    let server = Server::on(store, &[]);
    let api = server.quick(API, json!({})).await;
    let stranger = server.quick("stranger", json!({})).await;
    for (id, kind) in kinds() {
        let more = json!({"scope": "read", "audience": [API, "https://other.example"]});
        let secret = client(&server, id, &kind, more).await;
        for (form, meant) in [
            (&[("resource", API)][..], true),
            (&[], true),
            (&[("resource", "https://other.example")], false),
            (&[("resource", ISSUER)], false),
        ] {
            let token = server.issued(id, &secret, form).await;
            let own = server.ask((id, &secret), &token).await;
            assert_eq!(own.json()["active"], true, "{id} {form:?}: {}", own.text());
            assert_eq!(
                own.json(),
                server.introspect(&token).await,
                "as the administrator sees it"
            );
            assert_eq!(own.header("cache-control"), "no-store");
            assert_eq!(own.header("content-type"), "application/json");
            let theirs = server.ask((API, &api), &token).await;
            if meant {
                assert_eq!(theirs.json(), own.json(), "{id} {form:?}");
            } else {
                assert_eq!(theirs.text(), INACTIVE, "{id} {form:?}");
            }
            let foreign = server.ask(("stranger", &stranger), &token).await;
            assert_eq!(foreign.text(), INACTIVE, "{id} {form:?}");
        }
    }
}

#[tokio::test]
async fn only_a_client_that_proves_itself_may_ask() {
    let server = Server::start();
    let secret = server.client("app", json!({})).await;
    server
        .create(json!({"client_id": "public", "token_endpoint_auth_method": "none"}))
        .await;
    let token = server.issued("app", &secret, &[]).await;
    let ask = |form: &[(&str, &str)]| server.public("POST", "/oauth2/introspect").form(form);
    for (case, call) in [
        ("nobody", ask(&[("token", &token)])),
        (
            "a public client",
            ask(&[("token", &token), ("client_id", "public")]),
        ),
        ("no secret", ask(&[("token", &token), ("client_id", "app")])),
        (
            "a wrong secret",
            ask(&[("token", &token)]).basic("app", "wrong"),
        ),
        (
            "a bearer",
            ask(&[("token", &token)]).header("authorization", &format!("Bearer {token}")),
        ),
        (
            "the administrator",
            ask(&[("token", &token)])
                .header("authorization", &format!("Bearer {}", server.admin_token)),
        ),
    ] {
        let answer = call.await;
        assert_eq!(
            answer.refusal(),
            (401, "invalid_client".to_owned()),
            "{case}: {}",
            answer.text()
        );
        assert!(
            answer.header("www-authenticate").starts_with("Basic "),
            "{case}"
        );
    }
    for form in [&[][..], &[("token", "")], &[("tok", &token)]] {
        let answer = ask(form).basic("app", &secret).await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_request".to_owned()),
            "{form:?}"
        );
    }
    let answer = ask(&[("token", &token), ("token_type_hint", "refresh_token")])
        .basic("app", &secret)
        .await;
    assert_eq!(answer.json()["active"], true, "a hint is a hint");
    server.patch("app", json!({"enabled": false})).await;
    let answer = ask(&[("token", &token)]).basic("app", &secret).await;
    assert_eq!(
        answer.status,
        401,
        "a disabled client asks nothing: {}",
        answer.text()
    );
}

/// Texts near a token that are not that token.
fn near(token: &str) -> Vec<String> {
    let mut texts = vec![
        format!("{token}A"),
        format!("{token}="),
        format!("{token} "),
        format!(" {token}"),
        format!("{token}\n"),
        format!("Bearer {token}"),
        format!("{token}{token}"),
        token.to_uppercase(),
        token.to_lowercase(),
    ];
    for length in [1, 4, 5, token.len() / 2, token.len() - 2, token.len() - 1] {
        texts.push(token[..length].to_owned());
        texts.push(token[length..].to_owned());
    }
    // Every position once, changed to another letter of the same alphabet.
    let step = (token.len() / 60).max(1);
    for at in (0..token.len()).step_by(step).chain([token.len() - 1]) {
        for letter in ["A", "b", "_"] {
            let mut changed = token.to_owned();
            changed.replace_range(at..=at, letter);
            texts.push(changed);
        }
    }
    texts.retain(|text| text != token);
    texts
}

/// JWTs that look like ours.
fn forged(token: &str) -> Vec<String> {
    let (header, claims) = jwt::read(token);
    let mut texts = vec![
        jwt::with_claims(token, |claims| claims["sub"] = "admin".into()),
        jwt::with_claims(token, |claims| {
            claims["exp"] = json!(claims["exp"].as_u64().unwrap() + 3600);
        }),
        jwt::with_claims(token, |claims| claims["scope"] = "signet:admin".into()),
        token.rsplit_once('.').unwrap().0.to_owned() + ".",
        jwt::hs256(
            b"",
            &json!({"alg": "HS256", "typ": "at+jwt", "kid": header["kid"]}),
            &claims,
        ),
    ];
    for alg in ["none", "None", "HS256"] {
        let header = json!({"alg": alg, "typ": "at+jwt", "kid": header["kid"]});
        texts.push(
            [
                encode(header.to_string()),
                encode(claims.to_string()),
                String::new(),
            ]
            .join("."),
        );
    }
    // Another issuer: its own key under our name, and under its own.
    let key = Key::new();
    let mut own = header.clone();
    own["jwk"] = key.jwk("own");
    for header in [&header, &own, &json!({"alg": "ES256", "typ": "at+jwt"})] {
        texts.push(key.sign(header, &claims));
    }
    let mut theirs = claims;
    theirs["iss"] = "https://other.example".into();
    texts.push(key.sign(&header, &theirs));
    texts
}

async fn garbage_is_inactive(store: On) {
    let server = Server::on(store, &[]);
    for (id, kind) in kinds() {
        let secret = client(&server, id, &kind, json!({})).await;
        let token = server.issued(id, &secret, &[]).await;
        let mut texts = near(&token);
        if id == "opaque" {
            texts.extend(
                [
                    "sgt_",
                    "sgt_é",
                    "x",
                    "null",
                    "..",
                    "a.b.c",
                    "%",
                    "\u{1F980}",
                ]
                .map(str::to_owned),
            );
            texts.extend([format!("sgt_{}", "A".repeat(40)), "A".repeat(40_000)]);
        } else {
            texts.extend(forged(&token));
        }
        let to = server.running.as_ref().unwrap();
        let (mut public, mut admin) = (
            Session::open(to.public).await,
            Session::open(to.admin).await,
        );
        for text in texts {
            let form = [("token", &*text)];
            let call = server
                .public("POST", "/oauth2/introspect")
                .basic(id, &secret)
                .form(&form);
            assert_eq!(public.send(call).await.text(), INACTIVE, "{text}");
            let call = server.admin("POST", "/admin/oauth2/introspect").form(&form);
            assert_eq!(admin.send(call).await.text(), INACTIVE, "{text}");
        }
        assert!(
            server.is_active(&token).await,
            "{id}: and the token itself lives"
        );
    }
}

#[tokio::test]
async fn other_jwts_of_the_server_are_no_access_tokens() {
    let server = Server::start();
    let secret = server.quick("app", json!({})).await;
    let token = server.issued("app", &secret, &[]).await;
    let answer = signed(&server, ("app", &secret), &token).await;
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    assert!(
        jwt::verifies(&text, &server.jwks().await),
        "it is signed by the same key"
    );
    assert_eq!(server.ask(("app", &secret), &text).await.text(), INACTIVE);
    let refused = server
        .admin_bare("GET", "/admin/clients")
        .header("authorization", &format!("Bearer {text}"));
    assert_eq!(refused.await.status, 401);
}

async fn signed(server: &Server, caller: (&str, &str), token: &str) -> Answer {
    let call = server
        .public("POST", "/oauth2/introspect")
        .basic(caller.0, caller.1);
    let call = call.header("accept", "application/token-introspection+jwt");
    call.form(&[("token", token)]).await
}

#[tokio::test]
async fn the_answer_is_signed_where_the_caller_asks_for_it() {
    let server = Server::with(&[("keys.publish_before", "0"), ("keys.jwks_max_age", "0")]);
    server.key("RS256").await;
    let secret = server.quick("app", json!({"scope": "read"})).await;
    let api = server
        .quick("api", json!({"introspection_signed_response_alg": "RS256"}))
        .await;
    let token = server.issued("app", &secret, &[]).await;
    for (caller, alg, shown) in [
        (("app", &*secret), "ES256", server.introspect(&token).await),
        (("api", &*api), "RS256", json!({"active": false})),
    ] {
        let answer = signed(&server, caller, &token).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(
            answer.header("content-type"),
            "application/token-introspection+jwt"
        );
        assert_eq!(answer.header("cache-control"), "no-store");
        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        assert!(jwt::verifies(&text, &server.jwks().await), "{text}");
        let (header, claims) = jwt::read(&text);
        assert_eq!(
            (&header["typ"], &header["alg"]),
            (&json!("token-introspection+jwt"), &json!(alg))
        );
        assert_eq!(
            (&claims["iss"], &claims["aud"]),
            (&json!(ISSUER), &json!(caller.0))
        );
        assert!(claims["iat"].is_u64());
        assert_eq!(claims["token_introspection"], shown);
        let names: Vec<_> = claims.as_object().unwrap().keys().collect();
        assert_eq!(
            names.len(),
            4,
            "nothing that could pass for an access token: {names:?}"
        );
    }
}

#[tokio::test]
async fn the_accept_header_decides_what_the_answer_looks_like() {
    const JWT: &str = "application/token-introspection+jwt";
    let server = Server::start();
    let secret = server.quick("app", json!({})).await;
    let token = server.issued("app", &secret, &[]).await;
    for (accept, expected) in [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/jwt", "application/json"),
        ("text/html", "application/json"),
        (JWT, JWT),
        ("Application/Token-Introspection+JWT", JWT),
        ("text/html, application/token-introspection+jwt; q=0.9", JWT),
    ] {
        let call = server
            .public("POST", "/oauth2/introspect")
            .basic("app", &secret);
        let answer = call
            .header("accept", accept)
            .form(&[("token", &token)])
            .await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, expected),
            "{accept}"
        );
    }
}

/// A change of the client at this path.
type Change = fn(&Server, &str) -> Call;

#[expect(clippy::too_many_lines, reason = "a table")]
async fn a_change_that_ends_tokens_is_seen_at_once(store: On) {
    let server = Server::on(store, &[]);
    let changes: [(&str, Change); 7] = [
        ("deleted", |server, path| server.admin("DELETE", path)),
        ("disabled", |server, path| {
            server.admin("POST", &format!("{path}/disable"))
        }),
        ("patched off", |server, path| {
            server.admin("PATCH", path).json(&json!({"enabled": false}))
        }),
        ("rotated", |server, path| {
            server.admin("POST", &format!("{path}/secret"))
        }),
        ("new secret", |server, path| {
            server
                .admin("PATCH", path)
                .json(&json!({"client_secret": "x", "secret_hash": "bcrypt:4"}))
        }),
        ("replaced", |server, path| {
            let fields = json!({"client_secret": "x", "secret_hash": "bcrypt:4"});
            server.admin("PUT", path).json(&fields)
        }),
        ("tokens revoked", |server, path| {
            server.admin("DELETE", &format!("{path}/tokens"))
        }),
    ];
    for (kind, fields) in kinds() {
        for (number, (case, change)) in changes.into_iter().enumerate() {
            let id = format!("{kind}-{number}");
            let path = format!("/admin/clients/{id}");
            let secret = client(&server, &id, &fields, json!({})).await;
            let token = server.issued(&id, &secret, &[]).await;
            let cold = server.issued(&id, &secret, &[]).await;
            assert!(server.is_active(&token).await, "{case} {kind}");
            let answer = change(&server, &path).await;
            assert!(
                [200, 204].contains(&answer.status),
                "{case}: {}",
                answer.text()
            );
            for (when, token) in [("asked before", &token), ("never asked before", &cold)] {
                assert_eq!(
                    server.introspect(token).await,
                    json!({"active": false}),
                    "{case}, {kind}, {when}"
                );
            }
            if case == "deleted" {
                let secret = client(&server, &id, &fields, json!({})).await;
                assert!(
                    !server.is_active(&token).await,
                    "{kind}: nor when the name comes back"
                );
                let new = server.issued(&id, &secret, &[]).await;
                assert!(server.is_active(&new).await, "{kind}: which works");
            }
            if case.contains("off") || case == "disabled" {
                assert_eq!(
                    server.admin("POST", &format!("{path}/enable")).await.status,
                    200
                );
                let new = server.issued(&id, &secret, &[]).await;
                assert!(server.is_active(&new).await, "{kind}: enabled again");
            }
            assert!(!server.is_active(&token).await, "{case}, {kind}: for good");
        }
    }
}

async fn a_change_that_ends_nothing_leaves_tokens_alone(store: On) {
    let server = Server::on(store, &[]);
    for (id, fields) in kinds() {
        let secret = client(&server, id, &fields, json!({"scope": "read"})).await;
        let token = server.issued(id, &secret, &[]).await;
        let told = server.introspect(&token).await;
        for change in [
            json!({"client_name": "renamed"}),
            json!({"scope": "write"}),
            json!({"audience": ["https://a.example"]}),
            json!({"access_token_lifetime": 1}),
            json!({"access_token": "opaque", "persistence": "persisted"}),
            json!({"access_token": "jwt", "persistence": "stateless"}),
            json!({"access_token": "jwt", "persistence": "persisted"}),
            json!({"metadata": {"a": 1}}),
            json!({"enabled": true}),
        ] {
            server.patch(id, change.clone()).await;
            assert_eq!(server.introspect(&token).await, told, "{id} after {change}");
        }
        assert_eq!(
            server.token(id, &secret, &[]).await.status,
            200,
            "{id}: its secret, too"
        );
    }
}

/// Statements executed so far.
fn statements(server: &Server) -> (u64, u64) {
    let statistics = server.app().store.statistics();
    (statistics.read_statements, statistics.write_statements)
}

/// Makes the calls in rounds until a round was made without any SQL. What the server does by itself
/// every few seconds may fall into a round; if calls executed any, it would be in all of them.
async fn assert_no_sql(server: &Server, case: &str, call: impl Fn(usize) -> Call) {
    let to = server.running.as_ref().unwrap().public;
    let mut session = Session::open(to).await;
    for round in 0..10 {
        let before = statements(server);
        for number in 0..1000 {
            let answer = session.send(call(number)).await;
            assert_eq!(answer.status, 200, "{case}: {}", answer.text());
        }
        if round > 0 && statements(server) == before {
            return;
        }
    }
    panic!("{case}: every round executed SQL");
}

async fn warm_calls_execute_no_sql(store: On) {
    // A node that shares its store looks at the log every quarter of this.
    let server = Server::on(store, &[("cluster.staleness_bound_ms", "600000")]);
    for (id, fields) in kinds() {
        let secret = client(&server, id, &fields, json!({})).await;
        let mut tokens = vec![];
        for _ in 0..100 {
            tokens.push(server.issued(id, &secret, &[]).await);
        }
        let ask = |number: usize| {
            let call = server
                .public("POST", "/oauth2/introspect")
                .basic(id, &secret);
            call.form(&[("token", &tokens[number % tokens.len()])])
        };
        assert_no_sql(&server, &format!("introspection, {id}"), ask).await;
        assert!(server.ask((id, &secret), &tokens[7]).await.json()["active"] == true);
    }
    let hashed = server
        .client("hashed", json!({"persistence": "stateless"}))
        .await;
    let issue = |_: usize| {
        let call = server
            .public("POST", "/oauth2/token")
            .basic("hashed", &hashed);
        call.form(&[("grant_type", "client_credentials")])
    };
    assert_no_sql(&server, "client credentials", issue).await;
}

#[tokio::test]
async fn a_token_of_a_newer_client_is_known_after_a_look_at_the_log() {
    let server = Server::on(On::Postgres, &[("cluster.staleness_bound_ms", "600000")]);
    let second = server.beside();
    for (id, fields) in kinds() {
        let secret = client(&server, id, &fields, json!({})).await;
        let old = server.issued(id, &secret, &[]).await;
        assert!(
            second.is_active(&old).await,
            "{id}: the client is in the other node's memory now"
        );
        let rotated = server
            .admin("POST", &format!("/admin/clients/{id}/secret"))
            .await
            .json();
        let new = server
            .issued(id, rotated["client_secret"].as_str().unwrap(), &[])
            .await;
        assert!(
            second.is_active(&new).await,
            "{id}: decided on facts that this node did not have"
        );
        assert!(!second.is_active(&old).await, "{id}: and now it has them");
    }
}
