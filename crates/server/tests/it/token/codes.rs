//! `grant_type=authorization_code`: what a code is exchanged for, and by whom, once.

use serde_json::json;
use signet::sealing::Purpose;
use signet::store::{Ending, EndingKind, Ends};
use signet_oauth::scope::Scope;
use std::collections::BTreeSet;

use crate::support::people::{REDIRECT, VERIFIER, login_client, text};
use crate::support::{ISSUER, On, Server, jwt, on_every_store, together, until};
use crate::token::kinds;

on_every_store! {
    a_code_is_exchanged_for_tokens_of_its_user
    rfc9700_6_a_replayed_code_ends_its_family_wherever_its_tokens_are
    rfc9700_6_of_parallel_redemptions_one_wins
    a_wrong_verifier_burns_the_code_and_ends_nothing
    cve_tokens_survive_lock_or_password_change_a_code_dies_with_what_it_hangs_on
    a_redemption_is_one_durable_write
}

/// A confidential client that people log in to, and its secret.
async fn client(server: &Server, id: &str) -> String {
    server.quick(id, login_client(&json!({}))).await
}

async fn a_code_is_exchanged_for_tokens_of_its_user(store: On) {
    let server = Server::frozen(store, &[]);
    let jane = server.user("jane").await;
    for (kind, fields) in kinds() {
        let secret = server.quick(kind, login_client(&fields)).await;
        let caller = (kind, &*secret);
        let answer = server.logged_in(caller, &jane).await;
        assert_eq!(answer["token_type"], "Bearer");
        assert_eq!(answer["scope"], "openid profile read");
        let told = server.introspect(&text(&answer, "access_token")).await;
        assert_eq!(told["active"], true, "{kind}");
        assert_eq!(told["sub"], "usr_jane");
        assert_eq!(told["client_id"], kind);
        let (header, id) = jwt::read(&text(&answer, "id_token"));
        assert_eq!(header["alg"], "ES256");
        assert_eq!(id["sub"], "usr_jane");
        assert_eq!(id["aud"], kind);
        assert_eq!(id["iss"], ISSUER);
        assert_eq!(id["nonce"], "n-0S6_WzA2Mj");
        assert_eq!(id["auth_time"], server.clock.now().0);
        assert!(id["at_hash"].is_string() && id["sid"].is_string());
        assert!(
            id.get("name").is_none(),
            "claims of scopes are for userinfo"
        );
        let jwks = server.jwks().await;
        assert!(jwt::verifies(&text(&answer, "id_token"), &jwks));
        let refreshed = server
            .refresh(caller, &text(&answer, "refresh_token"))
            .await;
        assert_eq!(refreshed.status, 200, "{}", refreshed.text());
    }
}

async fn rfc9700_6_a_replayed_code_ends_its_family_wherever_its_tokens_are(store: On) {
    let server = Server::frozen(store, &[("cluster.staleness_bound_ms", "200")]);
    let second = (store == On::Postgres).then(|| server.beside());
    let other = second.as_ref().unwrap_or(&server);
    let jane = server.user("jane").await;
    for (kind, fields) in kinds() {
        for policy in ["rotating", "stateless"] {
            let id = format!("{kind}-{policy}");
            let mut fields = login_client(&fields);
            fields["refresh_token_policy"] = policy.into();
            let secret = server.quick(&id, fields).await;
            let caller = (&*id, &*secret);
            let code = server.code(&id, &jane, |_| {}).await;
            let first = server.redeem(caller, &code).await.json();
            let renewed = other.refresh(caller, &text(&first, "refresh_token")).await;
            let renewed = renewed.json();
            let replay = other.redeem(caller, &code).await;
            assert_eq!(replay.refusal(), (400, "invalid_grant".to_owned()), "{id}");
            for token in [&first, &renewed] {
                let token = text(token, "access_token");
                assert!(
                    !other.is_active(&token).await,
                    "{id}: where it was replayed"
                );
                until("dead on the other node", async || {
                    !server.is_active(&token).await
                })
                .await;
            }
            for node in [&server, other] {
                let again = node.refresh(caller, &text(&renewed, "refresh_token")).await;
                assert_eq!(again.refusal(), (400, "invalid_grant".to_owned()), "{id}");
            }
            let fresh = server.logged_in(caller, &jane).await;
            let fresh = text(&fresh, "access_token");
            assert!(
                server.is_active(&fresh).await,
                "{id}: another login lives on"
            );
        }
    }
}

