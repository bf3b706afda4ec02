//! `POST /oauth2/par` (RFC 9126) and request objects (RFC 9101).

use serde_json::{Value, json};

use super::{CALLBACK, app, finish, frozen_house, house, redeem, request, user};
use crate::support::agent::{Browser, Stop, query};
use crate::support::http::Answer;
use crate::support::jwt::Key;
use crate::support::{ISSUER, Server, unique};

/// The parameters of an ordinary request.
fn usual() -> Vec<(&'static str, &'static str)> {
    vec![
        ("response_type", "code"),
        ("redirect_uri", CALLBACK),
        ("scope", "openid"),
        ("state", "the-state"),
        ("nonce", "the-nonce"),
    ]
}

async fn push(server: &Server, secret: &str, form: &[(&str, &str)]) -> Answer {
    server
        .public("POST", "/oauth2/par")
        .basic("app", secret)
        .form(form)
        .await
}

async fn pushed(server: &Server, secret: &str, form: &[(&str, &str)]) -> String {
    let answer = push(server, secret, form).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["request_uri"].as_str().unwrap().to_owned()
}

fn by_reference(client: &str, uri: &str) -> String {
    format!(
        "/oauth2/authorize?{}",
        query(&[("client_id", client), ("request_uri", uri)])
    )
}

#[tokio::test]
async fn a_pushed_request_needs_nothing_but_its_reference() {
    let (server, secret) = house().await;
    let answer = push(&server, &secret, &usual()).await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("cache-control"), "no-store");
    let body = answer.json();
    assert!((5..=600).contains(&body["expires_in"].as_u64().unwrap()));
    let uri = body["request_uri"].as_str().unwrap();
    assert!(uri.starts_with("urn:ietf:params:oauth:request_uri:"));
    let mut browser = Browser::new(&server);
    let url = by_reference("app", uri);
    // Looked at, left, looked at again: people reload pages.
    browser.open(&url).await.page();
    let stop = browser.open(&url).await;
    let handed = finish(&mut browser, stop, "jane").await;
    assert_eq!(handed["state"], "the-state");
    assert_eq!(
        redeem(&server, &secret, &handed["code"], &[]).await.status,
        200
    );
    let Stop::Page(page) = browser.open(&url).await else {
        panic!("answered twice");
    };
    assert_eq!(page.text_of("error-code"), "invalid_request_uri");
}

