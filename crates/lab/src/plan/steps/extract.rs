//! What later steps need of an answer: values at JSON pointers, matches, headers, cookies, parameters
//! of redirects, fields of HTML forms. It must not know steps or users.

use http::HeaderName;
use http::header::{LOCATION, SET_COOKIE};
use regex_lite::Regex;
use serde_json::Value;
use url::Url;

use super::seen::Seen;
use crate::plan::tables::ExtractTable;

/// Where a value is found, and what it is when it is not.
#[derive(Clone, Debug)]
pub(crate) struct Extract {
    place: Place,
    default: Option<String>,
}

#[derive(Clone, Debug)]
enum Place {
    Json(String),
    Regex { regex: Regex, group: usize },
    Header(HeaderName),
    Cookie(String),
    Redirect(String),
    Location,
    Field { form: Option<String>, name: String },
    Action { form: Option<String> },
}

impl Extract {
    pub(crate) fn settle(table: &ExtractTable) -> Result<Self, String> {
        let form = || table.form.clone();
        let places = [
            table
                .json
                .as_deref()
                .map(|text| pointer(text).map(Place::Json)),
            table
                .regex
                .as_deref()
                .map(|text| regex_place(text, table.group)),
            table
                .header
                .as_deref()
                .map(|text| header(text).map(Place::Header)),
            table.cookie.clone().map(|name| Ok(Place::Cookie(name))),
            table.redirect.clone().map(|name| Ok(Place::Redirect(name))),
            table.location.then_some(Ok(Place::Location)),
            table
                .field
                .clone()
                .map(|name| Ok(Place::Field { form: form(), name })),
            table.action.then(|| Ok(Place::Action { form: form() })),
        ];
        let mut given = places.into_iter().flatten();
        let (Some(place), None) = (given.next(), given.next()) else {
            return Err(
                "expected exactly one of `json`, `regex`, `header`, `cookie`, `redirect`, \
                 `location`, `field` and `action`"
                    .to_owned(),
            );
        };
        if table.group.is_some() && table.regex.is_none() {
            return Err("`group` belongs to `regex`".to_owned());
        }
        if table.form.is_some() && table.field.is_none() && !table.action {
            return Err("`form` belongs to `field` or `action`".to_owned());
        }
        Ok(Self {
            place: place?,
            default: table.default.clone(),
        })
    }

    /// The value, its default, or nothing.
    pub(crate) fn find(&self, seen: &Seen<'_>) -> Option<String> {
        self.place.find(seen).or_else(|| self.default.clone())
    }
}

/// A JSON pointer (RFC 6901): empty, or it begins with a slash.
pub(crate) fn pointer(text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(text.to_owned());
    }
    Err(format!(
        "expected a JSON pointer such as `/{text}`, not `{text}`"
    ))
}

pub(crate) fn regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|fault| format!("expected a regular expression: {fault}"))
}

pub(crate) fn header(text: &str) -> Result<HeaderName, String> {
    let name = HeaderName::from_bytes(text.as_bytes());
    name.map_err(|_| format!("expected the name of a header, not `{text}`"))
}

fn regex_place(text: &str, group: Option<usize>) -> Result<Place, String> {
    let (regex, group) = (regex(text)?, group.unwrap_or(1));
    if group >= regex.captures_len() {
        let hint = if group == 1 {
            "put what is wanted in parentheses, or take the whole match by `group = 0`"
        } else {
            "it has fewer groups than `group` says"
        };
        return Err(format!(
            "the regular expression has no group {group}: {hint}"
        ));
    }
    Ok(Place::Regex { regex, group })
}

impl Place {
    fn find(&self, seen: &Seen<'_>) -> Option<String> {
        match self {
            Self::Json(pointer) => seen.json(pointer).and_then(text),
            Self::Regex { regex, group } => {
                let found = regex.captures(seen.text())?;
                Some(found.get(*group)?.as_str().to_owned())
            }
            Self::Header(name) => {
                let value = seen.reply.headers.get(name)?;
                Some(value.to_str().ok()?.to_owned())
            }
            Self::Cookie(name) => cookie(seen, name),
            Self::Redirect(name) => parameter(&location(seen)?, name),
            Self::Location => location(seen).map(String::from),
            Self::Field { form, name } => {
                let value = seen.forms().value(form.as_deref(), name);
                value.map(str::to_owned)
            }
            Self::Action { form } => {
                let action = seen.forms().action(form.as_deref(), &seen.reply.url);
                action.map(String::from)
            }
        }
    }
}

