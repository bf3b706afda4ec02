//! `grant_type=refresh_token`: one successor under any race, the same one again for who lost the
//! answer, and the end of everything where a token is used that was replaced long ago.

use serde_json::{Value, json};
use signet::store::{Ending, EndingKind, Ends};
use signet_oauth::user::User;
use std::collections::BTreeSet;

use crate::support::http::{Call, Session};
use crate::support::people::{login_client, text};
use crate::support::{On, Server, jwt, on_every_store, together, until};
use crate::token::kinds;

on_every_store! {
    a_lost_answer_is_given_again_until_its_successor_is_used
    rfc9700_8_reuse_after_the_grace_time_ends_the_family
    racing_refreshes_of_one_family_have_exactly_one_successor
    rfc9700_9_a_family_ends_with_what_it_hangs_on
    a_family_survives_a_restart
    a_stateless_refresh_writes_nothing
    a_revoked_refresh_token_takes_its_access_tokens_with_it
    a_rotation_is_one_durable_write
}

/// A client with these fields besides, and its secret.
async fn client(server: &Server, id: &str, fields: Value) -> String {
    server.quick(id, login_client(&fields)).await
}

/// A client for each kind of access token and each policy of refresh tokens.
async fn clients(server: &Server) -> Vec<(String, String)> {
    let mut clients = Vec::new();
    for (kind, mut fields) in kinds() {
        for policy in ["rotating", "stateless"] {
            let id = format!("{kind}-{policy}");
            fields["refresh_token_policy"] = policy.into();
            let secret = client(server, &id, fields.clone()).await;
            clients.push((id, secret));
        }
    }
    clients
}

