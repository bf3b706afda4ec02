//! Takes secrets out of what is kept: plans, targets and command lines. It knows secrets by the names
//! they stand under, by the way they are written into requests, and by being told. It must not know
//! files.

use std::sync::LazyLock;

use regex_lite::{Captures, Regex};
use toml::{Table, Value};

const REDACTED: &str = "[redacted]";

/// A name that ends so has a secret under it.
const SECRET_NAMES: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "credential",
    "credentials",
    "authorization",
    "bearer",
    "private_key",
    "api_key",
    "pepper",
    "assertion",
];
/// A name that ends so has a secret under it if what stands there looks like one: `token` is also the
/// name of endpoints and of places in an answer.
const TOKEN: &str = "token";
/// Shorter words are names of things.
const SHORTEST_TOKEN: usize = 20;

/// A form or a query: `client_secret=abc`, up to where a value ends.
static PAIR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "[A-Za-z_.-]*(?:password|passwd|passphrase|secret|assertion|api_key|pepper|_token)";
    Regex::new(&format!(r#"(?i)\b({names})(=|%3D)([^&\s"',;]+)"#)).ok()
});
/// `token` alone is a word as well: only what is long enough is one.
static LONG: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(token)(=|%3D)([A-Za-z0-9._~+/-]{20,}=*)").ok());
/// A header on one line.
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key)(:\s*)([^\r\n]+)").ok()
});
/// The user and password of a URL.
static USERINFO: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(://)()([^/@\s"']+)@"#).ok());

/// Takes secrets out of one text. `known` are secrets that may stand anywhere.
pub(crate) fn text(text: &str, known: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in known.iter().filter(|secret| !secret.is_empty()) {
        for form in forms(secret) {
            text = text.replace(&form, REDACTED);
        }
    }
    let patterns = [(&PAIR, ""), (&LONG, ""), (&HEADER, ""), (&USERINFO, "@")];
    for (pattern, after) in patterns {
        if let Some(pattern) = &**pattern {
            text = pattern
                .replace_all(&text, |found: &Captures<'_>| replaced(found, after))
                .into_owned();
        }
    }
    text
}

/// A secret as it is, in forms and queries, and in JSON.
fn forms(secret: &str) -> [String; 4] {
    let form: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let percent = form.replace('+', "%20");
    let json = serde_json::Value::from(secret).to_string();
    let json = json.trim_matches('"').to_owned();
    [secret.to_owned(), form, percent, json]
}

fn replaced(found: &Captures<'_>, after: &str) -> String {
    let part = |index| found.get(index).map_or("", |part| part.as_str());
    let value = part(3);
    let value = if is_template(value) { value } else { REDACTED };
    format!("{}{}{value}{after}", part(1), part(2))
}

/// Takes secrets out of a plan or a target.
pub(crate) fn table(table: &mut Table, known: &[String]) {
    for (name, value) in table.iter_mut() {
        // What stands under `extract` are places in answers: `cookie = "session"`.
        if name == "extract" {
            texts(value, known);
        } else {
            self::value(value, Secrecy::of(name), known);
        }
    }
}

/// Takes secrets out of all texts of a value, whatever their names.
fn texts(value: &mut Value, known: &[String]) {
    match value {
        Value::String(string) => *string = text(string, known),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, known)),
        Value::Table(inner) => inner.iter_mut().for_each(|(_, item)| texts(item, known)),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

/// What a name says about everything under it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Secrecy {
    Open,
    Token,
    Secret,
}

impl Secrecy {
    fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase().replace('-', "_");
        // A name that only ends in `cookie` is the place of a cookie's name.
        let is_cookie = name == "cookie" || name == "set_cookie";
        if is_cookie || SECRET_NAMES.iter().any(|secret| name.ends_with(secret)) {
            Self::Secret
        } else if name.ends_with(TOKEN) {
            Self::Token
        } else {
            Self::Open
        }
    }
}

