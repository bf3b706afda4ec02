//! What holds for every page in every language, and what an operator can change.

use std::collections::BTreeSet;
use std::fs;

use axum::response::Response;
use http::StatusCode;
use http_body_util::BodyExt;
use tempfile::TempDir;

use super::templates::{Overrides, catalogues};
use super::views::{ClientView, ErrorView, LoginNotice, LoginView, SignedOutView};
use super::*;
use crate::config::Ui;

const ISSUER: &str = "https://login.example";

fn pages() -> Pages {
    Pages::new(&Ui::default(), ISSUER).unwrap()
}

async fn text(response: Response) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.into()).unwrap()
}

fn login() -> LoginView {
    LoginView {
        client: None,
        flow: "sealed".into(),
        username: String::new(),
        notice: None,
        cancel: true,
        onward: None,
    }
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    let value = response.headers().get(name);
    value.map_or("", |value| value.to_str().unwrap())
}

#[test]
fn every_language_has_every_text_with_the_same_slots() {
    let all = catalogues(&Overrides::default()).unwrap();
    let english = all[0].1.shape();
    assert!(english.len() > 100);
    for (tag, catalogue) in &all {
        assert_eq!(catalogue.shape(), english, "{tag}");
    }
}

#[test]
fn no_text_is_only_copied_from_english() {
    let same = |text: &str| text.to_owned();
    let all = catalogues(&Overrides::default()).unwrap();
    for (tag, catalogue) in &all[1..] {
        let mut copied = BTreeSet::new();
        for key in catalogue.shape().into_keys() {
            let fill = |catalogue: &catalogue::Catalogue| {
                let text = catalogue.fill(key, |slot| Some(Value::from(same(slot))));
                text.unwrap().to_string()
            };
            if fill(catalogue) == fill(&all[0].1) {
                copied.insert(key);
            }
        }
        // The same word in both languages, or no word at all.
        copied.retain(|key| !key.starts_with("time.") && *key != "page.failed");
        assert!(copied.is_empty(), "{tag}: {copied:?}");
    }
}

#[tokio::test]
async fn every_page_is_whole_in_every_language() {
    let pages = pages();
    for example in examples::all("https://billing.example") {
        for (number, tag) in ["en", "de", "fr", "es"].into_iter().enumerate() {
            let response = (example.render)(&pages, Locale(number)).unwrap();
            assert_eq!(header(&response, "content-language"), tag);
            let html = text(response).await;
            assert!(html.contains(&format!("<html lang=\"{tag}\">")), "{html}");
            is_whole(&html, example.name);
        }
    }
}

fn is_whole(html: &str, name: &str) {
    assert!(html.starts_with("<!doctype html>"), "{name}: {html}");
    assert!(html.contains(r#"<h1 id="page-title">"#), "{name}: {html}");
    assert!(html.trim_end().ends_with("</html>"), "{name}: {html}");
    let inline = " style=|<style| onload| onclick|javascript:|<script>";
    for inline in inline.split('|') {
        assert!(!html.contains(inline), "{name} has {inline}: {html}");
    }
    let ids = html.split(" id=\"").skip(1);
    let ids: Vec<&str> = ids.map(|rest| rest.split('"').next().unwrap()).collect();
    let different: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), different.len(), "{name}: {ids:?}");
}

#[tokio::test]
async fn every_page_has_the_headers_that_protect_it() {
    let pages = pages();
    for example in examples::all("https://billing.example") {
        let response = (example.render)(&pages, Locale(0)).unwrap();
        let name = example.name;
        for (header_name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(header(&response, header_name), value, "{name}");
        }
        let policy = header(&response, "content-security-policy");
        for directive in [
            "default-src 'none';",
            "style-src 'self';",
            "frame-ancestors 'none';",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(directive), "{name}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{name}: {policy}");
        let runs = policy.contains("script-src");
        assert_eq!(runs, name == "form-post", "{name}: {policy}");
        let is_account = name.starts_with("account");
        let alone = header(&response, "cross-origin-opener-policy") == "same-origin";
        assert_eq!(
            alone, is_account,
            "{name}: popups are watched by who opened them"
        );
    }
}

