//! `grant_type=password`: for clients that were registered for it, and for nobody who guesses.

use serde_json::{Value, json};
use signet::flow::{Failure, password};
use signet::store::Ends;
use signet_oauth::secret::Secret;
use signet_oauth::user::{PasswordHash, UserClaims};
use std::net::IpAddr;

use crate::support::people::{PASSWORD, hashed, login_client, text};
use crate::support::{On, Server, on_every_store, together};
use crate::token::kinds;

on_every_store! {
    a_password_is_exchanged_for_tokens_of_its_user
    who_guesses_is_kept_out_and_nobody_else
    an_imported_hash_is_made_anew_at_the_next_login
    a_stateless_grant_writes_nothing_and_a_persisted_one_once
}

/// Passwords of users cost what those of clients cost: here, nothing.
const CHEAP: (&str, &str) = ("secrets.hash", "pbkdf2-sha256:1");

/// A password request of the client `app`.
async fn ask(server: &Server, secret: &str, name: &str, password: &str) -> (u16, Value) {
    let form = [("username", name), ("password", password)];
    let answer = server.exchange(("app", secret), "password", &form).await;
    (answer.status, answer.json())
}

async fn a_password_is_exchanged_for_tokens_of_its_user(store: On) {
    let server = Server::frozen(store, &[CHEAP]);
    server.user("jane").await;
    for (kind, fields) in kinds() {
        for policy in ["rotating", "stateless"] {
            let id = format!("{kind}-{policy}");
            let mut fields = login_client(&fields);
            fields["refresh_token_policy"] = policy.into();
            let secret = server.quick(&id, fields).await;
            let caller = (&*id, &*secret);
            let form = [
                ("username", " Jane "),
                ("password", PASSWORD),
                ("scope", "read"),
            ];
            let answer = server.exchange(caller, "password", &form).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let answer = answer.json();
            assert_eq!(answer["scope"], "read");
            assert!(answer.get("id_token").is_none(), "nobody asked for openid");
            let access = text(&answer, "access_token");
            let told = server.introspect(&access).await;
            assert_eq!(
                (&told["sub"], &told["active"]),
                (&json!("usr_jane"), &json!(true))
            );
            let next = server
                .refresh(caller, &text(&answer, "refresh_token"))
                .await;
            assert_eq!(next.status, 200, "{}", next.text());
            assert_eq!(server.revoke(caller, &access).await.status, 200);
            assert!(!server.is_active(&access).await);
        }
    }
}

/// What the check says of a password from an address.
async fn check(server: &Server, name: &str, password: &str, from: &str) -> &'static str {
    let address: IpAddr = from.parse().unwrap();
    let secret = Secret::new(password);
    match password::check(server.app(), name, &secret, address).await {
        Ok(_) => "right",
        Err(Failure::Denied(error)) => error.reason,
        Err(Failure::Fault(fault)) => panic!("{}", fault.context),
    }
}

async fn who_guesses_is_kept_out_and_nobody_else(store: On) {
    let options = [
        CHEAP,
        ("lockout.per_user", "3"),
        ("lockout.per_address", "5"),
        ("lockout.window", "600"),
    ];
    let server = Server::frozen(store, &options);
    server.user("jane").await;
    server.user("joe").await;
    let guesser = "192.0.2.7";
    let reasons = ["password_wrong", "password_wrong", "password_wrong"];
    for reason in reasons {
        assert_eq!(check(&server, "jane", "guess", guesser).await, reason);
    }
    let out = "login_locked_out";
    assert_eq!(check(&server, "jane", PASSWORD, guesser).await, out);
    assert_eq!(check(&server, "jane", PASSWORD, "192.0.2.8").await, "right");
    assert_eq!(check(&server, "joe", PASSWORD, guesser).await, "right");
    for name in ["nobody", "nobody2"] {
        let reason = check(&server, name, "guess", guesser).await;
        assert_eq!(reason, "password_wrong", "who does not exist counts alike");
    }
    let third = check(&server, "joan", PASSWORD, guesser).await;
    assert_eq!(third, out, "too much went wrong at this address");
    let reason = check(&server, "joe", PASSWORD, guesser).await;
    assert_eq!(
        reason, "right",
        "who logged in there before is not kept out"
    );
    let network = "2001:db8::1";
    for _ in 0..3 {
        check(&server, "jane", "guess", network).await;
    }
    assert_eq!(check(&server, "jane", PASSWORD, "2001:db8::2").await, out);
    server.clock.advance(600);
    assert_eq!(check(&server, "jane", PASSWORD, guesser).await, "right");
}

async fn an_imported_hash_is_made_anew_at_the_next_login(store: On) {
    let server = Server::frozen(store, &[CHEAP]);
    for (number, spec) in ["bcrypt:4", "pbkdf2-sha512:10", "argon2id:m=8,t=1,p=1"]
        .into_iter()
        .enumerate()
    {
        let name = format!("user{number}");
        let hash = PasswordHash::Imported(hashed(spec));
        let user = server.user_with(&name, hash, UserClaims::default()).await;
        let stored = async || {
            let found = server.app().store.find_user(&user.id).await.unwrap();
            found.value.unwrap()
        };
        assert_eq!(
            check(&server, &name, "guess", "192.0.2.1").await,
            "password_wrong"
        );
        assert_eq!(
            stored().await.password,
            user.password,
            "{spec}: a guess changes nothing"
        );
        assert_eq!(check(&server, &name, PASSWORD, "192.0.2.1").await, "right");
        let renewed = stored().await;
        let PasswordHash::Hash(text) = &renewed.password else {
            panic!("{spec}: not made anew");
        };
        assert!(text.starts_with("$pbkdf2-sha256$"), "{spec}");
        assert_eq!(
            renewed.generation, user.generation,
            "{spec}: no token dies of it"
        );
        assert_eq!(check(&server, &name, PASSWORD, "192.0.2.1").await, "right");
    }
}

