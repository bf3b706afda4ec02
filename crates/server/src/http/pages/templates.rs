//! Templates and texts, ours and the operator's over them, compiled once for every language.

use bytes::Bytes;
use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::PagesError;
use super::assets::Assets;
use super::catalogue::Catalogue;

/// Our templates.
const TEMPLATES: [(&str, &str); 10] = [
    ("base.html", include_str!("../../../templates/base.html")),
    ("parts.html", include_str!("../../../templates/parts.html")),
    ("login.html", include_str!("../../../templates/login.html")),
    (
        "consent.html",
        include_str!("../../../templates/consent.html"),
    ),
    (
        "logout.html",
        include_str!("../../../templates/logout.html"),
    ),
    (
        "signed_out.html",
        include_str!("../../../templates/signed_out.html"),
    ),
    ("error.html", include_str!("../../../templates/error.html")),
    (
        "account.html",
        include_str!("../../../templates/account.html"),
    ),
    ("demo.html", include_str!("../../../templates/demo.html")),
    (
        "form_post.html",
        include_str!("../../../templates/form_post.html"),
    ),
];

/// Our languages. The first has every text that there is.
const LANGUAGES: [(&str, &str); 4] = [
    ("en", include_str!("../../../locales/en.toml")),
    ("de", include_str!("../../../locales/de.toml")),
    ("fr", include_str!("../../../locales/fr.toml")),
    ("es", include_str!("../../../locales/es.toml")),
];

/// The last second that a date of four digits can say.
const END_OF_TIME: u64 = 253_402_300_799;

/// What an operator's directory has.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    templates: BTreeMap<String, String>,
    texts: BTreeMap<String, String>,
    pub(super) style: Option<String>,
    pub(super) files: BTreeMap<String, Bytes>,
}

impl Overrides {
    /// Reads the directory: `*.html`, `style.css`, `locales/*.toml`, `static/*`.
    pub(super) fn read(directory: &Path) -> Result<Self, PagesError> {
        let mut overrides = Self::default();
        for (name, content) in files(directory)? {
            let text = String::from_utf8(content);
            let text = text.map_err(|_| PagesError::at(format!("{name}: it is not UTF-8")))?;
            if name == "style.css" {
                overrides.style = Some(text);
            } else if name.strip_suffix(".html").is_some() {
                overrides.templates.insert(name, text);
            } else {
                let what = "it is neither a template (*.html) nor style.css; other files belong \
                            into static/";
                return Err(PagesError::at(format!("{name}: {what}")));
            }
        }
        for (name, content) in files(&directory.join("locales"))? {
            let tag = name.strip_suffix(".toml").unwrap_or_default();
            let in_tag = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
            let text = String::from_utf8(content).ok();
            let text = text.filter(|_| !tag.is_empty() && tag.bytes().all(in_tag));
            let text = text.ok_or_else(|| {
                let what = "give texts as `LANGUAGE.toml`, in UTF-8";
                PagesError::at(format!("locales/{name}: {what}"))
            })?;
            overrides.texts.insert(tag.to_owned(), text);
        }
        for (name, content) in files(&directory.join("static"))? {
            overrides.files.insert(name, content.into());
        }
        Ok(overrides)
    }
}

/// The files of a directory; none where there is no directory. Hidden ones belong to editors.
fn files(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>, PagesError> {
    let failed = |error: std::io::Error| {
        PagesError::at(format!("cannot read {}: {error}", directory.display()))
    };
    let mut files = BTreeMap::new();
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(files),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_file() && !name.starts_with('.') {
            let content = fs::read(&path).map_err(failed)?;
            files.insert(name.into_owned(), content);
        }
    }
    Ok(files)
}

/// What every template of every language can name.
#[derive(Debug)]
pub(super) struct Globals {
    /// The path of the issuer: `""`, or `/tenant`.
    pub(super) base: String,
    pub(super) brand: Value,
    pub(super) assets: Arc<Assets>,
}

/// The templates in one language.
#[derive(Debug)]
pub(super) struct Language {
    /// As it is written into `lang`.
    pub(super) tag: String,
    pub(super) environment: Environment<'static>,
}

/// Every language with all templates: the first ours, in their order, then those that were added.
pub(super) fn compile(
    overrides: &Overrides,
    globals: &Globals,
) -> Result<Vec<Language>, PagesError> {
    let environment = environment(overrides, globals)?;
    let catalogues = catalogues(overrides)?;
    let languages = catalogues.into_iter().map(|(tag, catalogue)| {
        let mut environment = environment.clone(); // shares what was compiled
        environment.add_global("lang", &tag);
        speak(&mut environment, &Arc::new(catalogue));
        Language { tag, environment }
    });
    Ok(languages.collect())
}

