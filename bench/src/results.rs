//! The directory of evidence of one command. It must not know what is in the files.

use serde::Serialize;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::failure::{Context, Outcome};

/// An open directory of results.
#[derive(Debug)]
pub(crate) struct Results {
    directory: PathBuf,
}

impl Results {
    /// Makes the directory, without what an earlier run of the same day left there.
    pub(crate) fn new(directory: &Path) -> Outcome<Self> {
        let raw = directory.join("raw");
        if raw.exists() {
            fs::remove_dir_all(&raw).context(raw.display())?;
        }
        fs::create_dir_all(&raw).context(raw.display())?;
        Ok(Self {
            directory: directory.to_owned(),
        })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn text(&self, name: &str, text: &str) -> Outcome<()> {
        let file = self.directory.join(name);
        fs::write(&file, text).context(file.display())
    }

    pub(crate) fn json(&self, name: &str, value: &impl Serialize) -> Outcome<()> {
        let mut text = serde_json::to_string_pretty(value).context(name)?;
        text.push('\n');
        self.text(name, &text)
    }

    /// Adds what a program reported to the file of its row: one line, as it was said.
    pub(crate) fn raw(&self, row: &str, value: &Value) -> Outcome<()> {
        let file = self.directory.join("raw").join(format!("{row}.jsonl"));
        let opened = File::options().create(true).append(true).open(&file);
        writeln!(opened.context(file.display())?, "{value}").context(file.display())
    }
}
