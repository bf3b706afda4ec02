//! Tables and records for people: columns of equal width, and nothing that a terminal would obey.

use serde_json::{Map, Value};
use std::time::{Duration, UNIX_EPOCH};
use unicode_width::UnicodeWidthStr;

/// Fields that hold a time in seconds since 1970.
const TIMES: [&str; 10] = [
    "active_from",
    "client_id_issued_at",
    "client_secret_expires_at",
    "created_at",
    "exp",
    "gone_at",
    "iat",
    "nbf",
    "retires_at",
    "updated_at",
];

/// Rows under a heading. It may be written in parts, as pages arrive: columns only grow.
#[derive(Debug)]
pub(super) struct Table {
    widths: Vec<usize>,
    heading: Option<Vec<String>>,
}

impl Table {
    pub(super) fn new(heading: &[&str]) -> Self {
        Self {
            widths: vec![0; heading.len()],
            heading: Some(heading.iter().map(|&name| name.to_owned()).collect()),
        }
    }

    /// The next rows as lines, before the first of them the heading.
    pub(super) fn lines(&mut self, rows: Vec<Vec<String>>) -> Vec<String> {
        let rows: Vec<_> = self.heading.take().into_iter().chain(rows).collect();
        for row in &rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        rows.iter().map(|row| self.line(row)).collect()
    }

    fn line(&self, row: &[String]) -> String {
        let mut line = String::new();
        for (width, cell) in self.widths.iter().zip(row) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// One object as lines, a field each: first those of `order`, then the others by name.
pub(super) fn record(object: &Map<String, Value>, order: &[&str]) -> Vec<String> {
    let first = order
        .iter()
        .filter_map(|&name| Some((name, object.get(name)?)));
    let rest = object
        .iter()
        .filter(|(name, _)| !order.contains(&name.as_str()));
    let all = first.chain(rest.map(|(name, value)| (name.as_str(), value)));
    let rows = all
        .map(|(name, value)| vec![text(name), field(name, value)])
        .collect();
    let mut table = Table {
        widths: vec![0; 2],
        heading: None,
    };
    table.lines(rows)
}

/// The value of a field as people read it.
pub(super) fn field(name: &str, value: &Value) -> String {
    let time = value.as_u64().filter(|_| TIMES.contains(&name));
    match (time, value) {
        (Some(0), _) => "never".to_owned(),
        (Some(seconds), _) => instant(seconds),
        (None, Value::Array(items)) => {
            let items: Vec<_> = items.iter().map(|item| field("", item)).collect();
            items.join(" ")
        }
        (None, Value::String(plain)) => text(plain),
        (None, Value::Bool(true)) => "yes".to_owned(),
        (None, Value::Bool(false)) => "no".to_owned(),
        (None, Value::Null) => String::new(),
        (None, other) => text(&other.to_string()),
    }
}

/// The field of an object; nothing where it is absent.
pub(super) fn cell(object: &Value, name: &str) -> String {
    field(name, object.get(name).unwrap_or(&Value::Null))
}

/// Seconds since 1970 in UTC.
fn instant(seconds: u64) -> String {
    match UNIX_EPOCH.checked_add(Duration::from_secs(seconds)) {
        Some(at) if seconds < 253_402_300_800 => humantime::format_rfc3339_seconds(at).to_string(),
        _ => seconds.to_string(),
    }
}

/// Text from elsewhere: control characters could move the cursor or rename the window.
pub(super) fn text(plain: &str) -> String {
    let mut shown = String::with_capacity(plain.len());
    for character in plain.chars() {
        if character.is_control() || is_direction(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Characters that turn the direction of the text around them.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(cells: [&str; 3]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["ID", "NAME", "ENABLED"]);
        let lines = table.lines(vec![
            row(["a", "光の店", "yes"]),
            row(["longer-id", "x", ""]),
        ]);
        assert_eq!(
            lines,
            [
                "ID         NAME    ENABLED",
                "a          光の店  yes",
                "longer-id  x"
            ]
        );
        let next = table.lines(vec![row(["b", "y", "no"])]);
        assert_eq!(next, ["b          y       no"], "the heading comes once");
    }

    #[test]
    fn a_record_has_its_fields_in_the_order_of_interest() {
        let client = json!({
            "scope": "read write", "client_id": "shop", "enabled": true, "audience": ["a", "b"],
            "updated_at": 1_700_000_000, "client_secret_expires_at": 0, "metadata": {"a": 1}
        });
        let lines = record(
            client.as_object().unwrap(),
            &["client_id", "absent", "enabled"],
        );
        assert_eq!(
            lines,
            [
                "client_id                 shop",
                "enabled                   yes",
                "audience                  a b",
                "client_secret_expires_at  never",
                "metadata                  {\"a\":1}",
                "scope                     read write",
                "updated_at                2023-11-14T22:13:20Z",
            ]
        );
    }

    #[test]
    fn a_name_cannot_command_the_terminal() {
        assert_eq!(text("a\u{1b}[2Jb\r\n"), "a\\u{1b}[2Jb\\r\\n");
        assert_eq!(text("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(text("Ünïcode 店"), "Ünïcode 店");
    }

    #[test]
    fn a_time_out_of_this_world_stays_a_number() {
        assert_eq!(field("exp", &json!(u64::MAX)), u64::MAX.to_string());
        assert_eq!(
            field("exp", &json!(253_402_300_799_u64)),
            "9999-12-31T23:59:59Z"
        );
    }
}
