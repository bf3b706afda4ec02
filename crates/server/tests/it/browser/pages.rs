//! Every page, filled in with examples, in headless Chromium: looked at by an accessibility engine,
//! walked through with the keyboard, and held to its policy.

use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use http::HeaderMap;
use signet::config::Ui;
use signet::http::pages::examples::{self, Example};
use signet::http::pages::views::LoginView;
use signet::http::pages::{Pages, see_other, static_file};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::browser::{Browser, Key};

/// What the server of the examples answers from.
struct Content {
    pages: Arc<Pages>,
    examples: Vec<Example>,
}

/// A server of all examples at `/page/NAME` and `/page/NAME/LANGUAGE`, and another, which plays the
/// application: forms are answered with a redirection to it.
struct Site {
    pages: SocketAddr,
    application: SocketAddr,
    serving: Vec<JoinHandle<()>>,
}

impl Site {
    async fn start(ui: Ui) -> Self {
        let application = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", application.local_addr().unwrap());
        let pages = Arc::new(Pages::new(&ui, "http://localhost").unwrap());
        let callback = format!("{origin}/callback");
        let content = Arc::new(Content {
            examples: examples::all(&origin),
            pages: Arc::clone(&pages),
        });
        let router = Router::new()
            .route("/page/{name}", get(page))
            .route("/page/{name}/{language}", get(page_in))
            .route("/nowhere", get(leading_nowhere))
            .route(
                "/ui/{*form}",
                post(async move |body: String| see_other(&format!("{callback}?{body}"))),
            )
            .route("/ui/static/{file}", get(static_file))
            .layer(Extension(pages))
            .with_state(content);
        let framed = format!("http://{}/page/login", listener.local_addr().unwrap());
        let frame = async move || Html(format!(r#"<iframe src="{framed}"></iframe>"#));
        let other = Router::new()
            .route("/logo.svg", get(logo))
            .route("/frame", get(frame))
            .route("/favicon.ico", get(async || ""))
            .route("/callback", get(arrived).post(posted));
        Self {
            pages: listener.local_addr().unwrap(),
            application: application.local_addr().unwrap(),
            serving: vec![
                tokio::spawn(async { axum::serve(listener, router).await.unwrap() }),
                tokio::spawn(async { axum::serve(application, other).await.unwrap() }),
            ],
        }
    }

    fn url(&self, name: &str) -> String {
        format!("http://localhost:{}/page/{name}", self.pages.port())
    }

    fn application(&self, path: &str) -> String {
        format!("http://{}{path}", self.application)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for task in &self.serving {
            task.abort();
        }
    }
}

async fn page(State(content): State<Arc<Content>>, Path(name): Path<String>) -> Response {
    render(&content, &name, "en")
}

async fn page_in(
    State(content): State<Arc<Content>>,
    Path((name, language)): Path<(String, String)>,
) -> Response {
    render(&content, &name, &language)
}

fn render(content: &Content, name: &str, language: &str) -> Response {
    let example = content
        .examples
        .iter()
        .find(|e| e.name == name)
        .expect(name);
    let locale = content.pages.locale(Some(language), &HeaderMap::new());
    (example.render)(&content.pages, locale).unwrap()
}

/// A login that does not say where it leads.
async fn leading_nowhere(State(content): State<Arc<Content>>) -> Response {
    let view = LoginView {
        client: None,
        flow: "sealed".to_owned(),
        username: "maria".to_owned(),
        notice: None,
        cancel: true,
        onward: None,
    };
    let locale = content.pages.locale(None, &HeaderMap::new());
    content.pages.render(&view, locale)
}

async fn logo() -> Response {
    let svg = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 48"><rect width="48" height="48" rx="10" fill="#0b7a75"/><path d="M13 35 24 11l11 24z" fill="#fff"/><text x="58" y="32" font-family="sans-serif" font-weight="700" font-size="22" fill="#0b7a75">acme</text></svg>"##;
    ([("content-type", "image/svg+xml")], svg).into_response()
}

async fn arrived() -> Html<&'static str> {
    Html("<title>The application</title>")
}

async fn posted(body: String) -> Html<String> {
    let shown = body.replace('&', "&amp;").replace('<', "&lt;");
    Html(format!(
        r#"<title>The application</title><p id="body">{shown}</p>"#
    ))
}

/// The lines of the console that speak of something else than an answer that is meant to be one:
/// browsers note every answer from 400 on.
fn unexpected(console: Vec<String>) -> Vec<String> {
    let is_status = |line: &String| {
        line.contains("Failed to load resource: the server responded with a status of")
            && line.contains("/page/")
    };
    console
        .into_iter()
        .filter(|line| !is_status(line))
        .collect()
}

const PHONE: (u32, u32) = (375, 740);
const DESKTOP: (u32, u32) = (1280, 860);
/// The narrowest width to which content must reflow (WCAG 2.2, 1.4.10).
const NARROW: (u32, u32) = (320, 640);

async fn fits(browser: &Browser, what: &str) {
    let wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(
        browser.run(wide).await,
        0,
        "{what} is wider than its window"
    );
}

/// What `browser` shows is accessible, quiet and fits.
async fn is_good(browser: &Browser, what: &str) {
    fits(browser, what).await;
    let violations = browser.violations().await;
    assert!(violations.is_empty(), "{what}: {violations:#?}");
    let said = unexpected(browser.console().await);
    assert!(said.is_empty(), "{what}: {said:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_can_be_used_by_everybody_light_and_dark_on_phones_and_desktops() {
    let site = Site::start(Ui::default()).await;
    let browser = Browser::start().await;
    for example in examples::all("") {
        let name = example.name;
        for (scheme, device, size) in [
            ("light", "desktop", DESKTOP),
            ("dark", "desktop", DESKTOP),
            ("light", "phone", PHONE),
            ("dark", "phone", PHONE),
        ] {
            browser.resize(size.0, size.1).await;
            browser.prefer(scheme).await;
            browser.open_still(&site.url(name)).await; // one would leave its page
            is_good(&browser, &format!("{name}, {scheme}, {device}")).await;
            browser
                .keep_picture(&format!("{name}-{device}-{scheme}"))
                .await;
        }
        browser.resize(NARROW.0, NARROW.1).await;
        fits(&browser, name).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_fits_in_every_language() {
    let site = Site::start(Ui::default()).await;
    let browser = Browser::start().await;
    browser.resize(NARROW.0, NARROW.1).await;
    for language in ["de", "fr", "es"] {
        for example in examples::all("") {
            let page = format!("{}/{language}", example.name);
            browser.open_still(&site.url(&page)).await;
            fits(&browser, &page).await;
            let said = unexpected(browser.console().await);
            assert!(said.is_empty(), "{page}: {said:#?}");
            let picture = format!("{}-phone-{language}", example.name);
            browser.keep_picture(&picture).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_colour_of_an_operator_can_be_read() {
    for accent in ["#ffcc00", "#d4145a", "#000000", "#ffffff", "#7f7f7f"] {
        let colour = signet::config::Colour::parse(accent).unwrap();
        let ui = Ui {
            name: "Harbour".to_owned(),
            accent: colour,
            accent_dark: colour,
            terms: Some("https://harbour.example/terms".to_owned()),
            policy: Some("https://harbour.example/privacy".to_owned()),
            ..Ui::default()
        };
        let site = Site::start(ui).await;
        let browser = Browser::start().await;
        for scheme in ["light", "dark"] {
            browser.prefer(scheme).await;
            browser.open(&site.url("login-logo")).await;
            is_good(&browser, &format!("{accent}, {scheme}")).await;
            let picture = format!("colour-{}-{scheme}", accent.trim_start_matches('#'));
            browser.keep_picture(&picture).await;
        }
    }
}

/// What has the focus: its id, or its text.
const FOCUS: &str = "const at = document.activeElement;
    return at === document.body ? '' : at.id || at.value || at.textContent.trim();";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_reached_with_the_keyboard_in_the_order_in_which_it_is_seen() {
    let site = Site::start(Ui::default()).await;
    let browser = Browser::start().await;
    for (name, begins, order) in [
        (
            "login",
            "username",
            "password login-submit login-cancel client-policy client-tos",
        ),
        (
            "login-wrong",
            "password",
            "login-submit login-cancel client-policy client-tos",
        ),
        (
            "consent",
            "",
            "consent-remember consent-allow consent-deny client-policy client-tos",
        ),
        (
            "consent-optional",
            "",
            "profile email offline_access invoices:write reports:read consent-remember consent-allow consent-deny",
        ),
        ("logout", "", "logout-confirm logout-cancel"),
        ("error-back", "", "back"),
        (
            "account",
            "",
            "account-logout End End Withdraw Withdraw current-password new-password new-password-again password-submit",
        ),
    ] {
        browser.open(&site.url(name)).await;
        assert_eq!(browser.run(FOCUS).await, begins, "{name}");
        for expected in order.split(' ') {
            browser.press(Key::Tab).await;
            assert_eq!(browser.run(FOCUS).await, expected, "{name}");
            let outline = "const style = getComputedStyle(document.activeElement);
                return style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth);";
            let seen = browser.run(outline).await.as_f64().unwrap();
            assert!(
                seen >= 2.0,
                "{name}: the focus at {expected} cannot be seen"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_send_what_is_promised_with_and_without_scripts() {
    let site = Site::start(Ui::default()).await;
    let browser = Browser::start().await;
    for scripts in [true, false] {
        if !scripts {
            browser.scripts(false).await;
        }
        browser.open(&site.url("login")).await;
        browser.enter("username", "maria").await;
        browser.enter("password", "a b&c").await;
        browser.press(Key::Enter).await;
        let sent = "/callback?flow=sealed&username=maria&password=a+b%26c&action=login";
        browser.arrives_at(sent).await;

        // Nothing needs to be filled in to get out.
        browser.open(&site.url("login")).await;
        browser.click("login-cancel").await;
        let sent = "/callback?flow=sealed&username=&password=&action=cancel";
        browser.arrives_at(sent).await;

        browser.open(&site.url("consent-optional")).await;
        browser.press(Key::Tab).await;
        browser.press(Key::Tab).await;
        browser.press(Key::Space).await;
        browser.click("consent-allow").await;
        let sent = "/callback?flow=sealed&scope=profile&scope=offline_access\
                    &scope=invoices%3Awrite&scope=reports%3Aread&remember=1&action=allow";
        browser.arrives_at(sent).await;

        browser.open(&site.url("consent")).await;
        browser.click("consent-deny").await;
        browser
            .arrives_at("/callback?flow=sealed&remember=1&action=deny")
            .await;

        browser.open(&site.url("logout")).await;
        browser.click("logout-cancel").await;
        browser
            .arrives_at("/callback?flow=sealed&action=cancel")
            .await;
        let said = unexpected(browser.console().await);
        assert!(said.is_empty(), "{said:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_by_form_goes_by_itself_and_without_scripts_by_its_button() {
    let site = Site::start(Ui::default()).await;
    let browser = Browser::start().await;
    let sent = "code=scd_%3C%26%22%27%3E&state=af0ifjsldkj";
    browser.open(&site.url("form-post")).await;
    browser.arrives_at("/callback").await;
    assert_eq!(browser.text("body").await, sent);

    browser.scripts(false).await;
    browser.open(&site.url("form-post")).await;
    assert_eq!(browser.title().await, "One moment · Signet");
    assert!(browser.has("page-title").await && !browser.has("username").await);
    browser.click("form-post-submit").await;
    browser.arrives_at("/callback").await;
    assert_eq!(browser.text("body").await, sent);
    assert_eq!(unexpected(browser.console().await), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_leads_only_to_where_its_page_says() {
    let site = Site::start(Ui::default()).await;
    let browser = Browser::start().await;
    let nowhere = format!("http://localhost:{}/nowhere", site.pages.port());
    browser.open(&nowhere).await;
    browser.click("login-cancel").await;
    let mut console = Vec::new();
    while !console
        .iter()
        .any(|line: &String| line.contains("form-action"))
    {
        console.extend(browser.console().await);
    }
    assert!(!browser.url().await.contains("/callback"));

    // A redirection on from the application to yet another origin is for the operator to allow.
    let ui = Ui {
        redirect_origins: vec!["https://app.example".to_owned()],
        ..Ui::default()
    };
    let site = Site::start(ui).await;
    browser.open(&site.url("login")).await;
    browser.click("login-cancel").await;
    browser.arrives_at("/callback").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_other_site_shows_a_page_in_a_frame() {
    let site = Site::start(Ui::default()).await;
    let browser = Browser::start().await;
    browser.open(&site.application("/frame")).await;
    let mut console = Vec::new();
    while !console
        .iter()
        .any(|line: &String| line.contains("frame-ancestors") || line.contains("X-Frame-Options"))
    {
        console.extend(browser.console().await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_inline_runs() {
    let site = Site::start(Ui::default()).await;
    let browser = Browser::start().await;
    browser.open(&site.url("login")).await;
    let inject = "const script = document.createElement('script');
        script.textContent = 'document.title = \"taken over\"';
        document.body.append(script);
        document.body.setAttribute('style', 'display: none');
        return [document.title, getComputedStyle(document.body).display];";
    let left = browser.run(inject).await;
    assert_eq!(left, serde_json::json!(["Sign in · Signet", "flex"]));
    assert_eq!(browser.console().await.len(), 2);
}
