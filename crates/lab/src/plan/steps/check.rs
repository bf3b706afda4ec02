//! What makes an answer right. It must not know steps, or tell what the answer holds: that may be a
//! secret.

use std::ops::RangeInclusive;
use std::sync::Arc;

use http::HeaderName;
use regex_lite::Regex;
use serde_json::Value;

use super::extract::{header, pointer, regex};
use super::seen::Seen;
use crate::call::Wrong;
use crate::grpc::status::Code;
use crate::plan::tables::CheckTable;
use crate::plan::template::Template;
use crate::plan::tree::Tree;
use crate::plan::user::User;

/// One thing that must hold.
#[derive(Clone, Debug)]
pub(crate) enum Check {
    Status(Vec<RangeInclusive<u16>>),
    /// Of gRPC.
    Code(Arc<[Code]>),
    /// How many messages the answer of a call in gRPC has.
    Messages(u64),
    Json {
        pointer: String,
        value: Tree,
    },
    JsonExists(String),
    JsonAbsent(String),
    Header {
        name: HeaderName,
        part: Template,
    },
    Contains(Template),
    ContainsNot(Template),
    Matches(Regex),
    MaxSize(u64),
}

impl Check {
    /// The checks of a table, the cheapest and most telling first.
    pub(crate) fn settle(table: &CheckTable) -> Result<Vec<Self>, String> {
        if !table.code.0.is_empty() || table.messages.is_some() {
            return Err("`code` and `messages` are for calls in gRPC".to_owned());
        }
        let mut statuses = table.status.0.clone();
        if statuses.is_empty() {
            statuses.push(200..=399);
        }
        Self::of_body(table, vec![Self::Status(statuses)])
    }

    /// Those of a call in gRPC.
    pub(crate) fn settle_rpc(table: &CheckTable) -> Result<Vec<Self>, String> {
        if !table.status.0.is_empty() || !table.headers.is_empty() {
            return Err("`status` and `headers` are for HTTP; gRPC has a `code`".to_owned());
        }
        let mut checks = vec![Self::Code(table.code.expected())];
        checks.extend(table.messages.map(Self::Messages));
        Self::of_body(table, checks)
    }

    fn of_body(table: &CheckTable, mut checks: Vec<Self>) -> Result<Vec<Self>, String> {
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
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Json { value, .. } => value.names(),
            Self::Header { part, .. } => part.names().collect(),
            Self::Contains(text) | Self::ContainsNot(text) => text.names().collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn judge(&self, seen: &Seen<'_>, user: &mut User) -> Result<(), Wrong> {
        match self {
            Self::Status(ranges) => status(ranges, seen.reply.status.as_u16()),
            Self::Code(expected) => seen
                .reply
                .ending
                .as_ref()
                .map_or(Ok(()), |ending| code(expected, ending.code)),
            Self::Messages(expected) => {
                let came = seen
                    .reply
                    .ending
                    .as_ref()
                    .map_or(0, |ending| ending.messages);
                hold(came == *expected, "messages", || {
                    format!("expected {expected}, came {came}")
                })
            }
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

/// Errors are counted by the code that came.
fn code(expected: &[Code], came: Code) -> Result<(), Wrong> {
    hold(expected.contains(&came), came.name(), || {
        let expected: Vec<&str> = expected.iter().map(|code| code.name()).collect();
        format!("expected {}, came {came}", expected.join(" or "))
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
    use super::*;
    use crate::call::Ending;
    use crate::plan::steps::reply;

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

    fn hello() -> Value {
        serde_json::json!({ "message": "hello", "timestamp": "7" })
    }

    /// Of an answer in gRPC with one message, or with none.
    fn judge_rpc(text: &str, code: &str, message: Option<&Value>) -> Result<(), String> {
        let mut reply = reply(200, &[], "\u{8}\u{7}");
        reply.ending = Some(Ending {
            code: code.parse().unwrap(),
            messages: u64::from(message.is_some()),
            message: message.cloned(),
        });
        let mut user = User::new(0, 0, 0, Arc::default());
        let seen = Seen::new(&reply);
        let checks = Check::settle_rpc(&toml::from_str(text).unwrap()).unwrap();
        let judged = checks
            .iter()
            .try_for_each(|check| check.judge(&seen, &mut user));
        judged.map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn a_call_in_grpc_is_judged_by_its_code_its_count_and_its_message() {
        let message = hello();
        let right = [
            ("", "OK", Some(&message)),
            ("code = 'NOT_FOUND'", "NOT_FOUND", None),
            ("code = ['OK', 5]\nmessages = 0", "NOT_FOUND", None),
            (
                "json = { '/message' = 'hello', '/timestamp' = '7' }\nmessages = 1",
                "OK",
                Some(&message),
            ),
            ("contains = ['hello']\nmax_size = 2", "OK", Some(&message)),
        ];
        for (text, code, message) in right {
            assert_eq!(judge_rpc(text, code, message), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_does_not_hold_in_grpc_is_named_by_its_code_or_check() {
        let message = hello();
        let wrong = [
            (
                "",
                "UNAUTHENTICATED",
                "UNAUTHENTICATED: expected OK, came UNAUTHENTICATED",
            ),
            (
                "code = ['OK', 5]",
                "UNAVAILABLE",
                "UNAVAILABLE: expected OK or NOT_FOUND, came UNAVAILABLE",
            ),
            ("messages = 2", "OK", "messages: expected 2, came 1"),
            (
                "json = { '/message' = 'x' }",
                "OK",
                "json: expected the plan's text at `/message`, came another one",
            ),
            (
                "json = { '/nothing' = 1 }",
                "OK",
                "json: expected the plan's number at `/nothing`, came nothing",
            ),
            (
                "max_size = 1",
                "OK",
                "size: expected at most 1 bytes, came 2",
            ),
        ];
        for (text, code, said) in wrong {
            assert_eq!(
                judge_rpc(text, code, Some(&message)),
                Err(said.to_owned()),
                "{text}"
            );
        }
        let none = judge_rpc("json_exists = ['/message']", "OK", None);
        assert_eq!(
            none.unwrap_err(),
            "json: expected a value at `/message`, came none"
        );
    }

    #[test]
    fn checks_of_http_and_of_grpc_are_not_mixed_up() {
        let table = |text| toml::from_str::<CheckTable>(text).unwrap();
        for text in ["code = 'OK'", "messages = 1"] {
            assert!(Check::settle(&table(text)).is_err(), "{text}");
        }
        for text in ["status = 200", "headers = { a = 'b' }"] {
            assert!(Check::settle_rpc(&table(text)).is_err(), "{text}");
        }
        for text in ["code = 'Ok'", "code = 17", "code = []"] {
            assert!(toml::from_str::<CheckTable>(text).is_err(), "{text}");
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