/// The ids that docs/pages.md promises, by the examples that have them.
const IDS: &str = "
login: page-title client-name client-policy client-tos username password login-submit login-cancel
login-logo: client-logo
login-wrong: notice
consent: page-title client-name client-policy client-tos consent-remember consent-allow consent-deny
consent-optional: client-logo
logout: page-title client-name logout-confirm logout-cancel
signed-out: page-title signed-out
signed-out-back: back client-name
error: page-title error-code error-description
error-back: back client-name
form-post: page-title client-name form-post form-post-submit
account: page-title account-logout current-password new-password new-password-again password-submit
account-ended: notice
";

#[tokio::test]
async fn ids_are_where_they_are_promised() {
    let pages = pages();
    let document = include_str!("../../../../../docs/pages.md");
    for line in IDS.trim().lines() {
        let (name, ids) = line.split_once(": ").unwrap();
        let mut all = examples::all("https://billing.example").into_iter();
        let example = all.find(|example| example.name == name).expect(name);
        let html = text((example.render)(&pages, Locale(0)).unwrap()).await;
        for id in ids.split(' ') {
            assert!(html.contains(&format!(" id=\"{id}\"")), "{name}: {id}");
            assert!(document.contains(&format!("`{id}`")), "docs/pages.md: {id}");
        }
    }
}

#[tokio::test]
async fn what_others_wrote_stays_text() {
    let hostile = r#""><script>alert(1)</script>{{ 7 * 7 }}'&lt;"#;
    let client = ClientView::new(hostile)
        .logo(Some(&format!("https://a.example/{hostile}")))
        .policy(Some(&format!("https://a.example/{hostile}")))
        .tos(Some("javascript:alert(1)"));
    let view = LoginView {
        client: Some(client),
        flow: hostile.into(),
        username: hostile.into(),
        onward: Some(format!("https://a.example/{hostile}")),
        ..login()
    };
    let response = pages().render(&view, Locale(2));
    let policy = header(&response, "content-security-policy").to_owned();
    assert!(policy.contains("form-action 'self' https://a.example;"));
    let html = text(response).await;
    assert!(!html.contains("<script"), "{html}");
    assert!(!html.contains("49"), "{html}");
    assert!(!html.contains("javascript:"), "{html}");
    assert_eq!(html.matches("&lt;script&gt;alert(1)").count(), 6, "{html}");
}

