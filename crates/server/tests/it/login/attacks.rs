//! What attackers try on a login: forged, foreign and replayed states, planted cookies, frames,
//! guesses. One named test for each row of the checklists that applies.

use std::collections::BTreeMap;

use super::{CALLBACK, app, finish, furnish, house, log_in, password_of, redeem, request, user};
use crate::support::agent::{Browser, Page, Stop, pkce};
use crate::support::http::escape;
use crate::support::{ISSUER, Server};
use serde_json::json;

/// The pages of a login, up to the consent page.
async fn pages(browser: &mut Browser) -> (Page, Page) {
    let login = browser.open(&request(&[])).await.page();
    let consent = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .page();
    (login, consent)
}

#[tokio::test]
async fn csrf_a_form_from_another_browser_does_nothing_but_begin_again() {
    let (server, _) = house().await;
    user(&server, "mallory").await;
    let mut mallory = Browser::new(&server);
    let (login, consent) = pages(&mut mallory).await;

    // The victim has been here before, and is made to send the attacker's form with the attacker's
    // password (login CSRF), or the attacker's consent.
    let mut victim = Browser::new(&server);
    victim.open(&request(&[])).await.page();
    let page = victim
        .log_in(&login, "mallory", &password_of("mallory"))
        .await
        .page();
    assert!(page.path.starts_with("/ui/login"), "{}", page.path);
    assert!(
        !victim.cookies.contains_key("signet_session"),
        "logged in as somebody else"
    );
    let stop = victim.submit(&consent, &[("action", "allow")]).await;
    let Stop::Page(page) = stop else {
        panic!("{stop:?}")
    };
    assert!(page.path.starts_with("/ui/login"), "{}", page.path);

    // Without any cookie the page says so; there is no circle.
    let mut bare = Browser::new(&server);
    let page = bare
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .page();
    assert_eq!(page.answer.status, 400);
    assert!(page.has("error-code"), "{}", page.html);
}

#[tokio::test]
async fn csrf_a_user_who_is_logged_in_consents_to_nothing_by_a_forged_form() {
    let (server, _) = house().await;
    app(&server, "evil", json!({})).await;
    let mut victim = Browser::new(&server);
    log_in(&mut victim, "jane", &[]).await;
    let mut mallory = Browser::new(&server);
    user(&server, "mallory").await;
    let login = mallory
        .open(&request(&[("client_id", "evil")]))
        .await
        .page();
    let consent = mallory
        .log_in(&login, "mallory", &password_of("mallory"))
        .await
        .page();
    let stop = victim.submit(&consent, &[("action", "allow")]).await;
    let Stop::Page(page) = stop else {
        panic!("consented: {stop:?}")
    };
    assert!(
        page.path.starts_with("/ui/consent"),
        "asked by a page of their own: {}",
        page.path
    );
    assert!(
        page.html.contains("jane") && !page.html.contains("mallory"),
        "{}",
        page.html
    );
}

#[tokio::test]
async fn states_that_were_tampered_with_cut_or_moved_to_another_step_are_refused() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let (login, consent) = pages(&mut browser).await;
    let flow = login.flow();
    let mut bad: Vec<String> = vec![String::new(), "x".into(), "A".repeat(200), consent.flow()];
    for at in (0..flow.len()).step_by(7) {
        let mut bytes = flow.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        bad.push(String::from_utf8(bytes).unwrap());
        bad.push(flow[..at].to_owned());
    }
    bad.push(format!("{flow}A"));
    for flow in bad {
        let shown = browser
            .open(&format!("/ui/login?flow={}", escape(&flow)))
            .await
            .page();
        assert_eq!(shown.answer.status, 400, "{flow}");
        let (name, password) = ("jane", password_of("jane"));
        let form = [
            ("flow", &*flow),
            ("username", name),
            ("password", &password),
        ];
        let sent = browser.post("/ui/login", &form).await.page();
        assert_eq!(sent.answer.status, 400, "{flow}");
        assert!(sent.has("error-code"), "{}", sent.html);
    }
    let moved = [("flow", &*login.flow()), ("action", "allow")];
    assert_eq!(
        browser
            .post("/ui/consent", &moved)
            .await
            .page()
            .answer
            .status,
        400
    );
}

