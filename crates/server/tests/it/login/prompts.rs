//! `prompt`, `max_age`, `acr_values`, `id_token_hint`, `login_hint`: what the client wants to happen
//! or not to happen (OIDC Core §3.1.2.1).

use serde_json::Value;

use super::{finish, frozen_house, house, log_in, password_of, redeem, request, user, verified};
use crate::support::Server;
use crate::support::agent::{Browser, Stop};

/// The claims of the ID token that a code is good for.
async fn id_token(server: &Server, secret: &str, code: &str) -> Value {
    let answer = redeem(server, secret, code, &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    verified(server, answer.json()["id_token"].as_str().unwrap()).await
}

#[tokio::test]
async fn prompt_none_shows_no_page_whatever_is_missing() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let silent = request(&[("prompt", "none")]);
    let handed = browser.open(&silent).await.handed();
    assert_eq!(
        (&*handed["error"], &*handed["state"]),
        ("login_required", "the-state")
    );
    log_in(&mut browser, "jane", &[]).await;
    assert!(browser.open(&silent).await.handed().contains_key("code"));
    let more = request(&[("prompt", "none"), ("scope", "openid email")]);
    assert_eq!(
        browser.open(&more).await.handed()["error"],
        "consent_required"
    );
}

#[tokio::test]
async fn prompt_login_asks_again_and_the_login_is_later() {
    let (server, secret) = frozen_house().await;
    let mut browser = Browser::new(&server);
    let handed = log_in(&mut browser, "jane", &[]).await;
    let before = id_token(&server, &secret, &handed["code"]).await;
    server.clock.advance(5);
    let silent = log_in(&mut browser, "jane", &[]).await;
    let same = id_token(&server, &secret, &silent["code"]).await;
    assert_eq!(before["auth_time"], same["auth_time"]);

    let page = browser.open(&request(&[("prompt", "login")])).await.page();
    assert!(page.path.starts_with("/ui/login"), "{}", page.path);
    let handed = browser
        .log_in(&page, "jane", &password_of("jane"))
        .await
        .handed();
    let after = id_token(&server, &secret, &handed["code"]).await;
    assert_eq!(
        after["auth_time"],
        before["auth_time"].as_u64().unwrap() + 5
    );
    assert_eq!(after["sub"], before["sub"]);
    assert_ne!(after["sid"], before["sid"], "a login is a new session");
}

#[tokio::test]
async fn max_age_asks_again_when_the_login_is_too_old() {
    let (server, secret) = frozen_house().await;
    let mut browser = Browser::new(&server);
    log_in(&mut browser, "jane", &[]).await;
    server.clock.advance(2);
    let handed = browser
        .open(&request(&[("max_age", "10000")]))
        .await
        .handed();
    let claims = id_token(&server, &secret, &handed["code"]).await;
    assert_eq!(claims["auth_time"], server.clock.now().0 - 2);
    for max_age in ["1", "0"] {
        let stop = browser.open(&request(&[("max_age", max_age)])).await;
        let Stop::Page(page) = stop else {
            panic!("max_age={max_age} did not ask: {stop:?}");
        };
        assert!(page.path.starts_with("/ui/login"), "{}", page.path);
        let handed = browser
            .log_in(&page, "jane", &password_of("jane"))
            .await
            .handed();
        let claims = id_token(&server, &secret, &handed["code"]).await;
        assert_eq!(claims["auth_time"], server.clock.now().0);
        server.clock.advance(2);
    }
    let silent = request(&[("max_age", "1"), ("prompt", "none")]);
    assert_eq!(
        browser.open(&silent).await.handed()["error"],
        "login_required"
    );
}

