//! `POST /oauth2/revoke` (RFC 7009) and the admin's own: a revoked token is dead, in every form,
//! and stays dead.

use serde_json::json;

use crate::support::http::Answer;
use crate::support::{On, Server, jwt, on_every_store};
use crate::token::kinds;

on_every_store! {
    a_revoked_token_is_dead_at_once_whatever_its_kind
    nobody_revokes_the_tokens_of_others
    what_is_no_token_is_answered_like_a_revoked_one
    a_revoked_token_stays_dead_through_restarts_and_flushes
    switching_a_policy_back_and_forth_strands_and_revives_nothing
}

fn assert_done(case: &str, answer: &Answer) {
    assert_eq!(answer.text(), "200 {}", "{case}");
    assert_eq!(answer.header("cache-control"), "no-store", "{case}");
}

async fn a_revoked_token_is_dead_at_once_whatever_its_kind(store: On) {
    let server = Server::on(store, &[]);
    for (id, fields) in kinds() {
        let secret = server.quick(id, fields).await;
        for warm in [true, false] {
            let token = server.issued(id, &secret, &[]).await;
            let sibling = server.issued(id, &secret, &[]).await;
            if warm {
                assert!(server.is_active(&token).await, "{id}");
            }
            assert_done(id, &server.revoke((id, &secret), &token).await);
            assert_eq!(
                server.introspect(&token).await,
                json!({"active": false}),
                "{id}"
            );
            assert_eq!(
                server.ask((id, &secret), &token).await.json(),
                json!({"active": false}),
                "{id}"
            );
            assert_done("once more", &server.revoke((id, &secret), &token).await);
            assert!(
                server.is_active(&sibling).await,
                "{id}: the other one lives"
            );
        }
    }
}

async fn nobody_revokes_the_tokens_of_others(store: On) {
    let server = Server::on(store, &[]);
    let stranger = server.quick("stranger", json!({})).await;
    server
        .create(json!({"client_id": "public", "token_endpoint_auth_method": "none"}))
        .await;
    for (id, mut fields) in kinds() {
        fields["audience"] = json!(["https://api.example"]);
        let secret = server.quick(id, fields).await;
        let token = server.issued(id, &secret, &[]).await;
        let told = server.introspect(&token).await;
        assert_done(
            "a stranger",
            &server.revoke(("stranger", &stranger), &token).await,
        );
        let form = [("token", &*token), ("client_id", "public")];
        assert_done(
            "a public client",
            &server.public("POST", "/oauth2/revoke").form(&form).await,
        );
        let nobody = server
            .public("POST", "/oauth2/revoke")
            .form(&[("token", &token)])
            .await;
        assert_eq!(nobody.refusal(), (401, "invalid_client".to_owned()));
        let wrong = server.revoke((id, "wrong"), &token).await;
        assert_eq!(wrong.refusal(), (401, "invalid_client".to_owned()));
        assert_eq!(server.introspect(&token).await, told, "{id}: untouched");
        let answer = server
            .admin("POST", "/admin/oauth2/revoke")
            .form(&[("token", &token)])
            .await;
        assert_done("the administrator", &answer);
        assert!(!server.is_active(&token).await, "{id}");
    }
}

async fn what_is_no_token_is_answered_like_a_revoked_one(store: On) {
    let server = Server::frozen(store, &[]);
    for (id, fields) in kinds() {
        let secret = server.quick(id, fields).await;
        let caller = (id, &*secret);
        let token = server.issued(id, &secret, &[]).await;
        for text in [
            "x",
            "sgt_",
            "a.b.c",
            &token[1..],
            &token[..token.len() - 1],
            &format!("{token}A"),
        ] {
            assert_done(text, &server.revoke(caller, text).await);
            let answer = server
                .admin("POST", "/admin/oauth2/revoke")
                .form(&[("token", text)])
                .await;
            assert_done(text, &answer);
        }
        assert!(
            server.is_active(&token).await,
            "{id}: what is near a token does not end it"
        );
        for form in [&[][..], &[("token", "")]] {
            let answer = server
                .public("POST", "/oauth2/revoke")
                .basic(id, &secret)
                .form(form)
                .await;
            assert_eq!(
                answer.refusal(),
                (400, "invalid_request".to_owned()),
                "{form:?}"
            );
        }
        for hint in ["access_token", "refresh_token", "nonsense"] {
            let token = server.issued(id, &secret, &[]).await;
            let form = [("token", &*token), ("token_type_hint", hint)];
            let call = server.public("POST", "/oauth2/revoke").basic(id, &secret);
            assert_done(hint, &call.form(&form).await);
            assert!(
                !server.is_active(&token).await,
                "{id}: whatever the hint {hint} says"
            );
        }
        server.clock.advance(300);
        assert_done("an expired one", &server.revoke(caller, &token).await);
    }
}

