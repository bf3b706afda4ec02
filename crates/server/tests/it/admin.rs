//! The admin door: who may enter, and what the others hear.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

use crate::support::http::{Answer, escape};
use crate::support::{ISSUER, On, Server};

const ADMIN: &str = "signet:admin";

/// What anybody may read at this door.
const OPEN: [&str; 7] = [
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
    "/.well-known/jwks.json",
    "/health/alive",
    "/health/ready",
    "/version",
    "/openapi.json",
];

/// The paths of Hydra, which no description names.
const ALIASES: [(&str, &str); 12] = [
    ("GET", "/clients"),
    ("POST", "/clients"),
    ("GET", "/clients/x"),
    ("PUT", "/clients/x"),
    ("PATCH", "/clients/x"),
    ("DELETE", "/clients/x"),
    ("POST", "/oauth2/introspect"),
    ("POST", "/oauth2/flush"),
    ("GET", "/keys/signet"),
    ("GET", "/keys/signet/x"),
    ("GET", "/metrics/prometheus"),
    ("HEAD", "/admin/clients"),
];

/// Every operation of the admin door that is not open.
async fn guarded(server: &Server) -> Vec<(String, String)> {
    let document = server.admin_bare("GET", "/openapi.json").await.json();
    let mut operations = vec![];
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in ["get", "post", "put", "patch", "delete"] {
            if item.get(method).is_some() && !OPEN.contains(&path.as_str()) {
                let named = ["{id}", "{kid}", "{sid}", "{client_id}"];
                let path = named
                    .iter()
                    .fold(path.clone(), |path, name| path.replace(name, "x"));
                operations.push((method.to_uppercase(), path));
            }
        }
    }
    operations.extend(ALIASES.map(|(method, path)| (method.to_owned(), path.to_owned())));
    assert!(operations.len() > 25, "{operations:?}");
    operations
}

fn assert_refused(case: &str, answer: &Answer) {
    assert_eq!(answer.status, 401, "{case}: {}", answer.text());
    assert!(
        answer.header("www-authenticate").starts_with("Bearer "),
        "{case}"
    );
    assert_eq!(answer.header("cache-control"), "no-store", "{case}");
    if !case.starts_with("HEAD") {
        assert_eq!(answer.json()["error"], "invalid_token", "{case}");
    }
}

