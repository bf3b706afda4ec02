//! The only writer of the command line: standard output for answers, standard error for the rest.

use std::fmt::Display;
use std::io::{self, BufRead, Write};

use serde::Serialize;

use super::error::CliError;

/// Where a command reads and writes. Tests pass their own.
pub(super) struct Console<'a> {
    /// Answers.
    pub(super) out: &'a mut dyn Write,
    /// What is not the answer: hints, warnings, errors.
    pub(super) err: &'a mut dyn Write,
    /// The standard input.
    pub(super) input: &'a mut dyn BufRead,
    /// Whether somebody sits in front of the standard input.
    pub(super) is_interactive: bool,
}

impl Console<'_> {
    /// A line of the answer.
    pub(super) fn say(&mut self, line: impl Display) -> Result<(), CliError> {
        Ok(writeln!(self.out, "{line}")?)
    }

    /// Text of the answer that has its line ends.
    pub(super) fn write(&mut self, text: &[u8]) -> Result<(), CliError> {
        self.out.write_all(text)?;
        Ok(self.out.flush()?)
    }

    /// An answer for machines.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
        self.say(text)
    }

    /// A line beside the answer. Where it cannot be written, the exit status has to do.
    pub(super) fn hint(&mut self, line: impl Display) {
        drop(writeln!(self.err, "{line}"));
    }

    /// All of the standard input, without the line end at its end.
    pub(super) fn read_all(&mut self) -> Result<String, CliError> {
        let mut text = String::new();
        let read = self.input.read_to_string(&mut text);
        read.map_err(|cause| CliError::Failed(format!("the standard input: {cause}")))?;
        while text.ends_with(['\n', '\r']) {
            text.pop();
        }
        Ok(text)
    }

    /// A secret or a token from the standard input.
    pub(super) fn read_secret(&mut self, what: &str) -> Result<String, CliError> {
        if self.is_interactive {
            self.hint(format!("Paste the {what}, then press Enter and Ctrl-D:"));
        }
        let text = self.read_all()?;
        if text.is_empty() {
            return Err(CliError::Failed(format!(
                "the standard input holds no {what}"
            )));
        }
        Ok(text)
    }

    /// Whether the user says yes.
    pub(super) fn confirm(&mut self, question: &str) -> Result<bool, CliError> {
        if !self.is_interactive {
            return Err(CliError::Usage(format!(
                "{question} Nobody is there to answer: add --yes"
            )));
        }
        drop(write!(self.err, "{question} [y/N] "));
        self.err.flush()?;
        let mut answer = String::new();
        self.input.read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}
