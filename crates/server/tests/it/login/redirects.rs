//! Where a browser may be sent: nowhere but to what a client has registered (RFC 9700 §2.1, §4.1,
//! §4.11).

use serde_json::json;

use super::{app, finish, request, user};
use crate::support::Server;
use crate::support::agent::{Browser, Stop};

/// What an attacker would like to be taken for `https://app.example/cb?x=1`.
const NEAR_MISSES: [&str; 40] = [
    "https://app.example/cb",
    "https://app.example/cb?x=1&",
    "https://app.example/cb?x=1&y=2",
    "https://app.example/cb?x=2",
    "https://app.example/cb?X=1",
    "https://app.example/cb?x=1#",
    "https://app.example/cb?x=1#f",
    "https://app.example/cb/?x=1",
    "https://app.example//cb?x=1",
    "https://app.example/./cb?x=1",
    "https://app.example/a/../cb?x=1",
    "https://app.example/cb/../cb?x=1",
    "https://app.example/%63b?x=1",
    "https://app.example/cb%3Fx=1",
    "https://app.example/cb?x=%31",
    "https://app.example/CB?x=1",
    "https://app.example/cb;?x=1",
    "https://app.example/cb.evil?x=1",
    "https://app.example/cbx?x=1",
    "https://app.example/c?x=1",
    "https://app.example:443/cb?x=1",
    "https://app.example:8443/cb?x=1",
    "https://app.example./cb?x=1",
    "https://APP.example/cb?x=1",
    "HTTPS://app.example/cb?x=1",
    "http://app.example/cb?x=1",
    "//app.example/cb?x=1",
    "app.example/cb?x=1",
    "https:app.example/cb?x=1",
    "https:/app.example/cb?x=1",
    "https://app.example@evil.example/cb?x=1",
    "https://user@app.example/cb?x=1",
    "https://app.example.evil.example/cb?x=1",
    "https://evil.example/https://app.example/cb?x=1",
    "https://sub.app.example/cb?x=1",
    "https://app.example\\@evil.example/cb?x=1",
    "https://app.example/cb?x=1 ",
    " https://app.example/cb?x=1",
    "https://app.example/cb?x=1\n",
    "javascript://app.example/cb?x=1",
];

/// A server whose client has one redirect URI with a query.
async fn exact() -> Server {
    let server = Server::start();
    user(&server, "jane").await;
    app(
        &server,
        "app",
        json!({"redirect_uris": ["https://app.example/cb?x=1"]}),
    )
    .await;
    server
}

#[tokio::test]
async fn rfc9700_no_near_miss_of_a_redirect_uri_is_ever_redirected_to() {
    let server = exact().await;
    let mut browser = Browser::new(&server);
    for near in NEAR_MISSES {
        for kind in ["code", "nonsense"] {
            let asked = request(&[("redirect_uri", near), ("response_type", kind)]);
            let Stop::Page(page) = browser.open(&asked).await else {
                panic!("redirected to {near:?}");
            };
            assert_eq!(page.answer.status, 400, "{near:?}");
            assert_eq!(page.text_of("error-code"), "invalid_request", "{near:?}");
            assert!(!page.text_of("error-description").is_empty(), "{near:?}");
            assert!(
                !page.html.contains("href=\"https://"),
                "no way out: {}",
                page.html
            );
        }
    }
    let stop = browser
        .open(&request(&[("redirect_uri", "https://app.example/cb?x=1")]))
        .await;
    let Stop::Page(login) = stop else {
        panic!("{stop:?}")
    };
    let consent = browser
        .log_in(&login, "jane", &super::password_of("jane"))
        .await
        .page();
    let url = browser.allow(&consent).await.away();
    assert!(
        url.starts_with("https://app.example/cb?x=1&code="),
        "the query stays: {url}"
    );
}

#[tokio::test]
async fn rfc9700_nobody_is_redirected_before_client_and_uri_are_known_to_be_right() {
    let server = exact().await;
    let mut browser = Browser::new(&server);
    let bad = [
        request(&[("client_id", "nobody")]),
        request(&[("client_id", "")]),
        request(&[("client_id", "a b")]),
        request(&[("redirect_uri", "")]),
        format!("{}&client_id=app", request(&[])),
        format!("{}&redirect_uri=https%3A%2F%2Fevil.example", request(&[])),
        "/oauth2/authorize".to_owned(),
        "/oauth2/authorize?client_id=%ff".to_owned(),
        "/oauth2/authorize?client_id=app&redirect_uri=%zz".to_owned(),
    ];
    for url in bad {
        let Stop::Page(page) = browser.open(&url).await else {
            panic!("redirected: {url}");
        };
        assert_eq!(page.answer.status, 400, "{url}");
        assert!(
            page.has("error-code") && page.has("error-description"),
            "{url}"
        );
    }
}

#[tokio::test]
async fn an_error_goes_back_with_state_and_issuer_where_the_answer_would_have_gone() {
    let server = exact().await;
    let mut browser = Browser::new(&server);
    let good = ("redirect_uri", "https://app.example/cb?x=1");
    for (more, code) in [
        (("response_type", "nonsense"), "unsupported_response_type"),
        (("response_type", ""), "invalid_request"),
        (("scope", "openid everything"), "invalid_scope"),
        (("prompt", "none login"), "invalid_request"),
        (("max_age", "soon"), "invalid_request"),
        (("claims", "{"), "invalid_request"),
        (("code_challenge_method", "S256"), "invalid_request"),
        (("request", "e30.e30."), "invalid_request_object"),
        (
            ("request_uri", "https://app.example/object"),
            "request_uri_not_supported",
        ),
        (("registration", "{}"), "registration_not_supported"),
        (("resource", "https://unknown.example"), "invalid_target"),
    ] {
        let url = browser.open(&request(&[good, more])).await.away();
        let (_, query) = url.split_once('?').unwrap();
        let told = crate::support::agent::pairs(query);
        assert_eq!(told["error"], code, "{more:?}: {url}");
        assert_eq!(told["state"], "the-state", "{more:?}");
        assert_eq!(told["iss"], crate::support::ISSUER, "{more:?}");
        assert_eq!(told["x"], "1", "{more:?}");
        assert_eq!(told.len(), 5, "nothing else: {url}");
    }
}

#[tokio::test]
async fn only_the_port_of_a_loopback_address_may_vary() {
    let server = Server::start();
    user(&server, "jane").await;
    let fields = json!({
        "redirect_uris": ["http://127.0.0.1/cb"],
        "token_endpoint_auth_method": "none",
    });
    let mut fields = fields;
    fields["grant_types"] = json!(["authorization_code"]);
    fields["response_types"] = json!(["code"]);
    fields["scope"] = json!("openid");
    fields["client_id"] = json!("native");
    server.create(fields).await;
    let (_, challenge) = crate::support::agent::pkce("native");
    let asked = |uri: &str| {
        request(&[
            ("client_id", "native"),
            ("redirect_uri", uri),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ])
    };
    let mut browser = Browser::new(&server);
    let stop = browser.open(&asked("http://127.0.0.1:51004/cb")).await;
    let handed = finish(&mut browser, stop, "jane").await;
    assert!(handed.contains_key("code"));
    for bad in [
        "http://127.0.0.1:51004/cb2",
        "http://localhost:51004/cb",
        "https://127.0.0.1:51004/cb",
    ] {
        assert!(
            matches!(browser.open(&asked(bad)).await, Stop::Page(_)),
            "{bad}"
        );
    }
}
