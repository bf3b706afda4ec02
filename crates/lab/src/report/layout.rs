//! Layouts: what a published document looks like, as data. A layout says which tables and texts there
//! are and what their rows and columns mean; runs fill them. `docs/run-directory.md` describes the
//! format. It must not know any particular document.

mod figure;
mod render;
mod select;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::record::names::Unit;

pub(crate) use figure::{Metric, Scale};
pub(crate) use render::{LayoutError, render};

/// The rows that a table makes for every scenario it has figures of.
const SCENARIO: &str = "scenario";

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadLayout {
    #[error("not a layout: {0}")]
    Toml(#[from] toml::de::Error),
    #[error("block {0}: {1}")]
    Block(usize, &'static str),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layout {
    pub(crate) title: String,
    #[serde(default, rename = "scenario")]
    pub(crate) scenarios: Vec<Scenario>,
    #[serde(rename = "block")]
    pub(crate) blocks: Vec<Block>,
}

/// Steps that stand together in one row.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    /// Patterns of step names; `*` stands for anything between slashes.
    pub(crate) steps: Vec<String>,
}

/// A text, a table, or the text report of a step, with a heading.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Block {
    /// Make the block anew for every value that the runs have of this.
    #[serde(default)]
    pub(crate) each: Option<String>,
    #[serde(default)]
    pub(crate) heading: Option<String>,
    #[serde(default)]
    pub(crate) text: Option<String>,
    #[serde(default)]
    pub(crate) table: Option<Table>,
    #[serde(default)]
    pub(crate) hey: Option<Hey>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// What one count is. No table mixes units.
    pub(crate) unit: Unit,
    /// What a reader calls it, when one right sample is one of it: `token`.
    #[serde(default)]
    pub(crate) called: Option<String>,
    #[serde(rename = "row")]
    pub(crate) rows: Vec<RowKey>,
    #[serde(rename = "column")]
    pub(crate) columns: Vec<Column>,
}

/// What the rows differ in: the scenario, or a label of the runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowKey {
    pub(crate) name: String,
    pub(crate) by: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) metric: Metric,
    #[serde(default)]
    pub(crate) scale: Scale,
    #[serde(default)]
    pub(crate) decimals: usize,
    /// Stands right after the figure: `%`, `/s`.
    #[serde(default)]
    pub(crate) suffix: String,
    /// Only runs with these labels.
    #[serde(default, rename = "where")]
    pub(crate) only: BTreeMap<String, String>,
}

/// The text report of a step, fenced.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hey {
    pub(crate) steps: Vec<String>,
    /// Stands in the fence when no run has the step.
    pub(crate) otherwise: String,
}

impl Layout {
    /// The names under which it looks for something of each run, such as labels.
    fn asks(&self) -> BTreeSet<&str> {
        let mut names = placeholders(&self.title);
        for block in &self.blocks {
            names.extend(block.each.as_deref());
            let texts = [&block.heading, &block.text];
            names.extend(
                texts
                    .into_iter()
                    .flatten()
                    .flat_map(|text| placeholders(text)),
            );
            if let Some(table) = &block.table {
                names.extend(table.rows.iter().map(|row| row.by.as_str()));
                let columns = table.columns.iter();
                names.extend(columns.flat_map(|column| column.only.keys().map(String::as_str)));
            }
        }
        // The scenario is the layout's own, and `{n}` counts.
        names
            .into_iter()
            .filter(|name| ![SCENARIO, "n"].contains(name))
            .collect()
    }

    pub(crate) fn parse(text: &str) -> Result<Self, BadLayout> {
        let layout: Self = toml::from_str(text)?;
        for (index, block) in layout.blocks.iter().enumerate() {
            let complaint = |what| Err(BadLayout::Block(index + 1, what));
            let contents = [
                block.text.is_some(),
                block.table.is_some(),
                block.hey.is_some(),
            ];
            if contents.iter().filter(|has| **has).count() != 1 {
                return complaint("give exactly one of `text`, `table` and `hey`");
            }
            let Some(table) = &block.table else {
                continue;
            };
            if table.rows.is_empty() || table.columns.is_empty() {
                return complaint("a table needs at least one `row` and one `column`");
            }
            let has_scenario = table.rows.iter().any(|row| row.by == SCENARIO);
            if has_scenario && layout.scenarios.is_empty() {
                return complaint("rows by scenario need a `scenario`");
            }
        }
        Ok(layout)
    }
}

/// What stands in braces.
fn placeholders(text: &str) -> Vec<&str> {
    let pieces = text.split('{').skip(1);
    pieces
        .filter_map(|piece| Some(piece.split_once('}')?.0))
        .collect()
}

#[cfg(test)]
mod tests;
