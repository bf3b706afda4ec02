//! Where the variables of templates come from while a flow is gone through, and JSON that is made of
//! templates. It must not know flows.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::call::Wrong;
pub(crate) use crate::plan::template::Template;
use crate::plan::user::User;

/// Variables by name.
pub(crate) type Variables = BTreeMap<String, String>;

/// Somebody who has values.
pub(crate) trait Known {
    fn value(&self, name: &str) -> Option<&str>;
}

impl Known for User {
    fn value(&self, name: &str) -> Option<&str> {
        self.get(name)
    }
}

/// Nobody in particular.
impl Known for () {
    fn value(&self, _: &str) -> Option<&str> {
        None
    }
}

impl Template {
    pub(crate) fn render<'a>(&'a self, scope: &Scope<'a>) -> Result<Cow<'a, str>, Wrong> {
        self.look_up(|name| scope.find(name))
    }
}

/// Where variables are looked for: first what the pass learned, then the user's, then the target's.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) pass: &'a Variables,
    pub(crate) user: &'a dyn Known,
    pub(crate) target: &'a Variables,
}

impl<'a> Scope<'a> {
    pub(crate) fn find(&self, name: &str) -> Option<&'a str> {
        let of = |variables: &'a Variables| variables.get(name).map(String::as_str);
        let user = || self.user.value(name);
        of(self.pass).or_else(user).or_else(|| of(self.target))
    }
}

/// Fills in the variables in every text of a JSON value. A text that is nothing but `${name:list}`
/// becomes the list of the words of the variable.
pub(crate) fn render_json(value: &Value, scope: &Scope<'_>) -> Result<Value, Wrong> {
    Ok(match value {
        Value::String(text) => match list_of(text) {
            Some(list) => list.render(scope)?.split_whitespace().collect(),
            None => Value::String(parse(text)?.render(scope)?.into_owned()),
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

/// Whether every text of a JSON value is a template; else what is wrong with one.
pub(crate) fn check_json(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) if list_of(text).is_some() => Ok(()),
        Value::String(text) => Template::parse(text).map(drop),
        Value::Array(items) => items.iter().try_for_each(check_json),
        Value::Object(members) => members.values().try_for_each(check_json),
        _ => Ok(()),
    }
}

/// The names of the variables in all texts of a JSON value.
pub(crate) fn json_names(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => {
            let template = list_of(text).or_else(|| Template::parse(text).ok());
            let names = template.iter().flat_map(Template::names);
            names.map(str::to_owned).collect()
        }
        Value::Array(items) => items.iter().flat_map(json_names).collect(),
        Value::Object(members) => members.values().flat_map(json_names).collect(),
        _ => Vec::new(),
    }
}

/// Of `${name:list}`, the variable.
fn list_of(text: &str) -> Option<Template> {
    let name = text.strip_prefix("${")?.strip_suffix(":list}")?;
    (!name.contains(['}', ':'])).then(|| Template::variable(name))
}

fn parse(text: &str) -> Result<Template, Wrong> {
    Template::parse(text).map_err(|detail| Wrong {
        check: "variable",
        detail,
    })
}

/// Fills in the variables that are known, in every text of a TOML value, and leaves the others. What is
/// no template is left to whoever reads it.
pub(crate) fn fill(value: &mut toml::Value, known: &BTreeMap<String, Template>) {
    match value {
        toml::Value::String(text) => {
            if let Ok(template) = Template::parse(text) {
                *text = template.with(known).shown();
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

    impl Known for Variables {
        fn value(&self, name: &str) -> Option<&str> {
            self.get(name).map(String::as_str)
        }
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
        let template = Template::parse("${a}${b}${c}").unwrap();
        assert_eq!(template.render(&scope).unwrap(), "123");
        let missing = Template::parse("${nobody}").unwrap();
        assert_eq!(missing.render(&scope).unwrap_err().check, "variable");
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
        let base = Template::parse("http://h").unwrap();
        fill(&mut value, &BTreeMap::from([("base".to_owned(), base)]));
        assert_eq!(value["a"][0].as_str(), Some("http://h/x/${id}"));
    }
}
