//! Login and consent on pages that are not ours: `/admin/oauth2/auth/requests/…`.

use serde_json::{Value, json};

use super::{app, password_of, redeem, request, user, verified};
use crate::support::Server;
use crate::support::agent::{Browser, Stop, pairs};
use crate::support::http::escape;

/// A server whose login and consent pages are the team's own; the secret of `app`, the id of jane.
async fn own_pages() -> (Server, String, String) {
    let server = Server::with(&[
        (
            "login.login_url",
            "https://login.team.example/login?style=blue",
        ),
        ("login.consent_url", "https://login.team.example/consent"),
    ]);
    let jane = user(&server, "jane").await;
    let secret = app(&server, "app", json!({})).await;
    (server, secret, jane.as_str().to_owned())
}

/// The challenge that a browser is sent away with.
fn challenge(stop: Stop, page: &str, name: &str) -> String {
    let url = stop.away();
    assert!(url.starts_with(page), "{url}");
    pairs(url.split_once('?').unwrap().1)[name].clone()
}

fn login(stop: Stop) -> String {
    challenge(
        stop,
        "https://login.team.example/login?style=blue&",
        "login_challenge",
    )
}

fn consent(stop: Stop) -> String {
    challenge(
        stop,
        "https://login.team.example/consent?",
        "consent_challenge",
    )
}

