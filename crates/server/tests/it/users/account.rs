//! `/ui/account`: what somebody does to their own account, and what nobody does to another's.

use serde_json::json;
use signet::flow::authorize::session::seal;
use signet::store::NewLogin;
use signet_oauth::consent::Consent;
use signet_oauth::ids::ClientId;
use signet_oauth::scope::Scope;
use signet_oauth::session::Session;
use signet_oauth::user::User;

use super::endings::{person, session};
use crate::support::agent::{Browser, Page};
use crate::support::people::{PASSWORD, login_client};
use crate::support::{On, Server, on_every_store};

on_every_store! {
    somebody_ends_their_other_session_and_their_own
    somebody_takes_its_access_from_an_application
    a_new_password_ends_every_session_but_makes_one_here
    a_form_of_another_session_does_nothing
}

const ACCOUNT: &str = "/ui/account";
const END: &str = "/ui/account/sessions/end";
const WITHDRAW: &str = "/ui/account/applications/withdraw";
const CHANGE: &str = "/ui/account/password";
const LOGOUT: &str = "/ui/account/logout";

/// A browser in which a user is logged in.
async fn browser(server: &Server, user: &User) -> (Browser, Session) {
    let session = session(server, user).await;
    let mut browser = Browser::new(server);
    let cookie = seal(server.app(), &session);
    browser.cookies.insert("signet_session".to_owned(), cookie);
    (browser, session)
}

async fn account(browser: &mut Browser) -> Page {
    browser.open(ACCOUNT).await.page()
}

async fn status(browser: &mut Browser) -> u16 {
    account(browser).await.answer.status
}

/// The tokens of the forms that go there.
fn tokens(page: &Page, action: &str) -> Vec<String> {
    let ours = |form: &&str| form.contains(&format!("{action}\""));
    let forms = page.html.split("<form").skip(1).filter(ours);
    let token = |form: &str| {
        let rest = form.split("name=\"token\" value=\"").nth(1).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    forms.map(token).collect()
}

#[tokio::test]
async fn who_is_not_signed_in_sees_no_account() {
    let server = Server::start();
    let page = Browser::new(&server).open(ACCOUNT).await.page();
    assert_eq!(page.answer.status, 400);
    assert!(tokens(&page, LOGOUT).is_empty());
    for path in [END, WITHDRAW, CHANGE, LOGOUT] {
        let refused = Browser::new(&server).post(path, &[("token", "x")]).await;
        assert_eq!(refused.page().answer.status, 400, "{path}");
    }
}

async fn somebody_ends_their_other_session_and_their_own(on: On) {
    let server = Server::on(on, &[]);
    let jane = person(&server, "jane").await;
    let (mut here, _) = browser(&server, &jane).await;
    let (mut there, _) = browser(&server, &jane).await;
    let page = account(&mut here).await;
    assert_eq!(page.answer.status, 200, "{}", page.html);
    let ends = tokens(&page, END);
    assert_eq!(ends.len(), 2);
    // The current session comes first.
    let page = here.post(END, &[("token", &ends[1])]).await.page();
    assert!(page.path.starts_with("/ui/account?done="), "{}", page.path);
    assert!(page.has("notice"));
    assert_eq!(tokens(&page, END).len(), 1);
    assert_eq!(
        (status(&mut there).await, status(&mut here).await),
        (400, 200)
    );
    let out = tokens(&page, LOGOUT);
    let kept = here.cookies.clone();
    let page = here.post(LOGOUT, &[("token", &out[0])]).await.page();
    assert!(page.has("signed-out"), "{}", page.html);
    here.cookies = kept;
    assert_eq!(
        status(&mut here).await,
        400,
        "a cookie that was kept is worth nothing"
    );
}

async fn somebody_takes_its_access_from_an_application(on: On) {
    let server = Server::on(on, &[]);
    let jane = person(&server, "jane").await;
    let secret = server
        .quick("app", login_client(&json!({"client_name": "Shop"})))
        .await;
    let consent = Consent {
        user: jane.id.clone(),
        client: ClientId::parse("app").unwrap(),
        scope: Scope::parse("openid read").unwrap(),
        granted_at: server.clock.now(),
        expires_at: None,
    };
    let login = NewLogin {
        session: None,
        consent: Some(consent),
    };
    server.app().store.log_in(login).await.unwrap();
    let issued = server.logged_in(("app", &secret), &jane).await;
    let (mut here, _) = browser(&server, &jane).await;
    let page = account(&mut here).await;
    assert!(page.html.contains("Shop"));
    let withdraw = tokens(&page, WITHDRAW);
    let page = here.post(WITHDRAW, &[("token", &withdraw[0])]).await.page();
    assert!(page.has("notice") && tokens(&page, WITHDRAW).is_empty());
    assert!(
        !server
            .is_active(issued["access_token"].as_str().unwrap())
            .await
    );
}

async fn a_new_password_ends_every_session_but_makes_one_here(on: On) {
    let server = Server::on(on, &[]);
    let jane = person(&server, "jane").await;
    let (mut here, _) = browser(&server, &jane).await;
    let (mut there, _) = browser(&server, &jane).await;
    let token = tokens(&account(&mut here).await, CHANGE).remove(0);
    let form = |current: &'static str, new: &'static str, again: &'static str| {
        [
            ("token", token.as_str()),
            ("current_password", current),
            ("new_password", new),
            ("new_password_again", again),
        ]
    };
    for (current, new, again, expected) in [
        ("wrong", "new password", "new password", 403),
        (PASSWORD, "new password", "new passwort", 400),
        (PASSWORD, "short", "short", 400),
        ("", "new password", "new password", 403),
    ] {
        let page = here.post(CHANGE, &form(current, new, again)).await.page();
        assert_eq!(page.answer.status, expected, "{current} {new} {again}");
    }
    assert_eq!(status(&mut there).await, 200, "nothing has happened yet");
    let before = here.cookies.clone();
    let right = form(PASSWORD, "new password", "new password");
    let page = here.post(CHANGE, &right).await.page();
    assert_eq!(page.answer.status, 200, "{}", page.html);
    assert!(page.path.starts_with("/ui/account?done="), "{}", page.path);
    assert_eq!(tokens(&page, END).len(), 1, "one session: this one");
    assert_eq!(status(&mut there).await, 400);
    here.cookies = before;
    assert_eq!(status(&mut here).await, 400);
}

async fn a_form_of_another_session_does_nothing(on: On) {
    let server = Server::on(on, &[]);
    let (jane, mallory) = (
        person(&server, "jane").await,
        person(&server, "mallory").await,
    );
    let (mut here, _) = browser(&server, &jane).await;
    let (mut evil, _) = browser(&server, &mallory).await;
    let foreign = tokens(&account(&mut evil).await, END).remove(0);
    let own = tokens(&account(&mut here).await, END).remove(0);
    let cut = &own[..own.len() - 2];
    for (path, token) in [
        (END, &*foreign),
        (END, cut),
        (END, ""),
        (LOGOUT, &own),
        (CHANGE, &own),
    ] {
        let page = here.post(path, &[("token", token)]).await.page();
        assert_eq!(page.answer.status, 400, "{path} {token}");
    }
    assert_eq!(here.post(END, &[]).await.page().answer.status, 400);
    let page = evil.post(END, &[("token", &own)]).await.page();
    assert_eq!(page.answer.status, 400);
    assert_eq!(
        (status(&mut here).await, status(&mut evil).await),
        (200, 200)
    );
}
