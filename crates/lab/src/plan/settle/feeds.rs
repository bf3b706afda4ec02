//! Data feeds, settled. It must not know what templates use of them, or read files.

use std::path::{Path, PathBuf};

use super::{Findings, beside};
use crate::plan::model::{Csv, FeedPlan, FeedSource};
use crate::plan::tables::{End, FeedTable, Kind, PlanTable, Share};
use crate::plan::template::{Template, is_name};

pub(super) fn settle(table: &PlanTable, file: &Path, findings: &mut Findings) -> Vec<FeedPlan> {
    let mut settled = Vec::new();
    for (name, feed) in &table.feeds {
        let option = format!("feeds.{name}");
        if !is_name(name) || ["target", "user", "pass"].contains(&name.as_str()) {
            let what = "expected a name of letters, digits, `_` and `-`, and not `target`";
            findings.refuse(&option, what);
        }
        let source = feed_source(feed, name, file);
        let Some(source) = findings.ok(&option, source) else {
            continue;
        };
        // Rows that were to be unique and are not would be noticed by nobody.
        let otherwise = match feed.share {
            Share::Unique => End::Error,
            Share::Shared | Share::Partitioned => End::Recycle,
        };
        settled.push(FeedPlan {
            name: name.clone(),
            source,
            share: feed.share,
            end: feed.end.unwrap_or(otherwise),
            shuffle: feed.shuffle,
        });
    }
    settled
}

fn feed_source(table: &FeedTable, name: &str, file: &Path) -> Result<FeedSource, String> {
    let of_files = !table.columns.is_empty()
        || table.header.is_some()
        || table.delimiter.is_some()
        || table.quotes.is_some()
        || table.shuffle;
    match (&table.file, table.kind, table.generate.is_empty()) {
        (Some(path), None, true) => {
            if table.rows.is_some() || table.prefix.is_some() {
                return Err("`rows` and `prefix` are for generators".to_owned());
            }
            csv(table, beside(file, path)).map(FeedSource::Csv)
        }
        (None, _, _) if of_files => Err(
            "`columns`, `header`, `delimiter`, `quotes` and `shuffle` are for a `file`".to_owned(),
        ),
        (None, Some(kind), true) => {
            let columns = kind_columns(kind, table.prefix.as_deref().unwrap_or(name))?;
            generated(columns, table.rows)
        }
        (None, None, false) if table.prefix.is_none() => {
            let columns = table.generate.iter();
            let columns = columns.map(|(name, template)| (name.clone(), template.clone()));
            generated(columns.collect(), table.rows)
        }
        (None, None, false) => Err("`prefix` is for a `kind`".to_owned()),
        _ => Err("expected exactly one of `file`, `kind` and `generate`".to_owned()),
    }
}

fn csv(table: &FeedTable, path: PathBuf) -> Result<Csv, String> {
    let delimiter = match table.delimiter.as_deref().unwrap_or(",").as_bytes() {
        [byte] if byte.is_ascii() && !b"\"\r\n#".contains(byte) => *byte,
        _ => return Err("`delimiter`: expected one ASCII character such as \",\"".to_owned()),
    };
    if let Some(bad) = table.columns.iter().find(|name| !is_name(name)) {
        return Err(format!(
            "`{bad}`: a column's name has letters, digits, `_` and `-`"
        ));
    }
    let header = table.header.unwrap_or(table.columns.is_empty());
    if !header && table.columns.is_empty() {
        return Err("without a row of names, `columns` must name them".to_owned());
    }
    Ok(Csv {
        path,
        columns: table.columns.clone(),
        header,
        delimiter,
        quotes: table.quotes.unwrap_or(true),
    })
}

fn kind_columns(kind: Kind, prefix: &str) -> Result<Vec<(String, Template)>, String> {
    let own = format!("{}-${{row}}", prefix.replace("${", "$${"));
    let email = format!("{own}@example.org");
    let columns: &[(&str, &str)] = match kind {
        Kind::Users => &[
            ("username", &own),
            ("password", "${random:hex:16}"),
            ("given_name", "${random:word}"),
            ("family_name", "${random:word}"),
            ("email", &email),
        ],
        Kind::Clients => &[
            ("client_id", &own),
            ("client_secret", "${random:hex:32}"),
            ("client_name", "Client ${row}"),
        ],
        Kind::Ids => &[("id", "${random:uuid}")],
    };
    let columns = columns.iter().map(|(name, text)| {
        let template = Template::parse(text)?;
        Ok(((*name).to_owned(), template))
    });
    columns.collect()
}

fn generated(columns: Vec<(String, Template)>, rows: Option<u64>) -> Result<FeedSource, String> {
    let rows = rows.filter(|rows| *rows > 0);
    let rows = rows.ok_or("a generator needs `rows`, from 1")?;
    if let Some((bad, _)) = columns.iter().find(|(name, _)| !is_name(name)) {
        return Err(format!(
            "`{bad}`: a column's name has letters, digits, `_` and `-`"
        ));
    }
    Ok(FeedSource::Generated { columns, rows })
}
