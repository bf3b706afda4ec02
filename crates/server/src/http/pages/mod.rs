//! What people see: rendered here, from structs that the doors fill in, in the language that they
//! read, in the colours of the operator. Rendering is pure: it knows no store, no session and no
//! flow, and reads files only when the server starts. docs/pages.md is for operators.

mod assets;
mod catalogue;
pub mod cookies;
pub mod examples;
mod locale;
mod policy;
mod templates;
#[cfg(test)]
mod tests;
mod theme;
pub mod views;
mod write;

pub use locale::Locale;
pub use write::see_other;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use http::header::{ACCEPT_LANGUAGE, HeaderValue};
use http::{HeaderMap, StatusCode};
use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::assets::Assets;
use self::templates::{Globals, Language, Overrides};
use self::views::View;
use super::reply::{self, ErrorResponse, Reason, Refusal, Refusals};
use crate::app::App;
use crate::config::Ui;
use crate::flow::Fault;

/// Why the pages cannot be made. The text says which file to look at.
#[derive(Debug)]
pub struct PagesError(String);

impl PagesError {
    /// Something is wrong with a file of the operator's directory.
    fn at(what: impl fmt::Display) -> Self {
        Self(format!("ui.templates: {what}"))
    }

    fn template(name: &str, error: &minijinja::Error) -> Self {
        Self::at(format_args!("{name}: {}", because(error)))
    }
}

impl fmt::Display for PagesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PagesError {}

/// An error of a template with everything that led to it, in one line.
fn because(error: &minijinja::Error) -> String {
    let mut text = error.to_string();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// The pages, in every language.
#[derive(Debug)]
pub struct Pages {
    languages: Vec<Language>,
    /// The tags in lower case, in the order of the languages.
    tags: Vec<String>,
    /// `Content-Language`, in the same order.
    headers: Vec<HeaderValue>,
    default: Locale,
    assets: Arc<Assets>,
    /// Logos of the operator that lie elsewhere.
    logos: Vec<String>,
    redirect_origins: Vec<String>,
}

/// The operator, as templates see it.
#[derive(Debug, Serialize)]
struct BrandView {
    name: String,
    logo: Option<String>,
    logo_dark: Option<String>,
    terms: Option<String>,
    policy: Option<String>,
}

/// What a template is given.
#[derive(Debug, Serialize)]
struct Context<'a, V> {
    /// Whether the page says that something failed.
    failed: bool,
    #[serde(flatten)]
    view: &'a V,
}

impl Pages {
    /// Reads and compiles everything. What the operator has changed is tried out, so that a mistake
    /// is found now and not by somebody who wants to sign in.
    pub fn new(ui: &Ui, issuer: &str) -> Result<Self, PagesError> {
        let overrides = match &ui.templates {
            Some(directory) if !directory.is_dir() => {
                let what = format_args!("{} is no directory", directory.display());
                return Err(PagesError::at(what));
            }
            Some(directory) => Overrides::read(directory)?,
            None => Overrides::default(),
        };
        let assets = Arc::new(Assets::new(ui, &overrides)?);
        let base = path_of(issuer).to_owned();
        let globals = Globals {
            brand: Value::from(Serde(brand(ui, &base, &assets)?)),
            base,
            assets: Arc::clone(&assets),
        };
        let languages = templates::compile(&overrides, &globals)?;
        let tags: Vec<String> = languages.iter().map(|l| l.tag.to_lowercase()).collect();
        let default = locale::choose(&tags, Some(&ui.language), None).ok_or_else(|| {
            let known = tags.join(", ");
            PagesError(format!(
                "ui.language: there is no `{}`, only {known}",
                ui.language
            ))
        })?;
        let header = |language: &Language| HeaderValue::from_str(&language.tag).ok();
        let logos = [&ui.logo, &ui.logo_dark].into_iter().flatten();
        let pages = Self {
            headers: languages.iter().filter_map(header).collect(),
            languages,
            tags,
            default,
            assets,
            logos: logos.filter(|logo| logo.contains(':')).cloned().collect(),
            redirect_origins: ui.redirect_origins.clone(),
        };
        if ui.templates.is_some() {
            pages.try_out()?;
        }
        Ok(pages)
    }