async fn a_revoked_token_stays_dead_through_restarts_and_flushes(store: On) {
    let mut server = Server::on(store, &[]);
    let mut tokens = vec![];
    for (id, fields) in kinds() {
        let secret = server.quick(id, fields).await;
        let (dead, live) = (
            server.issued(id, &secret, &[]).await,
            server.issued(id, &secret, &[]).await,
        );
        assert_done(id, &server.revoke((id, &secret), &dead).await);
        tokens.push((id, dead, live));
    }
    let restarts = if store == On::Memory { 0 } else { 2 };
    for round in 0..=restarts {
        let flushed = server
            .admin("POST", "/admin/oauth2/flush")
            .json(&json!({}))
            .await;
        assert_eq!(flushed.status, 204, "{}", flushed.text());
        for (id, dead, live) in &tokens {
            assert!(!server.is_active(dead).await, "{id}, round {round}");
            assert!(server.is_active(live).await, "{id}, round {round}");
        }
        if round < restarts {
            server.restart();
        }
    }
}

async fn switching_a_policy_back_and_forth_strands_and_revives_nothing(store: On) {
    let server = Server::on(store, &[]);
    let policies = [
        json!({"access_token": "jwt", "persistence": "stateless"}),
        json!({"access_token": "opaque", "persistence": "persisted"}),
        json!({"access_token": "jwt", "persistence": "persisted"}),
    ];
    let secret = server.quick("app", json!({})).await;
    let (mut live, mut dead) = (vec![], vec![]);
    for round in 0..7 {
        server.patch("app", policies[round % 3].clone()).await;
        let (one, other) = (
            server.issued("app", &secret, &[]).await,
            server.issued("app", &secret, &[]).await,
        );
        assert_done("its own", &server.revoke(("app", &secret), &one).await);
        dead.push(one);
        live.push(other);
        for token in &live {
            assert!(server.is_active(token).await, "round {round}: {token}");
        }
        for token in &dead {
            assert!(!server.is_active(token).await, "round {round}: {token}");
        }
    }
    // What was issued under one policy is revoked under another.
    for token in &live {
        assert_done(token, &server.revoke(("app", &secret), token).await);
        assert!(!server.is_active(token).await, "{token}");
    }
}

#[tokio::test]
async fn the_other_signature_of_a_revoked_token_is_dead_as_well() {
    let server = Server::start();
    let secret = server.quick("app", json!({})).await;
    let token = server.issued("app", &secret, &[]).await;
    let twin = jwt::twin(&token);
    assert_ne!(token, twin);
    assert!(
        jwt::verifies(&twin, &server.jwks().await),
        "ECDSA has two signatures for a message"
    );
    assert_done("the twin", &server.revoke(("app", &secret), &twin).await);
    assert!(!server.is_active(&token).await && !server.is_active(&twin).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_reaches_the_other_node_by_itself() {
    let bound = [("cluster.staleness_bound_ms", "200")];
    let server = Server::on(On::Postgres, &bound);
    let second = server.beside();
    for (id, fields) in kinds() {
        let secret = server.quick(id, fields).await;
        let token = server.issued(id, &secret, &[]).await;
        assert!(
            second.is_active(&token).await,
            "{id}: a token of one node is good at the other"
        );
        assert_done(id, &server.revoke((id, &secret), &token).await);
        let heard = async || !second.is_active(&token).await;
        crate::support::until("the other node hears of it", heard).await;
    }
}
