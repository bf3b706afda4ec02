//! `assay report`: reads the directories of runs and makes of them what the user asked for. It must not
//! know how anything is measured.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::record::kept::{Kept, KeptError};
use crate::record::names::Unit;
use crate::report::answers::{self, AnswersError};
use crate::report::layout::{self, BadLayout, Layout, LayoutError};
use crate::report::table;

/// Where the layouts of this repository are, seen from its root.
const LAYOUTS: &str = "bench/layouts";

/// What to make of the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Tables for a terminal.
    Table,
    /// The text that users of the common closed-loop tool know, of every step or of one.
    Hey { step: Option<String> },
    /// The figures.
    Json,
    /// A document of Markdown; a file, or the name of one in `bench/layouts`.
    Layout(String),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportError {
    #[error(transparent)]
    Kept(#[from] KeptError),
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error("{}: {}", .0.display(), .1)]
    BadLayout(PathBuf, BadLayout),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Answers(#[from] AnswersError),
    #[error("no step is called {0}; there are: {1}")]
    NoStep(String, String),
    #[error("the report cannot be made: {0}")]
    Text(#[from] std::fmt::Error),
    #[error("the report cannot be made: {0}")]
    Json(#[from] serde_json::Error),
}

/// The report of one or several runs, to be printed.
pub(crate) fn report(directories: &[PathBuf], form: &Form) -> Result<String, ReportError> {
    let runs: Result<Vec<Kept>, _> = directories.iter().map(|path| Kept::open(path)).collect();
    let runs = runs?;
    match form {
        Form::Table => each(&runs, |run| Ok(table::render(&run.summary)?)),
        Form::Hey { step } => each(&runs, |run| hey(run, step.as_deref())),
        Form::Json => {
            let mut figures = runs.iter().map(|run| &run.summary);
            let text = match (runs.len(), figures.next()) {
                (1, Some(one)) => serde_json::to_string_pretty(one)?,
                (_, first) => serde_json::to_string_pretty(
                    &first.into_iter().chain(figures).collect::<Vec<_>>(),
                )?,
            };
            Ok(text + "\n")
        }
        Form::Layout(name) => {
            let layout = read(name)?;
            Ok(layout::render(&layout, &runs.iter().collect::<Vec<_>>())?)
        }
    }
}

/// One after another, each under its name when there are several.
fn each(
    runs: &[Kept],
    render: impl Fn(&Kept) -> Result<String, ReportError>,
) -> Result<String, ReportError> {
    let mut out = String::new();
    for (index, run) in runs.iter().enumerate() {
        if runs.len() > 1 {
            let space = if index > 0 { "\n" } else { "" };
            write!(out, "{space}== {}\n\n", run.directory.display())?;
        }
        out += &render(run)?;
    }
    Ok(out)
}

fn hey(run: &Kept, step: Option<&str>) -> Result<String, ReportError> {
    let (checks, seconds) = (&run.ledger.checks, run.summary.seconds);
    let mut out = String::new();
    for (known, book) in run.ledger.books.measured() {
        match step {
            Some(name) if name == known.name => return Ok(answers::render(book, checks, seconds)?),
            None if known.unit == Unit::Sample => {
                write!(
                    out,
                    "{}\n{}",
                    known.name,
                    answers::render(book, checks, seconds)?
                )?;
            }
            _ => {}
        }
    }
    match step {
        None => Ok(out),
        Some(name) => {
            let names = run
                .ledger
                .books
                .steps()
                .iter()
                .map(|step| step.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            Err(ReportError::NoStep(name.to_owned(), names))
        }
    }
}

fn read(name: &str) -> Result<Layout, ReportError> {
    let is_file = name.contains('/') || Path::new(name).extension().is_some();
    let path = if is_file {
        PathBuf::from(name)
    } else {
        Path::new(LAYOUTS).join(format!("{name}.toml"))
    };
    let text = fs::read_to_string(&path).map_err(|error| ReportError::File(path.clone(), error))?;
    Layout::parse(&text).map_err(|error| ReportError::BadLayout(path, error))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::record::names::Step;
    use crate::record::samples::{Header, Span, Trailer, Writer};
    use crate::sample::{Outcome, Sample};

    /// A directory with nothing but the samples of a run.
    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let header = Header {
            plan: "code".to_owned(),
            target: "local".to_owned(),
            generator: 0,
            zero_ns: 0,
            times: Header::TIMES.to_owned(),
            steps: vec![Step {
                name: "a/f/one".to_owned(),
                unit: Unit::Sample,
            }],
        };
        let mut writer = Writer::start(Vec::new(), &header).unwrap();
        let sample = |index: u64| Sample {
            step: 0,
            due: index,
            start: index,
            end: index + 2_000_000,
            bytes: 3,
            outcome: Outcome::Right { status: 200 },
            warm: false,
        };
        writer
            .add(&(0..10).map(sample).collect::<Vec<_>>())
            .unwrap();
        let trailer = Trailer {
            measured: Span {
                begin_ns: 0,
                from_ns: 0,
                until_ns: 1_000_000_000,
            },
            dropped: Vec::new(),
        };
        let (bytes, _) = writer.end(&trailer).unwrap();
        fs::write(directory.path().join("samples-0.bin"), bytes).unwrap();
        directory
    }

    #[test]
    fn a_run_has_four_forms() {
        let directory = directory();
        let of = |form: Form| report(&[directory.path().to_owned()], &form).unwrap();
        assert!(of(Form::Table).starts_with("code against local: 1.0 s measured"));
        let hey = of(Form::Hey { step: None });
        assert!(hey.starts_with("a/f/one\n\nSummary:\n"), "{hey}");
        assert!(of(Form::Json).contains("\"p99_9\": 0.002"));
        let layout = Arc::new(directory.path().join("one.toml"));
        let text = "title = '{plan}'\n[[block]]\ntext = 'against {target}'";
        fs::write(&*layout, text).unwrap();
        let document = of(Form::Layout(layout.display().to_string()));
        assert_eq!(document, "# code\n\nagainst local\n");
    }

    #[test]
    fn several_runs_stand_under_their_names() {
        let directories = [directory(), directory()];
        let paths = directories.each_ref().map(|one| one.path().to_owned());
        let tables = report(&paths, &Form::Table).unwrap();
        for path in &paths {
            assert!(tables.contains(&format!("== {}\n", path.display())));
        }
        assert!(report(&paths, &Form::Json).unwrap().starts_with("[\n"));
    }

    #[test]
    fn a_missing_step_or_layout_says_what_there_is() {
        let directory = directory();
        let of = |form| {
            report(&[directory.path().to_owned()], &form)
                .unwrap_err()
                .to_string()
        };
        let step = of(Form::Hey {
            step: Some("two".to_owned()),
        });
        assert_eq!(step, "no step is called two; there are: a/f/one");
        assert!(of(Form::Layout("none".to_owned())).starts_with("bench/layouts/none.toml: "));
    }
}
