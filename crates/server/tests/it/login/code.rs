//! The code flow from the first request to the tokens: what everybody does.

use serde_json::json;

use super::{
    CALLBACK, app, finish, frozen_house, furnish, house, log_in, password_of, redeem, request,
    user, verified,
};
use crate::support::agent::{Browser, pkce};
use crate::support::{ISSUER, On, Server, on_every_store};

on_every_store! {
    a_user_logs_in_and_the_client_gets_tokens
    a_login_costs_two_durable_writes
}

#[expect(
    clippy::too_many_lines,
    reason = "one flow, told from its beginning to its end"
)]
async fn a_user_logs_in_and_the_client_gets_tokens(store: On) {
    let server = Server::on(store, &[]);
    let secret = furnish(&server).await;
    let mut browser = Browser::new(&server);
    let (verifier, challenge) = pkce("a");
    let asked = request(&[
        ("scope", "openid profile"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]);

    let login = browser.open(&asked).await.page();
    assert!(login.path.starts_with("/ui/login?flow="), "{}", login.path);
    for id in [
        "page-title",
        "username",
        "password",
        "login-submit",
        "login-cancel",
    ] {
        assert!(login.has(id), "no #{id}");
    }
    assert_eq!(login.text_of("client-name"), "Application app");

    let consent = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .page();
    assert!(
        consent.path.starts_with("/ui/consent?flow="),
        "{}",
        consent.path
    );
    assert!(consent.has("consent-allow") && consent.has("consent-deny"));

    let handed = browser.allow(&consent).await.handed();
    assert_eq!(handed["state"], "the-state");
    assert_eq!(handed["iss"], ISSUER);
    assert_eq!(handed.len(), 3, "{handed:?}");
    assert!(handed["code"].len() <= 1024);

    let answer = redeem(
        &server,
        &secret,
        &handed["code"],
        &[("code_verifier", &verifier)],
    )
    .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let tokens = answer.json();
    let id_token = verified(&server, tokens["id_token"].as_str().unwrap()).await;
    assert_eq!(id_token["iss"], ISSUER);
    assert_eq!(id_token["aud"], "app");
    assert_eq!(id_token["nonce"], "the-nonce");
    assert!(id_token["sub"].as_str().unwrap().starts_with("usr_"));
    assert!(
        id_token.get("name").is_none(),
        "scope claims belong into userinfo"
    );
    let active = server
        .introspect(tokens["access_token"].as_str().unwrap())
        .await;
    assert_eq!(active["active"], true);
    assert_eq!(active["sub"], id_token["sub"]);
    assert_eq!(active["scope"], "openid profile");
}

async fn a_login_costs_two_durable_writes(store: On) {
    let server = Server::on(store, &[]);
    let secret = furnish(&server).await;
    let mut browser = Browser::new(&server);
    // The first ID token makes the key that signs it.
    user(&server, "joe").await;
    let handed = log_in(&mut Browser::new(&server), "joe", &[]).await;
    redeem(&server, &secret, &handed["code"], &[]).await;
    let written = || server.written();

    let start = written();
    let login = browser.open(&request(&[])).await.page();
    assert_eq!(
        written(),
        start,
        "something was written before anybody logged in"
    );
    let consent = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .page();
    assert_eq!(
        written(),
        start,
        "something was written before the login was complete"
    );
    let handed = browser.allow(&consent).await.handed();
    assert_eq!(written(), start + 1, "session and consent are one write");
    let answer = redeem(&server, &secret, &handed["code"], &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        written(),
        start + 2,
        "redemption, family and participation are one write"
    );

    let handed = log_in(&mut browser, "jane", &[]).await;
    assert_eq!(written(), start + 2, "nothing is new, nothing is written");
    redeem(&server, &secret, &handed["code"], &[]).await;
    assert_eq!(written(), start + 3);
}

#[tokio::test]
async fn a_wrong_password_is_told_on_the_page_and_is_not_sent_again_by_going_back() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let login = browser.open(&request(&[])).await.page();
    let again = browser.log_in(&login, "jane", "wrong").await.page();
    assert!(
        again.path.starts_with("/ui/login?flow="),
        "a page of its own: {}",
        again.path
    );
    assert!(again.has("notice"), "{}", again.html);
    assert_eq!(again.value_of("username"), "jane", "the name is kept");
    assert!(
        !again.html.contains("value=\"wrong\""),
        "the password is not"
    );

    let unknown = browser.log_in(&login, "nobody", "wrong").await.page();
    assert_eq!(
        again.text_of("notice"),
        unknown.text_of("notice"),
        "it tells who exists"
    );
    let empty = browser.log_in(&login, "", "").await.page();
    assert!(empty.has("notice"));

    let handed = finish(
        &mut browser,
        crate::support::agent::Stop::Page(again),
        "jane",
    )
    .await;
    assert!(handed.contains_key("code"));
}

