//! What a change of a user ends: every token, and but for roles every session, at once and on every
//! node.

use serde_json::{Value, json};
use signet::store::NewLogin;
use signet_oauth::consent::Consent;
use signet_oauth::ids::ClientId;
use signet_oauth::scope::Scope;
use signet_oauth::session::{Amr, Session};
use signet_oauth::user::{User, UserId};

use super::{created, id, path};
use crate::support::http::Answer;
use crate::support::people::{PASSWORD, hashed, login_client, text};
use crate::support::{On, Server, on_every_store, until};

on_every_store! {
    what_changes_a_user_ends_what_was_issued_before
    a_session_ends_with_its_tokens
    a_consent_that_is_withdrawn_takes_its_tokens_along
}

/// What an administrator does to a user, and whether sessions survive it.
fn changes() -> [(&'static str, &'static str, Value, bool); 6] {
    [
        ("POST", "/lock", json!({}), false),
        ("PATCH", "", json!({"locked": true}), false),
        (
            "POST",
            "/password",
            json!({"password": "another one"}),
            false,
        ),
        ("PATCH", "", json!({"password": "another one"}), false),
        ("PUT", "/roles", json!({"roles": ["admin"]}), true),
        ("DELETE", "", json!({}), false),
    ]
}

/// A user who can log in, as it is stored.
pub(super) async fn person(server: &Server, name: &str) -> User {
    let fields = json!({"username": name, "password_hash": hashed("pbkdf2-sha256:1")});
    let user = created(server, &fields).await;
    let id = UserId::parse(id(&user)).unwrap();
    let found = server.app().store.find_user(&id).await.unwrap().value;
    found.unwrap()
}

/// The user's session, as a login leaves it behind.
pub(super) async fn session(server: &Server, user: &User) -> Session {
    let now = server.clock.now();
    let session = Session {
        id: server.app().rng.array(),
        user: user.id.clone(),
        user_session_generation: user.session_generation,
        auth_time: now,
        amr: vec![Amr::Password],
        acr: None,
        created_at: now,
        expires_at: now.plus(3600),
    };
    let login = NewLogin {
        session: Some(session.clone()),
        consent: None,
    };
    server.app().store.log_in(login).await.unwrap();
    session
}

async fn with_password(server: &Server, app: (&str, &str), name: &str) -> Answer {
    let form = [
        ("username", name),
        ("password", PASSWORD),
        ("scope", "read"),
    ];
    server.exchange(app, "password", &form).await
}

async fn count(server: &Server, user: &User, what: &str) -> Option<usize> {
    let path = format!("{}/{what}", path(user.id.as_str()));
    let answer = server.admin("GET", &path).await;
    (answer.status == 200).then(|| answer.json()[what].as_array().unwrap().len())
}

async fn what_changes_a_user_ends_what_was_issued_before(on: On) {
    let server = Server::on(on, &[]);
    let other = (on == On::Postgres).then(|| server.beside());
    let elsewhere = other.as_ref().unwrap_or(&server);
    let secret = server.quick("app", login_client(&json!({}))).await;
    let app = ("app", secret.as_str());
    for (number, (method, below, body, sessions_survive)) in changes().into_iter().enumerate() {
        let case = format!("{method} {below} {body}");
        let name = format!("user-{number}");
        let user = person(&server, &name).await;
        session(&server, &user).await;
        let of_code = server.logged_in(app, &user).await;
        let of_password = with_password(&server, app, &name).await.json();
        let tokens = [&of_code, &of_password].map(|answer| text(answer, "access_token"));
        for token in &tokens {
            // Both nodes have it in memory from now on.
            assert!(server.is_active(token).await, "{case}");
            assert!(elsewhere.is_active(token).await, "{case}");
        }
        let call = server.admin(method, &format!("{}{below}", path(user.id.as_str())));
        let changed = call.json(&body).await;
        assert!(
            matches!(changed.status, 200 | 204),
            "{case}: {}",
            changed.text()
        );
        for token in &tokens {
            assert!(!server.is_active(token).await, "{case}: here, at once");
            let is_dead = async || !elsewhere.is_active(token).await;
            until(&format!("{case}: dead on the other node"), is_dead).await;
        }
        let refreshed = elsewhere
            .refresh(app, &text(&of_code, "refresh_token"))
            .await;
        assert_eq!(
            refreshed.refusal(),
            (400, "invalid_grant".to_owned()),
            "{case}"
        );
        let left = count(elsewhere, &user, "sessions").await.unwrap_or(0);
        assert_eq!(left, usize::from(sessions_survive), "{case}");
        let again = with_password(elsewhere, app, &name).await;
        assert_eq!(
            again.status == 200,
            sessions_survive,
            "{case}: {}",
            again.text()
        );
    }
}

