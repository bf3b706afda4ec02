//! What the options of the pages can be: colours, links, logos. It knows colours as numbers and
//! links as texts; pages make something of them.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::options::Ui;
use super::setting::{Kind, Setting};
use super::source::Draft;

/// A colour, written `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Colour(pub [u8; 3]);

impl Colour {
    /// Black.
    pub const BLACK: Self = Self([0; 3]);
    /// White.
    pub const WHITE: Self = Self([255; 3]);

    /// A colour from its text.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        if digits.len() != 6 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let part = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        Some(Self([part(0)?, part(2)?, part(4)?]))
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl TryFrom<String> for Colour {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or(<Self as Setting>::FORM)
    }
}

impl From<Colour> for String {
    fn from(colour: Colour) -> Self {
        colour.to_string()
    }
}

impl Setting for Colour {
    const KIND: Kind = Kind::Text;
    const FORM: &'static str = "a colour like `#3451b2`";
}

/// Checks what a type cannot say.
pub(super) fn check(ui: &Ui, dev: bool, draft: &mut Draft) {
    let links = [("ui.terms", &ui.terms), ("ui.policy", &ui.policy)];
    for (option, link) in links {
        if link.as_deref().is_some_and(|link| !is_web(link, dev)) {
            draft.refuse(
                option,
                "give an `https` URL, like `https://example.com/legal`",
            );
        }
    }
    for (option, logo) in [("ui.logo", &ui.logo), ("ui.logo_dark", &ui.logo_dark)] {
        check_logo(option, logo.as_deref(), (ui, dev), draft);
    }
    if ui.logo.is_none() && ui.logo_dark.is_some() {
        draft.refuse("ui.logo_dark", "it stands in for `ui.logo`; give that, too");
    }
    for origin in &ui.redirect_origins {
        let host = origin.split_once("://").map_or("", |(_, host)| host);
        if !is_web(origin, dev) || host.contains('/') {
            let what = "each is an origin, like `https://app.example.com`";
            draft.refuse("ui.redirect_origins", what);
        }
    }
    if ui.name.trim().is_empty() || ui.name.chars().any(char::is_control) {
        draft.refuse("ui.name", "give a name of one line");
    }
}

fn check_logo(option: &str, logo: Option<&str>, (ui, dev): (&Ui, bool), draft: &mut Draft) {
    let Some(logo) = logo.filter(|logo| !is_web(logo, dev)) else {
        return;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if logo.contains(':') || !logo.chars().all(is_name) {
        let what = "give an `https` URL, or the name of a file in `static/` of `ui.templates`";
        draft.refuse(option, what);
    } else if ui.templates.is_none() {
        let what = "a file is looked for in `static/` of `ui.templates`; give that, too";
        draft.refuse(option, what);
    }
}

/// Whether it is the URL of a page that everybody may be sent to. Strict on purpose: it is written
/// into headers, too.
fn is_web(text: &str, dev: bool) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&()*+=%".contains(c);
    let rest = text.strip_prefix("https://");
    let rest = rest.or_else(|| text.strip_prefix("http://").filter(|_| dev));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let in_host = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
    text.chars().all(is_plain)
        && host.is_some_and(|host| !host.is_empty() && host.chars().all(in_host))
        && text.parse::<http::Uri>().is_ok()
}
