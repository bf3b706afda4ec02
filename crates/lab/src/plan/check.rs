//! What makes an answer right. It must not know steps, or tell what the answer holds: that may be a
//! secret.

use std::ops::RangeInclusive;

use http::HeaderName;
use regex_lite::Regex;
use serde_json::Value;

use super::extract::{header, pointer, regex};
use super::seen::Seen;
use super::tables::CheckTable;
use super::template::Template;
use super::tree::Tree;
use super::user::User;
use crate::call::Wrong;

/// One thing that must hold.
#[derive(Clone, Debug)]
pub(crate) enum Check {
    Status(Vec<RangeInclusive<u16>>),
    Json { pointer: String, value: Tree },
    JsonExists(String),
    JsonAbsent(String),
    Header { name: HeaderName, part: Template },
    Contains(Template),
    ContainsNot(Template),
    Matches(Regex),
    MaxSize(u64),
}

impl Check {
    /// The checks of a table, the cheapest and most telling first.
    pub(super) fn settle(table: &CheckTable) -> Result<Vec<Self>, String> {
        let mut statuses = table.status.0.clone();
        if statuses.is_empty() {
            statuses.push(200..=399);
        }
        let mut checks = vec![Self::Status(statuses)];
        checks.extend(table.max_size.map(Self::MaxSize));
        for (name, part) in &table.headers {
            let (name, part) = (header(name)?, part.clone());
            checks.push(Self::Header { name, part });
        }
        for (at, value) in &table.json {
            let (pointer, value) = (pointer(at)?, value.clone());
            checks.push(Self::Json { pointer, value });
        }
        for at in &table.json_exists {
            checks.push(Self::JsonExists(pointer(at)?));
        }
        for at in &table.json_absent {
            checks.push(Self::JsonAbsent(pointer(at)?));
        }
        checks.extend(table.contains.iter().cloned().map(Self::Contains));
        checks.extend(table.contains_not.iter().cloned().map(Self::ContainsNot));
        for text in &table.matches {
            checks.push(Self::Matches(regex(text)?));
        }
        Ok(checks)
    }

    /// The names that must have a value when the check is made.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Json { value, .. } => value.names(),
            Self::Header { part, .. } => part.names().collect(),
            Self::Contains(text) | Self::ContainsNot(text) => text.names().collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn judge(&self, seen: &Seen<'_>, user: &mut User) -> Result<(), Wrong> {
        match self {
            Self::Status(ranges) => status(ranges, seen.reply.status.as_u16()),
            Self::Json { pointer, value } => json(pointer, &value.fill(user)?, seen.json(pointer)),
            Self::JsonExists(pointer) => {
                let found = seen.json(pointer).is_some_and(|value| !value.is_null());
                hold(found, "json", || {
                    format!("expected a value at `{pointer}`, came none")
                })
            }
            Self::JsonAbsent(pointer) => {
                let found = seen.json(pointer).is_some_and(|value| !value.is_null());
                hold(!found, "json", || {
                    format!("expected nothing at `{pointer}`, came a value")
                })
            }
            Self::Header { name, part } => has_header(seen, name, &part.fill(user)?),
            Self::Contains(text) => {
                let found = seen.text().contains(&text.fill(user)?);
                hold(found, "body", || {
                    format!("expected a body with {}", shown(text))
                })
            }
            Self::ContainsNot(text) => {
                let found = seen.text().contains(&text.fill(user)?);
                hold(!found, "body", || {
                    format!("expected a body without {}", shown(text))
                })
            }
            Self::Matches(regex) => hold(regex.is_match(seen.text()), "body", || {
                format!("expected a body that matches `{}`", regex.as_str())
            }),
            Self::MaxSize(most) => size(*most, seen.reply.body.len() as u64),
        }
    }
}

fn hold(holds: bool, check: &'static str, detail: impl FnOnce() -> String) -> Result<(), Wrong> {
    if holds {
        return Ok(());
    }
    let detail = detail();
    Err(Wrong { check, detail })
}

/// A text as the plan has it: not filled, so without anybody's secrets.
fn shown(text: &Template) -> String {
    format!("`{}`", text.shown())
}

fn status(ranges: &[RangeInclusive<u16>], came: u16) -> Result<(), Wrong> {
    let is_right = ranges.iter().any(|range| range.contains(&came));
    hold(is_right, "status", || {
        let ranges = ranges
            .iter()
            .map(|range| match (range.start(), range.end()) {
                (low, high) if low == high => low.to_string(),
                (low, high) => format!("{low}–{high}"),
            });
        let expected = ranges.collect::<Vec<_>>().join(" or ");
        format!("expected {expected}, came {came}")
    })
}