/// A value as the text of a variable.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn cookie(seen: &Seen<'_>, name: &str) -> Option<String> {
    let set = seen.reply.headers.get_all(SET_COOKIE);
    // Where a name is set twice, the later one holds (RFC 6265 section 5.3).
    set.iter().rev().find_map(|line| {
        let (found, value) = line.to_str().ok()?.split(';').next()?.split_once('=')?;
        (found.trim() == name).then(|| value.trim().to_owned())
    })
}

fn location(seen: &Seen<'_>) -> Option<Url> {
    let reference = seen.reply.headers.get(LOCATION)?.to_str().ok()?;
    seen.reply.url.join(reference).ok()
}

/// A parameter of the query, or else of the fragment.
fn parameter(url: &Url, name: &str) -> Option<String> {
    let parts = [url.query(), url.fragment()].into_iter().flatten();
    let mut pairs = parts.flat_map(|part| form_urlencoded::parse(part.as_bytes()));
    let (_, value) = pairs.find(|(found, _)| found == name)?;
    Some(value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::steps::reply;

    fn settle(text: &str) -> Result<Extract, String> {
        Extract::settle(&toml::from_str(text).unwrap())
    }

    fn find(text: &str, headers: &[(&str, &str)], body: &str) -> Option<String> {
        let reply = reply(200, headers, body);
        settle(text).unwrap().find(&Seen::new(&reply))
    }

    #[test]
    fn values_of_json_are_found() {
        let body = r#"{"a":"x","n":5,"none":null,"list":[{"b/c":true}]}"#;
        let cases = [
            ("json = '/a'", Some("x")),
            ("json = '/n'", Some("5")),
            ("json = '/list/0/b~1c'", Some("true")),
            ("json = '/none'", None),
            ("json = '/other'", None),
            ("json = '/other'\ndefault = 'y'", Some("y")),
        ];
        for (text, found) in cases {
            assert_eq!(find(text, &[], body).as_deref(), found, "{text}");
        }
        assert_eq!(find("json = '/a'", &[], "no json"), None);
    }

    #[test]
    fn matches_headers_and_cookies_are_found() {
        let headers = [
            ("x-id", "17"),
            ("set-cookie", "s=old; Path=/"),
            ("set-cookie", "s=new=1; HttpOnly"),
        ];
        let find = |text| find(text, &headers, "id=4711;");
        assert_eq!(find("regex = 'id=(\\d+)'").as_deref(), Some("4711"));
        assert_eq!(
            find("regex = 'id=\\d+'\ngroup = 0").as_deref(),
            Some("id=4711")
        );
        assert_eq!(find("header = 'X-Id'").as_deref(), Some("17"));
        assert_eq!(find("cookie = 's'").as_deref(), Some("new=1"));
        assert_eq!(find("cookie = 't'"), None);
    }

    #[test]
    fn redirects_give_their_parameters() {
        let location = |to| [("location", to)];
        let find = |text, to| find(text, &location(to), "");
        let code = "redirect = 'code'";
        assert_eq!(find(code, "/cb?code=a%2Bb&state=c").as_deref(), Some("a+b"));
        assert_eq!(find(code, "http://c/cb#code=d").as_deref(), Some("d"));
        assert_eq!(find(code, "http://c/cb?error=x"), None);
        let whole = find("location = true", "next?a=b");
        assert_eq!(whole.as_deref(), Some("http://target/dir/next?a=b"));
    }

    #[test]
    fn forms_give_their_fields_and_actions() {
        let page = "<form id=a action=/a><input name=t value=1></form>\
             <form name=b><input name=t value=2></form>";
        let find = |text| find(text, &[], page);
        assert_eq!(find("field = 't'").as_deref(), Some("1"));
        assert_eq!(find("field = 't'\nform = 'b'").as_deref(), Some("2"));
        assert_eq!(find("action = true").as_deref(), Some("http://target/a"));
        let own = find("action = true\nform = 'b'");
        assert_eq!(own.as_deref(), Some("http://target/dir/page"));
        assert_eq!(find("field = 't'\nform = 'c'"), None);
    }

    #[test]
    fn tables_that_say_nothing_or_too_much_are_refused() {
        let wrong = [
            "",
            "default = 'x'",
            "json = '/a'\nheader = 'b'",
            "json = 'a'",
            "regex = '('",
            "regex = 'a'",
            "regex = '(a)'\ngroup = 2",
            "json = '/a'\ngroup = 1",
            "json = '/a'\nform = 'f'",
            "header = 'a b'",
        ];
        for text in wrong {
            assert!(settle(text).is_err(), "{text:?}");
        }
    }
}