    /// The language of a page: by the application's `ui_locales`, then by the browser's headers.
    pub fn locale(&self, ui_locales: Option<&str>, headers: &HeaderMap) -> Locale {
        let accepted = headers.get(ACCEPT_LANGUAGE);
        let accepted = accepted.and_then(|value| value.to_str().ok());
        locale::choose(&self.tags, ui_locales, accepted).unwrap_or(self.default)
    }

    /// The tags of the languages: `ui_locales_supported`.
    pub fn languages(&self) -> impl Iterator<Item = &str> {
        self.languages.iter().map(|language| language.tag.as_str())
    }

    /// A page, with every header that belongs to it.
    pub fn render<V: View>(&self, view: &V, locale: Locale) -> Response {
        self.try_render(view, locale).unwrap_or_else(|error| {
            Refusal(Fault::lasting(format!("rendering {error}")).into()).into_response()
        })
    }

    fn try_render<V: View>(&self, view: &V, locale: Locale) -> Result<Response, PagesError> {
        let mut head = view.frame().0;
        if !head.needs.onward.is_empty() {
            let origins = self.redirect_origins.iter().map(String::as_str);
            head.needs.onward.extend(origins);
        }
        head.needs
            .images
            .extend(self.logos.iter().map(String::as_str));
        let html = self.write(view, locale, head.status);
        let html = html.map_err(|error| PagesError::template(V::TEMPLATE, &error))?;
        let mut response = write::page(html, self.headers.get(locale.0), &head);
        if let Some(reason) = view.reason() {
            response.extensions_mut().insert::<Reason>(reason);
        }
        Ok(response)
    }

    /// Renders every example in every language.
    fn try_out(&self) -> Result<(), PagesError> {
        for example in examples::all("https://billing.example") {
            for number in 0..self.languages.len() {
                (example.render)(self, Locale(number))?;
            }
        }
        Ok(())
    }

    fn write<V: View>(
        &self,
        view: &V,
        locale: Locale,
        status: StatusCode,
    ) -> Result<String, minijinja::Error> {
        let language = self.languages.get(locale.0).or(self.languages.first());
        let missing =
            || minijinja::Error::new(minijinja::ErrorKind::TemplateNotFound, "no language");
        let environment = &language.ok_or_else(missing)?.environment;
        let failed = status.as_u16() >= 400;
        environment
            .get_template(V::TEMPLATE)?
            .render(Serde(Context { failed, view }))
    }
}

fn brand(ui: &Ui, base: &str, assets: &Assets) -> Result<BrandView, PagesError> {
    let place = |logo: &Option<String>| match logo {
        Some(name) if !name.contains(':') => {
            let hashed = assets.name(name);
            let hashed =
                hashed.ok_or_else(|| PagesError::at(format_args!("static/{name} is not there")))?;
            Ok(Some(format!("{base}/ui/static/{hashed}")))
        }
        other => Ok(other.clone()),
    };
    Ok(BrandView {
        name: ui.name.clone(),
        logo: place(&ui.logo)?,
        logo_dark: place(&ui.logo_dark)?,
        terms: ui.terms.clone(),
        policy: ui.policy.clone(),
    })
}

/// The path of a URL, without a slash at its end: before it, the proxy in front adds it to ours.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.find('/')
        .and_then(|at| rest.get(at..))
        .unwrap_or_default()
}

/// A static file of the pages. The hash in its name belongs to its content.
#[utoipa::path(
    get, path = "/ui/static/{file}", tag = "Pages",
    params(("file" = String, Path, description = "As pages name it: `style.0123456789ab.css`")),
    responses(
        (status = 200, description = "The file"),
        (status = 404, description = "There is no such file", body = ErrorResponse),
        Refusals
    )
)]
pub async fn static_file(
    Extension(pages): Extension<Arc<Pages>>,
    Path(file): Path<String>,
) -> Response {
    match pages.assets.find(&file) {
        Some(found) => write::file(found.content, found.kind, found.current),
        None => reply::no_such_path().await.into_response(),
    }
}

/// The static files.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(static_file))
}

/// Gives the handlers of a router the pages: `Extension(pages): Extension<Arc<Pages>>`.
pub fn attach(router: Router<Arc<App>>, pages: &Arc<Pages>) -> Router<Arc<App>> {
    router.layer(Extension(Arc::clone(pages)))
}