#[tokio::test]
async fn cookies_that_were_tampered_with_cut_or_made_elsewhere_log_nobody_in() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    log_in(&mut browser, "jane", &[]).await;
    let silent = request(&[("prompt", "none")]);
    assert!(browser.open(&silent).await.handed().contains_key("code"));
    let good = browser.cookies["signet_session"].clone();

    let other = Server::start();
    furnish(&other).await;
    let mut stranger = Browser::new(&other);
    log_in(&mut stranger, "jane", &[]).await;
    let mut bad = vec!["x".to_owned(), stranger.cookies["signet_session"].clone()];
    for at in (0..good.len()).step_by(5) {
        let mut bytes = good.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        bad.push(String::from_utf8(bytes).unwrap());
        bad.push(good[..at].to_owned());
    }
    // Nor is the state of a login, or a code, a session.
    let login = Browser::new(&server).open(&request(&[])).await.page();
    bad.push(login.flow());
    bad.push(browser.open(&silent).await.handed()["code"].clone());
    for cookie in bad {
        browser
            .cookies
            .insert("signet_session".to_owned(), cookie.clone());
        let handed = browser.open(&silent).await.handed();
        assert_eq!(handed["error"], "login_required", "{cookie}");
    }
}

#[tokio::test]
async fn session_fixation_a_planted_nonce_or_session_is_worth_nothing_after_the_login() {
    let (server, _) = house().await;
    user(&server, "mallory").await;
    // The attacker plants their own cookies in the victim's browser.
    let mut mallory = Browser::new(&server);
    log_in(&mut mallory, "mallory", &[]).await;
    let mut victim = Browser::new(&server);
    victim.cookies.clone_from(&mallory.cookies);
    let login = victim.open(&request(&[("prompt", "login")])).await.page();
    let planted = victim.cookies.clone();
    let stop = victim.log_in(&login, "jane", &password_of("jane")).await;
    finish(&mut victim, stop, "jane").await;
    assert_ne!(victim.cookies["signet_browser"], planted["signet_browser"]);
    assert_ne!(victim.cookies["signet_session"], planted["signet_session"]);
    // What the attacker still has is their own session, and no form of theirs fits the victim.
    let page = mallory
        .open(&request(&[("prompt", "consent")]))
        .await
        .page();
    assert!(page.html.contains("mallory"), "{}", page.html);
    let stop = victim.submit(&page, &[("action", "allow")]).await;
    assert!(
        !matches!(&stop, Stop::Away(url) if url.contains("code=")),
        "{stop:?}"
    );
}

#[tokio::test]
async fn cookies_are_out_of_reach_of_scripts_and_other_sites() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    log_in(&mut browser, "jane", &[]).await;
    assert!(browser.set.len() >= 2, "{:?}", browser.set);
    for cookie in &browser.set {
        for attribute in ["; Path=/", "; HttpOnly", "; SameSite=Lax"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        assert!(!cookie.contains("Domain"), "{cookie}");
    }
    let secure = Server::with(&[
        ("issuer", "https://login.example"),
        ("dev", "false"),
        ("proxy.trusted", "127.0.0.1"),
        ("public_listen", "127.0.0.1:0"),
        ("admin_listen", "127.0.0.1:0"),
    ]);
    furnish(&secure).await;
    let answer = secure.public("GET", &request(&[])).await;
    let cookie = answer.header("set-cookie");
    assert!(
        cookie.starts_with("__Host-signet_browser=") && cookie.contains("; Secure"),
        "{cookie}"
    );
    assert!(
        answer
            .header("location")
            .starts_with("https://login.example/ui/login?flow=")
    );
}

#[tokio::test]
async fn rfc9700_every_page_forbids_frames_referrers_and_caches() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let (login, consent) = pages(&mut browser).await;
    let error = browser
        .open("/oauth2/authorize?client_id=nobody")
        .await
        .page();
    let lost = browser.open("/ui/login").await.page();
    let told = browser.open("/ui/error?error=access_denied").await.page();
    for page in [login, consent, error, lost, told] {
        let policy = page.answer.header("content-security-policy");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{}: {policy}",
            page.path
        );
        assert!(
            policy.contains("default-src 'none'"),
            "{}: {policy}",
            page.path
        );
        assert!(!policy.contains("unsafe-inline"), "{}: {policy}", page.path);
        assert_eq!(
            page.answer.header("x-frame-options"),
            "DENY",
            "{}",
            page.path
        );
        assert_eq!(
            page.answer.header("referrer-policy"),
            "no-referrer",
            "{}",
            page.path
        );
        assert_eq!(
            page.answer.header("cache-control"),
            "no-store",
            "{}",
            page.path
        );
        assert_eq!(
            page.answer.header("x-content-type-options"),
            "nosniff",
            "{}",
            page.path
        );
        assert!(
            page.answer.header("content-type").starts_with("text/html"),
            "{}",
            page.path
        );
    }
}

