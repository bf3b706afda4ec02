//! The directory of a run and what its files are called. It must not know how the files are filled or
//! read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::clock::{Nanos, seconds};
use crate::record::books::document::{Ledger, Unreadable};
use crate::record::control::Running;
use crate::record::environment::Environment;
use crate::record::names::Checks;
use crate::record::redact;
use crate::record::samples::Header;
use crate::record::samples::recorder::{RecordError, Recorder};
use crate::record::summary::{self, Summary};

pub(crate) const PLAN: &str = "plan.toml";
pub(crate) const TARGET: &str = "target.toml";
pub(crate) const ENVIRONMENT: &str = "environment.json";
pub(crate) const LABELS: &str = "labels.json";
pub(crate) const HISTOGRAMS: &str = "histograms.json";
pub(crate) const NOTES: &str = "notes.jsonl";
const SAMPLES: &str = "samples-";
const SAMPLES_END: &str = ".bin";
/// Runs of the same plan, target and second that a directory can hold.
const MOST: u32 = 1000;

/// What distinguishes a run from others of its plan, for the tables that show several: `users`,
/// `setup`, whatever was set on the command line.
pub(crate) type Labels = BTreeMap<String, String>;

/// What a run was told while it went on: a line of `notes.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// In seconds, on the clock of the run.
    pub(crate) at: f64,
    pub(crate) note: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DirectoryError {
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error("{}: there are {MOST} runs of this second already", .0.display())]
    Full(PathBuf),
    #[error("{} cannot be made: {}", .0.display(), .1)]
    Json(PathBuf, serde_json::Error),
    #[error("{} cannot be made: {}", .0.display(), .1)]
    Histograms(PathBuf, Unreadable),
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// What a run is made of, as used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    /// The name of the plan.
    pub(crate) name: String,
    pub(crate) plan: Table,
    /// The name of the target.
    pub(crate) against: String,
    pub(crate) target: Table,
    pub(crate) labels: Labels,
    /// Taken out wherever they stand, beside what is found by its name.
    pub(crate) secrets: Vec<String>,
}

/// The directory of a run that is going on.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    secrets: Vec<String>,
    /// Kept for its end: it takes down the sign that the run is going on.
    _running: Running,
}

impl Directory {
    /// Makes a new directory under `root` and puts in what is known before a run.
    pub(crate) fn create(
        root: &Path,
        started: Duration,
        used: Used,
        environment: &Environment,
    ) -> Result<Self, DirectoryError> {
        let path = make(root, &name(started, &used.name, &used.against))?;
        let running = Running::here(&path);
        let directory = Self {
            _running: running.map_err(|error| DirectoryError::File(path.clone(), error))?,
            path,
            secrets: used.secrets,
        };
        for (file, mut table) in [(PLAN, used.plan), (TARGET, used.target)] {
            redact::table(&mut table, &directory.secrets);
            directory.write(file, table.to_string().as_bytes())?;
        }
        let clean = |value: &String| redact::text(value, &directory.secrets);
        let labels: Labels = used
            .labels
            .iter()
            .map(|(name, value)| (name.clone(), clean(value)))
            .collect();
        directory.write_json(LABELS, &labels)?;
        let mut environment = environment.clone();
        environment.command = redact::command_line(&environment.command, &directory.secrets);
        directory.write_json(ENVIRONMENT, &environment)?;
        Ok(directory)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the file of samples of one process.
    pub(crate) fn record(
        &self,
        header: &Header,
        checks: Arc<Checks>,
    ) -> Result<Recorder, DirectoryError> {
        let name = format!("{SAMPLES}{}{SAMPLES_END}", header.generator);
        let path = self.path.join(name);
        let file = File::create_new(&path).map_err(|error| DirectoryError::File(path, error))?;
        Ok(Recorder::start(file, header, checks)?)
    }

    /// Adds a remark about something that happened at this moment of the run.
    pub(crate) fn note(&self, at: Nanos, text: &str) -> Result<(), DirectoryError> {
        let path = self.path.join(NOTES);
        let note = Told {
            at: seconds(at),
            note: redact::text(text, &self.secrets),
        };
        let line = serde_json::to_string(&note);
        let line = line.map_err(|error| DirectoryError::Json(path.clone(), error))?;
        let file = File::options().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all((line + "\n").as_bytes()))
            .map_err(|error| DirectoryError::File(path, error))
    }

    /// Puts in what is known after a run. The histograms come first: a run without figures has them
    /// made anew from its samples.
    pub(crate) fn finish(&self, ledger: &Ledger, summary: &Summary) -> Result<(), DirectoryError> {
        let text = ledger
            .to_json()
            .map_err(|error| DirectoryError::Histograms(self.path.join(HISTOGRAMS), error))?;
        self.write(HISTOGRAMS, text.as_bytes())?;
        let mut figures = summary.clone();
        for note in &mut figures.notes {
            *note = redact::text(note, &self.secrets);
        }
        self.write_json(summary::FILE, &figures)
    }

    fn write_json(&self, file: &str, content: &impl Serialize) -> Result<(), DirectoryError> {
        let text = serde_json::to_string_pretty(content);
        let text = text.map_err(|error| DirectoryError::Json(self.path.join(file), error))?;
        self.write(file, (text + "\n").as_bytes())
    }

    /// A file is there whole or not at all.
    fn write(&self, file: &str, content: &[u8]) -> Result<(), DirectoryError> {
        let path = self.path.join(file);
        let draft = self.path.join(format!("{file}.part"));
        let written = fs::write(&draft, content).and_then(|()| fs::rename(&draft, &path));
        written.map_err(|error| {
            drop(fs::remove_file(&draft));
            DirectoryError::File(path, error)
        })
    }
}

/// The files of samples in a directory, one for each process that drove the run.
pub(crate) fn samples(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(SAMPLES) && name.ends_with(SAMPLES_END) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// `2026-01-31T12-34-56Z-plan-target`.
fn name(started: Duration, plan: &str, target: &str) -> String {
    let time = humantime::format_rfc3339_seconds(UNIX_EPOCH + started).to_string();
    format!("{}-{}-{}", time.replace(':', "-"), word(plan), word(target))
}

/// What may stand in the name of a file anywhere.
fn word(text: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' => c,
        _ => '-',
    };
    let word: String = text.chars().map(plain).take(60).collect();
    let word = word.trim_matches(['-', '.']);
    if word.is_empty() { "unnamed" } else { word }.to_owned()
}

/// Makes a directory that was not there before.
fn make(root: &Path, name: &str) -> Result<PathBuf, DirectoryError> {
    fs::create_dir_all(root).map_err(|error| DirectoryError::File(root.to_owned(), error))?;
    for number in 1..=MOST {
        let path = match number {
            1 => root.join(name),
            _ => root.join(format!("{name}-{number}")),
        };
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(DirectoryError::File(path, error)),
        }
    }
    Err(DirectoryError::Full(root.join(name)))
}

#[cfg(test)]
mod tests;
