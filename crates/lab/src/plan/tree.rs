//! Tables of a plan whose texts are templates: bodies in JSON, parameters of flows, expected values.
//! It must not know what they are for.

use std::collections::BTreeMap;
use std::convert::Infallible;

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

    /// Whether nothing is to be filled.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Self::Text(template) => template.constant().is_some(),
            Self::Other(_) => true,
            Self::List(list) => list.iter().all(Self::is_constant),
            Self::Table(table) => table.values().all(Self::is_constant),
        }
    }

    /// The value for JSON, its texts filled.
    pub(crate) fn fill(&self, user: &mut User) -> Result<serde_json::Value, Wrong> {
        self.json(&mut |template| template.fill(user))
    }

    /// The value for JSON before there are values to fill in.
    pub(super) fn outline(&self) -> serde_json::Value {
        let outlined = self.json(&mut |template| Ok::<_, Infallible>(template.outline()));
        outlined.unwrap_or_else(|never| match never {})
    }

    fn json<E>(
        &self,
        text: &mut impl FnMut(&Template) -> Result<String, E>,
    ) -> Result<serde_json::Value, E> {
        Ok(match self {
            Self::Text(template) => text(template)?.into(),
            Self::Other(toml::Value::Integer(number)) => (*number).into(),
            Self::Other(toml::Value::Float(number)) => (*number).into(),
            Self::Other(toml::Value::Boolean(value)) => (*value).into(),
            Self::Other(_) => serde_json::Value::Null,
            Self::List(list) => {
                let list = list.iter().map(|element| element.json(text));
                list.collect::<Result<Vec<_>, _>>()?.into()
            }
            Self::Table(table) => {
                let table = table.iter().map(|(k, v)| Ok((k.clone(), v.json(text)?)));
                serde_json::Value::Object(table.collect::<Result<_, E>>()?)
            }
        })
    }
}

impl From<&Tree> for toml::Value {
    /// As it is written.
    fn from(tree: &Tree) -> Self {
        match tree {
            Tree::Text(template) => template.shown().into(),
            Tree::Other(other) => other.clone(),
            Tree::List(list) => Self::Array(list.iter().map(Self::from).collect()),
            Tree::Table(table) => {
                let entries = table.iter().map(|(k, v)| (k.clone(), Self::from(v)));
                Self::Table(entries.collect())
            }
        }
    }
}

/// The parameters of a built-in flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct With(pub(super) BTreeMap<String, Tree>);

impl With {
    /// As they are written.
    pub(crate) fn table(&self) -> toml::Table {
        let entries = self.0.iter();
        entries
            .map(|(k, v)| (k.clone(), toml::Value::from(v)))
            .collect()
    }

    /// The names that must have a value when a pass begins.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.values().flat_map(Tree::names)
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
    fn parameters_stay_as_they_are_written_and_say_what_they_need() {
        let text = "a = 'x${x}'\nb = '$${x}'\nlist = ['${y}', 5]\nz = { deep = '${random:uuid}' }";
        let with = With(toml::from_str(text).unwrap());
        assert_eq!(with.table(), toml::from_str(text).unwrap());
        assert_eq!(with.names().collect::<Vec<_>>(), ["x", "y"]);
    }

    #[test]
    fn a_bad_placeholder_inside_is_found() {
        let list = toml::Value::Array(vec!["${".into()]);
        assert!(Tree::try_from(list).is_err());
    }
}
