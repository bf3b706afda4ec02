//! `signet user …`: people on the command line.

use super::{Server, file, line, signet, signet_reading};
use serde_json::json;

/// PBKDF2 of anything: nobody logs in with it here.
const HASH: &str =
    "$pbkdf2-sha256$i=1000,l=32$AAECAwQFBgcICQoLDA0ODw$fvJB2iH13y6cUFPLmsdSzIF9rjoEUaBslJCBrN20e28";

#[test]
fn a_user_is_created_found_changed_and_deleted() {
    let server = Server::start();
    let create = "user create jane --email jane@example.com --role a --role b --password-stdin";
    let arguments: Vec<_> = create
        .split_whitespace()
        .chain(["--name", "Jane Doe"])
        .collect();
    let shown = signet_reading(&server, &arguments, "correct horse\n").text();
    assert!(shown.starts_with("sub"), "{shown}");
    assert!(shown.contains("jane@example.com"), "{shown}");
    assert!(!shown.contains("horse"), "{shown}");
    let again = line(&server, "user create Jane").refusal();
    assert!(again.contains("exists"), "{again}");
    let jane = line(&server, "user get JANE --json").json();
    assert_eq!(jane["roles"], json!(["a", "b"]));
    let id = jane["sub"].as_str().unwrap();
    let by_id = signet(&server, &["user", "get", id, "--json"]).json();
    assert_eq!(by_id, jane);
    for search in ["user search jan", "user search JANE@ --by email"] {
        let rows = line(&server, search).text();
        assert!(rows.contains("ID") && rows.contains(id), "{search}: {rows}");
    }
    let locked = line(&server, "user lock jane").text();
    assert!(locked.starts_with("jane is locked"), "{locked}");
    assert_eq!(line(&server, "user get jane --json").json()["locked"], true);
    line(&server, "user unlock jane").text();
    let roles = line(&server, "user roles jane admin --json").json();
    assert_eq!(roles["roles"], json!(["admin"]));
    let before = roles["session_generation"].as_u64();
    let password = signet_reading(&server, &["user", "password", "jane", "--json"], "new");
    assert!(password.json()["session_generation"].as_u64() > before);
    let none = "SESSION  LOGGED IN  EXPIRES  BY  CLIENTS\n";
    assert_eq!(line(&server, "user sessions jane").text(), none);
    let ended = line(&server, "user end-sessions jane").text();
    assert_eq!(ended, "0 sessions of jane ended\n");
    let consents = line(&server, "user consents jane --json").json();
    assert_eq!(consents["consents"], json!([]));
    assert_eq!(line(&server, "user withdraw jane app").status, 1);
    let asked = line(&server, "user delete jane");
    assert_eq!(asked.status, 2, "{asked:?}");
    assert_eq!(
        line(&server, "user delete jane --yes").text(),
        "jane is deleted\n"
    );
    let gone = line(&server, "user get jane").refusal();
    assert!(gone.contains("there is no user \"jane\""), "{gone}");
}

#[test]
fn an_import_is_taken_up_by_running_it_again() {
    let server = Server::start();
    let row = |number: usize| {
        let user = json!({"username": format!("user-{number:04}"), "password_hash": HASH});
        format!("{user}\n")
    };
    let lines: Vec<String> = (0..2500).map(row).collect();
    file(&server, "half", &lines[..1200].concat());
    let bad = "{\"username\": \"\"}\nnonsense\n";
    file(&server, "whole", &format!("{}{bad}", lines.concat()));
    let half = line(&server, "user import half --batch 500").text();
    assert_eq!(
        half,
        "1200 created, 0 existed already, 0 left out, 0 failed\n"
    );
    let whole = line(&server, "user import whole");
    assert_eq!(whole.status, 1, "{whole:?}");
    assert_eq!(
        whole.out,
        "1300 created, 1200 existed already, 0 left out, 2 failed\n"
    );
    for said in [
        "line 2501: username is needed",
        "line 2502: it is not a JSON object",
    ] {
        assert!(whole.err.contains(said), "{said}: {}", whole.err);
    }
    let summary = line(&server, "user import half --json").json();
    assert_eq!(
        (&summary["created"], &summary["existed"]),
        (&json!(0), &json!(1200))
    );
    let found = line(&server, "user search user- --all --json").json();
    assert_eq!(found["users"].as_array().unwrap().len(), 2500);
}

#[test]
fn the_users_of_a_realm_come_along() {
    let server = Server::start();
    let how = json!({"hashIterations": 27500, "algorithm": "pbkdf2-sha256"}).to_string();
    let what = json!({"value": "fvJB2iH13y6cUFPLmsdSzIF9rjoEUaBslJCBrN20e28=",
                      "salt": "AAECAwQFBgcICQoLDA0ODw=="});
    let password = json!({"type": "password", "credentialData": how,
                          "secretData": what.to_string()});
    let realm = json!({"realm": "shop", "clients": [{"clientId": "x"}], "users": [
        {"id": "4f3c", "username": "jane", "enabled": true, "firstName": "Jane",
         "email": "jane@example.com", "realmRoles": ["user"], "credentials": [password]},
        {"username": "service-account-x", "enabled": true, "serviceAccountClientId": "x"},
        {"username": "john", "enabled": false},
    ]});
    file(&server, "realm.json", &format!("{realm:#}"));
    let done = line(&server, "user import realm.json");
    assert_eq!(done.status, 0, "{done:?}");
    assert_eq!(
        done.out,
        "2 created, 0 existed already, 1 left out, 0 failed\n"
    );
    assert!(
        done.err
            .contains("entry 3 (john): note: it comes without a password"),
        "{done:?}"
    );
    let jane = line(&server, "user get 4f3c --json").json();
    assert_eq!(jane["password_kind"], "imported");
    assert_eq!(
        (&jane["given_name"], &jane["roles"]),
        (&json!("Jane"), &json!(["user"]))
    );
    assert_eq!(line(&server, "user get john --json").json()["locked"], true);
}
