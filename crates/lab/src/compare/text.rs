//! A comparison for the terminal. It must not know how it was made.

use std::fmt::Write as _;

use super::Comparison;
use super::table::{FIGURES, HEADINGS, about, cells, method};

pub(super) fn render(comparison: &Comparison) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    writeln!(out, "{}", about("A", &comparison.a))?;
    writeln!(out, "{}\n", about("B", &comparison.b))?;
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(comparison.lines.iter().map(cells));
    let widths: [usize; HEADINGS.len()] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    });
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            if FIGURES.contains(&column) {
                write!(line, "{cell:>width$}  ")?;
            } else {
                write!(line, "{cell:<width$}  ")?;
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out, "\n{}", method(comparison).join("\n"))?;
    for note in &comparison.notes {
        writeln!(out, "Note: {note}.")?;
    }
    Ok(out)
}