#[tokio::test]
async fn a_user_who_is_locked_or_has_no_password_does_not_get_in() {
    let (server, _) = house().await;
    let id = user(&server, "joe").await;
    let store = &server.app().store;
    let joe = store.find_user(&id).await.unwrap().value.unwrap();
    let update = signet::store::UserUpdate {
        expected_version: joe.version,
        user: Box::new(signet_oauth::user::User {
            locked: true,
            ..joe
        }),
        ends: signet::store::Ends::TokensAndSessions,
        until: server.clock.now().plus(86_400),
    };
    store.update_user(update).await.unwrap();
    let mut browser = Browser::new(&server);
    let login = browser.open(&request(&[])).await.page();
    let stop = browser
        .log_in(&login, "joe", &password_of("joe"))
        .await
        .page();
    assert!(
        stop.path.starts_with("/ui/login") && stop.has("notice"),
        "{}",
        stop.html
    );
    let stop = browser.log_in(&login, "joe", "wrong").await.page();
    assert!(
        stop.path.starts_with("/ui/login") && stop.has("notice"),
        "{}",
        stop.html
    );
}

#[tokio::test]
async fn whoever_cancels_or_denies_is_sent_back_with_access_denied() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let login = browser.open(&request(&[])).await.page();
    let handed = browser
        .submit(&login, &[("action", "cancel")])
        .await
        .handed();
    assert_eq!(
        (&*handed["error"], &*handed["state"]),
        ("access_denied", "the-state")
    );
    assert_eq!(handed["iss"], ISSUER);
    assert!(!browser.cookies.contains_key("signet_session"));

    let login = browser.open(&request(&[])).await.page();
    let consent = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .page();
    let handed = browser
        .submit(&consent, &[("action", "deny")])
        .await
        .handed();
    assert_eq!(
        (&*handed["error"], &*handed["state"]),
        ("access_denied", "the-state")
    );
    assert!(!handed.contains_key("code"));
}

#[tokio::test]
async fn a_consent_is_remembered_and_asked_again_for_more() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    log_in(&mut browser, "jane", &[("scope", "openid profile")]).await;
    let silent = browser
        .open(&request(&[("scope", "openid")]))
        .await
        .handed();
    assert!(silent.contains_key("code"), "less than was allowed");
    let page = browser
        .open(&request(&[("scope", "openid email")]))
        .await
        .page();
    assert!(
        page.path.starts_with("/ui/consent"),
        "more than was allowed: {}",
        page.path
    );
    browser.allow(&page).await.handed();
    let both = request(&[("scope", "openid profile email")]);
    let silent = browser.open(&both).await.handed();
    assert!(
        silent.contains_key("code"),
        "what was allowed one by one adds up"
    );

    let mut elsewhere = Browser::new(&server);
    let login = elsewhere.open(&both).await.page();
    let handed = elsewhere
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .handed();
    assert!(
        handed.contains_key("code"),
        "the consent is the user's, not the browser's"
    );
}

#[tokio::test]
async fn a_box_that_is_not_ticked_is_not_granted() {
    let (server, secret) = house().await;
    let mut browser = Browser::new(&server);
    let login = browser
        .open(&request(&[("scope", "openid profile email")]))
        .await
        .page();
    let consent = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .page();
    let fields = [("scope", "email"), ("scope", "read"), ("action", "allow")];
    let handed = browser.submit(&consent, &fields).await.handed();
    let answer = redeem(&server, &secret, &handed["code"], &[]).await.json();
    assert_eq!(
        answer["scope"], "openid email",
        "what was ticked, and nothing that was not asked"
    );
    let silent = browser
        .open(&request(&[("scope", "openid email"), ("prompt", "none")]))
        .await;
    assert!(
        !silent.handed().contains_key("code"),
        "it was not to be remembered"
    );
}

#[tokio::test]
async fn a_first_party_client_asks_for_no_consent() {
    let (server, _) = house().await;
    app(&server, "ours", json!({"skip_consent": true})).await;
    let mut browser = Browser::new(&server);
    let login = browser
        .open(&request(&[("client_id", "ours")]))
        .await
        .page();
    let handed = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .handed();
    assert!(handed.contains_key("code"));
}

