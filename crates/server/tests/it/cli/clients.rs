//! `signet client …` and what it does to tokens.

use super::{Server, file, is_active, line, signet, signet_reading, token};
use serde_json::{Value, json};

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name]
        .as_str()
        .unwrap_or_else(|| panic!("{name}: {value}"))
}

#[test]
fn a_client_lives_from_creation_to_deletion() {
    let server = Server::start();
    let create = "client create --id shop --name Shop --scope read --scope write --lifetime 10m \
                  --audience https://api.example --alg ES256 --json";
    let created = line(&server, create);
    let created = created.json();
    assert_eq!(created["access_token_lifetime"], 600);
    let secret = text(&created, "client_secret");

    let got = signet(&server, &["client", "get", "shop", "--json"]).json();
    assert_eq!(
        (&got["client_name"], got.get("client_secret")),
        (&json!("Shop"), None)
    );

    let first = token(&server, "shop", secret).unwrap();
    let seen = signet_reading(&server, &["token", "introspect", "-", "--json"], &first).json();
    assert_eq!(
        (&seen["active"], &seen["scope"]),
        (&json!(true), &json!("read write"))
    );

    let rotated = signet(&server, &["client", "rotate-secret", "shop", "--json"]).json();
    let rotated = text(&rotated, "client_secret");
    assert!(
        token(&server, "shop", secret)
            .unwrap_err()
            .contains("invalid_client")
    );
    assert!(
        !is_active(&server, &first),
        "a token from before the rotation"
    );

    let second = token(&server, "shop", rotated).unwrap();
    signet(&server, &["client", "revoke-tokens", "shop"]).text();
    assert!(
        !is_active(&server, &second),
        "a token from before the revocation"
    );

    let third = token(&server, "shop", rotated).unwrap();
    signet(&server, &["client", "disable", "shop"]).text();
    assert!(token(&server, "shop", rotated).is_err());
    signet(&server, &["client", "enable", "shop"]).text();
    assert!(
        !is_active(&server, &third),
        "a token from before the client was disabled"
    );

    let fourth = token(&server, "shop", rotated).unwrap();
    signet(&server, &["token", "revoke", &fourth]).text();
    assert!(!is_active(&server, &fourth));

    assert_eq!(
        signet(&server, &["client", "delete", "shop", "--yes"]).text(),
        "shop is deleted\n"
    );
    let gone = signet(&server, &["client", "get", "shop"]).refusal();
    assert!(gone.contains("there is no client \"shop\""), "{gone}");
}

#[test]
fn a_client_is_changed_and_replaced() {
    let server = Server::start();
    let secret = "a secret of my own";
    let create = [
        "client",
        "create",
        "--id",
        "a/b",
        "--secret-stdin",
        "--secret-hash",
        "bcrypt:4",
    ];
    signet_reading(&server, &create, &format!("{secret}\n")).text();
    assert!(
        token(&server, "a/b", secret).is_ok(),
        "the id has a slash, the secret spaces"
    );

    let update = [
        "client", "update", "a/b", "--scope", "x y", "--owner", "sales", "--json",
    ];
    let changed = signet(&server, &update).json();
    assert_eq!(
        (&changed["scope"], &changed["owner"]),
        (&json!("x y"), &json!("sales"))
    );
    let unset = ["client", "update", "a/b", "--unset", "owner", "--json"];
    let changed = signet(&server, &unset).json();
    assert_eq!(
        (&changed["scope"], changed.get("owner")),
        (&json!("x y"), None)
    );

    file(&server, "new.json", r#"{"client_name": "New"}"#);
    let stale = [
        "client",
        "replace",
        "a/b",
        "--from",
        "new.json",
        "--if-version",
        "0",
    ];
    let refused = signet(&server, &stale).refusal();
    assert!(refused.contains("precondition_failed"), "{refused}");
    let version = changed["version"].to_string();
    let fresh = [
        "client",
        "replace",
        "a/b",
        "--from",
        "new.json",
        "--if-version",
        &version,
        "--json",
    ];
    let replaced = signet(&server, &fresh).json();
    assert_eq!(
        (&replaced["client_name"], replaced.get("scope")),
        (&json!("New"), None)
    );
    assert!(token(&server, "a/b", secret).is_ok(), "the secret stays");
}

#[test]
fn clients_are_listed_in_pages_and_as_a_whole() {
    let server = Server::with(&["demo=false"]);
    for id in ["a", "b", "c"] {
        let create = [
            "client",
            "create",
            "--id",
            id,
            "--name",
            "Same",
            "--grant-type",
            "client_credentials",
        ];
        signet(&server, &create).text();
    }
    let page = signet(&server, &["client", "list", "--limit", "2"]);
    assert!(page.err.contains("--after b"), "{page:?}");
    let page = page.text();
    let rows: Vec<&str> = page.lines().collect();
    assert!(rows[0].starts_with("CLIENT ID  NAME  GRANTS"), "{page}");
    assert!(
        rows[2].starts_with("b          Same  client_credentials"),
        "{page}"
    );
    assert_eq!(rows.len(), 3, "{page}");

    let ids = |arguments: &[&str]| -> Vec<String> {
        let listed = signet(&server, arguments).json();
        let clients = listed["clients"].as_array().unwrap().iter();
        clients
            .map(|client| text(client, "client_id").to_owned())
            .collect()
    };
    assert_eq!(ids(&["client", "list", "--after", "b", "--json"]), ["c"]);
    assert_eq!(ids(&["client", "list", "--all", "--json"]), ["a", "b", "c"]);
    assert_eq!(
        ids(&["client", "list", "--name", "Same", "--limit", "1", "--json"]),
        ["a"]
    );
    assert!(ids(&["client", "list", "--owner", "nobody", "--all", "--json"]).is_empty());
}

#[test]
fn people_are_told_a_secret_once() {
    let server = Server::start();
    let created = signet(&server, &["client", "create", "--id", "shop"]);
    assert!(created.err.contains("told this once"), "{created:?}");
    let mut lines = created.out.lines();
    assert_eq!(
        lines.next().unwrap().split_whitespace().collect::<Vec<_>>(),
        ["client_id", "shop"]
    );
    assert!(lines.next().unwrap().starts_with("client_secret "));
    let shown = signet(&server, &["client", "get", "shop"]);
    assert!(
        !shown.out.contains("client_secret ") && shown.err.is_empty(),
        "{shown:?}"
    );
}

#[test]
fn deleting_goes_on_and_says_what_was_not_there() {
    let server = Server::start();
    for id in ["a", "b"] {
        signet(&server, &["client", "create", "--id", id]).text();
    }
    let asked = signet(&server, &["client", "delete", "a"]);
    assert_eq!(asked.status, 2);
    assert!(asked.err.contains("add --yes"), "{asked:?}");
    let done = signet(
        &server,
        &["client", "delete", "a", "nobody", "b", "--yes", "--json"],
    );
    assert_eq!(done.status, 1);
    assert!(
        done.err.contains("there is no client \"nobody\""),
        "{done:?}"
    );
    let deleted: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(deleted, json!({"deleted": ["a", "b"]}));
}
