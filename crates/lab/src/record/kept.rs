//! A run as it lies on disk, read back: from its figures and histograms, or, where they are missing,
//! from its samples alone. It must not know how a report looks.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Table;

use crate::clock::Nanos;
use crate::histogram::Unusable;
use crate::record::books::document::{Ledger, Unreadable};
use crate::record::books::{Books, Unmergeable};
use crate::record::directory::{self, Labels, Told};
use crate::record::environment::Environment;
use crate::record::names::{Checks, Step};
use crate::record::samples::{Ending, Header, ReadError, Reader, Span, Trailer};
use crate::record::summary::{self, About, FORMAT, Summary};
use crate::sample::{Outcome, Sample};
use crate::wire::Kind;

#[derive(Debug, thiserror::Error)]
pub(crate) enum KeptError {
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error("{}: not what a run writes: {}", .0.display(), .1)]
    Json(PathBuf, serde_json::Error),
    #[error("{}: not what a run writes: {}", .0.display(), .1)]
    Toml(PathBuf, toml::de::Error),
    #[error("{}: {}", .0.display(), .1)]
    Histograms(PathBuf, Unreadable),
    #[error("{}: {}", .0.display(), .1)]
    Samples(PathBuf, ReadError),
    #[error("{}: format {} is not known here; use the assay that wrote it", .0.display(), .1)]
    Format(PathBuf, u32),
    #[error("{}: neither figures nor samples are here; give the directory of a run", .0.display())]
    Nothing(PathBuf),
    #[error("the samples of {}: {}", .0.display(), .1)]
    Books(PathBuf, Unmergeable),
}

/// Everything that a report is made from.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) directory: PathBuf,
    pub(crate) summary: Summary,
    pub(crate) ledger: Ledger,
    pub(crate) labels: Labels,
    pub(crate) environment: Environment,
    pub(crate) plan: Table,
    pub(crate) target: Table,
    /// What it was told while it went on.
    pub(crate) told: Vec<Told>,
}

impl Kept {
    /// Reads the directory of a run.
    pub(crate) fn open(directory: &Path) -> Result<Self, KeptError> {
        let figures: Option<Summary> = json(&directory.join(summary::FILE))?;
        let (summary, ledger) = match (figures, histograms(directory)?) {
            (Some(summary), Some(ledger)) => (summary, ledger),
            _ => rebuild(directory)?,
        };
        if summary.format != FORMAT {
            let file = directory.join(summary::FILE);
            return Err(KeptError::Format(file, summary.format));
        }
        Ok(Self {
            summary,
            ledger,
            labels: json(&directory.join(directory::LABELS))?.unwrap_or_default(),
            environment: json(&directory.join(directory::ENVIRONMENT))?.unwrap_or_default(),
            plan: table(&directory.join(directory::PLAN))?,
            target: table(&directory.join(directory::TARGET))?,
            told: told(&directory.join(directory::NOTES))?,
            directory: directory.to_owned(),
        })
    }
}

/// The figures of a run from its samples alone.
pub(crate) fn rebuild(directory: &Path) -> Result<(Summary, Ledger), KeptError> {
    let files = directory::samples(directory);
    let mut whole: Option<Rebuilt> = None;
    for file in files.map_err(|error| KeptError::File(directory.to_owned(), error))? {
        let part = Rebuilt::read(&file)?;
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => whole
                .merge(part)
                .map_err(|error| KeptError::Books(directory.to_owned(), error))?,
        }
    }
    let whole = whole.ok_or_else(|| KeptError::Nothing(directory.to_owned()))?;
    Ok((Summary::of(&whole.ledger, &whole.about), whole.ledger))
}

/// Books made from files of samples.
struct Rebuilt {
    ledger: Ledger,
    about: About,
}

impl Rebuilt {
    fn read(path: &Path) -> Result<Self, KeptError> {
        let file = File::open(path).map_err(|error| KeptError::File(path.to_owned(), error))?;
        let unreadable = |error| KeptError::Samples(path.to_owned(), error);
        let mut reader = Reader::open(BufReader::new(file)).map_err(unreadable)?;
        let header = reader.header().clone();
        let broken = |error: Unusable| KeptError::Books(path.to_owned(), error.into());
        let steps: Arc<[Step]> = header.steps.clone().into();
        let mut books = Books::new(steps).map_err(broken)?;
        let mut seen = Seen::default();
        let ending = reader.each(|sample| {
            books.book(sample);
            seen.add(sample);
        });
        let (trailer, note) = end(ending.map_err(unreadable)?, &seen, path);
        for dropped in &trailer.dropped {
            books.drop_arrivals(dropped.step, dropped.measured, false);
            books.drop_arrivals(dropped.step, dropped.warmup, true);
        }
        Ok(Self {
            ledger: Ledger {
                books,
                checks: reader.checks().to_vec(),
                measured: trailer.measured,
            },
            about: about(header, note),
        })
    }

