//! Plots of finished runs: what was sent and answered over time, latencies by percentile, and what
//! was watched. It must not know how curves are drawn.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::clock::{Nanos, seconds};
use crate::compare::judge::threshold::{self, Threshold};
use crate::record::books::windows::Window;
use crate::record::directory::Told;
use crate::record::kept::{Kept, KeptError};
use crate::record::names::Unit;
use crate::record::samples::Span;
use crate::report::plot::bars::{BarChart, Bars};
use crate::report::plot::percentiles::{PercentileChart, shares};
use crate::report::plot::time::{Band, Level, Marker, Panel, TimeChart};
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
    #[error("no series has {0:?} in its name; there are: {1}")]
    NoSeries(String, String),
    #[error("no series has {0:?} in its name: nothing was watched beside these runs")]
    NothingWatched(String),
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
    check(&runs, wanted)?;
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

/// Whether every series that is wanted is there in any run.
fn check(runs: &[Run], wanted: &[String]) -> Result<(), DrawError> {
    let series = runs.iter().flat_map(|run| &run.watched.series);
    let known: BTreeSet<&str> = series.map(|series| series.name.as_str()).collect();
    let is_there = |text: &&String| known.iter().any(|name| name.contains(text.as_str()));
    match wanted.iter().find(|text| !is_there(text)) {
        None => Ok(()),
        Some(text) if known.is_empty() => Err(DrawError::NothingWatched(text.clone())),
        Some(text) => {
            let known: Vec<&str> = known.into_iter().collect();
            Err(DrawError::NoSeries(text.clone(), known.join(", ")))
        }
    }
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
    let warm = runs
        .iter()
        .filter(|run| run.kept.summary.warmup.seconds > 0.0);
    let spans: Vec<Span> = warm.map(|run| run.kept.ledger.measured).collect();
    let band = Band {
        from: seconds(spans.iter().map(|span| span.begin_ns).min().unwrap_or(0)),
        to: seconds(spans.iter().map(|span| span.from_ns).max().unwrap_or(0)),
        name: "warm-up".to_owned(),
    };
    if spans.is_empty() {
        Vec::new()
    } else {
        vec![band]
    }
}

/// The name of a curve: the run's, where there are several.
fn name_of(runs: &[Run], run: &Run, curve: &str) -> String {
    if runs.len() > 1 {
        format!("{}: {curve}", run.name)
    } else {
        curve.to_owned()
    }
}

/// Panels of response times, and the shares that they show.
const TIMES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

fn over_time(runs: &[Run]) -> String {
    let mut panels = vec![
        panel("Answers and failures", "1/s", Scale::Linear),
        panel("Errors", "1/s", Scale::Linear),
    ];
    // Several runs have a panel for each percentile: so a run has one colour in all of them.
    if let [run] = runs {
        let mut times = panel("Response time", "ms", Scale::Log);
        times.lines.extend(TIMES.map(|(name, share)| {
            let points = curve(run, &|window| milliseconds(window.quantile(share)));
            named(name, points)
        }));
        panels.push(times);
    } else {
        for (name, share) in TIMES {
            let mut times = panel(&format!("Response time, {name}"), "ms", Scale::Log);
            let of = |run: &Run| curve(run, &|window| milliseconds(window.quantile(share)));
            times
                .lines
                .extend(runs.iter().map(|run| named(&run.name, of(run))));
            panels.push(times);
        }
    }
    for run in runs {
        let is_alone = runs.len() == 1;
        let name = |alone: &str| {
            if is_alone {
                alone.to_owned()
            } else {
                run.name.clone()
            }
        };
        panels[0].lines.push(named(
            &name("samples"),
            curve(run, &|window| real(window.count)),
        ));
        panels[1].lines.push(named(
            &name("errors"),
            curve(run, &|window| real(window.errors)),
        ));
    }
    levels(runs, &mut panels);
    let chart = TimeChart {
        title: title(runs),
        panels,
        markers: markers(runs),
        bands: warm_up(runs),
    };
    chart.svg()
}

fn named(name: &str, points: Vec<(f64, f64)>) -> Line {
    Line {
        name: name.to_owned(),
        points,
    }
}

/// A figure of every whole second of a run.
fn curve(run: &Run, of: &dyn Fn(&Window) -> f64) -> Vec<(f64, f64)> {
    // The last second is not whole.
    let whole = run.kept.ledger.measured.until_ns / 1_000_000_000;
    let windows = run.kept.ledger.books.windows().all();
    let whole = windows.iter().filter(|(second, _)| **second < whole.max(1));
    whole
        .map(|(second, window)| (real(*second), of(window)))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts and seconds of a run")]
fn real(count: u64) -> f64 {
    count as f64
}

fn milliseconds(ns: Nanos) -> f64 {
    seconds(ns) * 1000.0
}

/// The thresholds of the plans, in the panels of what they are about.
fn levels(runs: &[Run], panels: &mut [Panel]) {
    let planned = |run: &Run| {
        let texts = run
            .kept
            .plan
            .get("thresholds")
            .and_then(toml::Value::as_array);
        let texts = texts.into_iter().flatten().filter_map(toml::Value::as_str);
        texts.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let all: BTreeSet<String> = runs.iter().flat_map(planned).collect();
    for text in all {
        // One that cannot be read was told before its run.
        let place = text
            .parse::<Threshold>()
            .ok()
            .and_then(|threshold| threshold.level());
        let (at, panels) = match place {
            Some(threshold::Level::Rate(rate)) => (rate, &mut panels[..1]),
            Some(threshold::Level::Response(time)) => (time * 1000.0, &mut panels[2..]),
            None => continue,
        };
        for panel in panels {
            let name = text.clone();
            panel.levels.push(Level { at, name });
        }
    }
}

/// When runs were told to end, and by what.
fn markers(runs: &[Run]) -> Vec<Marker> {
    let notes = runs
        .iter()
        .flat_map(|run| run.kept.told.iter().map(move |note| (run, note)));
    let marker = |(run, note): (&Run, &Told)| Marker {
        at: note.at,
        name: if runs.len() > 1 {
            format!("{}: {}", run.name, note.note)
        } else {
            note.note.clone()
        },
    };
    notes.map(marker).collect()
}

fn panel(title: &str, unit: &str, scale: Scale) -> Panel {
    Panel {
        title: title.to_owned(),
        unit: unit.to_owned(),
        scale,
        lines: Vec::new(),
        levels: Vec::new(),
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
                name: name_of(runs, run, &step.name),
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
        markers: markers(runs),
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
