//! A CSV file in memory: about as large there as on disk, read in one go. It must not know who gets
//! which row.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use crate::plan::model::Csv;

/// Stands between the values of a row: no byte of a text in UTF-8.
const BETWEEN: u8 = 0xFF;

/// The rows of a file.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    /// The values of all rows, each followed by [`BETWEEN`].
    values: Vec<u8>,
    /// Where rows end.
    ends: Vec<usize>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadCsv {
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    Io(PathBuf, io::Error),
    #[error("{path}:{line}: {what}", path = .file.display())]
    Row {
        file: PathBuf,
        line: usize,
        what: String,
    },
    #[error("{0}: the file has no rows")]
    Empty(PathBuf),
}

/// What is wrong with a row, and how to find its line.
#[derive(Debug)]
enum Fault {
    Io(io::Error),
    Row {
        what: String,
        /// Bytes read until the end of the row before.
        start: u64,
    },
}

impl Table {
    pub(super) fn open(options: &Csv) -> Result<Self, BadCsv> {
        let path = &options.path;
        let io = |fault| BadCsv::Io(path.clone(), fault);
        let file = File::open(path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let table = match read(file, usize::try_from(size).unwrap_or(0), options) {
            Ok(table) => table,
            Err(Fault::Io(fault)) => return Err(io(fault)),
            Err(Fault::Row { what, start }) => {
                let line = File::open(path).and_then(|file| line(file, start));
                let line = line.map_err(io)?;
                let file = path.clone();
                return Err(BadCsv::Row { file, line, what });
            }
        };
        if table.ends.is_empty() {
            return Err(BadCsv::Empty(path.clone()));
        }
        Ok(table)
    }

    pub(super) fn rows(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The value of a row and a column, both counted from 0; empty beyond the end.
    pub(super) fn value(&self, row: u64, column: usize) -> &str {
        let row = usize::try_from(row).unwrap_or(usize::MAX);
        let Some(end) = self.ends.get(row) else {
            return "";
        };
        let before = row.checked_sub(1).and_then(|row| self.ends.get(row));
        let start = before.copied().unwrap_or(0);
        let values = self.values.get(start..*end).unwrap_or_default();
        let value = values.split(|byte| *byte == BETWEEN).nth(column);
        // Checked when it was read.
        std::str::from_utf8(value.unwrap_or_default()).unwrap_or_default()
    }

    fn push(&mut self, record: &csv::ByteRecord) -> Result<(), String> {
        for (column, value) in record.iter().enumerate() {
            if std::str::from_utf8(value).is_err() {
                return Err(format!("expected UTF-8 in column {}", column + 1));
            }
            self.values.extend_from_slice(value);
            self.values.push(BETWEEN);
        }
        self.ends.push(self.values.len());
        Ok(())
    }
}

/// Passes bytes on and remembers how the file ends.
struct Tail<R> {
    inner: R,
    /// The last byte that is no line end.
    last: u8,
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let read = buffer[..count].iter().rev();
        if let Some(last) = read.copied().find(|byte| !b"\r\n".contains(byte)) {
            self.last = last;
        }
        Ok(count)
    }
}

fn read(input: impl Read, size: usize, options: &Csv) -> Result<Table, Fault> {
    // The reader passes over a byte-order mark and empty lines by itself.
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(options.delimiter)
        .quoting(options.quotes)
        .comment(Some(b'#'))
        .has_headers(false)
        .flexible(true)
        .from_reader(Tail {
            inner: input,
            last: b'\n',
        });
    let mut table = Table {
        columns: options.columns.clone(),
        values: Vec::with_capacity(size + 1),
        ends: Vec::new(),
    };
    let mut record = csv::ByteRecord::new();
    let mut is_header = options.header;
    let mut start = 0;
    loop {
        let end = reader.position().byte();
        if !reader.read_byte_record(&mut record).map_err(io_fault)? {
            break;
        }
        start = end;
        let fault = |what| Fault::Row { what, start };
        if std::mem::take(&mut is_header) {
            let named = columns(&record).map_err(fault)?;
            if table.columns.is_empty() {
                table.columns = named;
            }
        } else if record.len() == table.columns.len() {
            table.push(&record).map_err(fault)?;
        }
        if record.len() != table.columns.len() {
            return Err(fault(ragged(&record, &table.columns)));
        }
    }
    // A value with a line end in it is quoted, so a file that ends with one ends with a quote.
    if options.quotes && reader.get_ref().last != b'"' && ends_with_lines(&table) {
        let what = "a quote is opened and not closed".to_owned();
        return Err(Fault::Row { what, start });
    }
    // Comments and quotes are gone; moving the values is worth it only when much is.
    if table.values.len() < table.values.capacity() / 4 * 3 {
        table.values.shrink_to_fit();
    }
    table.ends.shrink_to_fit();
    Ok(table)
}

fn io_fault(fault: csv::Error) -> Fault {
    match fault.into_kind() {
        csv::ErrorKind::Io(fault) => Fault::Io(fault),
        other => Fault::Io(io::Error::other(format!("{other:?}"))),
    }
}

/// Whether there is a line end in the last value of the last row.
fn ends_with_lines(table: &Table) -> bool {
    let row = table.rows().saturating_sub(1);
    let last = table.columns.len().saturating_sub(1);
    table.value(row, last).contains('\n')
}

fn columns(record: &csv::ByteRecord) -> Result<Vec<String>, String> {
    let mut columns: Vec<String> = Vec::new();
    for name in record {
        let name = std::str::from_utf8(name)
            .map_err(|_| "expected UTF-8".to_owned())?
            .trim();
        if !crate::plan::template::is_name(name) {
            return Err(format!(
                "expected a row of names of columns, of letters, digits, `_` and `-`, not `{name}`; \
                 where the file has no such row, the plan names the `columns`"
            ));
        }
        if columns.iter().any(|column| column == name) {
            return Err(format!("two columns are called `{name}`"));
        }
        columns.push(name.to_owned());
    }
    Ok(columns)
}

fn ragged(record: &csv::ByteRecord, columns: &[String]) -> String {
    let (came, expected) = (record.len(), columns.len());
    let plural = if came == 1 { "" } else { "s" };
    let hint = if record.as_slice().contains(&b'\n') {
        "; is a quote not closed?"
    } else if came > expected {
        "; a value with the delimiter in it must be quoted"
    } else {
        ""
    };
    let names = columns.join(", ");
    format!("expected {expected} values ({names}), came {came} value{plural}{hint}")
}

/// The number of the line in which the first row after a byte begins: after marks, empty lines and
/// comments.
fn line(input: impl Read, start: u64) -> io::Result<usize> {
    let (mut line, mut is_comment) = (1, false);
    for (at, byte) in io::BufReader::new(input).bytes().enumerate() {
        let byte = byte?;
        let is_before = (at as u64) < start;
        match byte {
            b'\n' => (line, is_comment) = (line + 1, false),
            _ if is_before || is_comment => {}
            b'\r' => {}
            b'#' => is_comment = true,
            0xEF | 0xBB | 0xBF if at < 3 => {}
            _ => break,
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn options(columns: &[&str], header: bool) -> Csv {
        Csv {
            path: PathBuf::from("x.csv"),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            header,
            delimiter: b',',
            quotes: true,
        }
    }

    fn open(bytes: &[u8], options: &Csv) -> Result<Table, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let path = file.path().to_owned();
        let options = Csv {
            path: path.clone(),
            ..options.clone()
        };
        let opened = Table::open(&options);
        opened.map_err(|fault| {
            fault
                .to_string()
                .replace(&path.display().to_string(), "x.csv")
        })
    }

    fn rows(table: &Table) -> Vec<Vec<&str>> {
        let row = |row| {
            (0..table.columns.len())
                .map(|c| table.value(row, c))
                .collect()
        };
        (0..table.rows()).map(row).collect()
    }

    #[test]
    fn a_comment_line_is_no_row_and_neither_is_a_mark_or_an_empty_line() {
        let text = "\u{feff}# made by hand\n\na,b\n#1,2\n1,2\n\n\"x,y\",\"q\"\"#\nz\"\r\n#end\n3,";
        let table = open(text.as_bytes(), &options(&[], true)).unwrap();
        assert_eq!(table.columns, ["a", "b"]);
        assert_eq!(rows(&table), [["1", "2"], ["x,y", "q\"#\nz"], ["3", ""]]);
        assert_eq!((table.value(3, 0), table.value(0, 2)), ("", ""));
    }

    #[test]
    fn the_plan_may_name_the_columns() {
        let table = open(
            b"1;2\n\"3;4\n",
            &Csv {
                delimiter: b';',
                quotes: false,
                ..options(&["a", "b"], false)
            },
        );
        assert_eq!(rows(&table.unwrap()), [["1", "2"], ["\"3", "4"]]);
        let table = open(b"x,y z\n1,2\n", &options(&["a", "b"], true));
        assert!(table.unwrap_err().contains("`y z`"));
        let table = open(b"x,y\n1,2\n", &options(&["a", "b"], true)).unwrap();
        assert_eq!(rows(&table), [["1", "2"]]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let cases: [(&[u8], &str); 11] = [
            (
                b"a,b\n1,2\n\n# c\n1\n",
                "x.csv:5: expected 2 values (a, b), came 1 value",
            ),
            (
                b"a,b\r\n1,2\r\n1,2,3\r\n",
                "x.csv:3: expected 2 values (a, b), came 3 values",
            ),
            (b"a,b\n1,2,3", "x.csv:2: expected 2 values"),
            (
                b"a,b\n\"x\ny\nz\",1\n\"u\nv\"\n1,2\n",
                "x.csv:5: expected 2 values",
            ),
            (
                b"a,b\n1,2\n1,\"2\n3,4\n5,6\n",
                "x.csv:3: a quote is opened and not closed",
            ),
            (b"a,b\n1,2\n\"1,2\n3,4\n", "x.csv:3: expected 2 values"),
            (b"a,b\n1,\xff\n", "x.csv:2: expected UTF-8 in column 2"),
            (b"a,a\n1,2\n", "x.csv:1: two columns are called `a`"),
            (b"# c\n1,2 3\n", "x.csv:2: expected a row of names"),
            (b"a,b\n", "x.csv: the file has no rows"),
            (b"", "x.csv: the file has no rows"),
        ];
        for (bytes, expected) in cases {
            let fault = open(bytes, &options(&[], true)).unwrap_err();
            assert!(
                fault.starts_with(expected),
                "{}\n{fault}",
                String::from_utf8_lossy(bytes)
            );
        }
        let missing = Table::open(&options(&[], true)).unwrap_err().to_string();
        assert!(missing.starts_with("x.csv: "), "{missing}");
    }

    #[test]
    fn a_file_takes_about_its_own_size_in_memory() {
        let lines = (0..100_000).map(|row| format!("{row:08},user number {row:08}"));
        let text = format!("id,name\n{}", lines.collect::<Vec<_>>().join("\n"));
        let table = open(text.as_bytes(), &options(&[], true)).unwrap();
        assert_eq!(table.value(99_999, 1), "user number 00099999");
        let held = table.values.capacity() + table.ends.capacity() * size_of::<usize>();
        assert!(held < text.len() * 13 / 10, "{held} for {}", text.len());
    }

    proptest! {
        #[test]
        fn every_value_comes_back(
            values in proptest::collection::vec(
                proptest::collection::vec("[a-c#,\"\n\ré]{0,6}", 3), 1..8),
        ) {
            let quoted = |value: &String| format!("\"{}\"", value.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
            let lines: Vec<String> = values.iter().map(line).collect();
            let text = format!("a,b,c\n{}", lines.join("\n"));
            let table = open(text.as_bytes(), &options(&[], true)).unwrap();
            prop_assert_eq!(rows(&table), values);
        }

        #[test]
        fn no_file_is_a_panic(bytes in proptest::collection::vec(
            prop_oneof![Just(b','), Just(b'"'), Just(b'\n'), Just(b'\r'), Just(b'#'), any::<u8>()], 0..40)) {
            drop(open(&bytes, &options(&["a"], false)));
        }
    }
}