    /// Adds the samples of another process, whose checks may have other numbers.
    fn merge(&mut self, mut other: Self) -> Result<(), Unmergeable> {
        let checks = Checks::default();
        for name in &self.ledger.checks {
            checks.index(name);
        }
        let theirs = other.ledger.checks.iter();
        let numbers: Vec<u16> = theirs.map(|name| checks.index(name)).collect();
        other.ledger.books.renumber_checks(&numbers);
        self.ledger.checks = checks.names();
        // Every process counts from a zero of its own.
        let (mine, theirs) = (self.about.zero_ns, other.about.zero_ns);
        let here = |ns: Nanos| ns.saturating_add(theirs).saturating_sub(mine);
        let Span {
            begin_ns,
            from_ns,
            until_ns,
        } = other.ledger.measured;
        self.ledger.measured = self.ledger.measured.around(Span {
            begin_ns: here(begin_ns),
            from_ns: here(from_ns),
            until_ns: here(until_ns),
        });
        self.about.notes.append(&mut other.about.notes);
        self.ledger.books.merge(&other.ledger.books)
    }
}

fn about(header: Header, note: Option<String>) -> About {
    About {
        plan: header.plan,
        target: header.target,
        zero_ns: header.zero_ns,
        resources: Vec::new(),
        notes: note.into_iter().collect(),
    }
}

/// What a file without an end leaves to be found out.
#[derive(Default)]
struct Seen {
    begin: Option<Nanos>,
    first: Option<Nanos>,
    last: Nanos,
}

impl Seen {
    fn add(&mut self, sample: &Sample) {
        self.begin = Some(self.begin.map_or(sample.due, |begin| begin.min(sample.due)));
        let is_interrupted = matches!(sample.outcome, Outcome::Failed(Kind::Interrupted));
        if !sample.warm && !is_interrupted {
            self.first = Some(self.first.map_or(sample.due, |first| first.min(sample.due)));
            self.last = self.last.max(sample.end);
        }
    }
}

fn end(ending: Ending, seen: &Seen, path: &Path) -> (Trailer, Option<String>) {
    let (at, how) = match ending {
        Ending::Whole(trailer) => return (trailer, None),
        Ending::Cut { at } => (at, "ends in the middle"),
        Ending::Damaged { at } => (at, "is damaged"),
    };
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    let note = format!(
        "{name} {how}: the figures are of the samples in its first {at} bytes; dropped arrivals are not known"
    );
    let trailer = Trailer {
        measured: Span {
            begin_ns: seen.begin.unwrap_or_default(),
            from_ns: seen.first.unwrap_or_default(),
            until_ns: seen.last,
        },
        dropped: Vec::new(),
    };
    (trailer, Some(note))
}

fn histograms(directory: &Path) -> Result<Option<Ledger>, KeptError> {
    let file = directory.join(directory::HISTOGRAMS);
    let Some(text) = bytes(&file)? else {
        return Ok(None);
    };
    let ledger = Ledger::parse(&text).map_err(|error| KeptError::Histograms(file, error))?;
    Ok(Some(ledger))
}

fn json<T: serde::de::DeserializeOwned>(file: &Path) -> Result<Option<T>, KeptError> {
    let parse = |text: Vec<u8>| {
        serde_json::from_slice(&text).map_err(|error| KeptError::Json(file.to_owned(), error))
    };
    bytes(file)?.map(parse).transpose()
}

fn told(file: &Path) -> Result<Vec<Told>, KeptError> {
    let text = bytes(file)?.unwrap_or_default();
    let lines = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let parse = |line| {
        serde_json::from_slice(line).map_err(|error| KeptError::Json(file.to_owned(), error))
    };
    lines.map(parse).collect()
}

fn table(file: &Path) -> Result<Table, KeptError> {
    let text = bytes(file)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.parse()
        .map_err(|error| KeptError::Toml(file.to_owned(), error))
}

/// `None` when there is no such file.
fn bytes(file: &Path) -> Result<Option<Vec<u8>>, KeptError> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(KeptError::File(file.to_owned(), error)),
    }
}