async fn get(server: &Server, kind: &str, challenge: &str) -> Value {
    let path = format!(
        "/admin/oauth2/auth/requests/{kind}?{kind}_challenge={}",
        escape(challenge)
    );
    let answer = server.admin("GET", &path).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

async fn put(server: &Server, kind: &str, verb: &str, challenge: &str, body: Value) -> String {
    let path = format!(
        "/admin/oauth2/auth/requests/{kind}/{verb}?{kind}_challenge={}",
        escape(challenge)
    );
    let answer = server.admin("PUT", &path).json(&body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["redirect_to"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_team_with_pages_of_its_own_logs_its_users_in() {
    let (server, secret, jane) = own_pages().await;
    let mut browser = Browser::new(&server);
    let asked = request(&[
        ("scope", "openid email offline_access"),
        ("login_hint", "jane"),
    ]);
    let challenge = login(browser.open(&asked).await);
    let about = get(&server, "login", &challenge).await;
    assert_eq!(about["challenge"], challenge);
    assert_eq!(about["client"]["client_id"], "app");
    assert_eq!(
        about["requested_scope"],
        json!(["openid", "email", "offline_access"])
    );
    assert_eq!(about["oidc_context"]["login_hint"], "jane");
    assert_eq!(
        (&about["skip"], &about["subject"]),
        (&json!(false), &json!(""))
    );
    assert!(
        about["request_url"]
            .as_str()
            .unwrap()
            .contains("/oauth2/authorize?")
    );

    let accept = json!({"subject": jane, "remember": true, "remember_for": 3600, "acr": "gold"});
    let back = put(&server, "login", "accept", &challenge, accept).await;
    let challenge = consent(browser.open(&back).await);
    let about = get(&server, "consent", &challenge).await;
    assert_eq!(about["subject"], jane);
    assert_eq!(about["acr"], "gold");

    let accept = json!({"grant_scope": ["openid", "email", "admin"], "remember": true,
                        "session": {"id_token": {}, "access_token": {}}});
    let back = put(&server, "consent", "accept", &challenge, accept).await;
    let handed = browser.open(&back).await.handed();
    assert_eq!(handed["state"], "the-state");
    let tokens = redeem(&server, &secret, &handed["code"], &[]).await.json();
    assert_eq!(
        tokens["scope"], "openid email",
        "what was granted of what was asked"
    );
    let claims = verified(&server, tokens["id_token"].as_str().unwrap()).await;
    assert_eq!(
        (&claims["sub"], &claims["acr"]),
        (&json!(jane), &json!("gold"))
    );
    let silent = request(&[("prompt", "none"), ("scope", "openid email")]);
    assert!(
        browser.open(&silent).await.handed().contains_key("code"),
        "both were remembered"
    );
}

#[tokio::test]
async fn what_is_not_to_be_remembered_is_not() {
    let (server, _, jane) = own_pages().await;
    let mut browser = Browser::new(&server);
    let challenge = login(browser.open(&request(&[])).await);
    let back = put(
        &server,
        "login",
        "accept",
        &challenge,
        json!({"subject": jane}),
    )
    .await;
    let challenge = consent(browser.open(&back).await);
    let back = put(
        &server,
        "consent",
        "accept",
        &challenge,
        json!({"grant_scope": ["openid"]}),
    )
    .await;
    assert!(browser.open(&back).await.handed().contains_key("code"));
    assert!(!browser.cookies.contains_key("signet_session"));
    let handed = browser.open(&request(&[("prompt", "none")])).await.handed();
    assert_eq!(handed["error"], "login_required");
}

#[tokio::test]
async fn a_page_that_says_no_sends_its_error_to_the_client() {
    let (server, _, jane) = own_pages().await;
    let mut browser = Browser::new(&server);
    let challenge = login(browser.open(&request(&[])).await);
    let no = json!({"error": "login_required", "error_description": "not today"});
    let back = put(&server, "login", "reject", &challenge, no).await;
    let handed = browser.open(&back).await.handed();
    assert_eq!(handed["error"], "login_required");
    assert_eq!(handed["error_description"], "not today");

    let challenge = login(browser.open(&request(&[])).await);
    let back = put(
        &server,
        "login",
        "accept",
        &challenge,
        json!({"subject": jane}),
    )
    .await;
    let challenge = consent(browser.open(&back).await);
    let back = put(
        &server,
        "consent",
        "reject",
        &challenge,
        json!({"error": "made_up"}),
    )
    .await;
    assert_eq!(browser.open(&back).await.handed()["error"], "access_denied");
}

#[tokio::test]
async fn a_verifier_is_good_in_the_browser_in_which_the_login_began_and_at_its_step() {
    let (server, _, jane) = own_pages().await;
    let mut browser = Browser::new(&server);
    let first = login(browser.open(&request(&[])).await);
    let back = put(
        &server,
        "login",
        "accept",
        &first,
        json!({"subject": jane, "remember": true}),
    )
    .await;

    let mut victim = Browser::new(&server);
    login(victim.open(&request(&[])).await);
    login(victim.open(&back).await);
    assert!(
        !victim.cookies.contains_key("signet_session"),
        "login CSRF by a verifier"
    );
    let bare = Browser::new(&server).open(&back).await.page();
    assert_eq!(bare.answer.status, 400);

    // A challenge is no verifier, and none of them is good for our own pages.
    for parameter in ["login_verifier", "consent_verifier"] {
        let page = browser
            .open(&format!("/oauth2/authorize?{parameter}={first}"))
            .await
            .page();
        assert_eq!(page.answer.status, 400, "{parameter}");
    }
    let form = [
        ("flow", &*first),
        ("username", "jane"),
        ("password", &password_of("jane")),
    ];
    login(browser.post("/ui/login", &form).await);
    let verifier = back.split_once("login_verifier=").unwrap().1;
    let page = browser
        .open(&format!("/oauth2/authorize?consent_verifier={verifier}"))
        .await
        .page();
    assert_eq!(page.answer.status, 400);
}

#[tokio::test]
async fn what_a_page_may_not_say_is_refused() {
    let (server, _, jane) = own_pages().await;
    let mut browser = Browser::new(&server);
    let challenge = login(browser.open(&request(&[])).await);
    let path = |challenge: &str| {
        format!(
            "/admin/oauth2/auth/requests/login/accept?login_challenge={}",
            escape(challenge)
        )
    };
    for (challenge, body, status) in [
        (&*challenge, json!({"subject": "nobody"}), 400),
        (&challenge, json!({}), 400),
        (&challenge, json!({"subject": jane, "amr": ["magic"]}), 400),
        ("made-up", json!({"subject": jane}), 404),
    ] {
        let answer = server.admin("PUT", &path(challenge)).json(&body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
    let bare = server
        .admin_bare("PUT", &path(&challenge))
        .json(&json!({"subject": jane}))
        .await;
    assert_eq!(bare.status, 401);
    let absent = server
        .admin("GET", "/admin/oauth2/auth/requests/login")
        .await;
    assert_eq!(absent.status, 400);

    let back = put(
        &server,
        "login",
        "accept",
        &challenge,
        json!({"subject": jane}),
    )
    .await;
    let challenge = consent(browser.open(&back).await);
    let path = format!(
        "/admin/oauth2/auth/requests/consent/accept?consent_challenge={}",
        escape(&challenge)
    );
    let body = json!({"grant_scope": ["openid"], "session": {"id_token": {"role": "admin"}}});
    let answer = server.admin("PUT", &path).json(&body).await;
    assert_eq!(
        answer.status,
        400,
        "claims are refused rather than lost: {}",
        answer.text()
    );
}

#[tokio::test]
async fn the_paths_of_older_pages_work_too() {
    let (server, _, jane) = own_pages().await;
    let mut browser = Browser::new(&server);
    let challenge = login(browser.open(&request(&[])).await);
    let about = server
        .admin("GET", &format!("/oauth2/auth/requests/login/{challenge}"))
        .await;
    assert_eq!(about.json()["client"]["client_id"], "app");
    let about = server
        .admin(
            "GET",
            &format!("/oauth2/auth/requests/login?login_challenge={challenge}"),
        )
        .await;
    assert_eq!(about.status, 200);
    let accepted = server
        .admin(
            "PUT",
            &format!("/oauth2/auth/requests/login/{challenge}/accept"),
        )
        .json(&json!({"subject": jane}))
        .await;
    assert_eq!(accepted.status, 200, "{}", accepted.text());
    let back = accepted.json()["redirect_to"].as_str().unwrap().to_owned();
    let challenge = consent(browser.open(&back).await);
    let refused = server
        .admin(
            "PUT",
            &format!("/oauth2/auth/requests/consent/{challenge}/reject"),
        )
        .json(&json!({"error": "access_denied"}))
        .await;
    let back = refused.json()["redirect_to"].as_str().unwrap().to_owned();
    assert_eq!(browser.open(&back).await.handed()["error"], "access_denied");
}
