//! `/userinfo`: what the bearer of an access token may learn, by header or form, never by query.

use serde_json::json;
use signet::store::Ends;
use signet_oauth::claims::{Claim, ClaimsRequest};
use signet_oauth::code::Code;
use signet_oauth::scope::Scope;
use signet_oauth::user::{User, UserId};

use crate::support::http::{Answer, Call};
use crate::support::people::{login_client, text};
use crate::support::{ISSUER, On, Server, jwt, on_every_store};
use crate::token::kinds;

on_every_store! {
    scopes_decide_what_is_told
    the_claims_parameter_asks_for_more
    cve_tokens_survive_lock_or_password_change_userinfo_ends_with_its_user
    a_warm_request_asks_the_store_nothing
}

/// Presents a token in the header.
async fn get(server: &Server, token: &str) -> Answer {
    bearing(server.public("GET", "/userinfo"), token).await
}

fn bearing(call: Call, token: &str) -> Call {
    call.header("authorization", &format!("Bearer {token}"))
}

/// Jane, as the server has her now.
async fn jane(server: &Server) -> User {
    let id = UserId::parse("usr_jane").unwrap();
    let found = server.app().store.find_user(&id).await.unwrap();
    found.value.unwrap()
}

/// An access token of jane for this scope, and what else the code says.
async fn token(
    server: &Server,
    kind: &str,
    secret: &str,
    change: impl FnOnce(&mut Code),
) -> String {
    let jane = jane(server).await;
    let code = server.code(kind, &jane, change).await;
    let answer = server.redeem((kind, secret), &code).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    text(&answer.json(), "access_token")
}

fn scope(text: &'static str) -> impl FnOnce(&mut Code) {
    move |code| code.scope = Scope::parse(text).unwrap()
}

async fn scopes_decide_what_is_told(store: On) {
    let server = Server::frozen(store, &[]);
    let now = server.clock.now().0;
    server.user("jane").await;
    for (kind, fields) in kinds() {
        let secret = server.quick(kind, login_client(&fields)).await;
        for (asked, expected) in [
            ("openid", json!({"sub": "usr_jane"})),
            ("openid read", json!({"sub": "usr_jane"})),
            (
                "openid email",
                json!({"sub": "usr_jane", "email": "jane@example.com", "email_verified": true}),
            ),
            (
                "openid profile",
                json!({"sub": "usr_jane", "name": "jane Doe", "preferred_username": "jane",
                       "updated_at": now}),
            ),
        ] {
            let token = token(&server, kind, &secret, scope(asked)).await;
            let answer = get(&server, &token).await;
            assert_eq!(answer.status, 200, "{kind} {asked}: {}", answer.text());
            assert_eq!(answer.json(), expected, "{kind} {asked}");
            assert_eq!(answer.header("cache-control"), "no-store");
            assert_eq!(answer.header("access-control-allow-origin"), "*");
        }
    }
}

async fn the_claims_parameter_asks_for_more(store: On) {
    let server = Server::frozen(store, &[]);
    server.user("jane").await;
    for (kind, fields) in kinds() {
        let secret = server.quick(kind, login_client(&fields)).await;
        let change = |code: &mut Code| {
            code.scope = Scope::parse("openid").unwrap();
            code.claims = ClaimsRequest {
                userinfo: [Claim::Name].into_iter().collect(),
                id_token: [Claim::Email].into_iter().collect(),
            };
        };
        let jane = jane(&server).await;
        let code = server.code(kind, &jane, change).await;
        let answer = server.redeem((kind, &secret), &code).await.json();
        let (_, id) = jwt::read(&text(&answer, "id_token"));
        assert_eq!(id["email"], "jane@example.com", "{kind}");
        assert!(id.get("name").is_none(), "{kind}: that was for userinfo");
        let expected = json!({"sub": "usr_jane", "name": "jane Doe"});
        let told = get(&server, &text(&answer, "access_token")).await;
        assert_eq!(told.json(), expected, "{kind}");
        let refresh = text(&answer, "refresh_token");
        let next = server.refresh((kind, &secret), &refresh).await;
        let next = text(&next.json(), "access_token");
        assert_eq!(
            get(&server, &next).await.json(),
            expected,
            "{kind}: after a refresh"
        );
    }
}

async fn cve_tokens_survive_lock_or_password_change_userinfo_ends_with_its_user(store: On) {
    let server = Server::frozen(store, &[]);
    let jane = server.user("jane").await;
    let secret = server.quick("app", login_client(&json!({}))).await;
    let token = token(&server, "app", &secret, scope("openid")).await;
    assert_eq!(get(&server, &token).await.status, 200);
    let all = Ends::TokensAndSessions;
    server
        .change_user(&jane.id, all, |user| user.locked = true)
        .await;
    let answer = get(&server, &token).await;
    assert_eq!(answer.refusal(), (401, "invalid_token".to_owned()));
    assert!(answer.header("www-authenticate").contains("invalid_token"));
}

