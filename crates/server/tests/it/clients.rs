//! `/admin/clients`: clients are created, read, changed and deleted; and `/clients`, as Hydra's
//! users know it.

use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::support::http::{Answer, escape};
use crate::support::jwt::Key;
use crate::support::{On, Server, on_every_store};

on_every_store! {
    every_field_survives_every_write
    pages_hold_every_client_once
    lists_can_be_filtered
    a_taken_name_is_a_conflict
    a_conditional_write_names_what_it_read
    every_change_of_a_client_obeys_if_match
    the_secret_that_a_client_has_is_not_another_one
}

const CLIENTS: &str = "/admin/clients";

fn path(id: &str) -> String {
    format!("{CLIENTS}/{}", escape(id))
}

/// A value for every field that a client has.
fn full(key: &Key) -> Value {
    let mut body = json!({
        "client_id": "full",
        "client_name": "Everything, ä \u{1F980}",
        "client_secret_expires_at": 4_000_000_000_u64,
        "scope": "read write device_*",
        "audience": ["https://a.example", "urn:b"],
        "grant_types": ["client_credentials", "refresh_token", "authorization_code"],
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "ES256",
        "jwks": key.set("k"),
        "access_token": "opaque",
        "persistence": "persisted",
        "access_token_lifetime": 60,
        "access_token_signed_response_alg": "ES256",
        "introspection_signed_response_alg": "ES256",
        "grant_tokens": {
            "client_credentials": {"access_token": "jwt", "persistence": "persisted", "access_token_lifetime": 30},
            "refresh_token": {"access_token": "opaque", "persistence": "persisted", "access_token_lifetime": 7},
        },
        "reuse_live_token": true,
        "enabled": true,
        "owner": "team-a",
        "client_uri": "https://client.example",
        "logo_uri": "https://client.example/logo.png",
        "policy_uri": "https://client.example/policy",
        "tos_uri": "https://client.example/tos",
        "contacts": ["a@client.example", "b@client.example"],
        "redirect_uris": ["https://client.example/cb", "com.example.app:/cb"],
        "response_types": ["code"],
        "request_uris": ["https://client.example/request"],
        "sector_identifier_uri": "https://client.example/sector",
        "subject_type": "public",
        "request_object_signing_alg": "RS256",
        "userinfo_signed_response_alg": "RS256",
        "allowed_cors_origins": ["https://client.example"],
        "metadata": {"text": "x", "nested": {"list": [1, 2.5, null, true]}, "empty": {}},
    });
    let login = json!({
        "post_logout_redirect_uris": ["https://client.example/out"],
        "backchannel_logout_uri": "https://client.example/back",
        "backchannel_logout_session_required": true,
        "id_token_signed_response_alg": "ES256",
        "require_pushed_authorization_requests": true,
        "require_signed_request_object": true,
        "default_max_age": 3600,
        "require_auth_time": true,
        "skip_consent": true,
        "require_pkce": true,
        "allow_plain_pkce": true,
        "refresh_token_lifetime": 86400,
        "refresh_token_policy": "stateless",
    });
    body.as_object_mut()
        .unwrap()
        .extend(login.as_object().unwrap().clone());
    body
}

/// The answer tells exactly what was sent, and what the server adds.
fn assert_tells(case: &str, told: &Value, sent: &Value) {
    const ADDED: [&str; 4] = ["client_id_issued_at", "updated_at", "version", "generation"];
    for (name, value) in sent.as_object().unwrap() {
        assert_eq!(&told[name], value, "{case}: {name}");
    }
    let names = told.as_object().unwrap().keys();
    let surplus: Vec<_> = names
        .filter(|name| sent.get(name).is_none() && !ADDED.contains(&name.as_str()))
        .collect();
    assert!(surplus.is_empty(), "{case}: {surplus:?}");
    assert!(
        ADDED.iter().all(|name| told[name].is_u64()),
        "{case}: {told}"
    );
}

