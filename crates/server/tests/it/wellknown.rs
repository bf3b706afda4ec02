//! Documents about the server: they say what is there, and nothing else.

use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::support::{ISSUER, Server};

const METADATA: [&str; 2] = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
];

fn texts(value: &Value) -> BTreeSet<String> {
    let list = value
        .as_array()
        .unwrap_or_else(|| panic!("no list: {value}"));
    list.iter()
        .map(|one| one.as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn both_metadata_documents_name_endpoints_that_answer() {
    let server = Server::start();
    for path in METADATA {
        let document = server.public("GET", path).await.json();
        assert_eq!(document["issuer"], ISSUER);
        let mut endpoints = 0;
        for (name, value) in document.as_object().unwrap() {
            if !name.ends_with("_endpoint") && !name.ends_with("_uri") {
                continue;
            }
            endpoints += 1;
            let at = value
                .as_str()
                .unwrap()
                .strip_prefix(ISSUER)
                .expect("under the issuer");
            let (method, other) = match name.as_str() {
                "jwks_uri" => ("GET", "POST"),
                "authorization_endpoint" | "userinfo_endpoint" | "end_session_endpoint" => {
                    ("GET", "PUT")
                }
                _ => ("POST", "GET"),
            };
            assert_ne!(server.public(method, at).await.status, 404, "{name}");
            let refused = server.public(other, at).await;
            assert_eq!(refused.status, 405, "{name}: {}", refused.text());
        }
        assert_eq!(endpoints, 8, "{document}");
    }
}

#[tokio::test]
async fn algorithms_of_the_metadata_are_those_of_the_published_keys() {
    let server = Server::with(&[("keys.publish_before", "0"), ("keys.jwks_max_age", "0")]);
    let mut made = BTreeSet::from(["ES256".to_owned()]);
    for alg in ["EdDSA", "RS256", "PS256", ""] {
        let keys = server.jwks().await;
        let published: BTreeSet<String> = keys["keys"]
            .as_array()
            .unwrap()
            .iter()
            .map(|key| key["alg"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(published, made);
        for path in METADATA {
            let document = server.public("GET", path).await.json();
            for name in [
                "introspection_signing_alg_values_supported",
                "id_token_signing_alg_values_supported",
            ] {
                assert_eq!(texts(&document[name]), made, "{name} of {path}");
            }
        }
        if !alg.is_empty() {
            server.key(alg).await;
            made.insert(alg.to_owned());
        }
    }
}

#[expect(clippy::too_many_lines, reason = "a table")]
#[tokio::test]
async fn the_metadata_offers_what_the_server_does() {
    let server = Server::start();
    let document = server.public("GET", METADATA[0]).await.json();
    assert_eq!(
        document,
        server.public("GET", METADATA[1]).await.json(),
        "one truth"
    );
    for (name, path) in [
        ("authorization_endpoint", "/oauth2/authorize"),
        ("pushed_authorization_request_endpoint", "/oauth2/par"),
        ("userinfo_endpoint", "/userinfo"),
    ] {
        assert_eq!(document[name], format!("{ISSUER}{path}"), "{name}");
    }
    for (name, offered) in [
        (
            "grant_types_supported",
            &[
                "client_credentials",
                "authorization_code",
                "refresh_token",
                "password",
                "implicit",
            ][..],
        ),
        (
            "response_types_supported",
            &[
                "code",
                "token",
                "id_token",
                "id_token token",
                "code id_token",
                "code token",
                "code id_token token",
            ],
        ),
        (
            "response_modes_supported",
            &["query", "fragment", "form_post"],
        ),
        ("code_challenge_methods_supported", &["S256"]),
        ("ui_locales_supported", &["en", "de", "fr", "es"]),
    ] {
        let offered: BTreeSet<String> = offered.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(texts(&document[name]), offered, "{name}");
    }
    let all = [
        "client_secret_basic",
        "client_secret_post",
        "client_secret_jwt",
        "private_key_jwt",
        "none",
    ];
    let all: BTreeSet<String> = all.map(str::to_owned).into();
    let confidential: BTreeSet<String> =
        all.iter().filter(|name| *name != "none").cloned().collect();
    for (endpoint, expected) in [
        ("token", &all),
        ("revocation", &all),
        ("introspection", &confidential),
    ] {
        let name = format!("{endpoint}_endpoint_auth_methods_supported");
        assert_eq!(&texts(&document[&name]), expected, "{name}");
        let name = format!("{endpoint}_endpoint_auth_signing_alg_values_supported");
        let algs = texts(&document[&name]);
        assert_eq!(
            algs,
            ["ES256", "EdDSA", "RS256", "PS256", "HS256"]
                .map(str::to_owned)
                .into(),
            "{name}"
        );
    }
}

#[tokio::test]
async fn public_documents_may_be_cached_and_read_from_other_origins() {
    let server = Server::with(&[("keys.jwks_max_age", "77"), ("keys.publish_before", "77")]);
    for path in [METADATA[0], METADATA[1], "/.well-known/jwks.json"] {
        let answer = server
            .public("GET", path)
            .header("origin", "https://app.example")
            .await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(
            answer.header("cache-control"),
            "public, max-age=77",
            "{path}"
        );
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
        assert_eq!(answer.header("content-type"), "application/json", "{path}");
        let admin = server.admin_bare("GET", path).await;
        assert_eq!(
            admin.body, answer.body,
            "the same at the admin door: {path}"
        );
        let head = server.public("HEAD", path).await;
        assert_eq!((head.status, head.body.len()), (200, 0), "HEAD {path}");
    }
    let token = server
        .public("POST", "/oauth2/token")
        .header("origin", "https://app.example")
        .await;
    assert_eq!(
        token.header("access-control-allow-origin"),
        "",
        "tokens are not for other origins"
    );
}

#[tokio::test]
async fn health_and_version_answer_at_both_doors() {
    let server = Server::start();
    for (path, name, value) in [
        ("/health/alive", "status", "ok"),
        ("/health/ready", "status", "ok"),
        ("/version", "version", env!("CARGO_PKG_VERSION")),
    ] {
        for (door, call) in [
            ("public", server.public("GET", path)),
            ("admin", server.admin_bare("GET", path)),
        ] {
            let answer = call.await;
            assert_eq!(
                (answer.status, answer.json()),
                (200, json!({name: value})),
                "{door} {path}"
            );
            assert_eq!(answer.header("cache-control"), "no-store", "{door} {path}");
        }
    }
}
