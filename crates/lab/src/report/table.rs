//! The figures of a run as tables for a terminal. Every figure stands with its unit, and what makes
//! one doubtful stands below. It must not know files or how the run was driven.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::grpc::status::Code;
use crate::record::names::Unit;
use crate::record::summary::{Row, Summary, Times};
use crate::report::grid::Grid;

const HEAD: [&str; 14] = [
    "step", "unit", "time", "count", "per s", "errors", "mean", "p50", "p75", "p90", "p95", "p99",
    "p99.9", "max",
];

pub(crate) fn render(summary: &Summary) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    writeln!(
        out,
        "{} against {}: {:.1} s measured, after {:.1} s of warm-up",
        summary.plan, summary.target, summary.seconds, summary.warmup.seconds
    )?;
    writeln!(out)?;
    out += &grid(&summary.rows).text();
    writeln!(out)?;
    legend(&mut out, &summary.rows)?;
    outcomes(&mut out, &summary.rows)?;
    if !summary.warmup.rows.is_empty() {
        writeln!(out, "\nWarm-up, in no figure above:\n")?;
        out += &grid(&summary.warmup.rows).text();
    }
    resources(&mut out, summary)?;
    remarks(&mut out, summary)?;
    Ok(out)
}

fn grid(rows: &[Row]) -> Grid {
    let mut grid = Grid::new(&HEAD, 3);
    for row in rows {
        let mut cells = vec![
            row.step.clone(),
            row.unit.singular().to_owned(),
            "response".to_owned(),
            row.count.to_string(),
            format!("{:.1}", row.per_second),
            row.errors.to_string(),
        ];
        cells.extend(times(&row.response));
        grid.rows.push(cells);
        if row.service != row.response {
            let mut cells: Vec<String> = ["", "", "service", "", "", ""].map(str::to_owned).into();
            cells.extend(times(&row.service));
            grid.rows.push(cells);
        }
        if let Some(late) = &row.late {
            let mut cells: Vec<String> = ["", "", "late", "", "", ""].map(str::to_owned).into();
            cells.extend(times(late));
            grid.rows.push(cells);
        }
    }
    grid
}

fn times(times: &Times) -> [String; 8] {
    let Times {
        mean,
        p50,
        p75,
        p90,
        p95,
        p99,
        p99_9,
        max,
    } = *times;
    [mean, p50, p75, p90, p95, p99, p99_9, max].map(milliseconds)
}

pub(crate) fn milliseconds(seconds: f64) -> String {
    format!("{:.2}", seconds * 1e3)
}

fn legend(out: &mut String, rows: &[Row]) -> std::fmt::Result {
    out.push_str("Times in milliseconds. A sample is one call");
    if rows.iter().any(|row| row.unit == Unit::Flow) {
        out.push_str("; a flow is one whole pass, timed from its first call to its last answer");
    }
    writeln!(out, ".")?;
    if rows.iter().any(|row| row.service != row.response) {
        writeln!(
            out,
            "Response counts from the intended start, service from the actual one."
        )?;
    }
    if rows.iter().any(|row| row.late.is_some()) {
        writeln!(
            out,
            "Late is what lies between the two: the generator's own, unless arrivals waited for a free place."
        )?;
    }
    Ok(())
}

/// What came of each step, where it is not all the same.
fn outcomes(out: &mut String, rows: &[Row]) -> std::fmt::Result {
    for row in rows {
        let mut parts = Vec::new();
        if row.statuses.len() > 1 {
            let named = row.statuses.iter().map(|(of, count)| (status(*of), *count));
            parts.push(format!("statuses: {}", counts(&named.collect())));
        }
        if !row.wrong.is_empty() {
            parts.push(format!("wrong answers: {}", counts(&row.wrong)));
        }
        if !row.failed.is_empty() {
            parts.push(format!("no answer: {}", counts(&row.failed)));
        }
        if !parts.is_empty() {
            writeln!(out, "{}: {}", row.step, parts.join("; "))?;
        }
    }
    Ok(())
}

/// A status as its protocol writes it: a number of HTTP, the name of a code of gRPC.
pub(crate) fn status(status: u16) -> String {
    Code::of_sample(status).map_or_else(|| status.to_string(), |code| code.to_string())
}

/// `3 × nonce, 1 × status`.
pub(crate) fn counts<K: std::fmt::Display>(counts: &BTreeMap<K, u64>) -> String {
    let each = counts
        .iter()
        .map(|(name, count)| format!("{count} × {name}"));
    each.collect::<Vec<_>>().join(", ")
}

fn resources(out: &mut String, summary: &Summary) -> std::fmt::Result {
    if summary.resources.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::new(&["resource", "unit", "mean", "max"], 2);
    for resource in &summary.resources {
        grid.rows.push(vec![
            resource.series.clone(),
            resource.unit.clone(),
            format!("{:.2}", resource.mean),
            format!("{:.2}", resource.max),
        ]);
    }
    write!(out, "\n{}", grid.text())
}

fn remarks(out: &mut String, summary: &Summary) -> std::fmt::Result {
    let lines = summary.notes.iter().cloned().chain(warnings(summary));
    for (index, line) in lines.enumerate() {
        if index == 0 {
            writeln!(out)?;
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// What a reader has to know before believing the figures.
pub(crate) fn warnings(summary: &Summary) -> Vec<String> {
    let mut warnings = Vec::new();
    for row in &summary.rows {
        let Row { step, dropped, .. } = row;
        if row.response.mean > row.response.p95 {
            warnings.push(format!(
                "Warning: {step}: the average exceeds the 95 % latency; look at the slowest {}.",
                row.unit.plural()
            ));
        }
        if *dropped > 0 {
            warnings.push(format!(
                "Warning: {step}: {dropped} arrivals were dropped; the latencies leave them out."
            ));
        }
        if row.count > 0 && row.right() == 0 {
            warnings.push(format!("Warning: {step}: nothing was right."));
        }
    }
    warnings
}

#[cfg(test)]
mod tests;