/// What is answered to a refresh token that is good.
async fn renewed(server: &Server, caller: (&str, &str), token: &str) -> Value {
    let answer = server.refresh(caller, token).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// Whether a refresh token is refused, as `invalid_grant`.
async fn refused(server: &Server, caller: (&str, &str), token: &str) -> bool {
    let answer = server.refresh(caller, token).await;
    let refused = answer.status == 400;
    if refused {
        assert_eq!(answer.refusal(), (400, "invalid_grant".to_owned()));
    }
    refused
}

async fn a_lost_answer_is_given_again_until_its_successor_is_used(store: On) {
    let server = Server::frozen(store, &[]);
    let jane = server.user("jane").await;
    let secret = client(&server, "app", json!({})).await;
    let caller = ("app", &*secret);
    let first = text(&server.logged_in(caller, &jane).await, "refresh_token");
    let second = text(&renewed(&server, caller, &first).await, "refresh_token");
    assert_ne!(first, second);
    server.clock.advance(59);
    let again = renewed(&server, caller, &first).await;
    assert_eq!(text(&again, "refresh_token"), second, "the same successor");
    assert!(server.is_active(&text(&again, "access_token")).await);
    let third = text(&renewed(&server, caller, &second).await, "refresh_token");
    assert!(
        refused(&server, caller, &first).await,
        "its successor was used"
    );
    let lives = renewed(&server, caller, &third).await;
    assert!(server.is_active(&text(&lives, "access_token")).await);
}

async fn rfc9700_8_reuse_after_the_grace_time_ends_the_family(store: On) {
    let server = Server::frozen(store, &[("cluster.staleness_bound_ms", "200")]);
    let second = (store == On::Postgres).then(|| server.beside());
    let other = second.as_ref().unwrap_or(&server);
    let jane = server.user("jane").await;
    let secret = client(&server, "app", json!({})).await;
    let caller = ("app", &*secret);
    let stolen = text(&server.logged_in(caller, &jane).await, "refresh_token");
    let owner = renewed(&server, caller, &stolen).await;
    server.clock.advance(60);
    assert!(refused(other, caller, &stolen).await);
    assert!(!other.is_active(&text(&owner, "access_token")).await);
    for node in [&server, other] {
        let kept = text(&owner, "refresh_token");
        assert!(refused(node, caller, &kept).await, "of the owner's, too");
    }
    until("the access token is dead everywhere", async || {
        !server.is_active(&text(&owner, "access_token")).await
    })
    .await;
}

async fn racing_refreshes_of_one_family_have_exactly_one_successor(store: On) {
    let server = Server::on(store, &[]);
    let second = (store == On::Postgres).then(|| server.beside());
    let nodes = [&server, second.as_ref().unwrap_or(&server)];
    let jane = server.user("jane").await;
    for (kind, fields) in kinds() {
        let secret = client(&server, kind, fields).await;
        let caller = (kind, &*secret);
        let mut token = text(&server.logged_in(caller, &jane).await, "refresh_token");
        for _ in 0..3 {
            let answers = together(100, |number| {
                let form = [("grant_type", "refresh_token"), ("refresh_token", &*token)];
                let call = nodes[number % 2].public("POST", "/oauth2/token");
                let call = call.basic(kind, &secret).form(&form);
                async move { call.await }
            });
            let mut successors = BTreeSet::new();
            for answer in answers.await {
                assert_eq!(answer.status, 200, "{}", answer.text());
                successors.insert(text(&answer.json(), "refresh_token"));
            }
            assert_eq!(successors.len(), 1, "{kind}: {successors:?}");
            token = successors.pop_first().unwrap();
        }
        renewed(nodes[1], caller, &token).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_racing_refreshes_on_two_nodes_have_exactly_one_successor() {
    let server = Server::on(On::Postgres, &[]);
    let second = server.beside();
    let nodes = [&server, &second];
    let jane = server.user("jane").await;
    let secret = client(&server, "app", json!({})).await;
    let caller = ("app", &*secret);
    let token = text(&server.logged_in(caller, &jane).await, "refresh_token");
    let racers = together(50, |number| {
        let node = nodes[number % 2];
        let to = node.running.as_ref().unwrap().public;
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*token)];
        let calls: Vec<Call> = (0..20)
            .map(|_| node.public("POST", "/oauth2/token"))
            .map(|call| call.basic("app", &secret).form(&form))
            .collect();
        async move {
            let mut session = Session::open(to).await;
            let mut successors = BTreeSet::new();
            for call in calls {
                let answer = session.send(call).await;
                assert_eq!(answer.status, 200, "{}", answer.text());
                successors.insert(text(&answer.json(), "refresh_token"));
            }
            successors
        }
    });
    let successors: BTreeSet<String> = racers.await.into_iter().flatten().collect();
    assert_eq!(successors.len(), 1);
    let successor = successors.first().unwrap();
    renewed(&second, caller, successor).await;
    assert!(
        refused(&server, caller, &token).await,
        "and that one was used"
    );
}

async fn rfc9700_9_a_family_ends_with_what_it_hangs_on(store: On) {
    let server = Server::frozen(store, &[]);
    let until = server.app().longest_until();
    let end_session = async |answer: &Value| {
        let (_, claims) = jwt::read(&text(answer, "id_token"));
        let id = u128::from_str_radix(claims["sid"].as_str().unwrap(), 16).unwrap();
        let ending = Ending {
            kind: EndingKind::Session,
            key: id.to_be_bytes(),
            until,
        };
        server.app().store.end(vec![ending]).await.unwrap();
    };
    for (number, (id, secret)) in clients(&server).await.into_iter().enumerate() {
        let caller = (&*id, &*secret);
        let login = async |what: &str| {
            let user = server.user(&format!("{what}{number}")).await;
            let answer = server.logged_in(caller, &user).await;
            (user, answer)
        };
        let dead = async |answer: &Value, why: &str| {
            let (access, refresh) = (text(answer, "access_token"), text(answer, "refresh_token"));
            assert!(!server.is_active(&access).await, "{id}: {why}");
            assert!(!server.is_active(&refresh).await, "{id}: {why}");
            assert!(refused(&server, caller, &refresh).await, "{id}: {why}");
        };
        let (user, answer) = login("password").await;
        let all = Ends::TokensAndSessions;
        server.change_user(&user.id, all, |_| {}).await;
        dead(&answer, "the password changed").await;
        let (user, answer) = login("lock").await;
        server
            .change_user(&user.id, all, |user| user.locked = true)
            .await;
        dead(&answer, "the user was locked").await;
        server
            .change_user(&user.id, all, |user| user.locked = false)
            .await;
        dead(&answer, "unlocking revives nothing").await;
        let (user, answer) = login("roles").await;
        let roles = |user: &mut User| user.roles = vec!["admin".to_owned()];
        server.change_user(&user.id, Ends::Tokens, roles).await;
        dead(&answer, "the roles changed").await;
        let (user, answer) = login("deleted").await;
        let store = &server.app().store;
        store.delete_user(&user.id, None, until).await.unwrap();
        dead(&answer, "the user was deleted").await;
        let (_, answer) = login("logout").await;
        end_session(&answer).await;
        dead(&answer, "the user logged out").await;
        let (_, answer) = login("client").await;
        let path = format!("/admin/clients/{id}/tokens");
        assert_eq!(server.admin("DELETE", &path).await.status, 204);
        dead(&answer, "the client's tokens were ended").await;
    }
}

async fn a_family_survives_a_restart(store: On) {
    if store == On::Memory {
        return;
    }
    let mut server = Server::frozen(store, &[]);
    let jane = server.user("jane").await;
    for (id, secret) in clients(&server).await {
        let caller = (&*id, &*secret);
        let first = server.logged_in(caller, &jane).await;
        let first = text(&first, "refresh_token");
        let lost = renewed(&server, caller, &first).await;
        server.restart();
        let again = renewed(&server, caller, &first).await;
        let (lost, again) = (text(&lost, "refresh_token"), text(&again, "refresh_token"));
        assert_eq!(lost, again, "{id}: the answer that was lost");
        renewed(&server, caller, &again).await;
    }
}

async fn a_stateless_refresh_writes_nothing(store: On) {
    let server = Server::frozen(store, &[]);
    let jane = server.user("jane").await;
    let fields = json!({"refresh_token_policy": "stateless"});
    let secret = client(&server, "app", fields).await;
    let caller = ("app", &*secret);
    let first = text(&server.logged_in(caller, &jane).await, "refresh_token");
    assert_eq!(jwt::read(&first).0["typ"], "rt+jwt");
    let before = server.written();
    let answer = renewed(&server, caller, &first).await;
    assert_eq!(text(&answer, "refresh_token"), first, "it does not rotate");
    let after = server.written();
    assert_eq!(after, before);
    let jwks = server.jwks().await;
    assert!(!jwt::verifies(&first, &jwks), "nobody else can read it");
    for changed in [
        jwt::with_claims(&first, |claims| claims["scope"] = "openid write".into()),
        jwt::hs256("guess", &jwt::read(&first).0, &jwt::read(&first).1),
        first[..first.len() - 1].to_owned(),
    ] {
        assert!(refused(&server, caller, &changed).await, "{changed}");
    }
}

async fn a_revoked_refresh_token_takes_its_access_tokens_with_it(store: On) {
    let server = Server::frozen(store, &[]);
    let jane = server.user("jane").await;
    let foreign = client(&server, "foreign", json!({})).await;
    for (id, secret) in clients(&server).await {
        let caller = (&*id, &*secret);
        let first = server.logged_in(caller, &jane).await;
        let second = renewed(&server, caller, &text(&first, "refresh_token")).await;
        let token = text(&second, "refresh_token");
        let told = server.ask(caller, &token).await.json();
        assert_eq!(told["active"], true, "{id}");
        assert_eq!(told["token_use"], "refresh_token");
        assert_eq!(told["sub"], "usr_jane");
        let hidden = server.ask(("foreign", &foreign), &token).await.json();
        assert_eq!(hidden, json!({"active": false}), "{id}");
        assert_eq!(
            server.revoke(("foreign", &foreign), &token).await.status,
            200
        );
        assert!(server.is_active(&token).await, "{id}: not theirs to revoke");
        assert_eq!(server.revoke(caller, &token).await.status, 200);
        assert!(!server.is_active(&token).await, "{id}");
        for answer in [&first, &second] {
            let access = text(answer, "access_token");
            assert!(!server.is_active(&access).await, "{id}: of the same grant");
        }
        assert!(refused(&server, caller, &token).await, "{id}");
        let kept = server.logged_in(caller, &jane).await;
        let access = text(&kept, "access_token");
        assert_eq!(server.revoke(caller, &access).await.status, 200);
        assert!(!server.is_active(&access).await);
        renewed(&server, caller, &text(&kept, "refresh_token")).await;
    }
}

async fn a_rotation_is_one_durable_write(store: On) {
    let server = Server::frozen(store, &[]);
    let jane = server.user("jane").await;
    for (kind, fields) in kinds() {
        let secret = client(&server, kind, fields).await;
        let caller = (kind, &*secret);
        let mut answer = server.logged_in(caller, &jane).await;
        let mut commits = Vec::new();
        for _ in 0..4 {
            let before = server.written();
            answer = renewed(&server, caller, &text(&answer, "refresh_token")).await;
            commits.push(server.written() - before);
        }
        // What the server writes by itself meanwhile is counted, too: the least is the rotation.
        assert_eq!(commits.iter().min(), Some(&1), "{kind}: {commits:?}");
    }
}

#[tokio::test]
async fn rfc9700_9_a_refresh_token_is_bound_to_its_client_and_its_scope() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let foreign = client(&server, "foreign", json!({})).await;
    for (id, secret) in clients(&server).await {
        let caller = (&*id, &*secret);
        let token = text(&server.logged_in(caller, &jane).await, "refresh_token");
        assert!(
            refused(&server, ("foreign", &foreign), &token).await,
            "{id}"
        );
        let ask = async |name: &str, value: &str| {
            let form = [("refresh_token", &*token), (name, value)];
            server.exchange(caller, "refresh_token", &form).await
        };
        let wider = ask("scope", "openid write").await;
        assert_eq!(wider.refusal(), (400, "invalid_scope".to_owned()), "{id}");
        let elsewhere = ask("resource", "https://other.example").await;
        assert_eq!(
            elsewhere.refusal(),
            (400, "invalid_target".to_owned()),
            "{id}"
        );
        let narrower = ask("scope", "read").await;
        assert_eq!(narrower.status, 200, "{}", narrower.text());
        assert_eq!(narrower.json()["scope"], "read");
        assert!(narrower.json().get("id_token").is_none(), "without openid");
        let whole = renewed(&server, caller, &text(&narrower.json(), "refresh_token")).await;
        assert_eq!(
            whole["scope"], "openid profile read",
            "less once is not less for ever"
        );
        let (_, claims) = jwt::read(&text(&whole, "id_token"));
        assert!(claims.get("nonce").is_none(), "OIDC Core 12.2");
        assert_eq!(claims["sub"], "usr_jane");
    }
}

