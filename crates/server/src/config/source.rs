//! The file, the environment and the command line become one table, and each value keeps where it
//! came from. It knows the shape of every option, but not what options mean together.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::Deserialize;
use serde::de::IntoDeserializer;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::options::{Options, Spec, TABLES, Table};
use super::setting::{Kind, redact};

/// What is outside of the process: its variables and the files it may read. Tests pass their own.
pub struct Outside<'a> {
    /// The variables whose names begin with `SIGNET_`.
    pub variables: BTreeMap<String, OsString>,
    /// Reads a file.
    pub read: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
}

impl Outside<'_> {
    /// The process's own environment and file system.
    pub fn real() -> Self {
        let variables = std::env::vars_os();
        Self {
            variables: variables
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
                .filter(|(name, _)| name.starts_with("SIGNET_"))
                .collect(),
            read: &|path| fs::read(path),
        }
    }

    /// The text of a file, without the line end at its end.
    pub(super) fn read_text(&self, path: &Path) -> Result<String, String> {
        let bytes = (self.read)(path).map_err(|fault| fault.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
    }
}

impl fmt::Debug for Outside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.keys().collect();
        f.debug_struct("Outside")
            .field("variables", &names)
            .finish_non_exhaustive()
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A line of the file, from 1.
    File(PathBuf, usize),
    /// A variable of the environment.
    Variable(String),
    /// An argument.
    CommandLine,
    /// Nobody gave one.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::CommandLine => f.write_str("command line"),
            Self::Default => f.write_str("not set"),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The option: `tokens.signing_alg`, `signer[0].url`; or what stands in place of one.
    pub option: String,
    /// Where its value came from.
    pub source: Source,
    /// What is wrong with it, and what to do.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.option, self.source, self.what)
    }
}

/// The options while they are put together.
#[derive(Debug, Default)]
pub(super) struct Draft {
    values: toml::Table,
    sources: BTreeMap<String, Source>,
    pub(super) problems: Vec<Problem>,
}

/// The file that is being read.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn source(&self, offset: usize) -> Source {
        let before = self.text.as_bytes().iter().take(offset);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        Source::File(self.path.to_owned(), line)
    }
}

impl Draft {
    /// Something is wrong with an option; its source is looked up.
    pub(super) fn refuse(&mut self, option: &str, what: impl Into<String>) {
        let source = self.sources.get(option).cloned();
        self.refuse_at(option, source.unwrap_or(Source::Default), what);
    }

    fn refuse_at(&mut self, option: &str, source: Source, what: impl Into<String>) {
        self.problems.push(Problem {
            option: option.to_owned(),
            source,
            what: what.into(),
        });
    }

    pub(super) fn add_file(&mut self, path: &Path, text: &str) {
        let file = File { path, text };
        let root = match DeTable::parse(text) {
            Ok(root) => root.into_inner(),
            Err(fault) => {
                let at = fault.span().map_or(0, |span| span.start);
                // Only the message: the whole error quotes the line, which may hold a secret.
                self.refuse_at("TOML", file.source(at), fault.message());
                return;
            }
        };
        let top = &TABLES[0];
        for (key, value) in root {
            let (name, at) = (key.get_ref(), key.span().start);
            let is_named = |t: &&Table| t.list().unwrap_or(t.name) == name.as_ref();
            let built = match TABLES.iter().skip(1).find(is_named) {
                Some(table) => self.build(&file, table, at, value.into_inner()),
                None => self.build_option(&file, (top, ""), (name, at), value.into_inner()),
            };
            if let Some(built) = built {
                self.values.insert(name.to_string(), built);
            }
        }
    }

    /// A table, or a list of them, of those of its options that are right.
    fn build(
        &mut self,
        file: &File<'_>,
        t: &Table,
        at: usize,
        value: DeValue<'_>,
    ) -> Option<Value> {
        match (value, t.list()) {
            (DeValue::Table(table), None) => {
                let prefix = format!("{}.", t.name);
                Some(Value::Table(self.build_table(file, (t, &prefix), table)))
            }
            (DeValue::Array(array), Some(name)) => {
                let elements = array.into_iter().enumerate();
                let built = elements.filter_map(|(index, element)| {
                    self.build_element(file, t, &format!("{name}[{index}]"), element)
                });
                Some(Value::Array(built.collect()))
            }
            (_, list) => {
                let write = list.map_or(format!("[{}]", t.name), |name| format!("[[{name}]]"));
                let what = format!("this is a table; write `{write}` on a line of its own");
                self.refuse_at(list.unwrap_or(t.name), file.source(at), what);
                None
            }
        }
    }

    fn build_element(
        &mut self,
        file: &File<'_>,
        t: &Table,
        place: &str,
        element: Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        let source = file.source(element.span().start);
        let DeValue::Table(table) = element.into_inner() else {
            self.refuse_at(place, source, "write `[[signer]]`");
            return None;
        };
        self.sources.insert(place.to_owned(), source);
        Some(
            self.build_table(file, (t, &format!("{place}.")), table)
                .into(),
        )
    }

    fn build_table(&mut self, f: &File<'_>, of: (&Table, &str), table: DeTable<'_>) -> toml::Table {
        let mut built = toml::Table::new();
        for (key, value) in table {
            let (name, at) = (key.get_ref(), key.span().start);
            if let Some(value) = self.build_option(f, of, (name, at), value.into_inner()) {
                built.insert(name.to_string(), value);
            }
        }
        built
    }

