//! `GET|POST /oauth2/logout`, `/ui/logout`: the module of the conformance suite for RP-initiated
//! logout, and what strangers try with it.

use serde_json::{Value, json};

use super::{CALLBACK, app, log_in, redeem, request, user};
use crate::support::agent::{Browser, Page, Stop, query};
use crate::support::jwt::{self, Key};
use crate::support::{ISSUER, On, Server};

const OUT: &str = "https://app.example/out";

/// A server with `jane` and the client `app`, which may take people to [`OUT`].
async fn house(on: On) -> (Server, String) {
    let server = Server::on(on, &[]);
    user(&server, "jane").await;
    let secret = app(&server, "app", json!({"post_logout_redirect_uris": [OUT]})).await;
    (server, secret)
}

/// Jane logs in, and her application has its tokens.
async fn tokens(server: &Server, secret: &str, browser: &mut Browser) -> Value {
    let handed = log_in(browser, "jane", &[]).await;
    let answer = redeem(server, secret, &handed["code"], &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn logout(pairs: &[(&str, &str)]) -> String {
    format!("/oauth2/logout?{}", query(pairs))
}

async fn is_logged_in(browser: &mut Browser) -> bool {
    let silent = request(&[("prompt", "none")]);
    let handed = browser.open(&silent).await.handed();
    assert!(
        handed.contains_key("code") || handed["error"] == "login_required",
        "{handed:?}"
    );
    handed.contains_key("code")
}

fn is_question(page: &Page) -> bool {
    page.answer.status == 200 && page.has("logout-confirm") && page.has("logout-cancel")
}

async fn confirm(browser: &mut Browser, page: &Page) -> Stop {
    browser.submit(page, &[("action", "confirm")]).await
}

#[tokio::test]
async fn with_hint_uri_and_state_the_session_ends_without_a_question() {
    let (server, secret) = house(On::Sqlite).await;
    for (state, expected) in [
        ("a b&c", format!("{OUT}?state=a+b%26c")),
        ("", OUT.to_owned()),
    ] {
        for by_post in [false, true] {
            let mut browser = Browser::new(&server);
            let tokens = tokens(&server, &secret, &mut browser).await;
            let hint = tokens["id_token"].as_str().unwrap();
            let mut pairs = vec![("id_token_hint", hint), ("post_logout_redirect_uri", OUT)];
            if !state.is_empty() {
                pairs.push(("state", state));
            }
            let stop = if by_post {
                browser.post("/oauth2/logout", &pairs).await
            } else {
                browser.open(&logout(&pairs)).await
            };
            assert_eq!(stop.away(), expected);
            assert!(!browser.cookies.contains_key("signet_session"));
            assert!(!is_logged_in(&mut browser).await);
        }
    }
}

#[tokio::test]
async fn the_path_of_hydra_and_a_stale_hint_do_it_too() {
    let server = Server::frozen(On::Sqlite, &[]);
    user(&server, "jane").await;
    let secret = app(&server, "app", json!({"post_logout_redirect_uris": [OUT]})).await;
    let mut browser = Browser::new(&server);
    let tokens = tokens(&server, &secret, &mut browser).await;
    server.clock.advance(4000);
    let hint = tokens["id_token"].as_str().unwrap();
    let pairs = [("id_token_hint", hint), ("post_logout_redirect_uri", OUT)];
    let path = format!("/oauth2/sessions/logout?{}", query(&pairs));
    assert_eq!(browser.open(&path).await.away(), OUT);
    assert!(!is_logged_in(&mut browser).await);
}

#[tokio::test]
async fn a_cookie_that_was_kept_is_worth_nothing_after_the_logout() {
    let (server, secret) = house(On::Sqlite).await;
    let mut browser = Browser::new(&server);
    let tokens = tokens(&server, &secret, &mut browser).await;
    let mut thief = browser.clone();
    assert!(is_logged_in(&mut thief).await);
    let hint = tokens["id_token"].as_str().unwrap();
    let told = browser.open(&logout(&[("id_token_hint", hint)])).await;
    assert!(told.page().has("signed-out"));
    assert!(!is_logged_in(&mut thief).await);
}

#[tokio::test]
async fn nothing_but_a_registered_uri_is_gone_to_and_bad_hints_end_nothing() {
    let (server, secret) = house(On::Sqlite).await;
    let other = json!({"post_logout_redirect_uris": ["https://other.example/out"]});
    app(&server, "other", other).await;
    let mut browser = Browser::new(&server);
    let tokens = tokens(&server, &secret, &mut browser).await;
    let hint = tokens["id_token"].as_str().unwrap();
    let claims = jwt::read(hint).1;
    let stranger = Key::of("RS256").sign(&json!({"alg": "RS256", "typ": "JWT"}), &claims);
    let payload = hint.split('.').nth(1).unwrap();
    let unsigned = format!("{}.{payload}.", jwt::encode(r#"{"alg":"none"}"#));
    let changed = jwt::with_claims(hint, |claims| claims["sub"] = "usr_mallory".into());
    let access = tokens["access_token"].as_str().unwrap();
    for (hint, uri, client) in [
        (hint, "https://evil.example/", ""),
        (hint, "https://app.example/out?x=1", ""),
        (hint, "https://app.example/out/", ""),
        (hint, "https://other.example/out", ""),
        (hint, "//evil.example", ""),
        (hint, "javascript:alert(1)", ""),
        (hint, CALLBACK, ""),
        (hint, OUT, "other"),
        (&*stranger, OUT, ""),
        (&*unsigned, OUT, ""),
        (&*changed, OUT, ""),
        (access, OUT, ""),
        ("nonsense", OUT, ""),
        ("", OUT, "other"),
        ("", "https://evil.example/", "app"),
        ("", OUT, "nobody"),
    ] {
        let pairs = [
            ("id_token_hint", hint),
            ("post_logout_redirect_uri", uri),
            ("client_id", client),
        ];
        let pairs: Vec<_> = pairs.into_iter().filter(|(_, v)| !v.is_empty()).collect();
        let page = browser.open(&logout(&pairs)).await.page();
        assert_eq!(page.answer.status, 400, "{pairs:?} {}", page.html);
        assert!(page.has("error-code"), "{pairs:?}");
        assert!(is_logged_in(&mut browser).await, "{pairs:?}");
    }
}

#[tokio::test]
async fn without_a_hint_the_user_is_asked_and_may_stay() {
    let (server, secret) = house(On::Sqlite).await;
    let with_client = [
        ("client_id", "app"),
        ("post_logout_redirect_uri", OUT),
        ("state", "s"),
    ];
    let unknown = [("post_logout_redirect_uri", OUT)];
    for (pairs, onward) in [
        (&with_client[..], Some(format!("{OUT}?state=s"))),
        (&unknown, None),
        (&[("state", "s")], None),
        (&[], None),
    ] {
        let mut browser = Browser::new(&server);
        tokens(&server, &secret, &mut browser).await;
        let page = browser.open(&logout(pairs)).await.page();
        assert!(is_question(&page), "{pairs:?} {}", page.html);
        assert!(is_logged_in(&mut browser).await, "{pairs:?}");
        let kept = browser.submit(&page, &[("action", "cancel")]).await.page();
        assert!(!kept.has("signed-out"), "{}", kept.html);
        assert!(is_logged_in(&mut browser).await, "{pairs:?}");
        let stop = confirm(&mut browser, &page).await;
        match onward {
            Some(url) => assert_eq!(stop.away(), url),
            None => assert!(stop.page().has("signed-out"), "{pairs:?}"),
        }
        assert!(!is_logged_in(&mut browser).await, "{pairs:?}");
    }
}

#[tokio::test]
async fn who_is_not_logged_in_is_told_so() {
    let (server, _) = house(On::Sqlite).await;
    let mut browser = Browser::new(&server);
    for path in ["/oauth2/logout", "/ui/logout", "/ui/signed-out"] {
        assert!(browser.open(path).await.page().has("signed-out"), "{path}");
    }
}

#[tokio::test]
async fn the_hint_of_another_session_does_not_end_this_one_unasked() {
    let (server, secret) = house(On::Sqlite).await;
    let (mut here, mut elsewhere) = (Browser::new(&server), Browser::new(&server));
    tokens(&server, &secret, &mut here).await;
    let foreign = tokens(&server, &secret, &mut elsewhere).await;
    let hint = foreign["id_token"].as_str().unwrap();
    let pairs = [("id_token_hint", hint), ("post_logout_redirect_uri", OUT)];
    let page = here.open(&logout(&pairs)).await.page();
    assert!(is_question(&page), "{}", page.html);
    assert!(is_logged_in(&mut here).await);
    assert!(is_logged_in(&mut elsewhere).await);
}

#[tokio::test]
async fn a_question_of_another_browser_is_no_answer_of_this_one() {
    let (server, secret) = house(On::Sqlite).await;
    let (mut victim, mut attacker) = (Browser::new(&server), Browser::new(&server));
    tokens(&server, &secret, &mut victim).await;
    tokens(&server, &secret, &mut attacker).await;
    let page = attacker.open("/oauth2/logout").await.page();
    let flow = page.flow();
    // A forged form that the victim's cookies come along with asks the victim.
    let answered = victim
        .post("/ui/logout", &[("flow", &flow), ("action", "confirm")])
        .await;
    assert!(is_question(&answered.page()));
    assert!(is_logged_in(&mut victim).await);
    // One without its cookies, without a question, or with a broken one ends nothing either.
    let mut bare = Browser::new(&server);
    let mut broken = flow.clone();
    broken.replace_range(20..21, if &flow[20..21] == "A" { "B" } else { "A" });
    let login = Browser::new(&server)
        .open(&request(&[]))
        .await
        .page()
        .flow();
    let (mut again, mut empty) = (victim.clone(), victim.clone());
    for (browser, flow) in [
        (&mut bare, Some(&flow)),
        (&mut victim, Some(&broken)),
        (&mut again, Some(&login)),
        (&mut empty, None),
    ] {
        let mut form = vec![("action", "confirm")];
        form.extend(flow.map(|flow| ("flow", &**flow)));
        let page = browser.post("/ui/logout", &form).await.page();
        assert_eq!(page.answer.status, 400, "{}", page.html);
    }
    assert!(is_logged_in(&mut victim).await);
}

#[tokio::test]
async fn a_question_that_was_open_for_too_long_is_asked_again() {
    let server = Server::frozen(On::Sqlite, &[("login.page_lifetime", "60")]);
    user(&server, "jane").await;
    let secret = app(&server, "app", json!({"post_logout_redirect_uris": [OUT]})).await;
    let mut browser = Browser::new(&server);
    tokens(&server, &secret, &mut browser).await;
    let pairs = [("client_id", "app"), ("post_logout_redirect_uri", OUT)];
    let page = browser.open(&logout(&pairs)).await.page();
    server.clock.advance(61);
    let anew = confirm(&mut browser, &page).await.page();
    assert!(is_question(&anew), "{}", anew.html);
    assert_eq!(confirm(&mut browser, &anew).await.away(), OUT);
}

/// Logs jane out at the first node and asks the second about what she had.
async fn the_tokens_of_the_session_are_dead(first: &Server, second: &Server, secret: &str) {
    let mut browser = Browser::new(first);
    let session = tokens(first, secret, &mut browser).await;
    let offline = [("scope", "openid offline_access"), ("prompt", "consent")];
    let handed = log_in(&mut browser, "jane", &offline).await;
    let kept = redeem(first, secret, &handed["code"], &[]).await.json();
    let waiting = browser.open(&request(&[])).await.handed();
    let (access, refresh) = (&session["access_token"], &session["refresh_token"]);
    let access = access.as_str().unwrap();
    assert!(second.is_active(access).await);
    let hint = session["id_token"].as_str().unwrap();
    browser
        .open(&logout(&[("id_token_hint", hint)]))
        .await
        .page();
    let follower = &second.app().follower;
    follower.catch_up(&second.app().store).await.unwrap();
    assert!(!second.is_active(access).await);
    let caller = ("app", secret);
    let refused = second.refresh(caller, refresh.as_str().unwrap()).await;
    assert_eq!(refused.refusal(), (400, "invalid_grant".to_owned()));
    let late = redeem(second, secret, &waiting["code"], &[]).await;
    assert_eq!(late.refusal(), (400, "invalid_grant".to_owned()));
    // What was allowed for when nobody is there lives on (OIDC Back-Channel Logout §2.7).
    let refreshed = second
        .refresh(caller, kept["refresh_token"].as_str().unwrap())
        .await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text());
    browser.moved_to(second);
    assert!(!is_logged_in(&mut browser).await);
}

#[tokio::test]
async fn tokens_of_an_ended_session_are_dead() {
    let (server, secret) = house(On::Sqlite).await;
    the_tokens_of_the_session_are_dead(&server, &server, &secret).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_an_ended_session_are_dead_on_another_node() {
    let (first, secret) = house(On::Postgres).await;
    let second = first.beside();
    the_tokens_of_the_session_are_dead(&first, &second, &secret).await;
}

#[tokio::test]
async fn a_refresh_token_does_not_come_back_to_life_when_its_session_would_have_expired() {
    let options = [("login.session_lifetime", "3600")];
    let server = Server::frozen(On::Sqlite, &options);
    user(&server, "jane").await;
    let fields = json!({"refresh_token_lifetime": 5_000_000});
    let secret = app(&server, "app", fields).await;
    let mut browser = Browser::new(&server);
    let session = tokens(&server, &secret, &mut browser).await;
    let hint = session["id_token"].as_str().unwrap();
    browser
        .open(&logout(&[("id_token_hint", hint)]))
        .await
        .page();
    server.clock.advance(4_500_000);
    while server
        .app()
        .store
        .flush(server.clock.now(), 30)
        .await
        .unwrap()
        .more
    {}
    let mut server = server;
    server.restart();
    let refused = server
        .refresh(("app", &secret), session["refresh_token"].as_str().unwrap())
        .await;
    assert_eq!(refused.refusal(), (400, "invalid_grant".to_owned()));
}

#[tokio::test]
async fn the_metadata_says_where_to_log_out() {
    let server = Server::start();
    let path = "/.well-known/openid-configuration";
    let document = server.public("GET", path).await.json();
    let at = format!("{ISSUER}/oauth2/logout");
    assert_eq!(document["end_session_endpoint"], at);
    for name in ["supported", "session_supported"] {
        assert_eq!(document[format!("backchannel_logout_{name}")], true);
    }
}