#[tokio::test]
async fn rfc9700_8_the_refresh_token_of_a_public_client_rotates_whatever_is_registered() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let fields = json!({"client_id": "spa", "token_endpoint_auth_method": "none"});
    let mut body = login_client(&fields);
    body["grant_types"] = json!(["authorization_code", "refresh_token"]);
    server.create(body).await;
    let code = server.code("spa", &jane, |_| {}).await;
    let ask = async |form: &[(&str, &str)]| {
        let id = [("client_id", "spa")];
        let form: Vec<_> = id.iter().chain(form).copied().collect();
        server.public("POST", "/oauth2/token").form(&form).await
    };
    let answer = ask(&[
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", crate::support::people::REDIRECT),
        ("code_verifier", crate::support::people::VERIFIER),
    ])
    .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let token = text(&answer.json(), "refresh_token");
    assert!(token.starts_with("srt_"));
    let form = [("grant_type", "refresh_token"), ("refresh_token", &*token)];
    let next = ask(&form).await;
    assert_ne!(text(&next.json(), "refresh_token"), token);
}

#[tokio::test]
async fn cve_malleable_tokens_a_refresh_token_has_one_spelling_and_one_use() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let secret = client(&server, "app", json!({})).await;
    let caller = ("app", &*secret);
    let answer = server.logged_in(caller, &jane).await;
    let token = text(&answer, "refresh_token");
    let access = text(&answer, "access_token");
    let mut wrong = vec![
        access.clone(),
        format!("{token}A"),
        token[..token.len() - 1].to_owned(),
        token.replacen("srt_", "sgt_", 1),
        String::from("srt_"),
    ];
    for at in [4, 24, 30, 51] {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        wrong.push(String::from_utf8(bytes).unwrap());
    }
    for text in wrong {
        assert!(refused(&server, caller, &text).await, "{text}");
    }
    let bearer = server
        .public("GET", "/userinfo")
        .header("authorization", &format!("Bearer {token}"));
    assert_eq!(
        bearer.await.status,
        401,
        "a refresh token is no access token"
    );
    renewed(&server, caller, &token).await;
}

#[tokio::test]
async fn a_client_without_the_grant_gets_no_refresh_token() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let secret = client(
        &server,
        "app",
        json!({"grant_types": ["authorization_code"]}),
    )
    .await;
    let answer = server.logged_in(("app", &secret), &jane).await;
    assert!(answer.get("refresh_token").is_none());
}
