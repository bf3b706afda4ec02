//! What the runs found: a table, printed anew after each run, so that the last one is whole.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

static ROWS: Mutex<Vec<[String; 3]>> = Mutex::new(Vec::new());

/// Adds a row and prints the table.
pub(crate) fn row(test: &str, what: &str, lost: usize) {
    let mut rows = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    rows.push([test.to_owned(), what.to_owned(), lost.to_string()]);
    rows.sort();
    let mut table = String::from("\n| run | what was done and seen | lost |\n|---|---|---|\n");
    for [test, what, lost] in rows.iter() {
        writeln!(table, "| {test} | {what} | {lost} |").unwrap();
    }
    println!("{table}");
}
