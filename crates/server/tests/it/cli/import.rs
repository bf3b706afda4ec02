//! `signet client import`: from Hydra, from Keycloak, from Signet.

use super::{Server, file, signet, signet_reading, token};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// bcrypt of `secret-of-hydra`, made by another program.
const HYDRA_HASH: &str = "$2a$04$abcdefghijklmnopqrstuuDwWjtKH.G9TA9QrikW7ls3yWPQuetuC";
/// PBKDF2 of `secret-of-hydra`, as Hydra writes it.
const HYDRA_PBKDF2: &str = "$pbkdf2-sha256$i=25000,l=32$AAECAwQFBgcICQoLDA0ODw$fvJB2iH13y6cUFPLmsdSzIF9rjoEUaBslJCBrN20e28";

fn hydra_rows() -> String {
    let row = |id: &str, hash: &str| {
        json!({
            "id": id, "client_secret": hash, "scope": "read", "pk": 1,
            "grant_types": ["client_credentials"], "audience": [], "owner": "", "jwks": {},
            "token_endpoint_auth_method": "client_secret_post", "metadata": {},
            "client_credentials_grant_access_token_lifespan": "10m0s", "skip_consent": true
        })
    };
    let (bcrypt, pbkdf2) = (row("old", HYDRA_HASH), row("new", HYDRA_PBKDF2));
    format!(
        "{bcrypt}\n{pbkdf2}\n{{\"id\": \"broken\",\n{}\n",
        row("odd", "$2a$04$short")
    )
}

#[test]
fn clients_of_hydra_keep_their_secrets() {
    let server = Server::start();
    file(&server, "clients.ndjson", &hydra_rows());
    let done = signet(&server, &["client", "import", "clients.ndjson"]);
    assert_eq!(
        (done.status, done.out.as_str()),
        (1, "2 created, 0 existed already, 0 left out, 2 failed\n"),
        "{done:?}"
    );
    assert!(
        done.err.contains("line 3: it is not a JSON object"),
        "{done:?}"
    );
    assert!(
        done.err.contains("line 4 (odd): client_secret_hash"),
        "{done:?}"
    );
    for id in ["old", "new"] {
        assert!(token(&server, id, "secret-of-hydra").is_ok(), "{id}");
        assert!(token(&server, id, "another").is_err(), "{id}");
    }
    let client = signet(&server, &["client", "get", "old", "--json"]).json();
    assert_eq!(
        client["grant_tokens"]["client_credentials"]["access_token_lifetime"],
        600
    );
    assert_eq!(client["skip_consent"], true);
}

#[test]
fn an_import_is_taken_up_again() {
    let server = Server::start();
    let line = |number: usize| {
        format!("{{\"client_id\": \"c{number:03}\", \"client_secret_hash\": \"{HYDRA_HASH}\"}}\n")
    };
    let lines: Vec<String> = (0..200).map(line).collect();
    file(&server, "half", &lines[..120].concat());
    file(&server, "whole", &lines.concat());
    let half = signet(&server, &["client", "import", "half"]).text();
    assert_eq!(
        half,
        "120 created, 0 existed already, 0 left out, 0 failed\n"
    );
    let refused = signet(&server, &["client", "import", "half", "--jobs", "1"]);
    assert_eq!(refused.status, 1);
    assert!(
        refused
            .err
            .contains("line 120 (c119): a client of this id exists"),
        "{refused:?}"
    );
    let whole = ["client", "import", "whole", "--skip-existing", "--json"];
    let summary = signet(&server, &whole).json();
    assert_eq!(
        (&summary["created"], &summary["existed"]),
        (&json!(80), &json!(120))
    );
    assert_eq!(summary["failed"], json!([]));
}