async fn a_stateless_grant_writes_nothing_and_a_persisted_one_once(store: On) {
    let server = Server::frozen(store, &[CHEAP]);
    server.user("jane").await;
    for (kind, policy, commits) in [
        ("stateless", "stateless", 0),
        ("stateless", "rotating", 1),
        ("persisted", "stateless", 1),
        ("persisted", "rotating", 1),
    ] {
        let id = format!("{kind}-{policy}");
        let fields = json!({"access_token": "jwt", "persistence": kind,
                            "refresh_token_policy": policy});
        let secret = server.quick(&id, login_client(&fields)).await;
        let form = [
            ("username", "jane"),
            ("password", PASSWORD),
            ("scope", "read"),
        ];
        let grant = || server.exchange((&*id, &*secret), "password", &form);
        assert_eq!(grant().await.status, 200);
        let before = server.written();
        assert_eq!(grant().await.status, 200);
        let after = server.written();
        assert_eq!(after - before, commits, "{id}");
    }
}

#[tokio::test]
async fn rfc9700_7_no_client_has_the_password_grant_that_was_not_registered_for_it() {
    let server = Server::with(&[CHEAP]);
    server.user("jane").await;
    let fields = json!({"grant_types": ["authorization_code", "client_credentials"]});
    let secret = server.quick("app", login_client(&fields)).await;
    let (status, answer) = ask(&server, &secret, "jane", PASSWORD).await;
    assert_eq!(
        (status, &answer["error"]),
        (400, &json!("unauthorized_client"))
    );
    let plain = server.quick("plain", json!({})).await;
    let form = [("username", "jane"), ("password", PASSWORD)];
    let answer = server.exchange(("plain", &plain), "password", &form).await;
    assert_eq!(answer.refusal(), (400, "unauthorized_client".to_owned()));
}

#[tokio::test]
async fn nobody_learns_from_a_refusal_which_users_exist() {
    let server = Server::with(&[CHEAP]);
    let secret = server.quick("app", login_client(&json!({}))).await;
    server.user("jane").await;
    let joe = server.user("joe").await;
    let all = Ends::TokensAndSessions;
    server
        .change_user(&joe.id, all, |user| user.locked = true)
        .await;
    let ann = server.user_with("ann", PasswordHash::None, UserClaims::default());
    ann.await;
    let mut refusals = Vec::new();
    for (name, password) in [
        ("jane", "guess"),
        ("joe", "guess"),
        ("joe", PASSWORD),
        ("ann", ""),
        ("ann", PASSWORD),
        ("nobody", PASSWORD),
        ("no\nbody", PASSWORD),
        (&*"x".repeat(2000), PASSWORD),
    ] {
        let password = if password.is_empty() { " " } else { password };
        let (status, answer) = ask(&server, &secret, name, password).await;
        assert_eq!(
            (status, &answer["error"]),
            (400, &json!("invalid_grant")),
            "{name}"
        );
        refusals.push(answer);
    }
    refusals.dedup();
    assert_eq!(refusals.len(), 1, "in the same words: {refusals:?}");
}

#[tokio::test]
async fn a_password_is_never_answered_for_from_memory() {
    let server = Server::with(&[CHEAP]);
    let secret = server.quick("app", login_client(&json!({}))).await;
    let jane = server.user("jane").await;
    assert_eq!(ask(&server, &secret, "jane", PASSWORD).await.0, 200);
    let all = Ends::TokensAndSessions;
    server
        .change_user(&jane.id, all, |user| user.password = PasswordHash::None)
        .await;
    assert_eq!(ask(&server, &secret, "jane", PASSWORD).await.0, 400);
}

#[tokio::test]
async fn rfc9700_15_a_client_that_is_called_like_a_user_is_nobody() {
    let server = Server::with(&[CHEAP]);
    server.user("jane").await;
    let fields = json!({"client_id": "usr_jane", "scope": "openid read"});
    let answer = server.admin("POST", "/admin/clients").json(&fields).await;
    if answer.status == 201 {
        let secret = text(&answer.json(), "client_secret");
        let form = [("scope", "openid")];
        let token = server.issued("usr_jane", &secret, &form).await;
        let bearer = format!("Bearer {token}");
        let call = server.public("GET", "/userinfo");
        assert_eq!(call.header("authorization", &bearer).await.status, 401);
    } else {
        assert_eq!(answer.status, 400, "{}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_users_log_in_at_once_and_each_gets_its_own_tokens() {
    let server = Server::with(&[CHEAP]);
    let secret = server.quick("app", login_client(&json!({}))).await;
    for number in 0..20 {
        server.user(&format!("user{number}")).await;
    }
    let answers = together(100, |number| {
        let name = format!("user{}", number % 20);
        let form = [
            ("grant_type", "password"),
            ("username", &*name),
            ("password", PASSWORD),
        ];
        let call = server.public("POST", "/oauth2/token");
        let call = call.basic("app", &secret).form(&form);
        async move { call.await }
    });
    for (number, answer) in answers.await.into_iter().enumerate() {
        assert_eq!(answer.status, 200, "{}", answer.text());
        let told = server
            .introspect(&text(&answer.json(), "access_token"))
            .await;
        assert_eq!(told["sub"], format!("usr_user{}", number % 20));
    }
}
