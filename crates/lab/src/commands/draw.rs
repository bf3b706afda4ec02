//! Plots of finished runs: what was sent and answered over time, latencies by percentile, and what
//! was watched. It must not know how curves are drawn.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::clock::seconds;
use crate::record::kept::{Kept, KeptError};
use crate::record::names::Unit;
use crate::report::plot::bars::{BarChart, Bars};
use crate::report::plot::percentiles::{PercentileChart, shares};
use crate::report::plot::time::{Band, Panel, TimeChart};
use crate::report::plot::{Line, Scale};
use crate::watch::file::{self, BadFile, FILE};
use crate::watch::series::Watched;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DrawError {
    #[error(transparent)]
    Kept(#[from] KeptError),
    #[error(transparent)]
    Watched(#[from] BadFile),
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    Write(PathBuf, io::Error),
}

struct Run {
    name: String,
    kept: Kept,
    watched: Watched,
}

/// Draws the runs over one another; the files that were written.
pub(crate) fn draw(
    directories: &[PathBuf],
    output: Option<&Path>,
    wanted: &[String],
) -> Result<Vec<PathBuf>, DrawError> {
    let mut runs = Vec::new();
    for directory in directories {
        let kept = Kept::open(directory)?;
        let file = directory.join(FILE);
        let watched = if file.exists() {
            file::read(&file)?
        } else {
            Watched::default()
        };
        let labels = kept.labels.values().cloned().collect::<Vec<_>>();
        let name = if labels.is_empty() {
            directory
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        } else {
            labels.join(" ")
        };
        runs.push(Run {
            name,
            kept,
            watched,
        });
    }
    let place = output.or(directories.first().map(PathBuf::as_path));
    let place = place.unwrap_or(Path::new("."));
    fs::create_dir_all(place).map_err(|error| DrawError::Write(place.to_owned(), error))?;
    let charts = [
        ("time.svg", over_time(&runs)),
        ("latency.svg", latency(&runs)),
        ("resources.svg", resources(&runs, wanted)),
        ("rates.svg", rates(&runs)),
    ];
    let mut written = Vec::new();
    for (name, svg) in charts {
        let path = place.join(name);
        fs::write(&path, svg).map_err(|error| DrawError::Write(path.clone(), error))?;
        written.push(path);
    }
    Ok(written)
}

fn title(runs: &[Run]) -> String {
    let plans: Vec<_> = runs
        .iter()
        .map(|run| run.kept.summary.plan.as_str())
        .collect();
    match plans.first() {
        Some(first) if plans.iter().all(|plan| plan == first) => (*first).to_owned(),
        _ => plans.join(", "),
    }
}

fn warm_up(runs: &[Run]) -> Vec<Band> {
    let longest = runs.iter().map(|run| run.kept.summary.warmup.seconds);
    let to = longest.fold(0.0, f64::max);
    let band = Band {
        from: 0.0,
        to,
        name: "warm-up".to_owned(),
    };
    if to > 0.0 { vec![band] } else { Vec::new() }
}

/// The name of a curve: the run's, where there are several.
fn named(runs: &[Run], run: &Run, curve: &str) -> String {
    if runs.len() > 1 {
        format!("{}: {curve}", run.name)
    } else {
        curve.to_owned()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a second")]
fn over_time(runs: &[Run]) -> String {
    let mut panels = vec![
        panel("Answers and failures", "1/s", Scale::Linear),
        panel("Errors", "1/s", Scale::Linear),
        panel("Response time", "ms", Scale::Log),
    ];
    for run in runs {
        // The last second is not whole.
        let whole = run.kept.ledger.measured.until_ns / 1_000_000_000;
        let mut windows = run.kept.ledger.books.windows().all();
        windows.retain(|second, _| *second < whole.max(1));
        let curve = |of: &dyn Fn(&crate::record::books::windows::Window) -> f64| {
            let points = windows
                .iter()
                .map(|(second, window)| (*second as f64, of(window)));
            points.collect::<Vec<_>>()
        };
        let mut push = |at: usize, name: &str, points| {
            panels[at].lines.push(Line {
                name: named(runs, run, name),
                points,
            });
        };
        push(0, "samples", curve(&|window| window.count as f64));
        push(1, "errors", curve(&|window| window.errors as f64));
        for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            push(
                2,
                name,
                curve(&|window| seconds(window.quantile(share)) * 1000.0),
            );
        }
    }
    let chart = TimeChart {
        title: title(runs),
        panels,
        markers: Vec::new(),
        bands: warm_up(runs),
    };
    chart.svg()
}

fn panel(title: &str, unit: &str, scale: Scale) -> Panel {
    Panel {
        title: title.to_owned(),
        unit: unit.to_owned(),
        scale,
        lines: Vec::new(),
    }
}

fn latency(runs: &[Run]) -> String {
    let mut lines = Vec::new();
    for run in runs {
        let calls = run.kept.ledger.books.measured();
        for (step, book) in calls.filter(|(step, _)| step.unit == Unit::Sample) {
            let Some(response) = book.response() else {
                continue;
            };
            let points = shares(response.count()).into_iter();
            let points = points.map(|share| (share, seconds(response.quantile(share)) * 1000.0));
            lines.push(Line {
                name: named(runs, run, &step.name),
                points: points.collect(),
            });
        }
    }
    let chart = PercentileChart {
        title: title(runs),
        unit: "ms".to_owned(),
        scale: Scale::Log,
        lines,
    };
    chart.svg()
}

/// A panel for each watched quantity, the runs over one another in it.
fn resources(runs: &[Run], wanted: &[String]) -> String {
    let mut panels: Vec<Panel> = Vec::new();
    for run in runs {
        for series in &run.watched.series {
            let is_wanted =
                wanted.is_empty() || wanted.iter().any(|text| series.name.contains(text));
            if !is_wanted {
                continue;
            }
            let known = panels.iter().position(|panel| panel.title == series.name);
            let at = known.unwrap_or_else(|| {
                panels.push(panel(&series.name, &series.unit, Scale::Linear));
                panels.len() - 1
            });
            panels[at].lines.push(Line {
                name: run.name.clone(),
                points: series.points.clone(),
            });
        }
    }
    let chart = TimeChart {
        title: title(runs),
        panels,
        markers: Vec::new(),
        bands: warm_up(runs),
    };
    chart.svg()
}

/// What each run answered per second, step by step, the runs beside one another.
fn rates(runs: &[Run]) -> String {
    let mut steps: Vec<&str> = Vec::new();
    let rows = runs.iter().flat_map(|run| &run.kept.summary.rows);
    for row in rows.filter(|row| row.unit == Unit::Flow) {
        if !steps.contains(&row.step.as_str()) {
            steps.push(&row.step);
        }
    }
    let bars = steps.iter().map(|step| {
        let rate = |run: &Run| {
            let mut rows = run.kept.summary.rows.iter();
            Some(rows.find(|row| row.step == *step)?.per_second)
        };
        Bars {
            name: (*step).to_owned(),
            values: runs.iter().map(rate).collect(),
        }
    });
    let chart = BarChart {
        title: title(runs),
        unit: "flows/s".to_owned(),
        axis: "run".to_owned(),
        groups: runs.iter().map(|run| run.name.clone()).collect(),
        bars: bars.collect(),
    };
    chart.svg()
}
