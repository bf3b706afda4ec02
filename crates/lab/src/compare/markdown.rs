//! A comparison as a Markdown document fragment. It must not know how it was made.

use std::fmt::Write as _;

use super::Comparison;
use super::table::{FIGURES, HEADINGS, about, cells, method};

pub(super) fn render(comparison: &Comparison) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    writeln!(out, "- {}", escaped(&about("A", &comparison.a)))?;
    writeln!(out, "- {}\n", escaped(&about("B", &comparison.b)))?;
    writeln!(out, "| {} |", HEADINGS.join(" | "))?;
    for column in 0..HEADINGS.len() {
        let rule = if FIGURES.contains(&column) {
            "|---:"
        } else {
            "|---"
        };
        write!(out, "{rule}")?;
    }
    writeln!(out, "|")?;
    for line in &comparison.lines {
        let cells = cells(line).map(|cell| escaped(&cell));
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    writeln!(out, "\n{}", method(comparison).join(" "))?;
    if !comparison.notes.is_empty() {
        writeln!(out)?;
    }
    for note in &comparison.notes {
        writeln!(out, "- {}.", escaped(note))?;
    }
    Ok(out)
}

/// Names come from plans and may hold what Markdown would take for its own.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '|' | '\\' | '`' | '*' | '_' | '<' | '[' | ']') {
            out.push('\\');
        }
        out.push(if letter.is_control() { ' ' } else { letter });
    }
    out
}