async fn a_session_ends_with_its_tokens(on: On) {
    let server = Server::on(on, &[]);
    let other = (on == On::Postgres).then(|| server.beside());
    let elsewhere = other.as_ref().unwrap_or(&server);
    let secret = server.quick("app", login_client(&json!({}))).await;
    let app = ("app", secret.as_str());
    let (jane, john) = (person(&server, "jane").await, person(&server, "john").await);
    let mut tokens = vec![];
    for _ in 0..3 {
        let session = session(&server, &jane).await;
        let code = server
            .code("app", &jane, |code| code.session = Some(session.id))
            .await;
        let redeemed = server.redeem(app, &code).await;
        assert_eq!(redeemed.status, 200, "{}", redeemed.text());
        let token = text(&redeemed.json(), "access_token");
        assert!(elsewhere.is_active(&token).await);
        tokens.push((signet_oauth::token::hex(session.id), token));
    }
    let sessions = format!("{}/sessions", path(jane.id.as_str()));
    let told = server.admin("GET", &sessions).await.json();
    assert_eq!(told["sessions"].as_array().unwrap().len(), 3);
    assert_eq!(told["sessions"][0]["clients"], json!(["app"]));
    assert_eq!(told["sessions"][0]["amr"], json!(["pwd"]));
    let (sid, token) = &tokens[0];
    let one = |user: &User| format!("{}/sessions/{sid}", path(user.id.as_str()));
    let others = server.admin("DELETE", &one(&john)).await;
    assert_eq!(
        others.status, 404,
        "nobody ends the session of somebody else"
    );
    assert!(server.is_active(token).await);
    assert_eq!(server.admin("DELETE", &one(&jane)).await.status, 204);
    assert!(!server.is_active(token).await);
    until("dead on the other node", async || {
        !elsewhere.is_active(token).await
    })
    .await;
    assert_eq!(server.admin("DELETE", &one(&jane)).await.status, 404);
    assert!(server.is_active(&tokens[1].1).await, "the others live on");
    let all = server.admin("DELETE", &sessions).await;
    assert_eq!((all.status, &all.json()["ended"]), (200, &json!(2)));
    for (_, token) in &tokens[1..] {
        assert!(!server.is_active(token).await);
        until("dead on the other node", async || {
            !elsewhere.is_active(token).await
        })
        .await;
    }
    assert_eq!(count(&server, &jane, "sessions").await, Some(0));
}

async fn a_consent_that_is_withdrawn_takes_its_tokens_along(on: On) {
    let server = Server::on(on, &[]);
    let secret = server.quick("app", login_client(&json!({}))).await;
    let app = ("app", secret.as_str());
    let jane = person(&server, "jane").await;
    let consent = Consent {
        user: jane.id.clone(),
        client: ClientId::parse("app").unwrap(),
        scope: Scope::parse("openid read").unwrap(),
        granted_at: server.clock.now(),
        expires_at: None,
    };
    let login = NewLogin {
        session: None,
        consent: Some(consent),
    };
    server.app().store.log_in(login).await.unwrap();
    let tokens = server.logged_in(app, &jane).await;
    let consents = format!("{}/consents", path(jane.id.as_str()));
    let told = server.admin("GET", &consents).await.json();
    assert_eq!(told["consents"][0]["client_id"], "app");
    assert_eq!(told["consents"][0]["scope"], "openid read");
    let one = format!("{consents}/app");
    assert_eq!(server.admin("DELETE", &one).await.status, 204);
    assert_eq!(server.admin("DELETE", &one).await.status, 404);
    assert_eq!(count(&server, &jane, "consents").await, Some(0));
    assert!(!server.is_active(&text(&tokens, "access_token")).await);
    let refreshed = server.refresh(app, &text(&tokens, "refresh_token")).await;
    assert_eq!(refreshed.refusal(), (400, "invalid_grant".to_owned()));
}
