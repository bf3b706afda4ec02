//! Fills a layout with runs and writes it as Markdown. It must not know files or any particular
//! document.

use std::fmt::Write as _;

use super::figure::Source;
use super::select::{self, value, values};
use super::{Block, Column, Hey, Layout, RowKey, SCENARIO, Scenario, Table};
use crate::histogram::Unusable;
use crate::record::books::Book;
use crate::record::kept::Kept;
use crate::record::names::Unit;
use crate::report::answers::{self, AnswersError};
use crate::report::grid::Grid;
use crate::report::table::warnings;

/// Where a run has no figure.
const NONE: &str = "–";

#[derive(Debug, thiserror::Error)]
pub(crate) enum LayoutError {
    #[error(transparent)]
    Histogram(#[from] Unusable),
    #[error(transparent)]
    Answers(#[from] AnswersError),
    #[error("the document cannot be made: {0}")]
    Text(#[from] std::fmt::Error),
}

/// The document that a layout makes of runs.
pub(crate) fn render(layout: &Layout, runs: &[&Kept]) -> Result<String, LayoutError> {
    let mut out = format!("# {}\n", filled(&layout.title, runs, None));
    for block in &layout.blocks {
        let Some(name) = &block.each else {
            out += &part(layout, block, runs, None)?;
            continue;
        };
        for (index, value) in values(runs, name).iter().enumerate() {
            let runs = select::with(runs, name, value);
            out += &part(layout, block, &runs, Some(index + 1))?;
        }
    }
    let mut remarks: Vec<String> = Vec::new();
    for run in runs {
        let mut lines = run.summary.notes.clone();
        lines.extend(warnings(&run.summary));
        lines.extend(lacks(layout, run));
        remarks.extend(
            lines
                .iter()
                .map(|line| format!("- {}: {line}\n", name(run))),
        );
    }
    if !remarks.is_empty() {
        write!(out, "\nRemarks on the runs:\n\n{}", remarks.concat())?;
    }
    Ok(out)
}

/// What the layout asks for and the run does not have.
fn lacks(layout: &Layout, run: &Kept) -> Option<String> {
    let names = layout.asks().into_iter();
    let missing: Vec<&str> = names.filter(|name| value(run, name).is_none()).collect();
    if missing.is_empty() {
        return None;
    }
    let labels = missing.iter().map(|name| format!("--label {name}=…"));
    Some(format!(
        "it has no {}, which this layout asks for (`assay run … {}`): there is a dash in that place, \
         and rows by it leave the run out.",
        missing.join(", "),
        labels.collect::<Vec<_>>().join(" ")
    ))
}

fn name(run: &Kept) -> String {
    let path = run.directory.as_path();
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn part(
    layout: &Layout,
    block: &Block,
    runs: &[&Kept],
    number: Option<usize>,
) -> Result<String, LayoutError> {
    let mut out = String::new();
    if let Some(heading) = &block.heading {
        write!(out, "\n{}\n", filled(heading, runs, number))?;
    }
    if let Some(text) = &block.text {
        write!(out, "\n{}\n", filled(text.trim(), runs, number))?;
    }
    if let Some(table) = &block.table {
        write!(out, "\n{}", Filling { layout, table }.render(runs)?)?;
    }
    if let Some(hey) = &block.hey {
        out += &fences(hey, runs)?;
    }
    Ok(out)
}

/// Puts values of the runs in place of `{names}`; `{n}` is the number of the block's copy.
fn filled(text: &str, runs: &[&Kept], number: Option<usize>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        out += before;
        out += &match (name, number) {
            ("n", Some(number)) => number.to_string(),
            _ => match values(runs, name) {
                none if none.is_empty() => NONE.to_owned(),
                values => values.join(", "),
            },
        };
        rest = after;
    }
    out + rest
}

fn fences(hey: &Hey, runs: &[&Kept]) -> Result<String, LayoutError> {
    let mut out = String::new();
    for run in runs {
        if let Some(book) = select::book(run, &hey.steps, Unit::Sample)? {
            let text = answers::render(&book, &run.ledger.checks, run.summary.seconds)?;
            write!(out, "\n```\n{text}```\n")?;
        }
    }
    if out.is_empty() {
        out = format!("\n```\n{}\n```\n", hey.otherwise);
    }
    Ok(out)
}

/// A table that is being filled.
struct Filling<'a> {
    layout: &'a Layout,
    table: &'a Table,
}

/// One row: what it is about, and the runs that have it.
#[derive(Clone)]
struct Line<'a> {
    words: Vec<String>,
    scenario: Option<&'a Scenario>,
    runs: Vec<&'a Kept>,
}

/// What stands below a table.
#[derive(Default)]
struct Foot {
    errors: u64,
    count: u64,
    /// The most runs that one figure is of.
    repeats: usize,
}

impl<'a> Filling<'a> {
    fn render(&self, runs: &[&'a Kept]) -> Result<String, LayoutError> {
        let words = self.table.rows.iter().map(|row| row.name.clone());
        let figures = self.table.columns.iter().map(|column| column.name.clone());
        let mut grid = Grid {
            head: words.chain(figures).collect(),
            rows: Vec::new(),
            words: self.table.rows.len(),
        };
        let mut foot = Foot::default();
        let mut last: Vec<String> = Vec::new();
        for line in self.lines(runs) {
            let Some(cells) = self.cells(&line, &mut foot)? else {
                continue;
            };
            let mut row = unrepeated(&line.words, &last);
            row.extend(cells);
            grid.rows.push(row);
            last = line.words;
        }
        Ok(format!("{}\n{}\n", grid.markdown(), self.foot(&foot)))
    }

    /// Every combination of what the rows differ in.
    fn lines(&self, runs: &[&'a Kept]) -> Vec<Line<'a>> {
        let mut lines = vec![Line {
            words: Vec::new(),
            scenario: None,
            runs: runs.to_vec(),
        }];
        for key in &self.table.rows {
            lines = lines
                .iter()
                .flat_map(|line| self.divided(line, key))
                .collect();
        }
        lines
    }

    fn divided(&self, line: &Line<'a>, key: &RowKey) -> Vec<Line<'a>> {
        let with = |word: &String| {
            let mut line = line.clone();
            line.words.push(word.clone());
            line
        };
        if key.by == SCENARIO {
            let scenarios = self.layout.scenarios.iter();
            return scenarios
                .map(|scenario| Line {
                    scenario: Some(scenario),
                    ..with(&scenario.name)
                })
                .collect();
        }
        values(&line.runs, &key.by)
            .iter()
            .map(|value| Line {
                runs: select::with(&line.runs, &key.by, value),
                ..with(value)
            })
            .collect()
    }

    /// The figures of a row; `None` when no run has any.
    fn cells(&self, line: &Line<'a>, foot: &mut Foot) -> Result<Option<Vec<String>>, LayoutError> {
        let all = ["*".to_owned(), "*/*".to_owned(), "*/*/*".to_owned()];
        let steps = line.scenario.map_or(&all[..], |scenario| &scenario.steps);
        let mut books: Vec<(&Kept, Book)> = Vec::new();
        for run in &line.runs {
            if let Some(book) = select::book(run, steps, self.table.unit)? {
                foot.count += book.count();
                foot.errors += book.errors();
                books.push((*run, book));
            }
        }
        if books.is_empty() {
            return Ok(None);
        }
        let columns = self.table.columns.iter();
        Ok(Some(
            columns.map(|column| cell(column, &books, foot)).collect(),
        ))
    }

    fn foot(&self, foot: &Foot) -> String {
        let Table {
            unit,
            called,
            columns,
            ..
        } = self.table;
        let what = match (unit, called) {
            (Unit::Sample, None) => "Unit: sample (one call).".to_owned(),
            (Unit::Flow, None) => "Unit: flow (one whole pass, timed end to end).".to_owned(),
            (unit, Some(name)) => format!("Unit: {name} (one right {}).", unit.singular()),
        };
        let repeats = match foot.repeats {
            0 | 1 => String::new(),
            repeats => format!(" Each figure is the median of up to {repeats} runs."),
        };
        let errors = match foot.errors {
            _ if columns.iter().any(|column| column.metric.shows_errors()) => String::new(),
            0 => " No errors.".to_owned(),
            errors => format!(" Errors: {errors} of {} {}.", foot.count, unit.plural()),
        };
        what + &repeats + &errors
    }
}

fn cell(column: &Column, books: &[(&Kept, Book)], foot: &mut Foot) -> String {
    let fits = |run: &Kept| {
        let mut only = column.only.iter();
        only.all(|(name, wanted)| value(run, name).as_ref() == Some(wanted))
    };
    let figures = books.iter().filter(|(run, _)| fits(run));
    let mut figures: Vec<f64> = figures
        .filter_map(|(run, book)| {
            let source = Source {
                book,
                seconds: run.summary.seconds,
                resources: &run.summary.resources,
            };
            column.metric.of(&source, column.scale)
        })
        .collect();
    foot.repeats = foot.repeats.max(figures.len());
    match median(&mut figures) {
        Some(figure) => format!("{figure:.*}{}", column.decimals, column.suffix),
        None => NONE.to_owned(),
    }
}

fn median(figures: &mut [f64]) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let upper = *figures.get(figures.len() / 2)?;
    let lower = *figures.get((figures.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// A word is said once for all the rows below that share it.
fn unrepeated(words: &[String], last: &[String]) -> Vec<String> {
    let same = words
        .iter()
        .zip(last)
        .take_while(|(word, last)| word == last)
        .count();
    let blank = same.min(words.len().saturating_sub(1));
    let words = words.iter().enumerate();
    words
        .map(|(index, word)| {
            if index < blank {
                String::new()
            } else {
                word.clone()
            }
        })
        .collect()
}