fn value(value: &mut Value, secrecy: Secrecy, known: &[String]) {
    match value {
        Value::String(string) => {
            let hidden = match secrecy {
                Secrecy::Open => false,
                Secrecy::Token => looks_like_a_token(string),
                Secrecy::Secret => !string.is_empty() && !is_template(string),
            };
            *string = if hidden {
                REDACTED.to_owned()
            } else {
                text(string, known)
            };
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| self::value(item, secrecy, known)),
        Value::Table(inner) if secrecy == Secrecy::Open => table(inner, known),
        Value::Table(inner) => inner
            .iter_mut()
            .for_each(|(_, item)| self::value(item, secrecy, known)),
        Value::Integer(_) | Value::Float(_) if secrecy == Secrecy::Secret => {
            *value = Value::String(REDACTED.to_owned());
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

/// Takes secrets out of a command line: after options that take them, in `name=value` and in URLs.
pub(crate) fn command_line(arguments: &[String], known: &[String]) -> Vec<String> {
    let mut secret_follows = false;
    let mut kept = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        let is_secret_option = ["-a", "--auth"].contains(&name)
            || (name.starts_with("--")
                && Secrecy::of(name.trim_start_matches('-')) == Secrecy::Secret);
        kept.push(if secret_follows {
            REDACTED.to_owned()
        } else if is_secret_option && !value.is_empty() {
            format!("{name}={REDACTED}")
        } else if let Some(attached) = argument
            .strip_prefix("-a")
            .filter(|rest| rest.contains(':'))
        {
            argument.replace(attached, REDACTED)
        } else {
            assignment(argument, known)
        });
        secret_follows = !secret_follows && is_secret_option && value.is_empty();
    }
    kept
}

/// `name=value` as `--set` takes it, or any other text.
fn assignment(argument: &str, known: &[String]) -> String {
    match argument.split_once('=') {
        Some((name, value))
            if Secrecy::of(name) == Secrecy::Secret && !name.contains(['&', '?', ' ']) =>
        {
            let value = if is_template(value) { value } else { REDACTED };
            format!("{name}={value}")
        }
        _ => text(argument, known),
    }
}

/// A reference to a variable says nothing.
fn is_template(value: &str) -> bool {
    value.starts_with("${")
        || value.starts_with("{{")
        || value.starts_with('$')
        || value == REDACTED
}

fn looks_like_a_token(value: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+=".contains(&byte);
    value.len() >= SHORTEST_TOKEN && value.bytes().all(is_token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn secrets_leave_a_plan_and_everything_else_stays() {
        let plan = r#"
            name = "login"
            secret = "s3cret-1"
            rate = 20
            [variables]
            client_secret = "${CLIENT_SECRET}"
            admin_password = "s3cret-2"
            pin_password = 1234
            passwords = "few"
            bearer_token = "s3cret-3-0123456789abcdef"
            token_endpoint = "/oauth2/token"
            [[step]]
            url = "http://admin:s3cret-4@host/token?client_secret=s3cret-5&scope=openid"
            body = "grant_type=password&password=s3cret-6&username=${user}"
            headers = ["Authorization: Basic s3cret-7", "Accept: */*"]
            note = "known-one"
            [step.headers-by-name]
            Authorization = "Bearer s3cret-8"
            [step.extract]
            access_token = "json:/access_token"
            session = { cookie = "sid" }
            [step.password]
            value = "s3cret-9"
        "#;
        let mut plan: Table = plan.parse().unwrap();
        table(&mut plan, &["known-one".to_owned()]);
        let kept = plan.to_string();
        assert!(!kept.contains("s3cret") && !kept.contains("1234"), "{kept}");
        assert!(!kept.contains("known-one"), "{kept}");
        for rest in [
            "\"login\"",
            "20",
            "${CLIENT_SECRET}",
            "/oauth2/token",
            "scope=openid",
            "username=${user}",
            "grant_type=password",
            "Accept: */*",
            "json:/access_token",
            "sid",
            "\"few\"",
        ] {
            assert!(kept.contains(rest), "{rest} is gone: {kept}");
        }
    }

    #[test]
    fn secrets_leave_a_command_line() {
        let line = strings(&[
            "assay",
            "run",
            "login",
            "--set",
            "client_secret=s3cret",
            "--set",
            "users=5",
            "-a",
            "bench:s3cret",
            "-abench:s3cret",
            "--admin-password=s3cret",
            "--auth",
            "u:s3cret",
            "-H",
            "Authorization: Bearer s3cret",
            "-d",
            "a=1&password=s3cret&b=2",
            "-d",
            "token=s3cret-0123456789-0123456789",
            "http://u:s3cret@host/",
        ]);
        let kept = command_line(&line, &[]);
        assert_eq!(kept.len(), line.len());
        assert!(!kept.join(" ").contains("s3cret"), "{kept:?}");
        for rest in [
            "users=5",
            "a=1&password=[redacted]&b=2",
            "http://[redacted]@host/",
        ] {
            assert!(kept.iter().any(|word| word == rest), "{rest}: {kept:?}");
        }
    }

    #[test]
    fn a_known_secret_goes_in_every_form() {
        let known = ["a b&c\"d".to_owned()];
        for hidden in [
            "x a b&c\"d y",
            "x a b&c\\\"d y",
            "x a+b%26c%22d y",
            "x a%20b%26c%22d y",
        ] {
            assert_eq!(text(hidden, &known), "x [redacted] y");
        }
    }

    #[test]
    fn harmless_text_is_left_alone() {
        for harmless in [
            "assay run login --users 50",
            "http://host:8080/token?grant_type=password",
            "token=abc in the answer",
        ] {
            assert_eq!(text(harmless, &[]), harmless);
        }
    }
}