#[tokio::test]
async fn what_is_too_long_for_an_address_is_kept_for_clients_that_prove_who_they_are() {
    let (server, secret) = house().await;
    let state = "s".repeat(3000);
    let mut long = usual();
    long.retain(|(name, _)| *name != "state");
    long.push(("state", &state));
    let long: Vec<(&str, &str)> = long;
    let uri = pushed(&server, &secret, &long).await;
    assert!(uri.len() < 200, "{uri}");
    let mut browser = Browser::new(&server);
    let login = browser.open(&by_reference("app", &uri)).await.page();
    assert!(login.flow().len() <= 1800, "{}", login.flow().len());
    let handed = finish(&mut browser, Stop::Page(login), "jane").await;
    assert_eq!(handed["state"], state);

    let mut fields = json!({"client_id": "spa", "token_endpoint_auth_method": "none"});
    fields["grant_types"] = json!(["authorization_code"]);
    fields["response_types"] = json!(["code"]);
    fields["redirect_uris"] = json!([CALLBACK]);
    fields["scope"] = json!("openid");
    server.create(fields).await;
    let (_, challenge) = crate::support::agent::pkce("spa");
    let mut form = long.clone();
    form.extend([
        ("client_id", "spa"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]);
    let answer = server.public("POST", "/oauth2/par").form(&form).await;
    assert_eq!(answer.refusal().0, 401, "{}", answer.text());
}

#[tokio::test]
async fn a_reference_is_good_for_its_client_and_its_time_only() {
    let (server, secret) = frozen_house().await;
    app(&server, "other", json!({})).await;
    let mut browser = Browser::new(&server);
    let uri = pushed(&server, &secret, &usual()).await;
    let cut = &uri[..uri.len() - 1];
    let changed = format!("{}{}", cut, if uri.ends_with('A') { 'B' } else { 'A' });
    let made_up = "urn:ietf:params:oauth:request_uri:x";
    for (client, uri) in [
        ("other", &*uri),
        ("app", cut),
        ("app", &changed),
        ("app", made_up),
    ] {
        let Stop::Page(page) = browser.open(&by_reference(client, uri)).await else {
            panic!("{client} {uri}");
        };
        assert_eq!(
            page.text_of("error-code"),
            "invalid_request_uri",
            "{client} {uri}"
        );
    }
    server.clock.advance(61);
    let page = browser.open(&by_reference("app", &uri)).await.page();
    assert_eq!(page.text_of("error-code"), "invalid_request_uri");
}

#[tokio::test]
async fn a_push_is_checked_as_the_endpoint_would_check_it() {
    let (server, secret) = house().await;
    for (more, code) in [
        (("redirect_uri", "https://evil.example/"), "invalid_request"),
        (("scope", "everything"), "invalid_scope"),
        (("response_type", "token"), "unauthorized_client"),
        (
            ("request_uri", "urn:ietf:params:oauth:request_uri:x"),
            "invalid_request",
        ),
        (("prompt", "none login"), "invalid_request"),
        (("id_token_hint", "x"), "invalid_request"),
    ] {
        let mut form = usual();
        form.retain(|(name, _)| *name != more.0);
        form.push(more);
        assert_eq!(
            push(&server, &secret, &form).await.refusal(),
            (400, code.to_owned()),
            "{more:?}"
        );
    }
    assert_eq!(
        push(&server, "wrong", &usual()).await.refusal(),
        (401, "invalid_client".to_owned())
    );
    let other = [("client_id", "other")];
    let form: Vec<_> = usual().into_iter().chain(other).collect();
    assert_eq!(push(&server, &secret, &form).await.status, 400);
    let put = server
        .public("PUT", "/oauth2/par")
        .basic("app", &secret)
        .form(&usual())
        .await;
    assert_eq!(put.status, 405);
}

#[tokio::test]
async fn a_client_that_must_push_cannot_do_otherwise() {
    let (server, secret) = house().await;
    server
        .patch(
            "app",
            json!({"require_pushed_authorization_requests": true}),
        )
        .await;
    let mut browser = Browser::new(&server);
    let handed = browser.open(&request(&[])).await.handed();
    assert_eq!(handed["error"], "invalid_request");
    let uri = pushed(&server, &secret, &usual()).await;
    let stop = browser.open(&by_reference("app", &uri)).await;
    assert!(
        finish(&mut browser, stop, "jane")
            .await
            .contains_key("code")
    );
}

/// A client that signs its requests with this key.
async fn signing(key: &Key) -> (Server, String) {
    let server = Server::start();
    user(&server, "jane").await;
    let secret = app(&server, "app", json!({"jwks": key.set("k")})).await;
    (server, secret)
}

fn object(server: &Server, more: &Value) -> Value {
    let now = server.clock.now().0;
    let mut claims = json!({
        "iss": "app", "aud": ISSUER, "client_id": "app", "iat": now, "nbf": now, "exp": now + 60,
        "jti": unique(), "response_type": "code", "redirect_uri": CALLBACK, "scope": "openid",
        "state": "inside", "nonce": "the-nonce",
    });
    claims
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    claims
}

#[tokio::test]
async fn of_a_signed_request_only_what_is_inside_counts() {
    let key = Key::new();
    let (server, secret) = signing(&key).await;
    let header = json!({"alg": "ES256", "kid": "k", "typ": "oauth-authz-req+jwt"});
    let jwt = key.sign(&header, &object(&server, &json!({})));
    let mut browser = Browser::new(&server);
    let outside = [
        ("client_id", "app"),
        ("request", &*jwt),
        ("state", "outside"),
        ("scope", "openid email"),
    ];
    let stop = browser
        .open(&format!("/oauth2/authorize?{}", query(&outside)))
        .await;
    let handed = finish(&mut browser, stop, "jane").await;
    assert_eq!(handed["state"], "inside");
    let tokens = redeem(&server, &secret, &handed["code"], &[]).await.json();
    assert_eq!(tokens["scope"], "openid");

    server
        .patch("app", json!({"require_signed_request_object": true}))
        .await;
    assert_eq!(
        browser.open(&request(&[])).await.handed()["error"],
        "invalid_request"
    );
    let jwt = key.sign(&header, &object(&server, &json!({})));
    let uri = pushed(&server, &secret, &[("request", &jwt)]).await;
    assert_eq!(
        browser.open(&by_reference("app", &uri)).await.handed()["state"],
        "inside"
    );
}

#[tokio::test]
async fn a_request_object_that_is_not_the_clients_is_refused_and_never_ignored() {
    let key = Key::new();
    let (server, secret) = signing(&key).await;
    let header = json!({"alg": "ES256", "kid": "k"});
    let stranger = Key::new().sign(&header, &object(&server, &json!({})));
    let expired = key.sign(&header, &object(&server, &json!({"exp": 1})));
    let foreign = key.sign(
        &header,
        &object(&server, &json!({"aud": "https://other.example"})),
    );
    let other = key.sign(
        &header,
        &object(&server, &json!({"client_id": "other", "iss": "other"})),
    );
    let nested = key.sign(&header, &object(&server, &json!({"request_uri": "urn:x"})));
    let claims = object(&server, &json!({}));
    let none = format!(
        "{}.{}.",
        crate::support::jwt::encode(r#"{"alg":"none"}"#),
        crate::support::jwt::encode(claims.to_string())
    );
    let confused = crate::support::jwt::hs256(&secret, &json!({"alg": "HS256"}), &claims);
    let mut browser = Browser::new(&server);
    for (case, jwt) in [
        ("stranger", stranger),
        ("expired", expired),
        ("foreign", foreign),
        ("other", other),
        ("nested", nested),
        ("none", none),
        ("confused", confused),
        ("no JWT", "x".to_owned()),
    ] {
        let handed = browser.open(&request(&[("request", &jwt)])).await.handed();
        let expected = if case == "none" {
            "request_not_supported"
        } else {
            "invalid_request_object"
        };
        assert_eq!(handed["error"], expected, "{case}");
        let answer = push(&server, &secret, &[("request", &jwt)]).await;
        assert_eq!(answer.refusal(), (400, expected.to_owned()), "{case}");
    }
}

#[tokio::test]
async fn a_redirect_uri_inside_a_request_object_is_checked_like_any_other() {
    let key = Key::new();
    let (server, _) = signing(&key).await;
    let inside = json!({"redirect_uri": "https://evil.example/"});
    let jwt = key.sign(
        &json!({"alg": "ES256", "kid": "k"}),
        &object(&server, &inside),
    );
    let mut browser = Browser::new(&server);
    let stop = browser.open(&request(&[("request", &jwt)])).await;
    let Stop::Page(page) = stop else {
        panic!("{stop:?}")
    };
    assert_eq!(page.answer.status, 400);
}