fn json(pointer: &str, expected: &Value, came: Option<&Value>) -> Result<(), Wrong> {
    let is_same = came.is_some_and(|came| same(expected, came));
    hold(is_same, "json", || {
        let came = match came {
            None => "nothing",
            Some(came) if kind(came) == kind(expected) => "another one",
            Some(came) => kind(came),
        };
        format!(
            "expected the plan's {} at `{pointer}`, came {came}",
            kind(expected)
        )
    })
}

/// Numbers are the same when their values are: 1 and 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let has = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| same(a, b));
            a.len() == b.len() && a.iter().all(has)
        }
        _ => a == b,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "truth value",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

fn has_header(seen: &Seen<'_>, name: &HeaderName, part: &str) -> Result<(), Wrong> {
    let values = seen.reply.headers.get_all(name);
    let part = part.to_lowercase();
    let mut texts = values
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()));
    let found = texts.any(|text| text.to_lowercase().contains(&part));
    hold(found, "header", || match values.iter().next() {
        None => format!("expected a header `{name}`, came none"),
        Some(_) => format!("expected a header `{name}` with the plan's text, came another"),
    })
}

fn size(most: u64, came: u64) -> Result<(), Wrong> {
    hold(came <= most, "size", || {
        format!("expected at most {most} bytes, came {came}")
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::steps::reply;
    use super::*;

    const BODY: &str = r#"{"type":"Bearer","n":3600,"none":null,"list":["a",1]}"#;

    fn judge(text: &str) -> Result<(), Wrong> {
        let headers = [("content-type", "application/JSON; charset=utf-8")];
        let reply = reply(200, &headers, BODY);
        let mut user = User::new(0, 0, 0, Arc::default());
        user.set("kind", "Bearer".to_owned());
        let seen = Seen::new(&reply);
        let checks = Check::settle(&toml::from_str(text).unwrap()).unwrap();
        checks
            .iter()
            .try_for_each(|check| check.judge(&seen, &mut user))
    }

    #[test]
    fn what_holds_is_right() {
        let right = [
            "",
            "status = 200",
            "status = [201, '2xx']",
            "[json]\n'/type' = '${kind}'\n'/n' = 3600.0\n'/list' = ['a', 1]",
            "json_exists = ['/n', '/list/1']\njson_absent = ['/none', '/error']",
            "headers = { Content-Type = 'application/json' }",
            "headers = { content-type = '' }",
            "contains = ['Bea', '${kind}']\ncontains_not = ['bea']",
            "matches = ['\"n\":\\d+']",
            "max_size = 53",
        ];
        for text in right {
            assert_eq!(judge(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_does_not_hold_is_named() {
        let wrong = [
            ("status = 201", "status"),
            ("status = ['4xx', 301]", "status"),
            ("json = { '/type' = 'MAC' }", "json"),
            ("json = { '/n' = '3600' }", "json"),
            ("json = { '/x' = 1 }", "json"),
            ("json_exists = ['/none']", "json"),
            ("json_absent = ['/n']", "json"),
            ("headers = { content-type = 'xml' }", "header"),
            ("headers = { x-other = '' }", "header"),
            ("contains = ['MAC']", "body"),
            ("contains_not = ['${kind}']", "body"),
            ("matches = ['^Bearer$']", "body"),
            ("max_size = 52", "size"),
            ("contains = ['${nobody}']", "variable"),
        ];
        for (text, check) in wrong {
            assert_eq!(judge(text).unwrap_err().check, check, "{text}");
        }
    }

    #[test]
    fn no_value_of_the_answer_or_of_the_user_is_told() {
        let wrong = [
            "json = { '/n' = '${kind}' }",
            "json = { '/type' = 'x' }",
            "contains_not = ['${kind}']",
            "headers = { content-type = '${kind}' }",
        ];
        for text in wrong {
            let detail = judge(text).unwrap_err().detail;
            assert!(
                !detail.contains("Bearer") && !detail.contains("JSON"),
                "{detail}"
            );
        }
    }

    #[test]
    fn an_error_status_is_wrong_unless_it_was_expected() {
        let table = toml::from_str("").unwrap();
        let checks = Check::settle(&table).unwrap();
        let mut user = User::new(0, 0, 0, Arc::default());
        for (status, right) in [(200, true), (302, true), (400, false), (503, false)] {
            let reply = reply(status, &[], "");
            let judged = checks[0].judge(&Seen::new(&reply), &mut user);
            assert_eq!(judged.is_ok(), right, "{status}");
        }
    }

    #[test]
    fn tables_that_make_no_sense_are_refused() {
        for text in [
            "json = { 'a' = 1 }",
            "json_exists = ['a']",
            "matches = ['(']",
        ] {
            assert!(
                Check::settle(&toml::from_str(text).unwrap()).is_err(),
                "{text}"
            );
        }
        for text in ["status = 99", "status = 'ok'", "status = [200, '7xx']"] {
            assert!(toml::from_str::<CheckTable>(text).is_err(), "{text}");
        }
    }
}
