//! The summary as text: first the blocks that users of the common closed-loop tools know, in their
//! order and layout, then what those tools do not say. It must not know how the run was driven.

use std::fmt::Write as _;

use crate::clock::{Nanos, seconds};
use crate::histogram::Latencies;
use crate::hit::run::Run;
use crate::hit::tally::{OpenTally, Span};
use crate::report::table;

/// Width of the longest bar.
const BAR: u64 = 40;
/// A generator this late at 99 % is worth a word when it made up most of the response time.
const LAG_WORTH_A_WARNING: Nanos = 1_000_000;
const SHARES: [(&str, f64); 7] = [
    ("10", 0.10),
    ("25", 0.25),
    ("50", 0.50),
    ("75", 0.75),
    ("90", 0.90),
    ("95", 0.95),
    ("99", 0.99),
];

pub(crate) fn render(run: &Run) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    summary(&mut out, run)?;
    histogram(&mut out, run)?;
    details(&mut out, run)?;
    outcomes(&mut out, run)?;
    open_load(&mut out, run)?;
    remarks(&mut out, run)?;
    Ok(out)
}

/// The blocks that need no more than counts and latencies.
pub(crate) fn blocks(run: &Run) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    summary(&mut out, run)?;
    histogram(&mut out, run)?;
    outcomes(&mut out, run)?;
    Ok(out)
}

fn summary(out: &mut String, run: &Run) -> std::fmt::Result {
    let latencies = &run.tally.response;
    let exact = latencies.exact();
    writeln!(out, "\nSummary:")?;
    writeln!(out, "  Total:\t{:.4} secs", seconds(run.elapsed))?;
    writeln!(out, "  Slowest:\t{:.4} secs", seconds(exact.slowest))?;
    writeln!(out, "  Fastest:\t{:.4} secs", seconds(exact.fastest))?;
    writeln!(out, "  Average:\t{:.4} secs", latencies.mean() / 1e9)?;
    writeln!(out, "  Requests/sec:\t{:.4}", run.rate())?;
    write!(out, "  ")?;
    let bytes = run.tally.body_bytes;
    if bytes > 0 {
        write!(out, "\n  Total data:\t{bytes} bytes")?;
        let each = bytes / run.tally.answers().max(1);
        write!(out, "\n  Size/request:\t{each} bytes")?;
    }
    writeln!(out)
}

fn histogram(out: &mut String, run: &Run) -> std::fmt::Result {
    let rows = run.tally.response.rows();
    let most = rows.iter().map(|row| row.1).max().unwrap_or(0).max(1);
    writeln!(out, "\nResponse time histogram:")?;
    for (edge, count) in rows {
        let width = (count * BAR + most / 2) / most;
        let bar: String = (0..width).map(|_| '■').collect();
        writeln!(out, "  {:.3} [{count}]\t|{bar}", seconds(edge))?;
    }
    writeln!(out, "\n\nLatency distribution:")?;
    for (percent, share) in SHARES {
        let latency = seconds(run.tally.response.quantile(share));
        writeln!(out, "  {percent}% in {latency:.4} secs")?;
    }
    Ok(())
}

fn details(out: &mut String, run: &Run) -> std::fmt::Result {
    let phases = run.tally.phases;
    writeln!(out, "\nDetails (average, fastest, slowest):")?;
    for (name, span) in [
        ("DNS+dialup", phases.dial),
        ("DNS-lookup", phases.lookup),
        ("req write", phases.write),
        ("resp wait", phases.wait),
        ("resp read", phases.read),
    ] {
        writeln!(out, "  {name}:\t{}", three(span))?;
    }
    Ok(())
}

fn three(span: Span) -> String {
    format!(
        "{:.4} secs, {:.4} secs, {:.4} secs",
        span.mean() / 1e9,
        seconds(span.fastest),
        seconds(span.slowest)
    )
}

