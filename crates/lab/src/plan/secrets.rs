//! Secrets of a plan: their values never leave in clear, wherever the plan or an answer is shown. It
//! must not know where they came from.

use std::fmt;
use std::sync::LazyLock;

use regex_lite::Regex;
use toml::Value;

use super::template::Template;

const REDACTED: &str = "[redacted]";

/// The values that are secret, in every form in which they may be written.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} forms of secrets", self.0.len())
    }
}

impl Secrets {
    pub(super) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms: Vec<String> = values
            .into_iter()
            .flat_map(|value| {
                let encoded = form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>();
                let percent = encoded.replace('+', "%20");
                let quoted = serde_json::Value::from(value).to_string();
                let quoted = quoted.trim_matches('"').to_owned();
                [value.to_owned(), encoded, percent, quoted]
            })
            .filter(|form| !form.is_empty())
            .collect();
        // The longest first: a secret may hold another.
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self(forms)
    }

    /// The text without the secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        let replace = |text: String, secret: &String| text.replace(secret.as_str(), REDACTED);
        self.0.iter().fold(text.to_owned(), replace)
    }

    /// A plan without the secrets, and without what stands where secrets usually do.
    pub(super) fn redact_table(&self, table: &toml::Table) -> toml::Table {
        let entries = table.iter();
        let entries = entries.map(|(key, value)| (key.clone(), self.redact_value(key, value)));
        entries.collect()
    }

    /// What stands under `extract` are the names of places in answers: `cookie = "session"`.
    fn redact_inner(&self, key: &str, table: &toml::Table) -> toml::Table {
        if key != "extract" {
            return self.redact_table(table);
        }
        let entries = table.iter().map(|(name, value)| {
            let shown = match value {
                Value::Table(places) => {
                    let places = places.iter();
                    let places = places.map(|(k, v)| (k.clone(), self.redact_value("", v)));
                    Value::Table(places.collect())
                }
                other => self.redact_value("", other),
            };
            (name.clone(), shown)
        });
        entries.collect()
    }

    fn redact_value(&self, key: &str, value: &Value) -> Value {
        match value {
            Value::Table(table) => Value::Table(self.redact_inner(key, table)),
            Value::Array(list) => {
                let key = if key == "basic" { "password" } else { key };
                let list = list.iter().map(|value| self.redact_value(key, value));
                Value::Array(list.collect())
            }
            Value::String(text) => Value::String(self.redact_text(key, text)),
            other => {
                let text = other.to_string();
                let shown = self.redact_text(key, &text);
                if shown == text {
                    other.clone()
                } else {
                    shown.into()
                }
            }
        }
    }

    fn redact_text(&self, key: &str, text: &str) -> String {
        let text = self.redact(text);
        let text = INLINE.replace_all(&text, format!("$1{REDACTED}"));
        let text = MEMBER.replace_all(&text, format!("$1{REDACTED}"));
        let text = USERINFO.replace_all(&text, format!("$1{REDACTED}@"));
        if !is_secret_key(key) {
            return text.into_owned();
        }
        let literal = |literal: &str| match literal {
            "Basic " | "Bearer " | "" => literal.to_owned(),
            _ => REDACTED.to_owned(),
        };
        match Template::parse(&text) {
            Ok(template) => template.map_literals(literal),
            Err(_) => REDACTED.to_owned(),
        }
    }
}

/// Values after `password=` and the like, in bodies and URLs, unless they are placeholders.
#[expect(clippy::unwrap_used, reason = "the expression is constant and tested")]
static INLINE: LazyLock<Regex> = LazyLock::new(|| {
    let names = "password|passwd|secret|token|assertion|api_?key";
    Regex::new(&format!(r#"(?i)((?:{names})=)[^$&\s"'][^&\s"']*"#)).unwrap()
});

/// Texts of members such as `"password": "…"`, in JSON, unless they begin with a placeholder.
#[expect(clippy::unwrap_used, reason = "the expression is constant and tested")]
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    let names = "password|passwd|secret|token|assertion|api_?key";
    let value = r#"[^$"\\](?:[^"\\]|\\.)*"#;
    Regex::new(&format!(r#"(?i)("[\w.-]*(?:{names})"\s*:\s*"){value}"#)).unwrap()
});

/// The password of a URL.
#[expect(clippy::unwrap_used, reason = "the expression is constant and tested")]
static USERINFO: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(://[^/?#@\s:]*:)[^/?#@\s$]+@").unwrap());

/// Whether what has this name is usually secret. Names of variables are lower case with underscores,
/// those of headers have hyphens.
fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace('-', "_");
    let ends = [
        "password",
        "passwd",
        "secret",
        "token",
        "authorization",
        "cookie",
        "assertion",
        "api_key",
        "apikey",
        "private_key",
        "bearer",
    ];
    ends.iter().any(|end| key.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_every_form() {
        let secrets = Secrets::new(["p&ss \"w", "p&ss"]);
        let shown =
            secrets.redact("a p&ss \"w b p%26ss+%22w c p%26ss%20%22w d p&ss \\\"w e p&ss f");
        let expected = "a [redacted] b [redacted] c [redacted] d [redacted] e [redacted] f";
        assert_eq!(shown, expected);
        assert!(!format!("{secrets:?}").contains("p&ss"));
    }

    #[test]
    fn an_empty_secret_hides_nothing() {
        assert_eq!(Secrets::new([""]).redact("abc"), "abc");
    }

    #[test]
    fn what_stands_where_secrets_do_is_hidden_and_placeholders_are_not() {
        let plan = r#"
            pin = 1234
            client_secret = "abc"
            token = "${token}"
            Authorization = "Bearer ${a}def"
            password = 5
            url = "http://u:pw@h/?client_secret=abc&x=1&token=${token}"
            body = "grant_type=password&password=abc&a=b"
            message = '{"user_password": "a\"bc", "token":"${token}", "tokens": "a", "b": "c"}'
            basic = ["${id}", "abc"]
            grant_type = "password"
            note = "the pin is 1234"
            deep = [{ admin-password = "abc" }]
            extract = { token = { cookie = "session" } }
        "#;
        let table: toml::Table = toml::from_str(plan).unwrap();
        let shown = Secrets::new(["1234"]).redact_table(&table);
        let expected = r#"
            pin = "[redacted]"
            client_secret = "[redacted]"
            token = "${token}"
            Authorization = "Bearer ${a}[redacted]"
            password = "[redacted]"
            url = "http://u:[redacted]@h/?client_secret=[redacted]&x=1&token=${token}"
            body = "grant_type=password&password=[redacted]&a=b"
            message = '{"user_password": "[redacted]", "token":"${token}", "tokens": "a", "b": "c"}'
            basic = ["${id}", "[redacted]"]
            grant_type = "password"
            note = "the pin is [redacted]"
            deep = [{ admin-password = "[redacted]" }]
            extract = { token = { cookie = "session" } }
        "#;
        assert_eq!(shown, toml::from_str(expected).unwrap());
    }
}