#[tokio::test]
async fn rfc9700_what_follows_credentials_is_303_and_the_page_names_the_way_back() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let login = browser.open(&request(&[])).await.page();
    let policy = login.answer.header("content-security-policy");
    assert!(
        policy.contains("form-action 'self' https://app.example"),
        "{policy}"
    );
    let form = login.form(&[("username", "jane"), ("password", &password_of("jane"))]);
    let form: Vec<_> = form.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let answer = browser
        .send(browser.call("POST", "/ui/login").form(&form))
        .await;
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(answer.body.is_empty());
}

#[expect(
    clippy::too_many_lines,
    reason = "one flow, told from its beginning to its end"
)]
#[tokio::test]
async fn rfc9700_pkce_cannot_be_left_out_or_added_on_the_way() {
    let (server, secret) = house().await;
    let mut browser = Browser::new(&server);
    let (verifier, challenge) = pkce("a");
    let with = [
        ("code_challenge", &*challenge),
        ("code_challenge_method", "S256"),
    ];
    let handed = log_in(&mut browser, "jane", &with).await;
    let answer = redeem(&server, &secret, &handed["code"], &[]).await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_grant".to_owned()),
        "without the verifier"
    );
    let handed = log_in(&mut browser, "jane", &with).await;
    let (wrong, _) = pkce("b");
    let answer = redeem(
        &server,
        &secret,
        &handed["code"],
        &[("code_verifier", &wrong)],
    )
    .await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_grant".to_owned()),
        "with another verifier"
    );
    let handed = log_in(&mut browser, "jane", &[]).await;
    let answer = redeem(
        &server,
        &secret,
        &handed["code"],
        &[("code_verifier", &verifier)],
    )
    .await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_grant".to_owned()),
        "a verifier without challenge"
    );

    let plain = [
        ("code_challenge", &*verifier),
        ("code_challenge_method", "plain"),
    ];
    assert_eq!(
        browser.open(&request(&plain)).await.handed()["error"],
        "invalid_request"
    );
    let mut fields = json!({"client_id": "spa", "token_endpoint_auth_method": "none"});
    fields["grant_types"] = json!(["authorization_code"]);
    fields["response_types"] = json!(["code"]);
    fields["redirect_uris"] = json!([CALLBACK]);
    fields["scope"] = json!("openid");
    server.create(fields).await;
    let handed = browser
        .open(&request(&[("client_id", "spa")]))
        .await
        .handed();
    assert_eq!(
        handed["error"], "invalid_request",
        "a public client without PKCE"
    );
}

#[tokio::test]
async fn rfc9700_mix_up_every_answer_names_the_issuer_that_discovery_names() {
    let (server, _) = house().await;
    let metadata = server
        .public("GET", "/.well-known/openid-configuration")
        .await
        .json();
    assert_eq!(
        metadata["authorization_response_iss_parameter_supported"],
        true
    );
    assert_eq!(metadata["issuer"], ISSUER);
    let mut browser = Browser::new(&server);
    let handed = log_in(&mut browser, "jane", &[]).await;
    assert_eq!(handed["iss"], ISSUER);
    let refused = browser
        .open(&request(&[("scope", "nonsense")]))
        .await
        .handed();
    assert_eq!(refused["iss"], ISSUER);
}

#[tokio::test]
async fn code_injection_a_code_is_good_for_its_own_client_and_redirect_uri_only() {
    let (server, secret) = house().await;
    let other = app(&server, "other", json!({})).await;
    let mut browser = Browser::new(&server);
    let handed = log_in(&mut browser, "jane", &[]).await;
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &*handed["code"]),
        ("redirect_uri", CALLBACK),
    ];
    let answer = server
        .public("POST", "/oauth2/token")
        .basic("other", &other)
        .form(&form)
        .await;
    assert_eq!(answer.refusal(), (400, "invalid_grant".to_owned()));
    let elsewhere = [("redirect_uri", "https://evil.example/")];
    let handed = log_in(&mut browser, "jane", &[]).await;
    let form: BTreeMap<_, _> = [
        ("grant_type", "authorization_code"),
        ("code", &*handed["code"]),
    ]
    .into_iter()
    .chain(elsewhere)
    .collect();
    let form: Vec<_> = form.into_iter().collect();
    let answer = server
        .public("POST", "/oauth2/token")
        .basic("app", &secret)
        .form(&form)
        .await;
    assert_eq!(answer.refusal(), (400, "invalid_grant".to_owned()));
    // A code is no state, and a state is no code.
    let login = Browser::new(&server).open(&request(&[])).await.page();
    let answer = redeem(&server, &secret, &login.flow(), &[]).await;
    assert_eq!(answer.refusal(), (400, "invalid_grant".to_owned()));
}