fn outcomes(out: &mut String, run: &Run) -> std::fmt::Result {
    writeln!(out, "\nStatus code distribution:")?;
    for (status, count) in &run.tally.statuses {
        writeln!(out, "  [{}]\t{count} responses", table::status(*status))?;
    }
    writeln!(out)?;
    if !run.tally.errors.is_empty() {
        writeln!(out, "Error distribution:")?;
        for (kind, mishaps) in &run.tally.errors {
            writeln!(out, "  [{}]\t{kind}: {}", mishaps.count, mishaps.example)?;
        }
    }
    writeln!(out, "\n")
}

/// Response and service time side by side: how far they are apart is how long arrivals waited for a
/// free connection, and, as far as the lag goes, for the generator itself.
fn open_load(out: &mut String, run: &Run) -> std::fmt::Result {
    let (Some(rate), Some(open)) = (run.about.rate, &run.tally.open) else {
        return Ok(());
    };
    writeln!(out, "Open loop:")?;
    writeln!(out, "  Intended rate:\t{rate:.4} arrivals/sec")?;
    writeln!(out, "  Dropped:\t{} arrivals", run.tally.dropped)?;
    writeln!(out, "  \t\tresponse\tservice\t\tgenerator lag")?;
    let all = [&run.tally.response, &open.service, &open.lag];
    let mut row = |name: &str, figure: &dyn Fn(&Latencies) -> f64| {
        let [response, service, lag] = all.map(figure);
        writeln!(
            out,
            "  {name}\t{response:.4} secs\t{service:.4} secs\t{lag:.4} secs"
        )
    };
    row("Average:", &|latencies| latencies.mean() / 1e9)?;
    for (percent, share) in [("50%", 0.5), ("90%", 0.9), ("99%", 0.99), ("99.9%", 0.999)] {
        let name = format!("{percent} in:");
        row(&name, &|latencies| seconds(latencies.quantile(share)))?;
    }
    row("Slowest:", &|latencies| seconds(latencies.exact().slowest))?;
    writeln!(
        out,
        "  Response counts from the intended start, service from the actual one."
    )?;
    writeln!(out)
}

fn remarks(out: &mut String, run: &Run) -> std::fmt::Result {
    if let Some(warmup) = &run.warmup {
        writeln!(
            out,
            "Warm-up, not counted above: {} responses, {} errors, {:.4} secs, 50% in {:.4} secs, 99% in {:.4} secs",
            warmup.latencies.count(),
            warmup.errors,
            seconds(warmup.elapsed),
            seconds(warmup.latencies.quantile(0.5)),
            seconds(warmup.latencies.quantile(0.99)),
        )?;
    }
    if run.about.interrupted {
        writeln!(out, "Note: the run was stopped before its end.")?;
    }
    if run.generator.is_limit() {
        writeln!(
            out,
            "Warning: the generator used {:.0} % of a core and may itself be the limit; the target may be faster than this.",
            run.generator.busiest * 100.0
        )?;
    }
    if let Some(open) = &run.tally.open {
        open_remarks(out, &run.tally.response, open)?;
    }
    if run.tally.dropped > 0 {
        writeln!(
            out,
            "Warning: {} arrivals were dropped; the latencies above leave them out.",
            run.tally.dropped
        )?;
    }
    let p95 = run.tally.response.quantile(0.95);
    if run.tally.response.mean() / 1e9 > seconds(p95) {
        writeln!(
            out,
            "Warning: the average exceeds the 95 % latency; look at the slowest responses."
        )?;
    }
    Ok(())
}

/// What kept arrivals waiting, when that was most of their response time.
fn open_remarks(out: &mut String, response: &Latencies, open: &OpenTally) -> std::fmt::Result {
    let lag = open.lag.quantile(0.99);
    if lag >= LAG_WORTH_A_WARNING && lag >= response.quantile(0.99) / 2 {
        writeln!(
            out,
            "Warning: at 99 % the generator itself started {:.4} secs late; trust the service time, or free its core.",
            seconds(lag)
        )?;
    } else if response.mean() >= 2.0 * open.service.mean() + open.lag.mean() {
        writeln!(
            out,
            "Warning: arrivals waited longer for a free connection than they were served; the target cannot keep up, or needs more connections (-c)."
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
