//! Tokens through the browser: the implicit and hybrid flows, and answers by form. Off unless a
//! client is registered for them.

use serde_json::{Value, json};
use signet_oauth::secret::Digest;
use std::collections::BTreeMap;

use super::{CALLBACK, app, finish, house, log_in, password_of, request, user, verified};
use crate::support::agent::{Browser, Page, Stop, pairs};
use crate::support::{ISSUER, Server, jwt};

/// All that may be registered.
fn everything() -> Value {
    json!({
        "grant_types": ["authorization_code", "implicit", "refresh_token"],
        "response_types": ["code", "token", "id_token", "id_token token", "code id_token",
                           "code token", "code id_token token"],
        "skip_consent": true,
    })
}

/// What a form that posts itself would post.
fn posted(page: &Page) -> BTreeMap<String, String> {
    assert_eq!(page.action(), CALLBACK, "{}", page.html);
    page.hidden().into_iter().collect()
}

/// The hash of RFC-to-be half (OIDC Core §3.3.2.11) for RS256 and ES256.
fn half(text: &str) -> String {
    jwt::encode(&Digest::of(text.as_bytes()).0[..16])
}

async fn redeemed(server: &Server, secret: &str, code: &str) -> Value {
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", CALLBACK),
    ];
    let answer = server
        .public("POST", "/oauth2/token")
        .basic("front", secret)
        .form(&form)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[expect(clippy::too_many_lines, reason = "a table")]
#[tokio::test]
async fn every_response_type_answers_with_exactly_its_parts() {
    let server = Server::start();
    user(&server, "jane").await;
    let secret = app(&server, "front", everything()).await;
    for (kind, parts) in [
        ("code", &["code"][..]),
        (
            "token",
            &["access_token", "expires_in", "scope", "token_type"],
        ),
        ("id_token", &["id_token"]),
        (
            "id_token token",
            &[
                "access_token",
                "expires_in",
                "id_token",
                "scope",
                "token_type",
            ],
        ),
        ("code id_token", &["code", "id_token"]),
        (
            "code token",
            &["access_token", "code", "expires_in", "scope", "token_type"],
        ),
        (
            "code id_token token",
            &[
                "access_token",
                "code",
                "expires_in",
                "id_token",
                "scope",
                "token_type",
            ],
        ),
        (
            "token id_token code",
            &[
                "access_token",
                "code",
                "expires_in",
                "id_token",
                "scope",
                "token_type",
            ],
        ),
    ] {
        let mut browser = Browser::new(&server);
        let asked = [
            ("client_id", "front"),
            ("response_type", kind),
            ("scope", "openid email"),
        ];
        let stop = browser.open(&request(&asked)).await;
        let Stop::Page(login) = stop else {
            panic!("{kind}: {stop:?}")
        };
        let url = browser
            .log_in(&login, "jane", &password_of("jane"))
            .await
            .away();
        let separator = if kind == "code" { '?' } else { '#' };
        let (address, answer) = url.split_once(separator).unwrap();
        assert_eq!(address, CALLBACK, "{kind}");
        let handed = pairs(answer);
        let mut expected: Vec<&str> = parts.to_vec();
        expected.extend(["iss", "state"]);
        expected.sort_unstable();
        assert_eq!(handed.keys().collect::<Vec<_>>(), expected, "{kind}");

        let Some(id_token) = handed.get("id_token") else {
            continue;
        };
        let claims = verified(&server, id_token).await;
        let hash = |of: &str| handed.get(of).map_or(Value::Null, |text| half(text).into());
        assert_eq!(claims["nonce"], "the-nonce");
        assert_eq!(claims["at_hash"], hash("access_token"), "{kind}");
        assert_eq!(claims["c_hash"], hash("code"), "{kind}");
        let tells = claims.get("email").is_some();
        assert_eq!(
            tells,
            kind == "id_token",
            "{kind}: scope claims only where there is no userinfo"
        );
        if let Some(code) = handed.get("code") {
            let tokens = redeemed(&server, &secret, code).await;
            let second = verified(&server, tokens["id_token"].as_str().unwrap()).await;
            assert_eq!(
                (&second["sub"], &second["iss"]),
                (&claims["sub"], &claims["iss"])
            );
        }
        if let Some(token) = handed.get("access_token") {
            assert!(server.is_active(token).await, "{kind}");
        }
    }
}

