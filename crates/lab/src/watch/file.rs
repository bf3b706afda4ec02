//! The file of what was watched: a line of JSON for every tick of every source, written at once, so that
//! a crash loses nothing. It must not know where figures come from.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::meter::Row;
use super::series::{Note, Series, Watched};

/// Its name in the directory of a run.
pub(crate) const FILE: &str = "resources.jsonl";

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadFile {
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    Io(PathBuf, io::Error),
    #[error("{path}:{line}: {cause}; every line is one JSON object with `source`", path = .0.display(), line = .1, cause = .2)]
    Line(PathBuf, usize, serde_json::Error),
}

/// What a line can be.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    /// A name that following lines use.
    Series {
        source: String,
        series: String,
        unit: String,
    },
    /// Figures of one moment; `null` is a gap.
    Values {
        t: f64,
        source: String,
        values: BTreeMap<String, Option<f64>>,
    },
    Note {
        t: f64,
        source: String,
        note: String,
    },
}

/// The file while it grows. What cannot be written is lost; the first reason is kept.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    failure: Option<io::Error>,
}

impl Log {
    pub(crate) fn create(path: &Path) -> Result<Self, BadFile> {
        let file = File::create(path).map_err(|error| BadFile::Io(path.to_owned(), error))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            failure: None,
        })
    }

    pub(crate) fn row(&mut self, source: &str, row: Row) {
        for (series, unit) in row.new {
            self.line(&Line::Series {
                source: source.to_owned(),
                series,
                unit,
            });
        }
        let values = row.values.into_iter();
        self.line(&Line::Values {
            t: rounded(row.at),
            source: source.to_owned(),
            values: values
                .map(|(name, value)| (name, value.map(rounded)))
                .collect(),
        });
    }

    pub(crate) fn note(&mut self, at: f64, source: &str, note: String) {
        self.line(&Line::Note {
            t: rounded(at),
            source: source.to_owned(),
            note,
        });
    }

    fn line(&mut self, line: &Line) {
        // After a failure half a line may be there; nothing can follow it.
        if self.failure.is_some() {
            return;
        }
        let written = serde_json::to_string(line)
            .map_err(io::Error::from)
            .and_then(|text| self.file.write_all(format!("{text}\n").as_bytes()));
        self.failure = written.err();
    }

    /// Why the file is not complete, if it is not.
    pub(crate) fn close(self) -> Result<(), BadFile> {
        match self.failure {
            Some(error) => Err(BadFile::Io(self.path, error)),
            None => Ok(()),
        }
    }
}

/// Six digits after the point: microseconds, and more than any figure is worth.
fn rounded(value: f64) -> f64 {
    let scaled = (value * 1e6).round() / 1e6;
    if scaled.is_finite() { scaled } else { value }
}

/// Reads the file back. The last line may be half there: the writer was killed.
pub(crate) fn read(path: &Path) -> Result<Watched, BadFile> {
    let text = std::fs::read(path).map_err(|error| BadFile::Io(path.to_owned(), error))?;
    parse(&String::from_utf8_lossy(&text))
        .map_err(|(line, cause)| BadFile::Line(path.to_owned(), line, cause))
}

fn parse(text: &str) -> Result<Watched, (usize, serde_json::Error)> {
    let mut watched = Watched::default();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(line) {
            Ok(line) => add(&mut watched, &mut places, line),
            Err(_) if !line.ends_with('\n') => break,
            Err(error) => return Err((index + 1, error)),
        }
    }
    Ok(watched)
}

fn add(watched: &mut Watched, places: &mut BTreeMap<String, usize>, line: Line) {
    let mut place = |watched: &mut Watched, name: String, unit: String| {
        *places.entry(name.clone()).or_insert_with(|| {
            let points = Vec::new();
            watched.series.push(Series { name, unit, points });
            watched.series.len() - 1
        })
    };
    match line {
        Line::Series {
            source,
            series,
            unit,
        } => {
            place(watched, format!("{source}.{series}"), unit);
        }
        Line::Values { t, source, values } => {
            for (name, value) in values {
                let place = place(watched, format!("{source}.{name}"), String::new());
                let value = value.unwrap_or(f64::NAN);
                watched.series[place].points.push((t, value));
            }
        }
        Line::Note { t, source, note } => watched.notes.push(Note {
            at: t,
            source,
            text: note,
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(at: f64, value: Option<f64>) -> Row {
        Row {
            at,
            new: Vec::new(),
            values: vec![("cpu".to_owned(), value)],
            reset: Vec::new(),
        }
    }

    fn written() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        let mut log = Log::create(&path).unwrap();
        let mut first = row(0.5, None);
        first.new.push(("cpu".to_owned(), "%".to_owned()));
        log.row("server", first);
        log.row("server", row(1.5, Some(12.25)));
        log.note(2.0, "server", "gone".to_owned());
        log.close().unwrap();
        (directory, path)
    }

    #[test]
    fn what_was_written_is_read_back() {
        let (_directory, path) = written();
        let watched = read(&path).unwrap();
        let cpu = watched.find("server.cpu").unwrap();
        assert_eq!(cpu.unit, "%");
        assert!(cpu.points[0].1.is_nan());
        assert_eq!(cpu.points[1], (1.5, 12.25));
        assert_eq!(watched.notes.len(), 1);
        assert_eq!(watched.notes[0].text, "gone");
    }

    #[test]
    fn half_a_last_line_is_left_out_and_any_other_is_an_error() {
        let (_directory, path) = written();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"t\":3.0,\"sour")).unwrap();
        assert_eq!(read(&path).unwrap().series[0].points.len(), 2);
        std::fs::write(&path, format!("{{\"t\":3.0,\"sour\n{whole}")).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("resources.jsonl:1:"), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_told_at_the_end() {
        let mut log = Log::create(Path::new("/dev/full")).unwrap();
        log.row("server", row(1.0, None));
        log.row("server", row(2.0, None));
        let error = log.close().unwrap_err().to_string();
        assert!(error.contains("/dev/full"), "{error}");
    }

    proptest! {
        #[test]
        fn nonsense_is_an_error_or_nothing(text in "\\PC{0,60}") {
            drop(parse(&text));
            drop(parse(&format!("{text}\n")));
        }
    }
}