#[tokio::test]
async fn a_replayed_login_form_ends_where_a_new_login_would() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let (login, consent) = pages(&mut browser).await;
    let first = browser.allow(&consent).await.handed();
    let again = browser.allow(&consent).await.handed();
    assert_ne!(first["code"], again["code"], "a code of its own");
    // After the session has ended, the consent of then logs nobody in.
    let sessions = server
        .app()
        .store
        .list_sessions(&owner(&server, &first))
        .await
        .unwrap();
    assert_eq!(
        sessions.len(),
        1,
        "one login is one session, however often it is sent"
    );
    end_session(&server, sessions[0].id).await;
    let page = browser.allow(&consent).await.page();
    assert!(page.path.starts_with("/ui/login"), "{}", page.path);
    let page = browser.log_in(&login, "jane", "wrong").await.page();
    assert!(page.path.starts_with("/ui/login"), "{}", page.path);
}

fn owner(server: &Server, handed: &BTreeMap<String, String>) -> signet_oauth::user::UserId {
    signet::flow::code::open_code(server.app(), &handed["code"])
        .unwrap()
        .user
}

async fn end_session(server: &Server, id: [u8; 16]) {
    let ending = signet::store::Ending {
        kind: signet::store::EndingKind::Session,
        key: id,
        until: server.clock.now().plus(86_400),
    };
    server.app().store.end(vec![ending]).await.unwrap();
}

#[tokio::test]
async fn a_session_that_ended_or_whose_user_changed_the_password_logs_nobody_in() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let handed = log_in(&mut browser, "jane", &[]).await;
    let silent = request(&[("prompt", "none")]);
    let id = owner(&server, &handed);
    let sessions = server.app().store.list_sessions(&id).await.unwrap();
    end_session(&server, sessions[0].id).await;
    assert_eq!(
        browser.open(&silent).await.handed()["error"],
        "login_required"
    );

    log_in(&mut browser, "jane", &[]).await;
    assert!(browser.open(&silent).await.handed().contains_key("code"));
    let store = &server.app().store;
    let jane = store.find_user(&id).await.unwrap().value.unwrap();
    let update = signet::store::UserUpdate {
        expected_version: jane.version,
        user: Box::new(jane),
        ends: signet::store::Ends::TokensAndSessions,
        until: server.clock.now().plus(86_400),
    };
    store.update_user(update).await.unwrap();
    assert_eq!(
        browser.open(&silent).await.handed()["error"],
        "login_required"
    );
}

#[tokio::test]
async fn a_session_ends_by_itself() {
    let (server, _) = super::frozen_house().await;
    let mut browser = Browser::new(&server);
    log_in(&mut browser, "jane", &[]).await;
    let silent = request(&[("prompt", "none")]);
    server.clock.advance(43_199);
    assert!(browser.open(&silent).await.handed().contains_key("code"));
    server.clock.advance(1);
    assert_eq!(
        browser.open(&silent).await.handed()["error"],
        "login_required"
    );
}

#[tokio::test]
async fn guessing_is_stopped_and_the_page_says_to_wait() {
    let (server, _) = house().await;
    let mut browser = Browser::new(&server);
    let mut page = browser.open(&request(&[])).await.page();
    let mut said = Vec::new();
    for _ in 0..30 {
        page = browser.log_in(&page, "jane", "guess").await.page();
        said.push(page.answer.status);
    }
    assert_eq!(said.last(), Some(&429), "{said:?}");
    let page = browser
        .log_in(&page, "jane", &password_of("jane"))
        .await
        .page();
    assert_eq!(
        page.answer.status, 429,
        "a right guess is not told from a wrong one any more"
    );
}

#[tokio::test]
async fn text_from_outside_is_never_markup() {
    let (server, _) = house().await;
    let evil = "\"><script>alert(1)</script>";
    app(
        &server,
        "evil",
        json!({"client_name": evil, "policy_uri": "javascript:alert(1)"}),
    )
    .await;
    let mut browser = Browser::new(&server);
    let login = browser
        .open(&request(&[
            ("client_id", "evil"),
            ("login_hint", evil),
            ("state", evil),
        ]))
        .await
        .page();
    let wrong = browser.log_in(&login, evil, "x").await.page();
    let consent = browser
        .log_in(&login, "jane", &password_of("jane"))
        .await
        .page();
    let error = browser
        .open(&format!("/ui/error?error={}", escape(evil)))
        .await
        .page();
    for page in [login, wrong, consent, error] {
        assert!(!page.html.contains("<script>alert"), "{}", page.html);
        assert!(!page.html.contains("javascript:"), "{}", page.html);
    }
}