#[tokio::test]
async fn nothing_but_health_and_public_documents_is_open() {
    let server = Server::start();
    server.create(json!({"client_id": "x"})).await;
    for (method, path) in guarded(&server).await {
        let case = format!("{method} {path}");
        assert_refused(&case, &server.admin_bare(&method, &path).await);
        let wrong = server
            .admin_bare(&method, &path)
            .header("authorization", "Bearer wrong");
        assert_refused(&case, &wrong.await);
        let json = server.admin_bare(&method, &path).json(&json!({}));
        assert_refused(&case, &json.await);
    }
    assert_eq!(
        server.admin("GET", "/admin/clients/x").await.status,
        200,
        "nothing happened to it"
    );
    for path in OPEN {
        assert_eq!(server.admin_bare("GET", path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn the_public_door_does_not_serve_the_administration() {
    let server = Server::start();
    server.create(json!({"client_id": "x"})).await;
    for (method, path) in guarded(&server).await {
        let call = server
            .public(&method, &path)
            .header("authorization", &format!("Bearer {}", server.admin_token));
        let answer = call.await;
        // Introspection is at both doors; here the administrator is nobody.
        let expected = if path == "/oauth2/introspect" {
            400
        } else {
            404
        };
        assert_eq!(
            answer.status,
            expected,
            "{method} {path}: {}",
            answer.text()
        );
    }
    assert_eq!(server.admin("GET", "/admin/clients/x").await.status, 200);
}

#[tokio::test]
async fn the_bootstrap_token_opens_the_door_to_its_exact_bearer() {
    let mut server = Server::start();
    let file = server.data_dir().join("admin.token");
    let metadata = std::fs::metadata(&file).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let token = server.admin_token.clone();
    assert!(token.len() >= 43, "256 bits");
    let enter = |header: String| {
        server
            .admin_bare("GET", "/admin/clients")
            .header("authorization", &header)
    };
    for good in [
        format!("Bearer {token}"),
        format!("bearer {token}"),
        format!("BEARER  {token}"),
    ] {
        assert_eq!(enter(good.clone()).await.status, 200, "{good}");
    }
    let basic = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        format!("admin:{token}"),
    );
    for bad in [
        token.clone(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Bearer{token}"),
        format!("Bearer {}", &token[..token.len() - 1]),
        format!("Bearer {token}x"),
        format!("Bearer {token} {token}"),
        format!("Bearer {token}, Bearer {token}"),
        format!("Bearer {}", token.to_uppercase()),
        format!("Token {token}"),
        format!("Basic {basic}"),
        format!("Bearer {}", "x".repeat(4000)),
        "Bearer null".to_owned(),
        "Bearer é".to_owned(),
    ] {
        assert_refused(&bad, &enter(bad.clone()).await);
    }
    let url = format!("/admin/clients?access_token={token}");
    assert_refused(
        "in the URL (RFC 6750 section 2.3)",
        &server.admin_bare("GET", &url).await,
    );
    server.restart();
    assert_eq!(server.admin_token, token, "written once");
    assert_eq!(server.admin("GET", "/admin/clients").await.status, 200);
}

#[tokio::test]
async fn a_token_with_the_admin_scope_opens_the_door() {
    let server = Server::start();
    for (id, form) in [("jwt", "jwt"), ("opaque", "opaque")] {
        let fields = json!({"scope": "read signet:admin", "access_token": form});
        let secret = server.quick(id, fields).await;
        let token = server.issued(id, &secret, &[("scope", ADMIN)]).await;
        let enter = || {
            server
                .admin_bare("GET", "/admin/clients")
                .header("authorization", &format!("Bearer {token}"))
        };
        assert_eq!(enter().await.status, 200, "{id}");
        server.revoke((id, &secret), &token).await;
        assert_refused("revoked", &enter().await);
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn a_token_without_the_admin_scope_or_for_others_does_not() {
    const API: &str = "https://api.example";
    let server = Server::frozen(On::Sqlite, &[]);
    let good = json!({"scope": "read signet:admin", "audience": [API]});
    let secret = server.quick("operator", good).await;
    let enter = |token: &str| {
        server
            .admin_bare("GET", "/admin/clients")
            .header("authorization", &format!("Bearer {token}"))
    };
    let issue = async |form: &[(&str, &str)]| server.issued("operator", &secret, form).await;
    for (case, form, status) in [
        (
            "for this server, by name",
            &[("scope", ADMIN), ("resource", ISSUER)][..],
            200,
        ),
        (
            "for both",
            &[("scope", ADMIN), ("resource", ISSUER), ("resource", API)],
            200,
        ),
        (
            "for the API only",
            &[("scope", ADMIN), ("resource", API)],
            401,
        ),
        ("for whom it is registered", &[("scope", ADMIN)], 401),
        ("not asked for by name", &[("resource", ISSUER)], 403),
        (
            "another scope",
            &[("scope", "read"), ("resource", ISSUER)],
            403,
        ),
    ] {
        let answer = enter(&issue(form).await).await;
        assert_eq!(answer.status, status, "{case}: {}", answer.text());
        if status == 401 {
            assert_refused(case, &answer);
        }
        if status == 403 {
            assert_eq!(answer.json()["error"], "insufficient_scope", "{case}");
            let challenge = answer.header("www-authenticate");
            assert!(
                challenge.contains("insufficient_scope") && challenge.contains(ADMIN),
                "{challenge}"
            );
        }
    }
    for pattern in ["*", "signet:*", "signet:admi*"] {
        let id = format!("pattern-{pattern}");
        let secret = server.quick(&id, json!({"scope": pattern})).await;
        let answer = server.token(&id, &secret, &[("scope", ADMIN)]).await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_scope".to_owned()),
            "{pattern}"
        );
    }
    let token = issue(&[("scope", ADMIN), ("resource", ISSUER)]).await;
    assert_eq!(enter(&token).await.status, 200);
    server.clock.advance(300);
    assert_refused("expired", &enter(&token).await);
    let token = issue(&[("scope", ADMIN), ("resource", ISSUER)]).await;
    assert_eq!(enter(&token).await.status, 200);
    server.patch("operator", json!({"enabled": false})).await;
    assert_refused("of a disabled client", &enter(&token).await);
}

#[tokio::test]
async fn a_client_that_is_named_like_a_user_is_no_administrator() {
    let server = Server::start();
    for id in ["admin", "bootstrap", "root", ISSUER, ADMIN] {
        let secret = server.quick(id, json!({"scope": "*"})).await;
        let token = server
            .issued(
                id,
                &secret,
                &[("scope", "admin signet:administrator signet")],
            )
            .await;
        let answer = server
            .admin_bare("GET", "/admin/clients")
            .header("authorization", &format!("Bearer {token}"))
            .await;
        assert_eq!(answer.status, 403, "{id}: {}", answer.text());
    }
}

#[tokio::test]
async fn near_misses_of_admin_paths_lead_nowhere() {
    let server = Server::start();
    server.create(json!({"client_id": "x"})).await;
    for path in [
        "/admin",
        "/admin/",
        "/admin/clients/",
        "/admin//clients",
        "//admin/clients",
        "/Admin/clients",
        "/admin/clients/x/",
        "/admin/clients/x/..",
        "/admin/./clients",
        "/health/../admin/clients",
        "/health/alive/../../admin/clients",
        "/admin%2fclients",
        "/admin/clients%00",
        "/admin;x/clients",
        "/.well-known/../admin/clients",
    ] {
        for (door, call) in [
            ("admin", server.admin_bare("GET", path)),
            ("public", server.public("GET", path)),
        ] {
            let answer = call.await;
            assert!(
                [400, 401, 404].contains(&answer.status),
                "{door} {path}: {}",
                answer.text()
            );
        }
    }
}

#[tokio::test]
async fn metrics_count_what_was_answered_and_name_no_secret() {
    let server = Server::start();
    let secret = server.client("app", json!({})).await;
    let token = server.issued("app", &secret, &[]).await;
    server.token("app", "wrong", &[]).await;
    let answer = server.admin("GET", "/admin/metrics").await;
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .header("content-type")
            .starts_with("application/openmetrics-text")
    );
    let text = answer.text();
    for line in [
        r#"signet_http_requests_total{door="public",path="/oauth2/token",status="200"} 1"#,
        r#"signet_http_requests_total{door="public",path="/oauth2/token",status="401"} 1"#,
        r#"signet_tokens_issued_total{form="jwt",persistence="stateless"} 1"#,
        "signet_panics_total 0",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(text.trim_end().ends_with("# EOF"));
    for secret in [&*secret, &*token, &*server.admin_token] {
        assert!(!text.contains(secret));
    }
    assert_eq!(
        server.admin("GET", "/metrics/prometheus").await.status,
        200,
        "as Hydra's users know it"
    );
}

#[tokio::test]
async fn descriptions_name_exactly_what_is_there() {
    let server = Server::start();
    for (door, document) in [
        ("public", server.public("GET", "/openapi.json").await.json()),
        (
            "admin",
            server.admin_bare("GET", "/openapi.json").await.json(),
        ),
    ] {
        assert!(
            document["openapi"].as_str().unwrap().starts_with("3.1"),
            "{door}"
        );
        for (path, item) in document["paths"].as_object().unwrap() {
            let methods: Vec<String> = item
                .as_object()
                .unwrap()
                .keys()
                .map(|name| name.to_uppercase())
                .collect();
            let path = path.replace("{id}", "nobody").replace("{kid}", "nobody");
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                let call = if door == "public" {
                    server.public(method, &path)
                } else {
                    server.admin(method, &path)
                };
                let answer = call.await;
                let exists = answer.status != 405;
                assert_eq!(
                    exists,
                    methods.contains(&method.to_owned()),
                    "{door} {method} {path}: {}",
                    answer.text()
                );
            }
        }
        let listed: Vec<&Value> = document["paths"].as_object().unwrap().values().collect();
        assert!(listed.len() >= 9, "{door}");
    }
    let odd = format!("/admin/clients/{}", escape("a b"));
    assert_eq!(server.admin("GET", &odd).await.status, 404);
}

#[tokio::test]
async fn metrics_can_be_switched_off() {
    let server = Server::with(&[("metrics.enabled", "false")]);
    for path in ["/admin/metrics", "/metrics/prometheus"] {
        assert_eq!(server.admin("GET", path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn every_refusal_carries_the_name_under_which_it_is_logged() {
    let server = Server::start();
    let mut seen = std::collections::BTreeSet::new();
    for call in [
        server.public("GET", "/nowhere"),
        server.public("GET", "/oauth2/token"),
        server.public("POST", "/oauth2/token"),
        server.admin_bare("GET", "/admin/clients"),
        server.admin("GET", "/admin/clients/nobody"),
        server
            .admin("POST", "/admin/clients")
            .json(&json!({"x": 1})),
    ] {
        let answer = call.await;
        assert!((400..500).contains(&answer.status));
        assert!(
            seen.insert(answer.header("x-request-id").to_owned()),
            "{}",
            answer.text()
        );
        let body = answer.json();
        let names: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(names, ["error", "error_description"]);
    }
    assert!(!seen.contains(""));
}
