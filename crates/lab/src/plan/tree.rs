//! Tables of a plan whose texts are templates: bodies in JSON, parameters of flows, expected values.
//! It must not know what they are for.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::template::Template;
use super::user::User;
use crate::call::Wrong;

/// A value whose texts are templates.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(crate) enum Tree {
    Text(Template),
    /// A number or a truth value.
    Other(toml::Value),
    List(Vec<Tree>),
    Table(BTreeMap<String, Tree>),
}

impl TryFrom<toml::Value> for Tree {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        Ok(match value {
            toml::Value::String(text) => Self::Text(Template::parse(&text)?),
            toml::Value::Array(list) => {
                let list = list.into_iter().map(Self::try_from);
                Self::List(list.collect::<Result<_, _>>()?)
            }
            toml::Value::Table(table) => {
                let table = table
                    .into_iter()
                    .map(|(key, v)| Ok((key, Self::try_from(v)?)));
                Self::Table(table.collect::<Result<_, String>>()?)
            }
            toml::Value::Datetime(_) => return Err("write a date as a text".to_owned()),
            other => Self::Other(other),
        })
    }
}

impl Tree {
    /// The names that must have a value when the texts are filled.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Text(template) => template.names().collect(),
            Self::Other(_) => Vec::new(),
            Self::List(list) => list.iter().flat_map(Self::names).collect(),
            Self::Table(table) => table.values().flat_map(Self::names).collect(),
        }
    }

    /// The value for JSON, its texts filled.
    pub(crate) fn fill(&self, user: &mut User) -> Result<serde_json::Value, Wrong> {
        Ok(match self {
            Self::Text(template) => template.fill(user)?.into(),
            Self::Other(toml::Value::Integer(number)) => (*number).into(),
            Self::Other(toml::Value::Float(number)) => (*number).into(),
            Self::Other(toml::Value::Boolean(value)) => (*value).into(),
            Self::Other(_) => serde_json::Value::Null,
            Self::List(list) => {
                let list = list.iter().map(|element| element.fill(user));
                list.collect::<Result<Vec<_>, _>>()?.into()
            }
            Self::Table(table) => {
                let table = table.iter().map(|(k, v)| Ok((k.clone(), v.fill(user)?)));
                serde_json::Value::Object(table.collect::<Result<_, Wrong>>()?)
            }
        })
    }
}

/// The parameters of a built-in flow. Such a flow knows names only, so every text with placeholders
/// becomes `${with.0}`, `${with.1}` and so on, and these are variables of its user.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct With {
    table: toml::Table,
    texts: Vec<(String, Template)>,
}

impl With {
    pub(super) fn new(tree: &BTreeMap<String, Tree>) -> Self {
        let mut with = Self::default();
        let entries = tree.iter();
        let table = entries.map(|(k, v)| (k.clone(), with.place(v))).collect();
        Self { table, ..with }
    }

    fn place(&mut self, tree: &Tree) -> toml::Value {
        match tree {
            Tree::Text(template) => self.place_text(template).into(),
            Tree::Other(other) => other.clone(),
            Tree::List(list) => {
                let elements = list.iter().map(|element| self.place(element));
                toml::Value::Array(elements.collect())
            }
            Tree::Table(table) => {
                let entries = table.iter().map(|(k, v)| (k.clone(), self.place(v)));
                toml::Value::Table(entries.collect())
            }
        }
    }

    fn place_text(&mut self, template: &Template) -> String {
        if let Some(text) = template.constant() {
            return text.to_owned();
        }
        let name = format!("with.{}", self.texts.len());
        let text = format!("${{{name}}}");
        self.texts.push((name, template.clone()));
        text
    }

    /// The parameters, the same for all users and passes.
    pub(crate) fn table(&self) -> &toml::Table {
        &self.table
    }

    /// The variables that the parameters name, for the next pass of a user.
    pub(crate) fn fill(&self, user: &mut User) -> Result<Vec<(String, String)>, Wrong> {
        let texts = self.texts.iter();
        let filled = texts.map(|(name, template)| Ok((name.clone(), template.fill(user)?)));
        filled.collect()
    }

    /// The names that must have a value when a pass begins.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().flat_map(|(_, template)| template.names())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn texts_are_filled_wherever_they_stand_and_cannot_leave_their_quotes() {
        let table: toml::Table = toml::from_str(
            "a = '${x}'\nn = 5\nf = 1.5\nb = true\nlist = ['${x}', { deep = '<${x}>' }]",
        )
        .unwrap();
        let tree = Tree::try_from(toml::Value::Table(table)).unwrap();
        assert_eq!(tree.names(), ["x", "x", "x"]);
        let mut user = User::new(0, 0, 0, Arc::default());
        user.set("x", "\",\"y\":1".to_owned());
        let filled = tree.fill(&mut user).unwrap();
        let text = "\",\"y\":1";
        let expected = serde_json::json!({
            "a": text, "n": 5, "f": 1.5, "b": true,
            "list": [text, { "deep": format!("<{text}>") }],
        });
        assert_eq!(filled, expected);
    }

    #[test]
    fn parameters_name_what_is_filled_for_every_pass() {
        let table = "a = 'x${x}'\nb = 'fixed'\nlist = ['${x}', 5]\nz = { deep = '${x}${x}' }";
        let with = With::new(&toml::from_str(table).unwrap());
        let named =
            "a = '${with.0}'\nb = 'fixed'\nlist = ['${with.1}', 5]\nz = { deep = '${with.2}' }";
        assert_eq!(with.table(), &toml::from_str(named).unwrap());
        let mut user = User::new(0, 0, 0, Arc::default());
        assert_eq!(with.fill(&mut user).unwrap_err().check, "variable");
        user.set("x", "1".to_owned());
        let filled = with.fill(&mut user).unwrap();
        let expected = [("with.0", "x1"), ("with.1", "1"), ("with.2", "11")];
        assert_eq!(
            filled,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        assert_eq!(with.names().collect::<Vec<_>>(), ["x"; 4]);
    }

    #[test]
    fn a_bad_placeholder_inside_is_found() {
        let list = toml::Value::Array(vec!["${".into()]);
        assert!(Tree::try_from(list).is_err());
    }
}
