//! Texts with variables, `${name}`, and JSON made of them. It must not know where variables come from.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::call::Wrong;

/// Variables by name.
pub(crate) type Variables = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: `${{` begins a variable, which ends with `}}`: write it as ${{name}}")]
pub(crate) struct BadTemplate {
    text: String,
}

/// A text in which `${name}` stands for a variable. There is no escape: nothing that a target takes
/// holds `${`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Variable(String),
}

impl TryFrom<String> for Template {
    type Error = BadTemplate;

    fn try_from(text: String) -> Result<Self, BadTemplate> {
        Self::parse(&text)
    }
}

impl Template {
    /// `${name}`
    pub(crate) fn variable(name: &str) -> Self {
        Self(vec![Piece::Variable(name.to_owned())])
    }

    pub(crate) fn parse(text: &str) -> Result<Self, BadTemplate> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let bad = || BadTemplate {
                text: text.to_owned(),
            };
            let (name, after) = after.split_once('}').ok_or_else(bad)?;
            if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '{') {
                return Err(bad());
            }
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(Piece::Variable(name.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    /// The names of its variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Variable(name) => Some(name.as_str()),
        })
    }

    pub(crate) fn render<'a>(&'a self, scope: &Scope<'a>) -> Result<Cow<'a, str>, Wrong> {
        match self.0.as_slice() {
            [] => Ok(Cow::Borrowed("")),
            [piece] => piece.value(scope).map(Cow::Borrowed),
            pieces => pieces
                .iter()
                .map(|piece| piece.value(scope))
                .collect::<Result<String, Wrong>>()
                .map(Cow::Owned),
        }
    }
}

impl Piece {
    fn value<'a>(&'a self, scope: &Scope<'a>) -> Result<&'a str, Wrong> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Variable(name) => scope.find(name).ok_or_else(|| missing(name)),
        }
    }
}

fn missing(name: &str) -> Wrong {
    Wrong {
        check: "variable",
        detail: format!("there is no variable ${{{name}}}: give it in a feed or under `variables`"),
    }
}

/// Where variables are looked for: first what the pass learned, then the user's, then the target's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) pass: &'a Variables,
    pub(crate) user: &'a Variables,
    pub(crate) target: &'a Variables,
}

impl<'a> Scope<'a> {
    pub(crate) fn find(&self, name: &str) -> Option<&'a str> {
        let layers = [self.pass, self.user, self.target];
        layers
            .iter()
            .find_map(|layer| layer.get(name))
            .map(String::as_str)
    }
}

/// Fills in the variables in every text of a JSON value. A text that is nothing but `${name:list}`
/// becomes the list of the words of the variable.
pub(crate) fn render_json(value: &Value, scope: &Scope<'_>) -> Result<Value, Wrong> {
    Ok(match value {
        Value::String(text) => match list_of(text) {
            Some(name) => scope
                .find(name)
                .ok_or_else(|| missing(name))?
                .split_whitespace()
                .collect(),
            None => Value::String(render_text(text, scope)?),
        },
        Value::Array(items) => items
            .iter()
            .map(|item| render_json(item, scope))
            .collect::<Result<_, _>>()?,
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| Ok((name.clone(), render_json(member, scope)?)))
            .collect::<Result<_, Wrong>>()?,
        other => other.clone(),
    })
}

/// Whether every text of a JSON value is a template.
pub(crate) fn check_json(value: &Value) -> Result<(), BadTemplate> {
    match value {
        Value::String(text) => Template::parse(text).map(drop),
        Value::Array(items) => items.iter().try_for_each(check_json),
        Value::Object(members) => members.values().try_for_each(check_json),
        _ => Ok(()),
    }
}

fn list_of(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix(":list}")?;
    (!name.contains('}')).then_some(name)
}

fn render_text(text: &str, scope: &Scope<'_>) -> Result<String, Wrong> {
    let template = Template::parse(text).map_err(|bad| Wrong {
        check: "variable",
        detail: bad.to_string(),
    })?;
    Ok(template.render(scope)?.into_owned())
}

/// Fills in the variables that are known, in every text of a TOML value, and leaves the others.
pub(crate) fn fill(value: &mut toml::Value, known: &Variables) {
    match value {
        toml::Value::String(text) => {
            for (name, with) in known {
                let variable = format!("${{{name}}}");
                if text.contains(&variable) {
                    *text = text.replace(&variable, with);
                }
            }
        }
        toml::Value::Array(items) => items.iter_mut().for_each(|item| fill(item, known)),
        toml::Value::Table(table) => table.iter_mut().for_each(|(_, item)| fill(item, known)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn the_pass_comes_before_the_user_and_the_user_before_the_target() {
        let (pass, user) = (
            variables(&[("a", "1")]),
            variables(&[("a", "2"), ("b", "2")]),
        );
        let target = variables(&[("a", "3"), ("b", "3"), ("c", "3")]);
        let scope = Scope {
            pass: &pass,
            user: &user,
            target: &target,
        };
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${a}", "1"),
            ("${a}${b}${c}", "123"),
            ("x-${b}-${c}.", "x-2-3."),
            ("$ {a} $a }", "$ {a} $a }"),
        ] {
            let template = Template::parse(text).unwrap();
            assert_eq!(template.render(&scope).unwrap(), expected, "{text}");
        }
        let missing = Template::parse("${nobody}").unwrap();
        assert_eq!(missing.render(&scope).unwrap_err().check, "variable");
    }

    #[test]
    fn a_variable_without_an_end_or_a_name_is_refused() {
        for text in ["${", "${a", "a${}b", "${a b}", "${${a}}"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn json_is_filled_without_its_quotes_being_broken() {
        let user = variables(&[("name", "O\"Neil"), ("scope", "openid  email")]);
        let none = Variables::new();
        let scope = Scope {
            pass: &none,
            user: &user,
            target: &none,
        };
        let template = json!({"a": ["${name}", 1, true], "s": "${scope:list}", "t": "${scope}"});
        let expected =
            json!({"a": ["O\"Neil", 1, true], "s": ["openid", "email"], "t": "openid  email"});
        assert_eq!(render_json(&template, &scope).unwrap(), expected);
        assert!(render_json(&json!("${no}"), &scope).is_err());
        assert!(render_json(&json!("${no:list}"), &scope).is_err());
    }

    #[test]
    fn what_is_not_known_yet_stays() {
        let mut value = toml::Value::try_from(json!({"a": ["${base}/x/${id}"]})).unwrap();
        fill(&mut value, &variables(&[("base", "http://h")]));
        assert_eq!(value["a"][0].as_str(), Some("http://h/x/${id}"));
    }
}