async fn rfc9700_6_of_parallel_redemptions_one_wins(store: On) {
    let server = Server::on(store, &[]);
    let second = (store == On::Postgres).then(|| server.beside());
    let nodes = [&server, second.as_ref().unwrap_or(&server)];
    let jane = server.user("jane").await;
    let secret = client(&server, "app").await;
    for _ in 0..5 {
        let code = server.code("app", &jane, |_| {}).await;
        let answers = together(20, |number| {
            let form = [
                ("grant_type", "authorization_code"),
                ("code", &*code),
                ("redirect_uri", REDIRECT),
                ("code_verifier", VERIFIER),
            ];
            let call = nodes[number % 2].public("POST", "/oauth2/token");
            let call = call.basic("app", &secret).form(&form);
            async move { call.await }
        });
        let answers = answers.await;
        let won: Vec<_> = answers.iter().filter(|a| a.status == 200).collect();
        assert_eq!(won.len(), 1, "exactly one");
        let lost = answers.iter().filter(|a| a.status != 200);
        for answer in lost {
            assert_eq!(answer.refusal(), (400, "invalid_grant".to_owned()));
        }
        let token = text(&won[0].json(), "refresh_token");
        let refused = nodes[0].refresh(("app", &secret), &token).await;
        assert_eq!(refused.status, 400, "the replays ended what the winner got");
    }
}

async fn a_wrong_verifier_burns_the_code_and_ends_nothing(store: On) {
    let server = Server::frozen(store, &[]);
    let jane = server.user("jane").await;
    let secret = client(&server, "app").await;
    let caller = ("app", &*secret);
    let guess = |code: String| {
        let form = [
            ("code".to_owned(), code),
            ("redirect_uri".to_owned(), REDIRECT.to_owned()),
            ("code_verifier".to_owned(), VERIFIER.replace('d', "e")),
        ];
        let server = &server;
        let secret = secret.clone();
        async move {
            let form: Vec<_> = form.iter().map(|(n, v)| (&**n, &**v)).collect();
            let caller = ("app", &*secret);
            server.exchange(caller, "authorization_code", &form).await
        }
    };
    let code = server.code("app", &jane, |_| {}).await;
    let guessed = guess(code.clone()).await;
    assert_eq!(guessed.refusal(), (400, "invalid_grant".to_owned()));
    let late = server.redeem(caller, &code).await;
    assert_eq!(late.status, 400, "one guess is all there is");

    let code = server.code("app", &jane, |_| {}).await;
    let tokens = server.redeem(caller, &code).await.json();
    assert_eq!(guess(code).await.status, 400);
    let token = text(&tokens, "access_token");
    assert!(
        server.is_active(&token).await,
        "who stole the code ends nothing"
    );
    let refreshed = server
        .refresh(caller, &text(&tokens, "refresh_token"))
        .await;
    assert_eq!(refreshed.status, 200);
}