#[test]
fn a_realm_of_keycloak_comes_along() {
    let server = Server::start();
    let client = |id: &str, more: Value| {
        let mut client = json!({"clientId": id, "enabled": true, "protocol": "openid-connect",
            "clientAuthenticatorType": "client-secret", "serviceAccountsEnabled": true,
            "defaultClientScopes": ["acr", "email"]});
        client
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        client
    };
    let realm = json!({"realm": "shop", "users": [], "clients": [
        client("account", json!({"publicClient": true})),
        client("billing", json!({"secret": "fV2xo7"})),
        client("masked", json!({"secret": "**********"})),
        client("tls", json!({"clientAuthenticatorType": "client-x509"})),
    ]});
    file(
        &server,
        "realm.json",
        &serde_json::to_string_pretty(&realm).unwrap(),
    );
    let import = [
        "client",
        "import",
        "realm.json",
        "--secrets",
        "secrets",
        "--secret-hash",
        "bcrypt:4",
    ];
    let done = signet(&server, &import);
    assert_eq!(
        done.out, "2 created, 0 existed already, 1 left out, 1 failed\n",
        "{done:?}"
    );
    assert!(
        done.err
            .contains("left out: entry 1 (account): it is one of Keycloak's own"),
        "{done:?}"
    );
    assert!(
        done.err
            .contains("entry 4 (tls): it authenticates with a certificate"),
        "{done:?}"
    );
    assert!(token(&server, "billing", "fV2xo7").is_ok());

    let secrets = server.dir.path().join("secrets");
    let mode = fs::metadata(&secrets).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let handed_out: Value = serde_json::from_str(&fs::read_to_string(&secrets).unwrap()).unwrap();
    assert_eq!(handed_out["client_id"], "masked");
    assert!(
        token(
            &server,
            "masked",
            handed_out["client_secret"].as_str().unwrap()
        )
        .is_ok()
    );
}

#[test]
fn a_rehearsal_sends_nothing_and_needs_no_server() {
    let dir = tempfile::tempdir().unwrap();
    let rehearse = ["client", "import", "-", "--dry-run"];
    let done = super::run(dir.path(), &[], &rehearse, &hydra_rows());
    assert_eq!(done.status, 1, "{done:?}");
    let sent: Vec<Value> = done
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[0]["client_secret_hash"], HYDRA_HASH);
    assert!(
        done.err
            .ends_with("3 to create, 0 existed already, 0 left out, 1 failed\n"),
        "{done:?}"
    );
}

#[test]
fn what_signet_lists_can_be_imported_into_another() {
    let (from, to) = (Server::with(&["demo=false"]), Server::with(&["demo=false"]));
    for id in ["a", "b"] {
        let create = [
            "client",
            "create",
            "--id",
            id,
            "--scope",
            "x",
            "--auth-method",
            "none",
        ];
        signet(&from, &create).text();
    }
    let listed = signet(&from, &["client", "list", "--all", "--json"]).text();
    let import = ["client", "import", "-"];
    let done = signet_reading(&to, &import, &listed).text();
    assert_eq!(done, "2 created, 0 existed already, 0 left out, 0 failed\n");
    let got = signet(&to, &["client", "get", "b", "--json"]).json();
    assert_eq!(
        (&got["scope"], &got["grant_types"]),
        (&json!("x"), &json!(["authorization_code"]))
    );
}

#[test]
fn an_import_stops_when_the_server_is_gone() {
    let mut server = Server::start();
    file(
        &server,
        "one",
        "{\"client_id\": \"a\", \"token_endpoint_auth_method\": \"none\"}\n",
    );
    let admin = server.admin.clone();
    server.stop();
    let import = [
        "client",
        "import",
        "one",
        "--admin",
        &admin,
        "--data-dir",
        ".",
    ];
    let done = super::run(server.dir.path(), &[], &import, "");
    assert_eq!(done.status, 1);
    assert!(
        done.err.contains("take it up again with --skip-existing"),
        "{done:?}"
    );
    assert!(done.err.contains("no server answers at"), "{done:?}");
}