#[tokio::test]
async fn prompt_consent_asks_again() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    log_in(&mut browser, "jane", &[]).await;
    let page = browser
        .open(&request(&[("prompt", "consent")]))
        .await
        .page();
    assert!(page.path.starts_with("/ui/consent"), "{}", page.path);
    assert!(browser.allow(&page).await.handed().contains_key("code"));
    let page = browser
        .open(&request(&[("prompt", "login consent")]))
        .await
        .page();
    let page = browser
        .log_in(&page, "jane", &password_of("jane"))
        .await
        .page();
    assert!(page.path.starts_with("/ui/consent"), "{}", page.path);
    assert!(browser.allow(&page).await.handed().contains_key("code"));
}

#[tokio::test]
async fn the_acr_is_told_and_an_essential_one_that_cannot_be_is_refused() {
    let (server, secret) = house().await;
    let mut browser = Browser::new(&server);
    let acr = signet_oauth::session::ACR_PASSWORD;
    let handed = log_in(&mut browser, "jane", &[("acr_values", acr)]).await;
    assert_eq!(
        id_token(&server, &secret, &handed["code"]).await["acr"],
        acr
    );
    let claims = r#"{"id_token":{"acr":{"essential":true,"values":["urn:hardware"]}}}"#;
    let stop = browser.open(&request(&[("claims", claims)])).await;
    let handed = finish(&mut browser, stop, "jane").await;
    assert_eq!(handed["error"], "unmet_authentication_requirements");
}

#[tokio::test]
async fn the_hint_of_an_id_token_picks_its_user_and_nobody_else() {
    let (server, secret) = house().await;
    user(&server, "joe").await;
    let mut browser = Browser::new(&server);
    let handed = log_in(&mut browser, "jane", &[]).await;
    let answer = redeem(&server, &secret, &handed["code"], &[]).await.json();
    let hint = answer["id_token"].as_str().unwrap();
    let hinted = request(&[("id_token_hint", hint), ("prompt", "none")]);
    assert!(browser.open(&hinted).await.handed().contains_key("code"));

    let mut joe = Browser::new(&server);
    log_in(&mut joe, "joe", &[]).await;
    assert_eq!(joe.open(&hinted).await.handed()["error"], "login_required");
    // Whoever logs in as another user is not handed over as the one who was meant.
    let page = joe.open(&request(&[("id_token_hint", hint)])).await.page();
    let stop = joe.log_in(&page, "joe", &password_of("joe")).await;
    let Stop::Page(page) = stop else {
        assert!(
            !stop.handed().contains_key("code"),
            "another user than the hinted one"
        );
        return;
    };
    assert!(page.path.starts_with("/ui/login"), "{}", page.path);
}

#[tokio::test]
async fn a_hint_that_is_not_ours_is_refused() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let stranger = crate::support::jwt::Key::new();
    let claims = serde_json::json!({"iss": crate::support::ISSUER, "aud": "app", "sub": "usr_x",
                                    "exp": 4_000_000_000_u64, "iat": 0});
    let forged = stranger.sign(&serde_json::json!({"alg": "ES256", "kid": "k"}), &claims);
    for hint in ["x", "a.b.c", &forged] {
        let handed = browser
            .open(&request(&[("id_token_hint", hint)]))
            .await
            .handed();
        assert_eq!(handed["error"], "invalid_request", "{hint}");
    }
}

#[tokio::test]
async fn a_login_hint_fills_in_the_name() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let page = browser
        .open(&request(&[("login_hint", "<jane>\"'&")]))
        .await
        .page();
    assert_eq!(page.value_of("username"), "<jane>\"'&");
}

#[tokio::test]
async fn parameters_that_only_wish_are_no_errors() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    for (name, value) in [
        ("display", "page"),
        ("display", "popup"),
        ("ui_locales", "se xx-nonsense de"),
        ("claims_locales", "se"),
        ("extra", "foobar"),
    ] {
        let handed = log_in(&mut browser, "jane", &[(name, value)]).await;
        assert!(handed.contains_key("code"), "{name}={value}: {handed:?}");
    }
    let mut german = Browser::new(&server);
    let page = german.open(&request(&[("ui_locales", "de")])).await.page();
    assert!(page.html.contains("<html lang=\"de\""), "{}", page.html);
}