async fn cve_tokens_survive_lock_or_password_change_a_code_dies_with_what_it_hangs_on(store: On) {
    let server = Server::frozen(store, &[]);
    let secret = client(&server, "app").await;
    let caller = ("app", &*secret);
    let refused = async |code: String, why: &str| {
        let answer = server.redeem(caller, &code).await;
        let expected = (400, "invalid_grant".to_owned());
        assert_eq!(answer.refusal(), expected, "{why}: {}", answer.text());
    };
    let jane = server.user("jane").await;
    let code = server.code("app", &jane, |_| {}).await;
    let all = Ends::TokensAndSessions;
    server.change_user(&jane.id, all, |_| {}).await;
    refused(code, "password changed").await;

    let joe = server.user("joe").await;
    let code = server.code("app", &joe, |_| {}).await;
    server
        .change_user(&joe.id, all, |user| user.locked = true)
        .await;
    refused(code, "locked").await;

    let jim = server.user("jim").await;
    let code = server.code("app", &jim, |_| {}).await;
    let until = server.app().longest_until();
    let store = &server.app().store;
    store.delete_user(&jim.id, None, until).await.unwrap();
    refused(code, "deleted").await;

    let ann = server.user("ann").await;
    let code = server
        .code("app", &ann, |code| code.session = Some([7; 16]))
        .await;
    let ending = Ending {
        kind: EndingKind::Session,
        key: [7; 16],
        until,
    };
    store.end(vec![ending]).await.unwrap();
    refused(code, "logged out").await;

    let code = server.code("app", &ann, |_| {}).await;
    let path = "/admin/clients/app/tokens";
    assert_eq!(server.admin("DELETE", path).await.status, 204);
    refused(code, "the client's tokens were ended").await;

    let code = server.code("app", &ann, |_| {}).await;
    server.clock.advance(60);
    refused(code, "expired").await;
}

async fn a_redemption_is_one_durable_write(store: On) {
    let server = Server::frozen(store, &[]);
    let jane = server.user("jane").await;
    for (kind, fields) in kinds() {
        let secret = server.quick(kind, login_client(&fields)).await;
        server.logged_in((kind, &secret), &jane).await;
        let mut commits = Vec::new();
        for _ in 0..4 {
            let code = server.code(kind, &jane, |_| {}).await;
            let before = server.written();
            let answer = server.redeem((kind, &secret), &code).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            commits.push(server.written() - before);
        }
        // What the server writes by itself meanwhile is counted, too: the least is the redemption.
        assert_eq!(commits.iter().min(), Some(&1), "{kind}: {commits:?}");
    }
}

#[tokio::test]
async fn rfc9700_5_a_challenge_needs_its_verifier_and_a_verifier_its_challenge() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let secret = client(&server, "app").await;
    let caller = ("app", &*secret);
    let redirect = ("redirect_uri", REDIRECT);
    let bound = server.code("app", &jane, |_| {}).await;
    let form = [("code", &*bound), redirect];
    let without = server.exchange(caller, "authorization_code", &form).await;
    assert_eq!(without.refusal(), (400, "invalid_grant".to_owned()));
    let free = server
        .code("app", &jane, |code| code.challenge = None)
        .await;
    let with = server.redeem(caller, &free).await;
    assert_eq!(with.refusal(), (400, "invalid_grant".to_owned()));
    let free = server
        .code("app", &jane, |code| code.challenge = None)
        .await;
    let form = [("code", &*free), redirect];
    let neither = server.exchange(caller, "authorization_code", &form).await;
    assert_eq!(neither.status, 200, "a confidential client may do without");
}

#[tokio::test]
async fn rfc9700_1_the_redirect_uri_is_the_one_that_the_code_was_asked_for_with() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let secret = client(&server, "app").await;
    for uri in [
        "",
        "https://app.example/callback/",
        "https://app.example/callback?x=1",
        "https://APP.example/callback",
        "http://app.example/callback",
        "https://app.example/callback#",
    ] {
        let code = server.code("app", &jane, |_| {}).await;
        let form = [
            ("code", &*code),
            ("redirect_uri", uri),
            ("code_verifier", VERIFIER),
        ];
        let answer = server
            .exchange(("app", &secret), "authorization_code", &form)
            .await;
        assert_eq!(answer.refusal(), (400, "invalid_grant".to_owned()), "{uri}");
    }
}

#[tokio::test]
async fn a_code_is_for_its_own_client_and_others_do_not_use_it_up() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let secret = client(&server, "app").await;
    let foreign = client(&server, "other").await;
    let code = server.code("app", &jane, |_| {}).await;
    let stolen = server.redeem(("other", &foreign), &code).await;
    assert_eq!(stolen.refusal(), (400, "invalid_grant".to_owned()));
    assert_eq!(server.redeem(("app", &secret), &code).await.status, 200);
}

