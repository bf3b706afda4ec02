//! What an import did: said as it happens, and summed up at its end.

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::read::Place;
use crate::cli::console::Console;
use crate::cli::error::CliError;
use crate::cli::table::text;

/// Something to know about one client or user of the file.
#[derive(Debug)]
struct Remark {
    place: Place,
    id: Option<String>,
    what: String,
}

impl Remark {
    fn line(&self) -> String {
        let id = self
            .id
            .as_deref()
            .map(|id| format!(" ({})", text(id)))
            .unwrap_or_default();
        format!("{}{id}: {}", self.place, text(&self.what))
    }

    fn json(&self, id: &str) -> Value {
        json!({ "at": self.place.to_string(), id: self.id, "what": self.what })
    }
}

/// The books of an import.
pub(super) struct Report<'a, 'b> {
    console: &'a mut Console<'b>,
    bar: ProgressBar,
    /// What the id is called.
    id: &'static str,
    created: u64,
    existed: u64,
    left_out: Vec<Remark>,
    failed: Vec<Remark>,
    notes: Vec<Remark>,
}

impl<'a, 'b> Report<'a, 'b> {
    pub(super) fn new(console: &'a mut Console<'b>, count: Option<u64>, id: &'static str) -> Self {
        // Without a terminal the bar draws nothing.
        let bar = count.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = match count {
            Some(_) => "{bar:30} {human_pos}/{human_len}, {eta} left",
            None => "{spinner} {human_pos}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let (left_out, failed, notes) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            console,
            bar,
            id,
            created: 0,
            existed: 0,
            left_out,
            failed,
            notes,
        }
    }

    pub(super) fn created(&mut self) {
        self.created_many(1);
    }

    pub(super) fn created_many(&mut self, count: u64) {
        self.created += count;
        self.bar.inc(count);
    }

    pub(super) fn existed(&mut self) {
        self.existed_many(1);
    }

    pub(super) fn existed_many(&mut self, count: u64) {
        self.existed += count;
        self.bar.inc(count);
    }

    pub(super) fn left_out(&mut self, place: Place, id: String, why: String) {
        self.left_out.push(Remark {
            place,
            id: Some(id),
            what: why,
        });
        self.bar.inc(1);
    }

    pub(super) fn failed(&mut self, place: Place, id: Option<String>, why: String) {
        let remark = Remark {
            place,
            id,
            what: why,
        };
        self.tell(&remark);
        self.failed.push(remark);
        self.bar.inc(1);
    }

    pub(super) fn note(&mut self, place: Place, id: &str, note: String) {
        let remark = Remark {
            place,
            id: Some(id.to_owned()),
            what: note,
        };
        self.tell(&Remark {
            what: format!("note: {}", remark.what),
            id: remark.id.clone(),
            place,
        });
        self.notes.push(remark);
    }

    /// A line of the answer, out of the way of the bar.
    pub(super) fn say(&mut self, line: &Value) -> Result<(), CliError> {
        let Self { bar, console, .. } = self;
        bar.suspend(|| console.say(line))
    }

    fn tell(&mut self, remark: &Remark) {
        let Self { bar, console, .. } = self;
        bar.suspend(|| console.hint(remark.line()));
    }

    /// Sums up. An import with failures has failed. Where the answer was given already, the sum
    /// goes beside it, with the verb in `beside`.
    pub(super) fn finish(mut self, in_json: bool, beside: Option<&str>) -> Result<(), CliError> {
        self.bar.finish_and_clear();
        for remarks in [&mut self.left_out, &mut self.failed, &mut self.notes] {
            remarks.sort_by_key(|remark| remark.place);
        }
        if let Some(verb) = beside {
            self.console.hint(self.sentence(verb));
        } else if in_json {
            let all = |remarks: &[Remark]| {
                remarks
                    .iter()
                    .map(|one| one.json(self.id))
                    .collect::<Vec<_>>()
            };
            let summary = json!({
                "created": self.created, "existed": self.existed,
                "left_out": all(&self.left_out), "failed": all(&self.failed),
                "notes": all(&self.notes),
            });
            self.console.json(&summary)?;
        } else {
            for remark in &self.left_out {
                self.console.hint(format!("left out: {}", remark.line()));
            }
            self.console.say(self.sentence("created"))?;
        }
        if self.failed.is_empty() {
            Ok(())
        } else {
            Err(CliError::Told)
        }
    }

    fn sentence(&self, created: &str) -> String {
        format!(
            "{} {created}, {} existed already, {} left out, {} failed",
            self.created,
            self.existed,
            self.left_out.len(),
            self.failed.len()
        )
    }
}