async fn a_warm_request_asks_the_store_nothing(store: On) {
    let server = Server::frozen(store, &[]);
    server.user("jane").await;
    for (kind, fields) in kinds() {
        let secret = server.quick(kind, login_client(&fields)).await;
        let token = token(&server, kind, &secret, scope("openid profile")).await;
        assert_eq!(get(&server, &token).await.status, 200);
        let before = server.app().store.statistics().read_statements;
        assert_eq!(get(&server, &token).await.status, 200);
        let after = server.app().store.statistics().read_statements;
        assert_eq!(after, before, "{kind}");
    }
}

#[tokio::test]
async fn the_token_comes_in_the_header_or_in_a_form_and_nowhere_else() {
    let server = Server::start();
    server.user("jane").await;
    let secret = server.quick("app", login_client(&json!({}))).await;
    let token = token(&server, "app", &secret, scope("openid")).await;
    let form = [("access_token", &*token)];
    let post = || server.public("POST", "/userinfo");
    assert_eq!(bearing(post(), &token).await.status, 200);
    assert_eq!(post().form(&form).await.status, 200);
    let other = bearing(post().raw("application/json", "{}"), &token).await;
    assert_eq!(
        other.status, 200,
        "a body that is no form is nobody's business"
    );
    let twice = bearing(post().form(&form), &token).await;
    assert_eq!(twice.refusal(), (400, "invalid_request".to_owned()));
    assert!(twice.header("www-authenticate").contains("invalid_request"));
    let query = format!("/userinfo?access_token={token}");
    for call in [
        server.public("GET", &query),
        server.public("POST", &query),
        server.public("GET", "/userinfo"),
        post(),
    ] {
        let answer = call.await;
        assert_eq!(answer.status, 401);
        let challenge = answer.header("www-authenticate");
        assert_eq!(challenge, r#"Bearer realm="signet""#, "RFC 6750 3.1");
    }
}

#[tokio::test]
async fn what_is_no_access_token_with_the_scope_openid_learns_nothing() {
    let server = Server::start();
    let jane = server.user("jane").await;
    let mut fields = login_client(&json!({}));
    fields["grant_types"] = json!(["authorization_code", "refresh_token", "client_credentials"]);
    let secret = server.quick("app", fields).await;
    let read = token(&server, "app", &secret, scope("read")).await;
    let narrow = get(&server, &read).await;
    assert_eq!(narrow.refusal(), (403, "insufficient_scope".to_owned()));
    assert!(
        narrow
            .header("www-authenticate")
            .contains(r#"scope="openid""#)
    );
    let tokens = server.logged_in(("app", &secret), &jane).await;
    let own = server.issued("app", &secret, &[("scope", "openid")]).await;
    for wrong in [
        text(&tokens, "refresh_token"),
        text(&tokens, "id_token"),
        own,
        "x".to_owned(),
        server.admin_token.clone(),
    ] {
        let answer = get(&server, &wrong).await;
        assert_eq!(
            answer.refusal(),
            (401, "invalid_token".to_owned()),
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn a_client_that_is_registered_so_gets_a_signed_answer() {
    let server = Server::start();
    server.user("jane").await;
    let fields = login_client(&json!({"userinfo_signed_response_alg": "RS256"}));
    let secret = server.quick("app", fields).await;
    let token = token(&server, "app", &secret, scope("openid email")).await;
    let answer = get(&server, &token).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/jwt");
    let signed = String::from_utf8(answer.body.to_vec()).unwrap();
    let (header, claims) = jwt::read(&signed);
    assert_eq!(header["alg"], "RS256");
    assert_eq!(claims["iss"], ISSUER);
    assert_eq!(claims["aud"], "app");
    assert_eq!(claims["email"], "jane@example.com");
    assert!(jwt::verifies(&signed, &server.jwks().await));
}

#[tokio::test]
async fn scripts_of_other_origins_may_ask() {
    let server = Server::start();
    let call = server.public("OPTIONS", "/userinfo");
    let call = call.header("origin", "https://spa.example");
    let answer = call.header("access-control-request-method", "GET").await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert_eq!(answer.header("access-control-allow-methods"), "GET, POST");
    let allowed = answer.header("access-control-allow-headers");
    assert!(allowed.contains("Authorization"));
    assert!(
        answer
            .headers
            .get("access-control-allow-credentials")
            .is_none()
    );
    let refused = server.public("GET", "/userinfo").await;
    assert_eq!(refused.header("access-control-allow-origin"), "*");
}
