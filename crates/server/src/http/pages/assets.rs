//! The static files of the pages, each under a name that changes with its content, so that
//! browsers may keep it for ever. Read once, answered from memory.

use bytes::Bytes;
use signet_oauth::secret::Digest;
use std::collections::HashMap;
use std::fmt::Write;

use super::PagesError;
use super::templates::Overrides;
use super::theme::{self, Shades};
use crate::config::Ui;

const STYLE: &str = include_str!("../../../templates/style.css");
const SCRIPT: &str = include_str!("../../../templates/submit.js");
const ICON: &str = include_str!("../../../templates/icon.svg");

/// Types by the ends of names. What is not here is not served.
const KINDS: [(&str, &str); 11] = [
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/x-icon"),
    ("woff2", "font/woff2"),
    ("txt", "text/plain; charset=utf-8"),
];

/// The files, by the names under which templates know them: `style.css`.
#[derive(Clone, Debug, Default)]
pub(super) struct Assets(HashMap<String, Asset>);

#[derive(Clone, Debug)]
struct Asset {
    content: Bytes,
    kind: &'static str,
    /// `style.0123456789ab.css`
    hashed: String,
}

/// A file that was found by its hashed name.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) content: Bytes,
    pub(super) kind: &'static str,
    /// Whether the name belongs to this very content; it does not while nodes of two versions
    /// answer side by side.
    pub(super) current: bool,
}

impl Assets {
    /// Our own files, and those of the operator over them.
    pub(super) fn new(ui: &Ui, overrides: &Overrides) -> Result<Self, PagesError> {
        let (light, dark) = (theme::light(ui.accent), theme::dark(ui.accent_dark));
        let own_style = overrides.style.as_deref().unwrap_or_default();
        let style = format!("{}{STYLE}{own_style}", theme::render(&light, &dark));
        let mut assets = Self::default();
        assets.add("style.css", style.into())?;
        assets.add("submit.js", SCRIPT.into())?;
        assets.add("icon.svg", icon(&light).into())?;
        for (name, content) in &overrides.files {
            assets.add(name, content.clone())?;
        }
        Ok(assets)
    }

    fn add(&mut self, name: &str, content: Bytes) -> Result<(), PagesError> {
        let parts = name.rsplit_once('.').and_then(|(stem, end)| {
            let kind = KINDS.iter().find(|(known, _)| *known == end)?;
            Some((stem, end, kind.1))
        });
        let in_name = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let parts = parts.filter(|_| name.bytes().all(in_name));
        let Some((stem, end, kind)) = parts else {
            let known = KINDS.map(|(end, _)| end).join(", ");
            let what = "give letters, digits, `-`, `_` and `.`, and one of the ends";
            return Err(PagesError::at(format!("static/{name}: {what} {known}")));
        };
        let mut hash = String::new();
        for byte in &Digest::of(&content).0[..6] {
            // Writing into a String cannot fail.
            let _written = write!(hash, "{byte:02x}");
        }
        let asset = Asset {
            hashed: format!("{stem}.{hash}.{end}"),
            content,
            kind,
        };
        self.0.insert(name.to_owned(), asset);
        Ok(())
    }

    /// The hashed name of a file.
    pub(super) fn name(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|asset| asset.hashed.as_str())
    }

    /// The file of a hashed name.
    pub(super) fn find(&self, hashed: &str) -> Option<Found> {
        let (rest, end) = hashed.rsplit_once('.')?;
        let (stem, _hash) = rest.rsplit_once('.')?;
        let asset = self.0.get(&format!("{stem}.{end}"))?;
        Some(Found {
            content: asset.content.clone(),
            kind: asset.kind,
            current: asset.hashed == hashed,
        })
    }
}

fn icon(shades: &Shades) -> String {
    let ground = ICON.replace("#ACCENT", &shades.accent.to_string());
    ground.replace("#ON", &shades.on_accent.to_string())
}