#[tokio::test]
async fn a_post_to_the_endpoint_is_a_request_like_any_other_and_keeps_the_session() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    log_in(&mut browser, "jane", &[]).await;
    let long = "x".repeat(1000);
    for state in ["short", &long] {
        let form = [
            ("client_id", "app"),
            ("response_type", "code"),
            ("redirect_uri", CALLBACK),
            ("scope", "openid"),
            ("state", state),
        ];
        // A POST from elsewhere comes without the Lax cookies; the GET that follows has them.
        let cookies = std::mem::take(&mut browser.cookies);
        let answer = browser
            .send(browser.call("POST", "/oauth2/authorize").form(&form))
            .await;
        browser.cookies = cookies;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let handed = browser.open(answer.header("location")).await.handed();
        assert_eq!(handed["state"], state);
        assert!(handed.contains_key("code"), "{handed:?}");
    }
}

#[tokio::test]
async fn the_old_path_is_the_same_endpoint() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let old = request(&[]).replace("/oauth2/authorize", "/oauth2/auth");
    let stop = browser.open(&old).await;
    assert!(
        finish(&mut browser, stop, "jane")
            .await
            .contains_key("code")
    );
}

#[tokio::test]
async fn a_request_uses_no_more_of_an_address_than_browsers_and_proxies_take() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let (_, challenge) = pkce("budget");
    let usual = request(&[
        ("scope", "openid profile email offline_access"),
        ("state", &"s".repeat(64)),
        ("nonce", &"n".repeat(64)),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("login_hint", "jane@example.com"),
        ("ui_locales", "de en"),
    ]);
    let login = browser.open(&usual).await.page();
    assert!(login.flow().len() <= 1800, "{}", login.flow().len());
    let consent = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .page();
    assert!(consent.flow().len() <= 1800, "{}", consent.flow().len());

    let long = request(&[("state", &"s".repeat(7000))]);
    let page = browser.open(&long).await;
    let told = match page {
        crate::support::agent::Stop::Page(page) => page.text_of("error-code"),
        away @ crate::support::agent::Stop::Away(_) => away.handed()["error"].clone(),
    };
    assert_eq!(told, "invalid_request", "what cannot travel is refused");
}

#[tokio::test]
async fn a_login_that_took_too_long_begins_again_and_ends_well() {
    let (server, _) = frozen_house().await;
    let mut browser = Browser::new(&server);
    let login = browser.open(&request(&[])).await.page();
    server.clock.advance(3600);
    let again = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .page();
    assert!(
        again.path.starts_with("/ui/login") && again.has("notice"),
        "{}",
        again.html
    );
    let consent = browser
        .log_in(&again, "jane", &password_of("jane"))
        .await
        .page();
    server.clock.advance(3600);
    let again = browser.allow(&consent).await.page();
    assert!(
        again.path.starts_with("/ui/login"),
        "nobody had been logged in: {}",
        again.path
    );
    let handed = finish(
        &mut browser,
        crate::support::agent::Stop::Page(again),
        "jane",
    )
    .await;
    assert_eq!(handed["state"], "the-state");
    assert!(handed.contains_key("code"));
}

#[tokio::test]
async fn two_tabs_and_the_back_button_work() {
    let (server, _) = house().await;
    app(&server, "other", json!({"client_name": "Other"})).await;
    let mut browser = Browser::new(&server);
    let first = browser.open(&request(&[("state", "first")])).await.page();
    let second = browser
        .open(&request(&[("state", "second"), ("client_id", "other")]))
        .await
        .page();

    let stop = browser.log_in(&first, "jane", &password_of("jane")).await;
    assert_eq!(finish(&mut browser, stop, "jane").await["state"], "first");
    // The second tab still shows the login page. Whoever uses it is logged in by now.
    let stop = browser.log_in(&second, "jane", &password_of("jane")).await;
    let consent = stop.page();
    assert_eq!(consent.text_of("client-name"), "Other");
    assert_eq!(browser.allow(&consent).await.handed()["state"], "second");
    // Back to the consent page, and again.
    assert_eq!(browser.allow(&consent).await.handed()["state"], "second");
    // Back to the first login page, and again.
    let stop = browser.log_in(&first, "jane", &password_of("jane")).await;
    assert_eq!(finish(&mut browser, stop, "jane").await["state"], "first");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_began_on_one_node_ends_on_another() {
    let first = Server::on(On::Postgres, &[]);
    let secret = furnish(&first).await;
    let second = first.beside();
    let mut browser = Browser::new(&first);
    let login = browser.open(&request(&[])).await.page();
    browser.moved_to(&second);
    let consent = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .page();
    browser.moved_to(&first);
    let handed = browser.allow(&consent).await.handed();
    let answer = redeem(&second, &secret, &handed["code"], &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    browser.moved_to(&second);
    let silent = browser.open(&request(&[("prompt", "none")])).await.handed();
    assert!(silent.contains_key("code"), "{silent:?}");
}
