//! `/admin/users`: people are created, read, searched, changed, imported and deleted.

mod account;
mod endings;

use serde_json::{Value, json};

use crate::support::http::{Answer, escape};
use crate::support::{On, Server, on_every_store};

on_every_store! {
    every_field_survives_every_write
    a_taken_name_is_a_conflict
    pages_hold_every_user_once
    people_are_found_by_the_beginning_of_what_is_known
    every_change_obeys_if_match
    a_change_says_what_it_ends
    many_are_imported_and_those_who_are_there_stay
    a_deleted_user_is_gone
}

const USERS: &str = "/admin/users";

fn path(id: &str) -> String {
    format!("{USERS}/{}", escape(id))
}

async fn created(server: &Server, fields: &Value) -> Value {
    let answer = server.admin("POST", USERS).json(fields).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

/// A user with this name and a password that costs nothing.
async fn person(server: &Server, name: &str) -> Value {
    created(server, &json!({"username": name})).await
}

fn id(user: &Value) -> &str {
    user["sub"].as_str().unwrap()
}

/// A value for every field that a user has.
fn full() -> Value {
    json!({
        "sub": "f:1:jane", "username": "jane", "locked": true, "roles": ["admin", "höher"],
        "name": "Jane Doe", "given_name": "Jane", "family_name": "Doe", "middle_name": "M.",
        "nickname": "JD", "preferred_username": "j.doe", "profile": "https://jane.example/me",
        "picture": "https://jane.example/me.png", "website": "https://jane.example",
        "email": "Jane@Example.com", "email_verified": true, "gender": "female",
        "birthdate": "0000-10-31", "zoneinfo": "Europe/Zurich", "locale": "de-CH",
        "phone_number": "+41 44 000 00 00", "phone_number_verified": false,
        "address": {
            "formatted": "Weg 1\n8000 Zürich", "street_address": "Weg 1", "locality": "Zürich",
            "region": "ZH", "postal_code": "8000", "country": "CH",
        },
    })
}

fn assert_has(case: &str, told: &Value, fields: &Value) {
    for (name, value) in fields.as_object().unwrap() {
        assert_eq!(&told[name], value, "{case}: {name}");
    }
}

async fn every_field_survives_every_write(on: On) {
    let server = Server::on(on, &[]);
    let told = created(&server, &full()).await;
    assert_has("created", &told, &full());
    let path = path("f:1:jane");
    let read = server.admin("GET", &path).await;
    assert_eq!(read.json(), told);
    assert_eq!(read.header("etag"), "\"1\"");
    // What was read can be sent back.
    let replaced = server.admin("PUT", &path).json(&read.json()).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    assert_has("replaced", &replaced.json(), &full());
    let fields = json!({"nickname": null, "address": {"region": null, "locality": "Chur"}});
    let changed = server.admin("PATCH", &path).json(&fields).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let mut expected = full();
    expected.as_object_mut().unwrap().remove("nickname");
    let address = expected["address"].as_object_mut().unwrap();
    address.remove("region");
    address.insert("locality".to_owned(), json!("Chur"));
    assert_has("patched", &changed.json(), &expected);
    assert_eq!(changed.json()["nickname"], Value::Null);
    assert_eq!(
        changed.json()["generation"],
        told["generation"],
        "nothing ended"
    );
}

async fn a_taken_name_is_a_conflict(on: On) {
    let server = Server::on(on, &[]);
    let body = json!({"username": "jane", "password": "a password", "email": "jane@example.com"});
    let jane = created(&server, &body).await;
    assert!(id(&jane).starts_with("usr_"));
    assert_eq!(jane["password_kind"], "hash");
    let same_name = json!({"username": " JANE "});
    let same_id = json!({"sub": id(&jane), "username": "other"});
    for body in [same_name, same_id] {
        let answer = server.admin("POST", USERS).json(&body).await;
        assert_eq!(answer.refusal(), (409, "conflict".to_owned()));
    }
    let john = person(&server, "john").await;
    let rename = json!({"username": "Jane"});
    let answer = server.admin("PATCH", &path(id(&john))).json(&rename).await;
    assert_eq!(answer.refusal(), (409, "conflict".to_owned()));
}

#[tokio::test]
async fn what_is_not_a_user_is_refused() {
    let server = Server::start();
    for bad in [
        json!({}),
        json!({"username": " "}),
        json!({"username": "a\nb"}),
        json!({"username": "x", "sub": "a b"}),
        json!({"username": "x", "email": "nobody"}),
        json!({"username": "x", "roles": [""]}),
        json!({"username": "x", "pasword": "typo"}),
        json!({"username": "x", "password": ""}),
        json!({"username": "x", "password": "p".repeat(1025)}),
        json!({"username": "x", "password_hash": "md5"}),
        json!({"username": "x", "password": "p", "password_hash": "$2b$04$"}),
        json!({"username": "x", "address": {}}),
        json!({"username": "x", "address": {"planet": "earth"}}),
        json!({"username": "x", "name": ""}),
        json!({"username": 7}),
    ] {
        let answer = server.admin("POST", USERS).json(&bad).await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_request".to_owned()),
            "{bad}"
        );
    }
    assert!(names(&server, "username=x", "username").await.is_empty());
    for query in [
        "limit=0",
        "limit=1001",
        "after=x",
        "name=a&email=b",
        "color=red",
        "after=YQ",
    ] {
        let answer = server.admin("GET", &format!("{USERS}?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
    }
    for name in ["nobody", "%00", "%F0%9F%A6%80"] {
        for path in ["", "/sessions", "/consents"] {
            let answer = server.admin("GET", &format!("{USERS}/{name}{path}")).await;
            assert_eq!(answer.status, 404, "{name}{path}");
        }
    }
}

async fn names(server: &Server, query: &str, field: &str) -> Vec<String> {
    let mut found = vec![];
    let mut after = String::new();
    loop {
        let path = format!("{USERS}?{query}{after}");
        let answer = server.admin("GET", &path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let page = answer.json();
        let users = page["users"].as_array().unwrap();
        found.extend(
            users
                .iter()
                .map(|user| user[field].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return found,
        }
    }
}

async fn pages_hold_every_user_once(on: On) {
    let server = Server::on(on, &[]);
    let mut expected = vec![];
    for number in 0..23 {
        let name = format!("user-{number:02}");
        person(&server, &name).await;
        expected.push(name);
    }
    for limit in [1, 7, 23, 1000] {
        let query = format!("username=user-&limit={limit}");
        assert_eq!(
            names(&server, &query, "username").await,
            expected,
            "{limit}"
        );
    }
}

async fn people_are_found_by_the_beginning_of_what_is_known(on: On) {
    let server = Server::on(on, &[]);
    for (name, full, email) in [
        ("a", "Zoe Ärmel", "zoe@one.example"),
        ("b", "Zacharias", "Zack@two.example"),
        ("c", "Ärmel_%", "armel@one.example"),
    ] {
        let body = json!({"username": name, "name": full, "email": email});
        created(&server, &body).await;
    }
    person(&server, "xd").await;
    for (query, expected) in [
        ("name=z&limit=1", &["b", "a"][..]),
        ("name=%C3%84rmel", &["c"]),
        ("name=%C3%A4RMEL_", &["c"]),
        ("name=%25", &[]),
        ("email=z", &["b", "a"]),
        ("email=ZACK%40", &["b"]),
        ("email=z&limit=1", &["b", "a"]),
        ("username=XD", &["xd"]),
        ("username=xdd", &[]),
    ] {
        assert_eq!(names(&server, query, "username").await, expected, "{query}");
    }
}

async fn every_change_obeys_if_match(on: On) {
    let server = Server::on(on, &[]);
    let jane = person(&server, "jane").await;
    let path = path(id(&jane));
    let changes: [(&str, &str, Value); 7] = [
        ("PUT", "", json!({"username": "jane"})),
        ("PATCH", "", json!({"name": "Jane"})),
        ("POST", "/lock", json!({})),
        ("POST", "/unlock", json!({})),
        ("POST", "/password", json!({"password": "another"})),
        ("PUT", "/roles", json!({"roles": ["x"]})),
        ("DELETE", "", json!({})),
    ];
    for (method, below, body) in changes {
        let read = server.admin("GET", &path).await;
        let call = |tag: &str| {
            let call = server.admin(method, &format!("{path}{below}"));
            call.header("if-match", tag).json(&body)
        };
        let case = format!("{method} {below}");
        for wrong in ["\"0\"", "\"99\"", "W/\"1\"", "x"] {
            assert_eq!(call(wrong).await.status, 412, "{case} {wrong}");
        }
        assert_eq!(
            server.admin("GET", &path).await.json(),
            read.json(),
            "{case}"
        );
        let right = call(read.header("etag")).await;
        assert!(
            matches!(right.status, 200 | 204),
            "{case}: {}",
            right.text()
        );
    }
}

async fn a_change_says_what_it_ends(on: On) {
    let server = Server::on(on, &[]);
    let jane = person(&server, "jane").await;
    let path = path(id(&jane));
    let changes: [(&str, &str, Value, (u64, u64)); 8] = [
        (
            "PATCH",
            "",
            json!({"name": "Jane", "username": "jane2"}),
            (0, 0),
        ),
        ("PUT", "/roles", json!({"roles": ["a"]}), (1, 0)),
        ("PUT", "/roles", json!({"roles": ["a"]}), (0, 0)),
        ("POST", "/password", json!({"password": "another"}), (1, 1)),
        ("PATCH", "", json!({"password": "a third one"}), (1, 1)),
        ("POST", "/lock", json!({}), (1, 1)),
        ("POST", "/lock", json!({}), (0, 0)),
        ("POST", "/unlock", json!({}), (0, 0)),
    ];
    let mut before = jane;
    for (method, below, body, (tokens, sessions)) in changes {
        let answer = server
            .admin(method, &format!("{path}{below}"))
            .json(&body)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let after = answer.json();
        let rose = |name: &str| after[name].as_u64().unwrap() - before[name].as_u64().unwrap();
        let case = format!("{method} {below} {body}");
        assert_eq!(
            (rose("generation"), rose("session_generation")),
            (tokens, sessions),
            "{case}"
        );
        before = after;
    }
}

async fn import(server: &Server, lines: &str) -> Answer {
    let call = server.admin("POST", "/admin/users/import");
    call.raw("application/x-ndjson", lines.to_owned()).await
}

async fn many_are_imported_and_those_who_are_there_stay(on: On) {
    let server = Server::on(on, &[]);
    let jane = person(&server, "user-7").await;
    let hash =
        "$pbkdf2-sha256$i=1,l=32$c2FsdHNhbHRzYWx0$3kZ6PyvnA4cJ2L3mC0tS8F4eK1g8yHk0u5cI5lZr4wI";
    let mut lines = String::new();
    for number in 0..1500 {
        let user = json!({"username": format!("user-{number}"), "password_hash": hash});
        lines += &user.to_string();
        lines.push('\n');
    }
    lines += "\n{\"username\": \"\"}\nnonsense\r\n{\"username\": \"last\"}";
    let answer = import(&server, &lines).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told = answer.json();
    assert_eq!(
        (&told["created"], &told["skipped"]),
        (&json!(1500), &json!(1))
    );
    let refused = told["refused"].as_array().unwrap();
    let refused: Vec<_> = refused.iter().map(|one| &one["line"]).collect();
    assert_eq!(refused, [&json!(1502), &json!(1503)]);
    let again = import(&server, &lines).await.json();
    assert_eq!(
        (&again["created"], &again["skipped"]),
        (&json!(0), &json!(1501))
    );
    assert_eq!(
        names(&server, "username=user-&limit=1000", "username")
            .await
            .len(),
        1500
    );
    assert_eq!(server.admin("GET", &path(id(&jane))).await.json(), jane);
    let wrong = server.admin("POST", "/admin/users/import").json(&json!({}));
    assert_eq!(wrong.await.status, 415);
}

async fn a_deleted_user_is_gone(on: On) {
    let server = Server::on(on, &[]);
    let jane = person(&server, "jane").await;
    let path = path(id(&jane));
    assert_eq!(server.admin("DELETE", &path).await.status, 204);
    for method in ["GET", "DELETE"] {
        assert_eq!(server.admin(method, &path).await.status, 404, "{method}");
    }
    let lock = server.admin("POST", &format!("{path}/lock")).await;
    assert_eq!(lock.status, 404);
    let again = json!({"sub": id(&jane), "username": "jane"});
    let again = created(&server, &again).await;
    assert!(again["generation"].as_u64() > jane["generation"].as_u64());
}
