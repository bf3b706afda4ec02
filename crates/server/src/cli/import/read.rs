//! The clients or users of a file, one by one: a JSON array, an object with the array `clients` or
//! `users` (or an array of such), or one JSON object a line. It does not look into them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::value::RawValue;

use crate::cli::console::Console;
use crate::cli::error::CliError;

/// Where a client stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A line, from 1.
    Line(u64),
    /// An entry of the array, from 1.
    Entry(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Entry(number) => write!(f, "entry {number}"),
        }
    }
}

/// The text of a client, not parsed yet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) place: Place,
    pub(super) text: String,
}

/// The clients or users of a file.
pub(super) struct Records {
    /// How many there are, where that is known.
    pub(super) count: Option<u64>,
    records: Box<dyn Iterator<Item = io::Result<Record>>>,
}

impl Records {
    /// Opens a file, or reads the standard input; `member` is the array of them in a document.
    pub(super) fn open(
        path: &Path,
        member: &str,
        console: &mut Console<'_>,
    ) -> Result<Self, CliError> {
        let bad = |fault: io::Error| CliError::file(path, fault);
        if path == Path::new("-") {
            // The console is borrowed for longer than the file may be read: take it all.
            let text = console.read_all()?;
            return Self::read(io::Cursor::new(text), None, member).map_err(bad);
        }
        let open = || File::open(path).map(BufReader::new);
        let lines = count_lines(open().map_err(bad)?).map_err(bad)?;
        Self::read(open().map_err(bad)?, Some(lines), member).map_err(bad)
    }

    fn read(
        mut input: impl BufRead + 'static,
        lines: Option<u64>,
        member: &str,
    ) -> io::Result<Self> {
        let (mut first, mut number) = (String::new(), 0);
        while first.trim().is_empty() {
            first.clear();
            number += 1;
            if input.read_line(&mut first)? == 0 {
                return Err(invalid("it is empty"));
            }
        }
        let start = first.trim_start_matches('\u{feff}');
        if is_line(start, member)? {
            let first = Record {
                place: Place::Line(number),
                text: start.to_owned(),
            };
            let rest = input.lines().zip(number + 1..).map(|(line, number)| {
                Ok(Record {
                    place: Place::Line(number),
                    text: line?,
                })
            });
            let has_text = |record: &io::Result<Record>| {
                record
                    .as_ref()
                    .map_or(true, |record| !record.text.trim().is_empty())
            };
            let records = Box::new(std::iter::once(Ok(first)).chain(rest).filter(has_text));
            return Ok(Self {
                count: lines,
                records,
            });
        }
        let mut text = start.to_owned();
        input.read_to_string(&mut text)?;
        let entries = entries(&text, member)?;
        let count = u64::try_from(entries.len()).ok();
        let records = entries.into_iter().zip(1..).map(|(entry, number)| {
            Ok(Record {
                place: Place::Entry(number),
                text: String::from(Box::<str>::from(entry)),
            })
        });
        Ok(Self {
            count,
            records: Box::new(records),
        })
    }
}

impl Iterator for Records {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.records.next()
    }
}

/// The array of a document, where it has one.
fn listed(text: &str, member: &str) -> serde_json::Result<Option<Vec<Box<RawValue>>>> {
    let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text)?;
    let found = members.get(member);
    // Where it is something else, the object is no document.
    Ok(found.and_then(|array| serde_json::from_str(array.get()).ok()))
}

/// Whether the first line is a client of its own, and not the beginning of a document.
fn is_line(first: &str, member: &str) -> io::Result<bool> {
    match first.trim_start().as_bytes().first() {
        Some(b'[') => Ok(false),
        Some(b'{') => match listed(first, member) {
            Ok(document) => Ok(document.is_none()),
            Err(fault) => Ok(!fault.is_eof()),
        },
        _ => Err(invalid(
            "it holds no JSON: give an array, or one object a line",
        )),
    }
}

fn entries(text: &str, member: &str) -> io::Result<Vec<Box<RawValue>>> {
    let top: Vec<Box<RawValue>> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text)?
    } else {
        vec![serde_json::from_str(text)?]
    };
    let mut entries = Vec::with_capacity(top.len());
    for value in top {
        match listed(value.get(), member) {
            Ok(Some(listed)) => entries.extend(listed),
            _ => entries.push(value),
        }
    }
    Ok(entries)
}

/// How many lines hold something; for the progress only.
fn count_lines(mut input: impl BufRead) -> io::Result<u64> {
    let (mut count, mut line) = (0, Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        count += u64::from(!line.trim_ascii().is_empty());
        line.clear();
    }
    Ok(count)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Vec<(Place, String)> {
        let records = Records::read(text.as_bytes(), None, "clients").unwrap();
        let compact = |text: &str| text.split_whitespace().collect::<String>();
        records
            .map(|r| r.unwrap())
            .map(|r| (r.place, compact(&r.text)))
            .collect()
    }

    #[test]
    fn every_shape_of_file_holds_its_clients() {
        let (a, b) = (r#"{"id":1}"#.to_owned(), r#"{"id":2}"#.to_owned());
        let entries = [(Place::Entry(1), a.clone()), (Place::Entry(2), b.clone())];
        let lines = [(Place::Line(1), a.clone()), (Place::Line(3), b)];
        for (text, expected) in [
            (r#"[{"id":1},{"id":2}]"#, &entries[..]),
            ("\u{feff}[\n {\"id\": 1},\n {\"id\": 2}\n]\n", &entries),
            (r#"{"realm":"r","clients":[{"id":1},{"id":2}]}"#, &entries),
            ("{\n \"clients\": [ {\"id\":1}, {\"id\":2} ]\n}", &entries),
            (
                r#"[{"clients":[{"id":1}]},{"clients":[{"id":2}]}]"#,
                &entries,
            ),
            ("{\"id\":1}\n\n{\"id\":2}\n", &lines),
            ("{\n \"id\": 1\n}", &entries[..1]),
            ("[]", &[]),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn a_bad_line_is_a_line_of_its_own() {
        assert_eq!(
            read("{\"id\":1,}\n{\"id\":2}"),
            [
                (Place::Line(1), r#"{"id":1,}"#.to_owned()),
                (Place::Line(2), r#"{"id":2}"#.to_owned())
            ]
        );
    }

    #[test]
    fn what_is_no_json_is_refused_at_once() {
        for text in [
            "",
            " \n \n",
            "client_id,name\n",
            "[{\"id\":1}",
            "{\"clients\": [1,\n",
        ] {
            assert!(
                Records::read(text.as_bytes(), None, "clients").is_err(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn lines_are_counted_before_they_are_read() {
        assert_eq!(count_lines("{}\n\n {}\r\n{}".as_bytes()).unwrap(), 3);
    }
}