#[tokio::test]
async fn a_failed_attempt_is_announced_and_keeps_the_name() {
    for (notice, status, retry) in [
        (LoginNotice::Wrong, 403, ""),
        (LoginNotice::Missing, 400, ""),
        (LoginNotice::Wait(61), 429, "61"),
        (LoginNotice::Busy, 503, "1"),
    ] {
        let view = LoginView {
            username: "maria".into(),
            notice: Some(notice),
            ..login()
        };
        let response = pages().render(&view, Locale(0));
        assert_eq!(response.status(), status);
        assert_eq!(header(&response, "retry-after"), retry);
        let html = text(response).await;
        assert!(
            html.contains("<title>Error: Sign in · Signet</title>"),
            "{html}"
        );
        assert!(html.contains(r#"class="notice failure" role="alert""#));
        assert!(html.contains(r#"value="maria""#));
        assert!(html.contains(r#"aria-describedby="notice""#));
    }
}

#[tokio::test]
async fn waiting_is_said_in_numbers_that_people_use() {
    for (seconds, said) in [
        (0, "in one second."),
        (1, "in one second."),
        (90, "in 90 seconds."),
        (91, "in 2 minutes."),
        (3600, "in 60 minutes."),
    ] {
        let notice = Some(LoginNotice::Wait(seconds));
        let view = LoginView { notice, ..login() };
        let html = text(pages().render(&view, Locale(0))).await;
        assert!(html.contains(said), "{seconds}: {html}");
    }
}

#[tokio::test]
async fn an_error_shows_people_less_than_the_log() {
    let response = pages().render(
        &ErrorView::of(Fault::lasting("the secret context")),
        Locale(0),
    );
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    let reason = response.extensions().get::<Reason>().unwrap();
    assert_eq!(reason.fault.as_deref(), Some("the secret context"));
    let html = text(response).await;
    assert!(html.contains(r#"<code id="error-code">server_error</code>"#));
    assert!(!html.contains("secret"), "{html}");
}

#[test]
fn there_is_no_way_back_to_a_script() {
    for url in [
        "javascript:alert(1)",
        "data:text/html,x",
        "//evil.example",
        "",
    ] {
        let view = SignedOutView::new(false).back(url);
        assert!(format!("{view:?}").contains("back: None"), "{url}");
    }
}

#[test]
fn after_a_form_the_browser_goes_on_with_get() {
    let response = see_other("https://rp.example/cb?code=a");
    assert_eq!(response.status(), 303);
    assert_eq!(
        header(&response, "location"),
        "https://rp.example/cb?code=a"
    );
    assert_eq!(header(&response, "cache-control"), "no-store");
    assert_eq!(header(&response, "referrer-policy"), "no-referrer");
    assert_eq!(see_other("a\r\nset-cookie: b=c").status(), 500);
}

#[tokio::test]
async fn static_files_are_kept_under_the_name_of_their_content() {
    let pages = Arc::new(pages());
    let name = pages.assets.name("style.css").unwrap().to_owned();
    let get =
        async |name: &str| static_file(Extension(Arc::clone(&pages)), Path(name.into())).await;
    let style = get(&name).await;
    assert_eq!(header(&style, "content-type"), "text/css; charset=utf-8");
    let kept = "public, max-age=31536000, immutable";
    assert_eq!(header(&style, "cache-control"), kept);
    assert!(text(style).await.contains("--accent: #3451b2"));
    // Another node, of another version, wrote the page.
    let other = get("style.000000000000.css").await;
    assert_eq!(
        (other.status(), header(&other, "cache-control")),
        (StatusCode::OK, "no-cache")
    );
    for missing in [
        "style.css",
        "style",
        "",
        "../style.0.css",
        "base.0.html",
        "x.0.css",
    ] {
        assert_eq!(get(missing).await.status(), 404, "{missing}");
    }
}

#[tokio::test]
async fn paths_begin_with_that_of_the_issuer() {
    let pages = Pages::new(&Ui::default(), "https://example.com/tenant").unwrap();
    let html = text(pages.render(&login(), Locale(0))).await;
    assert!(html.contains(r#"action="/tenant/ui/login""#));
    assert!(html.contains(r#"href="/tenant/ui/static/style."#));
}

#[test]
fn a_language_is_chosen() {
    let pages = pages();
    let mut headers = HeaderMap::new();
    assert_eq!(pages.locale(None, &headers), Locale(0));
    headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static("nl,de-CH;q=0.8"));
    assert_eq!(pages.locale(None, &headers), Locale(1));
    assert_eq!(pages.locale(Some("fr-CA es"), &headers), Locale(2));
    let language = "es".to_owned();
    let spanish = Pages::new(
        &Ui {
            language,
            ..Ui::default()
        },
        ISSUER,
    )
    .unwrap();
    assert_eq!(spanish.locale(None, &HeaderMap::new()), Locale(3));
}

/// An operator's directory with these files.
fn directory(files: &[(&str, &str)]) -> (TempDir, Ui) {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let templates = Some(directory.path().to_owned());
    (
        directory,
        Ui {
            templates,
            ..Ui::default()
        },
    )
}

#[tokio::test]
async fn an_operator_changes_what_he_likes_and_keeps_the_rest() {
    let own = r#"{% extends "base.html" %}{% block main %}<h1 id="page-title">Ahoy, {{ t("login.title") }}!</h1>{% endblock %}"#;
    let (_directory, ui) = directory(&[
        ("login.html", own),
        ("style.css", ".card { color: teal }"),
        ("locales/en.toml", "[login]\ntitle = \"Come in\""),
        ("locales/pt-BR.toml", "[login]\ntitle = \"Entrar\""),
        ("static/logo.svg", "<svg/>"),
    ]);
    let ui = Ui {
        name: "Harbour & Co".into(),
        logo: Some("logo.svg".into()),
        logo_dark: Some("https://cdn.example/dark.svg".into()),
        terms: Some("https://harbour.example/terms".into()),
        ..ui
    };
    let pages = Pages::new(&ui, ISSUER).unwrap();
    let response = pages.render(&login(), Locale(0));
    let policy = header(&response, "content-security-policy");
    assert!(
        policy.contains("img-src 'self' https://cdn.example;"),
        "{policy}"
    );
    let html = text(response).await;
    assert!(html.contains("Ahoy, Come in!"), "{html}");
    assert!(html.contains("· Harbour &amp; Co</title>"), "{html}");
    assert!(
        html.contains(r#"src="&#x2f;ui&#x2f;static&#x2f;logo."#),
        "{html}"
    );
    assert!(html.contains("harbour.example"), "{html}");
    assert!(pages.languages().eq(["en", "de", "fr", "es", "pt-BR"]));
    let portuguese = pages.locale(Some("pt-br"), &HeaderMap::new());
    let html = text(pages.render(&login(), portuguese)).await;
    assert!(
        html.contains("Ahoy, Entrar!") && html.contains(r#"lang="pt-BR""#),
        "{html}"
    );
    let consent = examples::all("https://billing.example")
        .into_iter()
        .find(|e| e.name == "consent")
        .unwrap();
    let html = text((consent.render)(&pages, portuguese).unwrap()).await;
    assert!(html.contains("Allow access?"), "{html}");
    let style = pages
        .assets
        .find(pages.assets.name("style.css").unwrap())
        .unwrap();
    assert!(style.content.ends_with(b".card { color: teal }"));
}

#[test]
fn a_mistake_in_the_directory_is_found_before_anybody_signs_in() {
    for (file, content, said) in [
        ("login.html", "{% if %}", "login.html: syntax error"),
        (
            "login.html",
            "{{ clinet.name }}",
            "login.html: undefined value",
        ),
        (
            "error.html",
            "{{ t('error.no') }}",
            "there is no text `error.no`",
        ),
        (
            "error.html",
            "{{ t('login.to_client') }}",
            "needs a value for {client}",
        ),
        (
            "base.html",
            "{{ asset('no.png') }}",
            "there is no file `no.png`",
        ),
        ("logo.png", "", "logo.png: it is neither a template"),
        ("static/page.html", "", "static/page.html: give letters"),
        ("static/a\"b.css", "", "b.css: give letters"),
        (
            "locales/en.toml",
            "[login]\ntitle = \"{\"",
            "locales/en.toml: login.title: a brace",
        ),
        (
            "locales/en.toml",
            "login = 1",
            "locales/en.toml: line 1: invalid type",
        ),
        (
            "locales/en.toml",
            "[login]\nto_client = \"{nobody}\"",
            "needs a value for {nobody}",
        ),
        ("locales/english.txt", "", "locales/english.txt: give texts"),
    ] {
        let (_directory, ui) = directory(&[(file, content)]);
        let error = Pages::new(&ui, ISSUER).expect_err(file).to_string();
        assert!(error.starts_with("ui.templates: "), "{error}");
        assert!(error.contains(said), "{file}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_directory_that_is_gone_or_a_language_that_nobody_wrote_is_found_as_early() {
    let (gone, ui) = directory(&[]);
    gone.close().unwrap();
    assert!(Pages::new(&ui, ISSUER).is_err());
    let language = "nl".to_owned();
    let error = Pages::new(
        &Ui {
            language,
            ..Ui::default()
        },
        ISSUER,
    )
    .unwrap_err();
    assert!(error.to_string().contains("only en, de, fr, es"), "{error}");
}