#[tokio::test]
async fn cve_class_a_flow_that_is_off_cannot_be_reached() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    for kind in [
        "token",
        "id_token",
        "id_token token",
        "code id_token",
        "code token",
        "code id_token token",
    ] {
        let url = browser
            .open(&request(&[("response_type", kind)]))
            .await
            .away();
        let (_, fragment) = url
            .split_once('#')
            .unwrap_or_else(|| panic!("{kind}: {url}"));
        assert_eq!(pairs(fragment)["error"], "unauthorized_client", "{kind}");
    }
    // Registered when the login page was opened, and not any more when it is sent.
    app(&server, "front", everything()).await;
    let asked = request(&[("client_id", "front"), ("response_type", "id_token token")]);
    let login = browser.open(&asked).await.page();
    server
        .patch(
            "front",
            json!({"response_types": ["code"], "grant_types": ["authorization_code"]}),
        )
        .await;
    let url = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .away();
    assert!(
        url.contains("error=unauthorized_client") && !url.contains("access_token"),
        "{url}"
    );
}

#[tokio::test]
async fn a_missing_nonce_is_refused_where_an_id_token_comes_through_the_browser() {
    let (server, _) = house().await;
    app(&server, "front", everything()).await;
    let mut browser = Browser::new(&server);
    for kind in ["id_token", "id_token token", "code id_token"] {
        let asked = [
            ("client_id", "front"),
            ("response_type", kind),
            ("nonce", ""),
        ];
        let handed = browser.open(&request(&asked)).await.handed();
        assert_eq!(handed["error"], "invalid_request", "{kind}");
    }
    let asked = [
        ("client_id", "front"),
        ("response_type", "code"),
        ("nonce", ""),
    ];
    let stop = browser.open(&request(&asked)).await;
    assert!(
        finish(&mut browser, stop, "jane")
            .await
            .contains_key("code")
    );
}

#[tokio::test]
async fn no_token_travels_in_a_query() {
    let (server, _) = house().await;
    app(&server, "front", everything()).await;
    let mut browser = Browser::new(&server);
    let asked = [
        ("client_id", "front"),
        ("response_type", "token"),
        ("response_mode", "query"),
    ];
    let url = browser.open(&request(&asked)).await.away();
    assert!(url.contains("#error=invalid_request"), "{url}");
}

#[tokio::test]
async fn form_post_answers_by_a_form_whatever_the_answer_is() {
    let (server, _) = house().await;
    app(&server, "front", everything()).await;
    for kind in ["code", "id_token token", "code id_token"] {
        let mut browser = Browser::new(&server);
        let asked = [
            ("client_id", "front"),
            ("response_type", kind),
            ("response_mode", "form_post"),
        ];
        let login = browser.open(&request(&asked)).await.page();
        let page = browser
            .log_in(&login, "jane", &password_of("jane"))
            .await
            .page();
        let fields = posted(&page);
        assert_eq!(fields["state"], "the-state");
        assert_eq!(fields["iss"], ISSUER);
        assert_eq!(fields.contains_key("code"), kind.contains("code"), "{kind}");
        let policy = page.answer.header("content-security-policy");
        assert!(
            policy.contains("form-action") && policy.contains("https://app.example"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe-inline"), "{policy}");
        assert_eq!(page.answer.header("cache-control"), "no-store");

        let mut stranger = Browser::new(&server);
        let silent = [asked[0], asked[1], asked[2], ("prompt", "none")];
        let page = stranger.open(&request(&silent)).await.page();
        assert_eq!(posted(&page)["error"], "login_required", "{kind}");
    }
}

#[tokio::test]
async fn what_came_through_the_browser_ends_with_its_code() {
    let server = Server::start();
    user(&server, "jane").await;
    let secret = app(&server, "front", everything()).await;
    let mut browser = Browser::new(&server);
    let asked = [("client_id", "front"), ("response_type", "code token")];
    let handed = log_in(&mut browser, "jane", &asked).await;
    let tokens = redeemed(&server, &secret, &handed["code"]).await;
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &*handed["code"]),
        ("redirect_uri", CALLBACK),
    ];
    let again = server
        .public("POST", "/oauth2/token")
        .basic("front", &secret)
        .form(&form)
        .await;
    assert_eq!(again.refusal(), (400, "invalid_grant".to_owned()));
    for token in [
        &*handed["access_token"],
        tokens["access_token"].as_str().unwrap(),
    ] {
        assert!(
            !server.is_active(token).await,
            "a replayed code ends what came of it"
        );
    }
}