#[tokio::test]
async fn cve_forged_codes_nothing_but_a_code_is_taken_for_one() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let secret = client(&server, "app").await;
    let caller = ("app", &*secret);
    let tokens = server.logged_in(caller, &jane).await;
    let good = server.code("app", &jane, |_| {}).await;
    let app = server.app();
    let sealed = |purpose, context: &[u8]| {
        jwt::encode(
            app.sealing
                .seal(purpose, context, &jwt::decode(&good), &app.rng),
        )
    };
    let mut wrong = vec![
        text(&tokens, "refresh_token"),
        text(&tokens, "access_token"),
        sealed(Purpose::BrowserState, b"code"),
        sealed(Purpose::AuthorizationCode, b"session"),
        good[..good.len() - 1].to_owned(),
        format!("{good}A"),
        "x".repeat(20_000),
    ];
    for at in [0, good.len() / 2, good.len() - 1] {
        let mut bytes = good.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        wrong.push(String::from_utf8(bytes).unwrap());
    }
    for code in wrong {
        let answer = server.redeem(caller, &code).await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_grant".to_owned()),
            "{code}"
        );
    }
    assert_eq!(server.redeem(caller, &good).await.status, 200);
}

#[tokio::test]
async fn rfc9700_10_a_token_request_may_narrow_the_audience_and_not_widen_it() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let fields = login_client(&json!({"audience": ["https://a.example", "https://b.example"]}));
    let secret = server.quick("app", fields).await;
    let change = |code: &mut signet_oauth::code::Code| {
        code.audience = ["https://a.example", "https://b.example"]
            .map(str::to_owned)
            .into();
        code.scope = Scope::parse("read").unwrap();
    };
    let ask = async |resource: &str| {
        let code = server.code("app", &jane, change).await;
        let form = [
            ("code", &*code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
            ("resource", resource),
        ];
        server
            .exchange(("app", &secret), "authorization_code", &form)
            .await
    };
    let narrowed = ask("https://a.example").await;
    let (_, claims) = jwt::read(&text(&narrowed.json(), "access_token"));
    assert_eq!(claims["aud"], "https://a.example");
    let widened = ask("https://c.example").await;
    assert_eq!(widened.refusal(), (400, "invalid_target".to_owned()));
}

#[tokio::test]
async fn scopes_of_this_server_are_not_for_users() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let fields = login_client(&json!({"scope": "openid signet:admin"}));
    let secret = server.quick("app", fields).await;
    let change = |code: &mut signet_oauth::code::Code| {
        code.scope = Scope::parse("openid signet:admin").unwrap();
    };
    let code = server.code("app", &jane, change).await;
    let answer = server.redeem(("app", &secret), &code).await;
    assert_eq!(answer.refusal(), (400, "invalid_scope".to_owned()));
    let form = [
        ("username", "jane"),
        ("password", crate::support::people::PASSWORD),
        ("scope", "signet:admin"),
    ];
    let answer = server.exchange(("app", &secret), "password", &form).await;
    assert_eq!(answer.refusal(), (400, "invalid_scope".to_owned()));
}

#[tokio::test]
async fn the_first_login_makes_the_key_that_its_id_token_needs() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let mut fields = login_client(&json!({}));
    fields["id_token_signed_response_alg"] = "RS256".into();
    let secret = server.quick("app", fields).await;
    let answer = server.logged_in(("app", &secret), &jane).await;
    let token = text(&answer, "id_token");
    assert_eq!(jwt::read(&token).0["alg"], "RS256");
    assert!(jwt::verifies(&token, &server.jwks().await));
}

#[tokio::test]
async fn every_code_and_token_is_another_one() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let secret = client(&server, "app").await;
    let mut seen = BTreeSet::new();
    for _ in 0..10 {
        let code = server.code("app", &jane, |_| {}).await;
        let answer = server.redeem(("app", &secret), &code).await.json();
        assert!(seen.insert(code));
        for name in ["access_token", "refresh_token"] {
            assert!(seen.insert(text(&answer, name)));
        }
    }
}
