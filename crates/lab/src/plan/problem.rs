//! What is wrong with a plan, and where: file, line and column, or the argument of the command line.
//! It must not know what a plan means.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where something of a plan was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Line and column count from 1; the column counts characters.
    File {
        file: PathBuf,
        line: usize,
        column: usize,
    },
    /// An argument, as it was given.
    Argument(String),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(out, "{}:{line}:{column}", file.display()),
            Self::Argument(text) => write!(out, "the argument `{text}`"),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    /// The option, such as `populations[0].rate`; empty when the plan is no TOML.
    pub(crate) option: String,
    /// What is wrong with it and what was expected.
    pub(crate) what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.option.as_str() {
            "" => write!(out, "{}: {}", self.place, self.what),
            option => write!(out, "{}: {option}: {}", self.place, self.what),
        }
    }
}

/// Why a plan cannot be used: at least one problem, printed one a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) struct PlanError(pub(crate) Vec<Problem>);

impl fmt::Display for PlanError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        out.write_str(&lines.join("\n"))
    }
}

impl PlanError {
    /// Something is wrong with an option of another file in TOML.
    pub(crate) fn in_file(file: &Path, text: &str, option: &str, what: impl Into<String>) -> Self {
        let mut places = Places::new(file, text);
        if let Ok(root) = DeTable::parse(text) {
            places.index(root.get_ref());
        }
        places.problem(option, what).into()
    }
}

impl From<Problem> for PlanError {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

/// Where every option of a plan stands.
#[derive(Clone)]
pub(crate) struct Places {
    file: PathBuf,
    /// Byte offsets at which lines begin.
    lines: Vec<usize>,
    text: String,
    /// Arguments that replaced values; value `n` stands at `text.len() + 1 + n`.
    arguments: Vec<String>,
    offsets: BTreeMap<String, usize>,
}

impl fmt::Debug for Places {
    /// Not the text: it may hold secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "places in {}", self.file.display())
    }
}

impl Places {
    pub(super) fn new(file: &Path, text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            file: file.to_owned(),
            lines: std::iter::once(0)
                .chain(ends.map(|(at, _)| at + 1))
                .collect(),
            text: text.to_owned(),
            arguments: Vec::new(),
            offsets: BTreeMap::new(),
        }
    }

    /// The place of values that an argument gives, as a span of the text would be.
    pub(super) fn add_argument(&mut self, argument: String) -> std::ops::Range<usize> {
        let at = self.text.len() + 1 + self.arguments.len();
        self.arguments.push(argument);
        at..at
    }

    pub(super) fn index(&mut self, root: &DeTable<'_>) {
        self.index_table("", root);
    }

    fn index_table(&mut self, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{}", key.get_ref());
            self.index_value(path, value);
        }
    }

    fn index_value(&mut self, path: String, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.index_table(&path, table),
            DeValue::Array(array) => {
                for (index, element) in array.iter().enumerate() {
                    self.index_value(format!("{path}[{index}]"), element);
                }
            }
            _ => {}
        }
        self.offsets.insert(path, value.span().start);
    }

    /// The place of a byte of the text or of an argument.
    pub(super) fn at(&self, offset: usize) -> Place {
        let argument = offset.checked_sub(self.text.len() + 1);
        if let Some(argument) = argument.and_then(|index| self.arguments.get(index)) {
            return Place::Argument(argument.clone());
        }
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines.get(line.saturating_sub(1)).copied();
        let before = self
            .text
            .get(start.unwrap_or(0)..offset.min(self.text.len()));
        Place::File {
            file: self.file.clone(),
            line: line.max(1),
            column: before.map_or(0, |text| text.chars().count()) + 1,
        }
    }

    /// The place of an option, or of the nearest table around it that is in the plan.
    pub(crate) fn of(&self, option: &str) -> Place {
        let mut path = option;
        loop {
            if let Some(offset) = self.offsets.get(path) {
                return self.at(*offset);
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return self.at(0),
            }
        }
    }

    /// Something is wrong with an option.
    pub(crate) fn problem(&self, option: &str, what: impl Into<String>) -> Problem {
        Problem {
            place: self.of(option),
            option: option.to_owned(),
            what: what.into(),
        }
    }

    /// What the parser found wrong. Of its error only the message is told: the rest quotes the
    /// line, which may hold a secret.
    pub(super) fn fault(&self, fault: &toml::de::Error) -> Problem {
        let offset = fault.span().map_or(0, |span| span.start);
        let holds = |(path, at): (&String, &usize)| (*at == offset).then(|| path.clone());
        // A table and the first value in it may begin at the same place: the value is meant.
        let option = self
            .offsets
            .iter()
            .filter_map(holds)
            .max_by_key(String::len);
        Problem {
            place: self.at(offset),
            option: option.unwrap_or_default(),
            what: with_hint(&without_text(fault.message())),
        }
    }
}

/// Says that a text came where none was expected without quoting it: it may be a secret.
fn without_text(message: &str) -> String {
    match (
        message.split_once(": string \""),
        message.rsplit_once(", expected "),
    ) {
        (Some((kind, _)), Some((_, expected))) => format!("{kind}: a text, expected {expected}"),
        _ => message.to_owned(),
    }
}

/// Adds the nearest name to `unknown field` and `unknown variant`.
fn with_hint(message: &str) -> String {
    let message = message.trim_end().replace('\n', "; ");
    let mut names = message.split('`').skip(1).step_by(2);
    let Some(wrong) = names.next().filter(|_| message.starts_with("unknown ")) else {
        return message;
    };
    match nearest(wrong, names) {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => message.clone(),
    }
}

/// `no feed is called `usres`; did you mean `users`?`, or the names that there are.
pub(crate) fn unknown<'a>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("expected one of `{}`", known.join("`, `")),
    };
    format!("no {kind} is called `{name}`; {hint}")
}

/// The name that was probably meant: at most a third of its letters differ.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.map(|known| (distance(name, known), known));
    let (distance, known) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= known.chars().count().max(3) / 3).then_some(known)
}

/// Letters to insert, remove or replace (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_recognised_and_another_word_is_not() {
        let known = ["users", "clients", "rate"];
        assert_eq!(nearest("usres", known.into_iter()), None);
        assert_eq!(nearest("user", known.into_iter()), Some("users"));
        assert_eq!(nearest("cleints", known.into_iter()), Some("clients"));
        assert_eq!(nearest("password", known.into_iter()), None);
    }

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let text = "a = 1\nä = \"é\"\n  b = 3";
        let places = Places::new(Path::new("p.toml"), text);
        let cases = [(0, 1, 1), (4, 1, 5), (6, 2, 1), (11, 2, 5), (18, 3, 3)];
        for (offset, line, column) in cases {
            let file = PathBuf::from("p.toml");
            assert_eq!(
                places.at(offset),
                Place::File { file, line, column },
                "{offset}"
            );
        }
    }

    #[test]
    fn an_argument_is_a_place() {
        let mut places = Places::new(Path::new("p.toml"), "a = 1\n");
        let span = places.add_argument("--users 7".to_owned());
        assert_eq!(
            places.at(span.start),
            Place::Argument("--users 7".to_owned())
        );
    }
}
