//! `signet keys …` and `signet token …`.

use super::{Server, is_active, line, signet, token};
use serde_json::json;

#[test]
fn keys_are_listed_created_rotated_and_retired() {
    let server = Server::start();
    let listed = signet(&server, &["keys", "list"]).text();
    assert!(listed.starts_with("KID "), "{listed}");

    let created = signet(&server, &["keys", "create", "--alg", "EdDSA", "--json"]).json();
    assert_eq!(
        (&created["alg"], &created["source"]),
        (&json!("EdDSA"), &json!("local"))
    );
    let rotated = signet(&server, &["keys", "rotate", "--alg", "ES256", "--json"]).json();
    let kid = rotated["kid"].as_str().unwrap();
    let keys = signet(&server, &["keys", "list", "--json"]).json();
    let keys = keys["keys"].as_array().unwrap().clone();
    assert!(keys.iter().any(|key| key["kid"] == kid), "{keys:?}");

    let retired = signet(&server, &["keys", "retire", kid, "--json"]).json();
    assert_eq!(retired["state"], "retired");
    let unknown = signet(&server, &["keys", "retire", "nobody"]).refusal();
    assert!(unknown.contains("there is no key \"nobody\""), "{unknown}");
    let remote = ["keys", "create", "--remote", "nobody", "--kid", "k"];
    assert!(signet(&server, &remote).refusal().starts_with("signet: "));
}

#[test]
fn a_token_is_got_shown_revoked_and_flushed() {
    let server = Server::start();
    let create = "client create --id shop --secret s --secret-hash bcrypt:4 --scope read \
                  --scope write --audience https://a.example --audience https://b.example \
                  --access-token opaque --reuse-live-token";
    line(&server, create).text();
    let asked = "token get --client-id shop --client-secret s --scope read \
                 --resource https://b.example --json";
    let answer = line(&server, asked).json();
    assert_eq!(
        (&answer["token_type"], &answer["scope"]),
        (&json!("Bearer"), &json!("read"))
    );
    let issued = answer["access_token"].as_str().unwrap();

    let shown = signet(&server, &["token", "introspect", issued]).text();
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[..2],
        [["active", "yes"], ["client_id", "shop"]],
        "{shown}"
    );
    assert!(lines.contains(&vec!["aud", "https://b.example"]), "{shown}");

    let revoked = signet(&server, &["token", "revoke", issued]).text();
    assert_eq!(revoked, "the token is dead, or never was one\n");
    assert!(!is_active(&server, issued));
    assert!(!is_active(&server, "nonsense"));
    assert_eq!(
        signet(&server, &["token", "flush"]).text(),
        "what has expired is gone\n"
    );

    let wrong = token(&server, "shop", "wrong").unwrap_err();
    assert!(wrong.contains("invalid_client"), "{wrong}");
    let secretless = signet(&server, &["token", "get", "--client-id", "shop"]);
    assert_eq!(secretless.status, 2, "{secretless:?}");
}

#[test]
fn a_token_of_its_own_opens_the_admin_listener() {
    let server = Server::start();
    let create = [
        "client",
        "create",
        "--id",
        "operator",
        "--secret",
        "s",
        "--secret-hash",
        "bcrypt:4",
        "--scope",
        "signet:admin",
    ];
    signet(&server, &create).text();
    let issuer = "http://127.0.0.1:4444";
    let asked = [
        "token",
        "get",
        "--client-id",
        "operator",
        "--client-secret",
        "s",
        "--scope",
        "signet:admin",
        "--resource",
        issuer,
    ];
    super::file(&server, "operator.token", &signet(&server, &asked).text());
    let list = ["client", "list", "--token-file", "operator.token"];
    assert!(signet(&server, &list).text().contains("operator"));
}

#[test]
fn persisted_tokens_are_listed_and_revoked_by_their_handles() {
    let server = Server::start();
    let create = "client create --id shop --secret s --secret-hash bcrypt:4 --access-token opaque \
                  --persistence persisted";
    line(&server, create).text();
    let tokens: Vec<_> = (0..3)
        .map(|_| token(&server, "shop", "s").unwrap())
        .collect();
    let listed = line(&server, "token list shop").text();
    let first: Vec<&str> = listed.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        first,
        ["HANDLE", "SUBJECT", "SCOPE", "FORM", "EXPIRES", "ACTIVE"]
    );
    assert_eq!(listed.lines().count(), 4, "{listed}");
    let page = line(&server, "token list shop --limit 2 --json").json();
    assert_eq!(page["tokens"].as_array().unwrap().len(), 2);
    let rest = format!(
        "token list shop --json --after={}",
        page["next"].as_str().unwrap()
    );
    assert_eq!(
        line(&server, &rest).json()["tokens"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let all = line(&server, "token list shop --all --json").json();
    let handles: Vec<_> = all["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["handle"].clone())
        .collect();
    assert_eq!(handles.len(), 3);
    let revoke = [
        "token",
        "revoke",
        handles[0].as_str().unwrap(),
        "--client",
        "shop",
    ];
    assert_eq!(signet(&server, &revoke).text(), "the token is dead\n");
    let alive = tokens
        .iter()
        .filter(|token| is_active(&server, token))
        .count();
    assert_eq!(alive, 2);
    let unknown = signet(&server, &["token", "revoke", "x", "--client", "shop"]).refusal();
    assert!(unknown.contains("there is no such token"), "{unknown}");
    assert!(
        line(&server, "token list nobody")
            .refusal()
            .contains("no such client")
    );
}
