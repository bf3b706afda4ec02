//! The texts of one language. They are data, `locales/*.toml`; here they are read, and filled in so
//! that whatever is filled in stays text and becomes no markup.

use minijinja::Value;
use std::collections::HashMap;

/// The texts of one language by their keys, `login.title`.
#[derive(Clone, Debug)]
pub(super) struct Catalogue(HashMap<String, Message>);

#[derive(Clone, Debug)]
struct Message {
    parts: Vec<Part>,
    /// The whole text, where nothing is filled in.
    whole: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Text as it is written into HTML.
    Text(String),
    /// What stood in braces.
    Slot(String),
}

impl Catalogue {
    /// Reads the texts of a language; the error says what is wrong.
    pub(super) fn parse(toml: &str) -> Result<Self, String> {
        let file = toml::from_str::<HashMap<String, HashMap<String, String>>>(toml);
        let file = file.map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = 1 + toml.bytes().take(at).filter(|byte| *byte == b'\n').count();
            format!("line {line}: {}", error.message())
        })?;
        let mut messages = HashMap::new();
        for (table, texts) in file {
            for (name, text) in texts {
                let key = format!("{table}.{name}");
                let message = Message::parse(&text).ok_or_else(|| format!("{key}: a brace"))?;
                messages.insert(key, message);
            }
        }
        Ok(Self(messages))
    }

    /// What is not in this one is taken from the other.
    pub(super) fn or(mut self, other: &Self) -> Self {
        for (key, message) in &other.0 {
            let own = self.0.entry(key.clone());
            own.or_insert_with(|| message.clone());
        }
        self
    }

    /// Whether there is such a text.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The text as HTML, with the slots filled in; `Err` names the key or the slot that is missing.
    pub(super) fn fill(
        &self,
        key: &str,
        value: impl Fn(&str) -> Option<Value>,
    ) -> Result<Value, String> {
        let message = self.0.get(key);
        let message = message.ok_or_else(|| format!("there is no text `{key}`"))?;
        if let Some(whole) = &message.whole {
            return Ok(whole.clone());
        }
        let mut html = String::new();
        for part in &message.parts {
            match part {
                Part::Text(text) => html.push_str(text),
                Part::Slot(name) => {
                    let value = value(name);
                    let value =
                        value.ok_or_else(|| format!("`{key}` needs a value for {{{name}}}"))?;
                    html.push_str(&markup(&value));
                }
            }
        }
        Ok(Value::from_safe_string(html))
    }

    /// The keys, each with the names of its slots, sorted: what languages have in common.
    #[cfg(test)]
    pub(super) fn shape(&self) -> std::collections::BTreeMap<&str, Vec<&str>> {
        let entries = self.0.iter().map(|(key, message)| {
            let mut slots: Vec<&str> = message.parts.iter().filter_map(Part::slot).collect();
            slots.sort_unstable();
            (key.as_str(), slots)
        });
        entries.collect()
    }
}

#[cfg(test)]
impl Part {
    fn slot(&self) -> Option<&str> {
        match self {
            Self::Slot(name) => Some(name),
            Self::Text(_) => None,
        }
    }
}

impl Message {
    /// A text with slots in braces; nothing where a brace has no partner.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}')?;
            let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase());
            if !is_name || before.contains('}') {
                return None;
            }
            parts.push(Part::Text(escape(before)));
            parts.push(Part::Slot(name.to_owned()));
            rest = after;
        }
        if rest.contains('}') {
            return None;
        }
        parts.push(Part::Text(escape(rest)));
        let whole = match parts.as_slice() {
            [Part::Text(text)] => Some(Value::from_safe_string(text.clone())),
            _ => None,
        };
        Some(Self { parts, whole })
    }
}

/// A value as HTML: what is markup already stays it, the rest is text.
fn markup(value: &Value) -> String {
    let text = value.to_string();
    if value.is_safe() { text } else { escape(&text) }
}

/// Text as HTML, for content and for attributes in quotation marks.
fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}