fn environment(
    overrides: &Overrides,
    globals: &Globals,
) -> Result<Environment<'static>, PagesError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_global("base", Value::from_safe_string(globals.base.clone()));
    environment.add_global("brand", globals.brand.clone());
    let (assets, base) = (Arc::clone(&globals.assets), globals.base.clone());
    environment.add_function("asset", move |name: &str| {
        let hashed = assets.name(name).ok_or_else(|| {
            let what = format!("there is no file `{name}` in static/");
            Error::new(ErrorKind::InvalidOperation, what)
        });
        // Both have plain characters only, which need no escaping.
        hashed.map(|hashed| Value::from_safe_string(format!("{base}/ui/static/{hashed}")))
    });
    let added = overrides.templates.iter();
    let added = added.map(|(name, text)| (name.clone(), text.clone()));
    let ours = TEMPLATES.map(|(name, text)| (name.to_owned(), text.to_owned()));
    for (name, text) in ours.into_iter().chain(added) {
        let compiled = environment.add_template_owned(name.clone(), text);
        compiled.map_err(|error| PagesError::template(&name, &error))?;
    }
    Ok(environment)
}

/// The texts by language.
pub(super) fn catalogues(overrides: &Overrides) -> Result<Vec<(String, Catalogue)>, PagesError> {
    let parse = |tag: &str, text: &str| {
        let parsed = Catalogue::parse(text);
        parsed.map_err(|error| PagesError::at(format!("locales/{tag}.toml: {error}")))
    };
    let english = parse(LANGUAGES[0].0, LANGUAGES[0].1)?;
    let mut all = Vec::new();
    for (tag, text) in LANGUAGES {
        let mut catalogue = parse(tag, text)?;
        if let Some(own) = overrides.texts.get(tag) {
            catalogue = parse(tag, own)?.or(&catalogue);
        }
        all.push((tag.to_owned(), catalogue));
    }
    for (tag, text) in &overrides.texts {
        if LANGUAGES.iter().all(|(ours, _)| ours != tag) {
            all.push((tag.clone(), parse(tag, text)?.or(&english)));
        }
    }
    Ok(all)
}

/// Adds what depends on the language: texts and dates.
fn speak(environment: &mut Environment<'static>, catalogue: &Arc<Catalogue>) {
    let texts = Arc::clone(catalogue);
    environment.add_function("t", move |key: &str, slots: Kwargs| {
        let text = texts.fill(key, |name| slots.get::<Value>(name).ok());
        let text = text.map_err(|what| Error::new(ErrorKind::InvalidOperation, what))?;
        slots.assert_all_used()?;
        Ok(text)
    });
    let texts = Arc::clone(catalogue);
    environment.add_function("t_count", move |key: &str, count: u64| {
        let form = if count == 1 { "one" } else { "other" };
        let value = |name: &str| (name == "count").then(|| Value::from(count));
        let text = texts.fill(&format!("{key}_{form}"), value);
        text.map_err(|what| Error::new(ErrorKind::InvalidOperation, what))
    });
    let texts = Arc::clone(catalogue);
    environment.add_function("has", move |key: &str| texts.has(key));
    let texts = Arc::clone(catalogue);
    environment.add_filter("date", move |seconds: u64| {
        instant(seconds, "time.date", &texts)
    });
    let texts = Arc::clone(catalogue);
    environment.add_filter("time", move |seconds: u64| {
        let text = instant(seconds, "time.instant", &texts)?;
        let written = rfc3339(seconds); // for machines
        let html = format!(r#"<time datetime="{written}">{text}</time>"#);
        Ok::<_, Error>(Value::from_safe_string(html))
    });
}

/// An instant as people write it.
fn instant(seconds: u64, key: &str, texts: &Catalogue) -> Result<Value, Error> {
    let text = texts.fill(key, |name| part_of(seconds, name, texts));
    text.map_err(|what| Error::new(ErrorKind::InvalidOperation, what))
}

/// `day`, `month`, `year`, `hour` or `minute` of an instant, in UTC.
fn part_of(seconds: u64, name: &str, texts: &Catalogue) -> Option<Value> {
    let written = rfc3339(seconds); // 2018-02-14T00:28:07Z
    let digits = |from: usize, to: usize| written.get(from..to).unwrap_or_default();
    match name {
        "year" => Some(Value::from(digits(0, 4))),
        "month" => texts
            .fill(&format!("time.month_{}", digits(5, 7)), |_| None)
            .ok(),
        "day" => Some(Value::from(digits(8, 10).trim_start_matches('0'))),
        "hour" => Some(Value::from(digits(11, 13))),
        "minute" => Some(Value::from(digits(14, 16))),
        _ => None,
    }
}

fn rfc3339(seconds: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_secs(seconds.min(END_OF_TIME));
    humantime::format_rfc3339_seconds(at).to_string()
}