#[expect(clippy::too_many_lines, reason = "one life from beginning to end")]
async fn every_field_survives_every_write(store: On) {
    let mut server = Server::frozen(store, &[]);
    let mut sent = full(&Key::new());
    let created = server.create(sent.clone()).await;
    assert_tells("created", &created, &sent);
    assert_eq!(created["client_id_issued_at"], server.clock.now().0);
    server.clock.advance(10);
    let listed = server.admin("GET", CLIENTS).await.json();
    let found = listed["clients"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["client_id"] == "full");
    assert_eq!(found, Some(&created), "listed");
    assert_eq!(
        server.admin("GET", &path("full")).await.json(),
        created,
        "read"
    );
    // What was read can be sent back as it is.
    let replaced = server
        .admin("PUT", &path("full"))
        .json(&created)
        .await
        .json();
    assert_tells("replaced by itself", &replaced, &sent);
    assert_eq!(
        replaced["version"],
        json!(created["version"].as_u64().unwrap() + 1)
    );
    assert_eq!(
        replaced["generation"], created["generation"],
        "which ends no token"
    );
    assert_eq!(
        replaced["client_id_issued_at"],
        created["client_id_issued_at"]
    );
    assert_eq!(replaced["updated_at"], server.clock.now().0);
    for (name, value) in [
        ("client_name", json!("another")),
        ("contacts", json!(["c@client.example"])),
        (
            "metadata",
            json!({"text": "x", "nested": {"list": []}, "empty": {}}),
        ),
        ("access_token_lifetime", json!(61)),
        ("reuse_live_token", json!(false)),
    ] {
        let patch = if name == "metadata" {
            json!({"metadata": {"nested": {"list": []}}})
        } else {
            json!({name: value})
        };
        let told = server.patch("full", patch).await;
        sent[name] = value;
        if name == "reuse_live_token" {
            sent.as_object_mut().unwrap().remove(name);
        }
        assert_tells(&format!("{name} changed"), &told, &sent);
    }
    if store != On::Memory {
        server.restart();
    }
    assert_tells(
        "later",
        &server.admin("GET", &path("full")).await.json(),
        &sent,
    );
    let bare = server
        .admin("PUT", &path("full"))
        .json(&json!({"client_secret": "x", "secret_hash": "bcrypt:4"}))
        .await;
    assert_eq!(bare.status, 200, "{}", bare.text());
    let expected = server.create(json!({"client_id": "bare"})).await;
    for (name, value) in bare.json().as_object().unwrap() {
        if ![
            "client_id",
            "client_id_issued_at",
            "updated_at",
            "version",
            "generation",
        ]
        .contains(&name.as_str())
        {
            assert_eq!(value, &expected[name], "replaced by nothing: {name}");
        }
    }
    let deleted = server.admin("DELETE", &path("full")).await;
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    for method in ["GET", "DELETE"] {
        let answer = server.admin(method, &path("full")).await;
        assert_eq!(answer.refusal(), (404, "not_found".to_owned()), "{method}");
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn a_null_in_a_patch_takes_a_field_away() {
    let server = Server::start();
    let sent = full(&Key::new());
    let kept = [
        "client_id",
        "token_endpoint_auth_method",
        "jwks",
        "access_token",
        "persistence",
    ];
    let defaults = ["grant_types", "enabled"];
    server.create(sent.clone()).await;
    for name in sent
        .as_object()
        .unwrap()
        .keys()
        .filter(|name| !kept.contains(&name.as_str()))
    {
        let told = server.patch("full", json!({name: null})).await;
        assert_eq!(
            told.get(name).is_some(),
            defaults.contains(&name.as_str()),
            "{name}: {told}"
        );
    }
    let told = server.admin("GET", &path("full")).await.json();
    assert_eq!(
        (&told["grant_types"], &told["enabled"]),
        (&json!(["client_credentials"]), &json!(true))
    );
    server
        .patch("full", json!({"metadata": {"a": 1, "b": {"c": 2, "d": 3}}}))
        .await;
    let told = server
        .patch("full", json!({"metadata": {"a": null, "b": {"c": null}}}))
        .await;
    assert_eq!(told["metadata"], json!({"b": {"d": 3}}));
    let same = server.patch("full", json!({})).await;
    assert_eq!(same["metadata"], told["metadata"]);
    for (patch, error) in [
        (json!({"client_id": "other"}), "invalid_request"),
        (json!({"jwks": null}), "invalid_client_metadata"),
        (json!({"clientname": "x"}), "invalid_client_metadata"),
        (json!({"contacts": "x"}), "invalid_request"),
        (json!([]), "invalid_request"),
        (json!("x"), "invalid_request"),
        (json!(null), "invalid_request"),
    ] {
        let answer = server.admin("PATCH", &path("full")).json(&patch).await;
        assert_eq!(
            answer.refusal(),
            (400, error.to_owned()),
            "{patch}: {}",
            answer.text()
        );
    }
    let kind = "application/merge-patch+json";
    let answer = server
        .admin("PATCH", &path("full"))
        .raw(kind, r#"{"owner":"b"}"#)
        .await;
    assert_eq!(answer.json()["owner"], "b", "{}", answer.text());
}

#[tokio::test]
async fn a_client_has_sensible_defaults() {
    let server = Server::start();
    let first = server.create(json!({})).await;
    let second = server.create(json!({})).await;
    assert_ne!(first["client_id"], second["client_id"]);
    assert_ne!(first["client_secret"], second["client_secret"]);
    assert!(first["client_id"].as_str().unwrap().len() >= 22);
    assert_eq!(
        first["client_secret"].as_str().unwrap().len(),
        43,
        "256 bits in base64url"
    );
    assert_eq!(first["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(first["grant_types"], json!(["client_credentials"]));
    assert_eq!(first["enabled"], true);
    assert_eq!(
        (&first["access_token"], &first["persistence"]),
        (&json!("jwt"), &json!("stateless"))
    );
    let (id, secret) = (
        first["client_id"].as_str().unwrap(),
        first["client_secret"].as_str().unwrap(),
    );
    assert_eq!(server.token(id, secret, &[]).await.status, 200);
    let opaque = server.create(json!({"access_token": "opaque"})).await;
    assert_eq!(opaque["persistence"], "persisted", "goes without saying");
    let public = server
        .create(json!({"token_endpoint_auth_method": "none"}))
        .await;
    assert!(public.get("client_secret").is_none(), "{public}");
    assert_eq!(public["grant_types"], json!(["authorization_code"]));
    let empty = server.create(json!({"client_secret": ""})).await;
    assert_eq!(
        empty["client_secret"].as_str().unwrap().len(),
        43,
        "no secret at all is none to choose"
    );
    let chosen = server
        .create(json!({"client_secret": "chosen", "secret_hash": "bcrypt:4"}))
        .await;
    assert!(
        chosen.get("client_secret").is_none(),
        "the caller knows it: {chosen}"
    );
    let by_server = Server::with(&[
        ("tokens.access_token", "opaque"),
        ("tokens.persistence", "persisted"),
    ]);
    assert_eq!(by_server.create(json!({})).await["access_token"], "opaque");
}

#[tokio::test]
async fn names_of_clients_are_visible_ascii() {
    let server = Server::start();
    let longest = "x".repeat(255);
    for id in [
        "a",
        "https://client.example/a?b=c&d",
        "%41",
        "a:b",
        "../x",
        ".",
        "~",
        "a+b",
        "\"'\\<>",
        &longest,
    ] {
        server.create(json!({"client_id": id, "owner": "me"})).await;
        let one = server.admin("GET", &path(id)).await;
        assert_eq!(one.json()["client_id"], *id, "{id}: {}", one.text());
        assert_eq!(
            server.patch(id, json!({"owner": "you"})).await["client_id"],
            *id
        );
        assert_eq!(server.admin("DELETE", &path(id)).await.status, 204, "{id}");
        assert_eq!(server.admin("GET", &path(id)).await.status, 404, "{id}");
    }
    for id in ["", " ", "a b", "é", "a\n", "a\u{0}", &"x".repeat(256)] {
        let answer = server
            .admin("POST", CLIENTS)
            .json(&json!({"client_id": id}))
            .await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_client_metadata".to_owned()),
            "{id:?}"
        );
        assert!(answer.text().contains("client_id"), "{}", answer.text());
    }
    for missing in ["nobody", "a%20b", "%00", "%ff"] {
        let answer = server.admin("GET", &format!("{CLIENTS}/{missing}")).await;
        assert!(
            [400, 404].contains(&answer.status),
            "{missing}: {}",
            answer.text()
        );
    }
}

/// Bodies that no write accepts, and what the refusal must name.
#[expect(clippy::too_many_lines, reason = "a table")]
fn refused() -> Vec<(Value, &'static str)> {
    let long = "x".repeat(2049);
    let jwk = Key::new().jwk("k");
    let mut private = jwk.clone();
    private["d"] = "AAAA".into();
    let mut cut = jwk.clone();
    cut["x"] = "AAAA".into();
    let keys = |key: &Value| json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [key]}});
    let no_secret = |more: Value| {
        let mut body = json!({"token_endpoint_auth_method": "private_key_jwt"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    vec![
        (json!({"client_naem": "x"}), "client_naem"),
        (
            json!({"token_endpoint_auth_method": "tls_client_auth"}),
            "token_endpoint_auth_method",
        ),
        (
            json!({"token_endpoint_auth_method": "none", "grant_types": ["client_credentials"]}),
            "client_credentials",
        ),
        (
            json!({"token_endpoint_auth_method": "none", "client_secret": "x"}),
            "secret",
        ),
        (json!({"grant_types": ["magic"]}), "grant_types"),
        (json!({"grant_tokens": {"magic": {}}}), "grant_tokens"),
        (json!({"access_token": "paper"}), "access_token"),
        (json!({"persistence": "sometimes"}), "persistence"),
        (
            json!({"access_token": "opaque", "persistence": "stateless"}),
            "opaque",
        ),
        (json!({"access_token_lifetime": 0}), "access_token_lifetime"),
        (
            json!({"access_token_lifetime": 86_401}),
            "access_token_lifetime",
        ),
        (
            json!({"grant_tokens": {"client_credentials": {"access_token_lifetime": 0}}}),
            "access_token_lifetime",
        ),
        (json!({"reuse_live_token": true}), "reuse_live_token"),
        (
            json!({"access_token_signed_response_alg": "HS256"}),
            "ES256",
        ),
        (
            json!({"access_token_signed_response_alg": "none"}),
            "access_token_signed_response_alg",
        ),
        (
            json!({"introspection_signed_response_alg": "HS256"}),
            "ES256",
        ),
        (
            json!({"token_endpoint_auth_method": "client_secret_jwt", "token_endpoint_auth_signing_alg": "ES256"}),
            "token_endpoint_auth_signing_alg",
        ),
        (
            json!({"token_endpoint_auth_method": "client_secret_jwt", "client_secret": "short"}),
            "32",
        ),
        (json!({"scope": "a*b"}), "scope"),
        (json!({"scope": "a\"b"}), "scope"),
        (json!({"audience": ["relative"]}), "audience"),
        (json!({"audience": ["https://a.example#x"]}), "audience"),
        (no_secret(json!({})), "jwks"),
        (no_secret(json!({"jwks": {"keys": []}})), "jwks"),
        (no_secret(json!({"jwks": []})), "jwks"),
        (
            no_secret(json!({"jwks_uri": "https://a.example/keys", "jwks": {"keys": [jwk]}})),
            "jwks",
        ),
        (
            no_secret(
                json!({"jwks_uri": "https://a.example/keys", "token_endpoint_auth_signing_alg": "HS256"}),
            ),
            "token_endpoint_auth_signing_alg",
        ),
        (keys(&private), "jwks"),
        (keys(&cut), "jwks"),
        (keys(&json!({"kty": "oct", "k": "AAAA"})), "jwks"),
        (
            json!({"redirect_uris": ["https://a.example/cb#x"]}),
            "redirect_uris",
        ),
        (json!({"redirect_uris": ["relative"]}), "redirect_uris"),
        (
            json!({"redirect_uris": ["http://a.example/cb"]}),
            "redirect_uris",
        ),
        (json!({"response_types": ["x"]}), "response_types"),
        (
            json!({"post_logout_redirect_uris": ["javascript:alert(1)"]}),
            "post_logout_redirect_uris",
        ),
        (
            json!({"backchannel_logout_uri": "ftp://a.example"}),
            "backchannel_logout_uri",
        ),
        (
            json!({"id_token_signed_response_alg": "none"}),
            "id_token_signed_response_alg",
        ),
        (
            json!({"refresh_token_lifetime": 1}),
            "refresh_token_lifetime",
        ),
        (
            json!({"refresh_token_policy": "eternal"}),
            "refresh_token_policy",
        ),
        (json!({"subject_type": "secret"}), "subject_type"),
        (json!({"subject_type": "pairwise"}), "pairwise"),
        (json!({"client_name": long}), "metadata"),
        (json!({"contacts": vec!["x"; 101]}), "metadata"),
        (json!({"client_name": "a\u{0}b"}), "metadata"),
        (json!({"client_name": 7}), "json"),
        (json!({"contacts": "x"}), "json"),
        (json!({"enabled": "yes"}), "json"),
        (json!({"access_token_lifetime": -1}), "json"),
        (json!({"metadata": "x"}), "json"),
        (json!(null), "json"),
    ]
}

#[tokio::test]
async fn what_is_refused_at_creation_is_refused_at_every_change() {
    let server = Server::start();
    server.create(json!({"client_id": "app"})).await;
    let before = server.admin("GET", &path("app")).await;
    let mut wrong = vec![];
    for (body, names) in refused() {
        for (method, to) in [
            ("POST", CLIENTS),
            ("PUT", &*path("app")),
            ("PATCH", &*path("app")),
        ] {
            let answer = server.admin(method, to).json(&body).await;
            let told = answer.json();
            let codes = [
                "invalid_client_metadata",
                "invalid_redirect_uri",
                "invalid_request",
            ];
            let refused = answer.status == 400 && codes.iter().any(|code| told["error"] == *code);
            let description = told["error_description"].as_str().unwrap_or_default();
            if !refused || (names != "json" && !description.contains(names)) {
                wrong.push(format!(
                    "{method} {body} should name {names}: {}",
                    answer.text()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let after = server.admin("GET", &path("app")).await;
    assert_eq!(
        (before.text(), before.header("etag")),
        (after.text(), after.header("etag"))
    );
}

#[tokio::test]
async fn bodies_that_are_no_json_are_refused() {
    let server = Server::start();
    for (kind, body, status) in [
        ("application/json", "", 400),
        ("application/json", "{", 400),
        ("application/json", "{}}", 400),
        ("application/json", "x", 400),
        (
            "application/json",
            r#"{"client_name":"a","client_name":"b"}"#,
            400,
        ),
        (
            "application/json",
            r#"{"client_secret":"a","client_secret":"b"}"#,
            400,
        ),
        ("application/json", "{\"client_name\":\"\u{1}\"}", 400),
        ("text/plain", "{}", 415),
        ("application/x-www-form-urlencoded", "{}", 415),
        ("", "{}", 415),
    ] {
        let answer = server
            .admin("POST", CLIENTS)
            .raw(kind, body.to_owned())
            .await;
        assert_eq!(answer.status, status, "{kind} {body}: {}", answer.text());
        assert!(answer.json()["error"].is_string());
    }
    let deep = format!(
        r#"{{"metadata":{}1{}}}"#,
        r#"{"a":"#.repeat(2000),
        "}".repeat(2000)
    );
    let answer = server
        .admin("POST", CLIENTS)
        .raw("application/json", deep)
        .await;
    assert_eq!(answer.status, 400, "nested too deeply: {}", answer.text());
    let bytes = [b"{\"client_name\":\"".as_slice(), &[0xff], b"\"}"].concat();
    let answer = server
        .admin("POST", CLIENTS)
        .raw("application/json", bytes)
        .await;
    assert_eq!(answer.status, 400, "not UTF-8: {}", answer.text());
}

async fn a_taken_name_is_a_conflict(store: On) {
    let server = Server::on(store, &[]);
    let secret = server.client("app", json!({"client_name": "first"})).await;
    for alias in [CLIENTS, "/clients"] {
        let answer = server
            .admin("POST", alias)
            .json(&json!({"client_id": "app"}))
            .await;
        assert_eq!(answer.refusal(), (409, "conflict".to_owned()), "{alias}");
    }
    assert_eq!(
        server.admin("GET", &path("app")).await.json()["client_name"],
        "first"
    );
    assert_eq!(
        server.token("app", &secret, &[]).await.status,
        200,
        "its secret still works"
    );
}

fn etag(answer: &Answer) -> String {
    let tag = answer.header("etag").to_owned();
    assert!(
        tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2,
        "{tag}: {}",
        answer.text()
    );
    tag
}

async fn a_conditional_write_names_what_it_read(store: On) {
    let server = Server::on(store, &[]);
    let created = server
        .admin("POST", CLIENTS)
        .json(&json!({"client_id": "app"}))
        .await;
    let read = server.admin("GET", &path("app")).await;
    assert_eq!(etag(&created), etag(&read));
    let mut tag = etag(&read);
    for (method, body) in [
        ("PATCH", json!({"owner": "a"})),
        ("PUT", json!({"owner": "b"})),
    ] {
        let call = || server.admin(method, &path("app")).json(&body);
        let answer = call().header("if-match", &tag).await;
        assert_eq!(answer.status, 200, "{method}: {}", answer.text());
        assert_ne!(etag(&answer), tag, "{method} makes another version");
        let answer = call().header("if-match", &tag).await;
        assert!(
            answer.refusal() == (412, "precondition_failed".to_owned()),
            "{method} of an old version: {}",
            answer.text()
        );
        tag = etag(&server.admin("GET", &path("app")).await);
        for nonsense in ["x", "\"x\"", "W/\"1\"", "\"-1\"", ""] {
            let answer = call().header("if-match", nonsense).await;
            assert_eq!(answer.status, 412, "{method} {nonsense}: {}", answer.text());
        }
        assert_eq!(
            etag(&server.admin("GET", &path("app")).await),
            tag,
            "nothing was written"
        );
        let answer = call().header("if-match", "*").await;
        assert_eq!(answer.status, 200, "any version: {}", answer.text());
        let answer = server
            .admin(method, &path("nobody"))
            .json(&body)
            .header("if-match", "*")
            .await;
        assert_eq!(answer.status, 404, "but there must be one");
        tag = etag(&server.admin("GET", &path("app")).await);
    }
}

async fn every_change_of_a_client_obeys_if_match(store: On) {
    let server = Server::on(store, &[]);
    let secret = server.client("app", json!({})).await;
    let token = server.issued("app", &secret, &[]).await;
    let old = etag(&server.admin("GET", &path("app")).await);
    server.patch("app", json!({"owner": "somebody else"})).await;
    let changes = [
        ("POST", "/disable"),
        ("POST", "/enable"),
        ("POST", "/secret"),
        ("DELETE", "/tokens"),
        ("DELETE", ""),
    ];
    for (method, of) in changes {
        let call = || server.admin(method, &format!("{}{of}", path("app")));
        let answer = call().header("if-match", &old).await;
        let refused = (412, "precondition_failed".to_owned());
        assert_eq!(answer.refusal(), refused, "{method} {of}");
    }
    assert!(server.is_active(&token).await, "nothing has happened");
    for (method, of) in changes {
        let now = etag(&server.admin("GET", &path("app")).await);
        let either = format!("\"0\", {now}");
        let call = || server.admin(method, &format!("{}{of}", path("app")));
        let answer = call().header("if-match", &either).await;
        assert!(answer.status < 300, "{method} {of}: {}", answer.text());
    }
    assert!(!server.is_active(&token).await);
    let answer = server
        .admin("DELETE", &path("app"))
        .header("if-match", &old)
        .await;
    assert_eq!(answer.status, 404, "there is none any more");
}

async fn the_secret_that_a_client_has_is_not_another_one(store: On) {
    let server = Server::on(store, &[]);
    let signing = "a secret that is long enough to sign with";
    for (id, mut fields) in [
        ("hashed", json!({"client_secret": "chosen"})),
        ("generated", json!({})),
        (
            "signing",
            json!({"client_secret": signing, "token_endpoint_auth_method": "client_secret_jwt"}),
        ),
    ] {
        fields["client_id"] = id.into();
        let created = server.create(fields.clone()).await;
        let secret = fields["client_secret"].as_str();
        let secret = secret.or(created["client_secret"].as_str()).unwrap();
        let secret = &secret.to_owned();
        fields["client_secret"] = secret.as_str().into();
        let before = created["generation"].clone();
        for (what, change) in [
            ("the same", json!({})),
            ("another name", json!({"client_name": "renamed"})),
        ] {
            let mut whole = fields.clone();
            whole
                .as_object_mut()
                .unwrap()
                .extend(change.as_object().unwrap().clone());
            let answer = server.admin("PUT", &path(id)).json(&whole).await;
            assert_eq!(answer.status, 200, "{id}, {what}: {}", answer.text());
            assert_eq!(
                answer.json()["generation"],
                before,
                "{id}, {what}: ends nothing"
            );
        }
        if id != "signing" {
            let token = server.issued(id, secret, &[]).await;
            let harder = json!({"client_secret": secret, "secret_hash": "bcrypt:5"});
            server.patch(id, harder).await;
            assert!(
                server.is_active(&token).await,
                "{id}: only hashed in another way"
            );
            assert_eq!(server.token(id, secret, &[]).await.status, 200, "{id}");
        }
        let other = json!({"client_secret": format!("{secret}, but another")});
        let after = server.patch(id, other).await;
        assert_ne!(
            after["generation"], before,
            "{id}: another secret ends tokens"
        );
    }
}

/// All pages of a list, one after the other.
async fn pages(server: &Server, limit: usize) -> Vec<Vec<String>> {
    let (mut pages, mut after) = (vec![], String::new());
    loop {
        let answer = server
            .admin("GET", &format!("{CLIENTS}?limit={limit}{after}"))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let body = answer.json();
        let ids = body["clients"].as_array().unwrap().iter();
        pages.push(
            ids.map(|client| client["client_id"].as_str().unwrap().to_owned())
                .collect(),
        );
        match body["next"].as_str() {
            Some(next) => after = format!("&after={}", escape(next)),
            None => return pages,
        }
        assert!(pages.len() < 1000, "without end");
    }
}

async fn pages_hold_every_client_once(store: On) {
    let server = Server::on(store, &[("demo", "false")]);
    let mut expected = BTreeSet::new();
    for number in 0..250 {
        // Names that collations put in another order than bytes.
        let id = format!("{}{number}", ["a", "A", "_", "~"][number % 4]);
        server
            .create(json!({"client_id": id, "token_endpoint_auth_method": "none"}))
            .await;
        expected.insert(id);
    }
    let expected: Vec<String> = expected.into_iter().collect();
    for limit in [1, 7, 50, 100, 249, 250, 251, 1000] {
        let found = pages(&server, limit).await;
        assert!(found.iter().all(|page| page.len() <= limit));
        assert!(
            found[..found.len() - 1]
                .iter()
                .all(|page| page.len() == limit),
            "full but for the last"
        );
        assert_eq!(found.concat(), expected, "{limit} a page");
    }
    assert_eq!(
        server.admin("GET", CLIENTS).await.json()["clients"]
            .as_array()
            .unwrap()
            .len(),
        100
    );
    let part = server
        .admin("GET", &format!("{CLIENTS}?limit=10&offset=245"))
        .await
        .json();
    assert_eq!(part["clients"].as_array().unwrap().len(), 5);
    for query in [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=x",
        "offset=-1",
        "after=a%20b",
        "page=2",
        "limit=1&limit=2",
    ] {
        let answer = server.admin("GET", &format!("{CLIENTS}?{query}")).await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_request".to_owned()),
            "{query}"
        );
    }
}

async fn lists_can_be_filtered(store: On) {
    let server = Server::on(store, &[("demo", "false")]);
    for (id, name, owner) in [
        ("1", "x", "a"),
        ("2", "y", "a"),
        ("3", "x", "b"),
        ("4", "x y", "a'--"),
    ] {
        server
            .create(json!({"client_id": id, "client_name": name, "owner": owner}))
            .await;
    }
    for (query, expected) in [
        ("client_name=x", vec!["1", "3"]),
        ("owner=a", vec!["1", "2"]),
        ("client_name=x&owner=a", vec!["1"]),
        ("client_name=x%20y", vec!["4"]),
        ("owner=a%27--", vec!["4"]),
        ("owner=%25", vec![]),
        ("owner=A", vec![]),
        ("client_name=x&limit=1&offset=1", vec!["3"]),
        ("client_name=x&after=1", vec!["3"]),
        ("after=4", vec![]),
    ] {
        for to in [CLIENTS, "/clients"] {
            let body = server.admin("GET", &format!("{to}?{query}")).await.json();
            let list = if to == CLIENTS {
                &body["clients"]
            } else {
                &body
            };
            let ids: Vec<_> = list
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["client_id"].as_str().unwrap())
                .collect();
            assert_eq!(ids, expected, "{to}?{query}");
        }
    }
}

#[tokio::test]
async fn a_disabled_client_gets_nothing_until_it_is_enabled() {
    let server = Server::start();
    let secret = server.client("app", json!({})).await;
    for _ in 0..2 {
        for (verb, enabled, status) in [
            ("disable", false, 401),
            ("disable", false, 401),
            ("enable", true, 200),
            ("enable", true, 200),
        ] {
            let answer = server
                .admin("POST", &format!("{}/{verb}", path("app")))
                .await;
            assert_eq!(
                (answer.status, &answer.json()["enabled"]),
                (200, &json!(enabled)),
                "{verb}"
            );
            assert_eq!(
                server.token("app", &secret, &[]).await.status,
                status,
                "after {verb}"
            );
        }
    }
    for verb in ["disable", "enable", "secret"] {
        let answer = server
            .admin("POST", &format!("{}/{verb}", path("nobody")))
            .await;
        assert_eq!(answer.refusal(), (404, "not_found".to_owned()), "{verb}");
    }
    let answer = server
        .admin("DELETE", &format!("{}/tokens", path("nobody")))
        .await;
    assert_eq!(answer.refusal(), (404, "not_found".to_owned()));
    server
        .create(json!({"client_id": "public", "token_endpoint_auth_method": "none"}))
        .await;
    let answer = server
        .admin("POST", &format!("{}/secret", path("public")))
        .await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_request".to_owned()),
        "there is no secret to rotate"
    );
}

#[tokio::test]
async fn a_client_can_change_how_it_authenticates() {
    let server = Server::start();
    let key = Key::new();
    server.client("app", json!({})).await;
    let told = server
        .patch(
            "app",
            json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": key.set("k")}),
        )
        .await;
    assert!(told.get("client_secret").is_none());
    let told = server
        .patch(
            "app",
            json!({"token_endpoint_auth_method": "client_secret_basic", "jwks": null}),
        )
        .await;
    let secret = told["client_secret"]
        .as_str()
        .expect("a new secret is told");
    assert_eq!(server.token("app", secret, &[]).await.status, 200);
    let told = server
        .patch(
            "app",
            json!({"token_endpoint_auth_method": "client_secret_jwt"}),
        )
        .await;
    assert_eq!(
        told["client_secret"]
            .as_str()
            .expect("a hash cannot sign")
            .len(),
        43
    );
    assert_eq!(server.token("app", secret, &[]).await.status, 401);
}

#[tokio::test]
async fn the_paths_of_hydra_work_as_its_users_expect() {
    let server = Server::start();
    // What Hydra's own documents show, members that this server does not have included.
    let body = json!({"client_id": "app", "client_secret": "some-secret", "grant_types": ["client_credentials"],
        "response_types": ["token", "code"], "redirect_uris": ["https://client.example/cb"],
        "scope": "openid offline", "token_endpoint_auth_method": "client_secret_basic", "userinfo_signed_response_alg": "none",
        "created_at": "2019-01-01T00:00:00Z", "skip_consent": true, "backchannel_logout_session_required": false});
    let created = server.admin("POST", "/clients").json(&body).await;
    assert_eq!(created.status, 201, "{}", created.text());
    assert_eq!(created.json()["scope"], "openid offline");
    assert_eq!(
        server.admin("GET", "/clients/app").await.json(),
        server.admin("GET", &path("app")).await.json()
    );
    let list = server
        .admin("GET", "/clients?limit=1&offset=0")
        .await
        .json();
    assert_eq!(list.as_array().unwrap().len(), 1, "a bare list: {list}");
    let token = server
        .issued("app", "some-secret", &[("scope", "openid")])
        .await;
    let told = server
        .admin("POST", "/oauth2/introspect")
        .form(&[("token", &token), ("scope", "openid")])
        .await;
    assert_eq!(
        (told.status, &told.json()["active"]),
        (200, &json!(true)),
        "{}",
        told.text()
    );
    for body in [json!({}), json!({"notAfter": "2019-01-01T00:00:00Z"})] {
        let flushed = server.admin("POST", "/oauth2/flush").json(&body).await;
        assert_eq!(flushed.status, 204, "{}", flushed.text());
    }
    assert!(server.is_active(&token).await, "what lives is not flushed");
    assert_eq!(server.admin("DELETE", "/clients/app").await.status, 204);
    assert_eq!(server.admin("GET", "/clients/app").await.status, 404);
}

#[tokio::test]
async fn members_that_hydra_has_and_this_server_has_not_are_passed_over_at_its_paths() {
    let server = Server::start();
    let body =
        json!({"client_id": "app", "skip_consent": true, "created_at": "2019-01-01T00:00:00Z"});
    for (method, to) in [("POST", "/clients"), ("PUT", "/clients/app")] {
        let answer = server.admin(method, to).json(&body).await;
        assert!(
            [200, 201].contains(&answer.status),
            "{method}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn the_url_of_keys_is_one_that_can_be_fetched() {
    let server = Server::start();
    for url in [
        "relative",
        "/keys",
        "file:///etc/passwd",
        "ftp://a.example/keys",
        "https://a.example/keys#x",
        "https://",
        "https://a b/",
        "",
    ] {
        let fields = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": url});
        let answer = server.admin("POST", CLIENTS).json(&fields).await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_client_metadata".to_owned()),
            "{url:?}: {}",
            answer.text()
        );
        assert!(answer.text().contains("jwks_uri"), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_list_is_no_object() {
    let server = Server::start();
    server.create(json!({"client_id": "app"})).await;
    for (method, to) in [
        ("POST", CLIENTS),
        ("PUT", &*path("app")),
        ("PATCH", &*path("app")),
        ("POST", "/admin/keys"),
        ("POST", "/admin/keys/rotate"),
        ("POST", "/admin/oauth2/flush"),
    ] {
        for body in [json!([]), json!([null]), json!(["ES256"])] {
            let answer = server.admin(method, to).json(&body).await;
            assert_eq!(
                answer.status,
                400,
                "{method} {to} {body}: {}",
                answer.text()
            );
        }
    }
}
