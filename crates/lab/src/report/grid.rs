//! Cells in rows and columns, as text for a terminal or as a table of Markdown. It must not know what
//! the cells say.

/// A table. The first columns are words, set to the left; the others are figures, set to the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// How many columns are words.
    pub(crate) words: usize,
}

impl Grid {
    pub(crate) fn new(head: &[&str], words: usize) -> Self {
        Self {
            head: head.iter().map(|name| (*name).to_owned()).collect(),
            rows: Vec::new(),
            words,
        }
    }

    /// Lines of aligned cells, with two spaces between columns.
    pub(crate) fn text(&self) -> String {
        let widths = self.widths();
        let mut out = String::new();
        for row in std::iter::once(&self.head).chain(&self.rows) {
            let cells: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| self.padded(row, column, *width))
                .collect();
            out.push_str(cells.join("  ").trim_end());
            out.push('\n');
        }
        out
    }

    pub(crate) fn markdown(&self) -> String {
        let escaped = Self {
            head: self.head.iter().map(|cell| escape(cell)).collect(),
            rows: self
                .rows
                .iter()
                .map(|row| row.iter().map(|cell| escape(cell)).collect())
                .collect(),
            words: self.words,
        };
        let widths = escaped.widths();
        let line = |row: &[String]| {
            let cells = widths.iter().enumerate();
            let cells = cells.map(|(column, width)| escaped.padded(row, column, *width));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rules = widths.iter().enumerate().map(|(column, width)| {
            let rule = "-".repeat(*width + 1);
            if column < self.words {
                format!("-{rule}")
            } else {
                format!("{rule}:")
            }
        });
        let rules = rules.collect::<Vec<_>>().join("|");
        let mut out = format!("{}|{rules}|\n", line(&escaped.head));
        out.extend(escaped.rows.iter().map(|row| line(row)));
        out
    }

    fn padded(&self, row: &[String], column: usize, width: usize) -> String {
        let cell = row.get(column).map_or("", String::as_str);
        if column < self.words {
            format!("{cell:<width$}")
        } else {
            format!("{cell:>width$}")
        }
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.head.len()];
        for row in std::iter::once(&self.head).chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

fn escape(cell: &str) -> String {
    cell.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(&["step", "n"], 1);
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        grid.rows = vec![row(["a|b", "1"]), row(["c", "12345"])];
        grid
    }

    #[test]
    fn words_stand_left_and_figures_right() {
        assert_eq!(grid().text(), "step      n\na|b       1\nc     12345\n");
    }

    #[test]
    fn markdown_keeps_bars_inside_their_cells() {
        let expected = "| step |     n |\n|------|------:|\n| a\\|b |     1 |\n| c    | 12345 |\n";
        assert_eq!(grid().markdown(), expected);
    }
}