    fn build_option(
        &mut self,
        file: &File<'_>,
        (table, prefix): (&Table, &str),
        (name, at): (&str, usize),
        value: DeValue<'_>,
    ) -> Option<Value> {
        let (place, source) = (format!("{prefix}{name}"), file.source(at));
        let Some(spec) = table.options.iter().find(|spec| spec.name == name) else {
            let tables = TABLES[1..].iter().filter(|_| prefix.is_empty());
            let tables = tables.map(|table| table.list().unwrap_or(table.name));
            let names = table.options.iter().map(|spec| spec.name).chain(tables);
            self.refuse_at(&place, source, unknown(name, names.map(str::to_owned)));
            return None;
        };
        // A number that no integer holds has no `Value`; its digits are shown.
        let shown = value.as_integer().map(|digits| digits.as_str().to_owned());
        let value = Value::deserialize(Spanned::new(at..at, value).into_deserializer());
        let value = value.unwrap_or_else(|_| Value::String(shown.unwrap_or_default()));
        self.admit(spec, &place, value, source)
    }

    /// The value, when the option can have it.
    fn admit(&mut self, spec: &Spec, place: &str, value: Value, from: Source) -> Option<Value> {
        if let Some(fault) = spec.fault(&value) {
            let what = format!("{} {fault}; give {}", show(&value), spec.form());
            self.refuse_at(place, from, what);
            return None;
        }
        self.sources.insert(place.to_owned(), from);
        Some(value)
    }

    pub(super) fn add_variables(&mut self, variables: &BTreeMap<String, OsString>) {
        for (name, value) in variables
            .iter()
            .filter(|(name, value)| !is_foreign(name, value))
        {
            let source = Source::Variable(name.clone());
            let is_named =
                |(t, spec): &(&Table, &Spec)| t.variable(spec.name).as_ref() == Some(name);
            match (named().find(is_named), value.to_str()) {
                (Some((table, spec)), Some(text)) => self.add_text(table, spec, text, source),
                (Some((table, spec)), None) => {
                    self.refuse_at(&table.path(spec.name), source, "the value is not UTF-8");
                }
                (None, _) => {
                    let names = named().filter_map(|(table, spec)| table.variable(spec.name));
                    self.refuse_at("environment", source, unknown(name, names));
                }
            }
        }
    }

    /// Options of the command line: paths, as in `tokens.signing_alg`, and texts, as in a variable.
    pub(super) fn add_overrides(&mut self, overrides: &[(&str, String)]) {
        for (path, text) in overrides {
            if let Some((table, spec)) = named().find(|(t, spec)| t.path(spec.name) == *path) {
                self.add_text(table, spec, text, Source::CommandLine);
            } else {
                let paths = named().map(|(table, spec)| table.path(spec.name));
                self.refuse_at(path, Source::CommandLine, unknown(path, paths));
            }
        }
    }

    fn add_text(&mut self, table: &Table, spec: &Spec, text: &str, source: Source) {
        let place = table.path(spec.name);
        if text.is_empty() {
            let what = format!("it is empty; unset it or give {}", spec.form());
            self.refuse_at(&place, source, what);
            return;
        }
        let number = text.parse().ok().filter(|_| spec.kind == Kind::Integer);
        let value = match (spec.kind, text) {
            (Kind::Boolean, "true" | "1") => Value::Boolean(true),
            (Kind::Boolean, "false" | "0") => Value::Boolean(false),
            (Kind::List, _) => text.split(',').map(str::trim).collect::<Vec<_>>().into(),
            _ => number.map_or_else(|| Value::String(text.to_owned()), Value::Integer),
        };
        let Some(value) = self.admit(spec, &place, value, source) else {
            return;
        };
        if table.name.is_empty() {
            self.values.insert(spec.name.to_owned(), value);
            return;
        }
        let inner = self.values.entry(table.name);
        if let Value::Table(inner) = inner.or_insert_with(|| Value::Table(toml::Table::new())) {
            inner.insert(spec.name.to_owned(), value);
        }
    }

    /// The options; what nobody gave has its default.
    pub(super) fn options(&mut self) -> Options {
        let values = std::mem::take(&mut self.values);
        values.try_into().unwrap_or_else(|fault: toml::de::Error| {
            self.refuse("configuration", redact(fault.message()));
            Options::default()
        })
    }
}

/// The options that have names of their own outside of the file.
fn named() -> impl Iterator<Item = (&'static Table, &'static Spec)> {
    let single = TABLES.iter().filter(|table| table.list().is_none());
    single.flat_map(|table| table.options.iter().map(move |spec| (table, spec)))
}

/// A value as an error may show it: without a password, and not too long.
fn show(value: &Value) -> String {
    match value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) => {
            let shown: String = redact(text).chars().take(60).collect();
            format!("`{}`", shown.escape_debug())
        }
        other => format!("`{other}`"),
    }
}

/// Variables with our prefix that are not options. The manual lists them.
fn is_foreign(name: &str, value: &OsString) -> bool {
    // For a service named `signet`, Kubernetes sets these in every pod of its namespace.
    let is_link = |part: &str| {
        let rest = name.split_once(part).map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_url = || value.to_string_lossy().contains("://");
    name == super::CONFIG_VARIABLE
        || matches!(name, "SIGNET_ADMIN_URL" | "SIGNET_ADMIN_TOKEN_FILE")
        || name.starts_with("SIGNET_TEST_")
        || name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || (name.ends_with("_PORT") && is_url())
        || is_link("_PORT_")
}

/// What to say about a name that is none, given those that are.
fn unknown(name: &str, names: impl Iterator<Item = String>) -> String {
    let near = names.map(|known| (distance(name, &known), known)).min();
    match near {
        Some((far, known)) if far * 3 <= known.len() => {
            format!("there is no such option; did you mean `{known}`?")
        }
        _ => "there is no such option; docs/configuration.md lists all".to_owned(),
    }
}

/// Levenshtein's: the insertions, removals and replacements that turn one name into the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().take(100).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}
