//! Runs of plans by the lab, and what their directories say. It must not know what is compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Context, Outcome};
use crate::lab::Lab;
use crate::process::{GENERATOR, Process, pinned};

/// What a run directory says of its only step; times in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Played {
    pub(crate) rate: f64,
    pub(crate) calls: u64,
    pub(crate) errors: u64,
    /// Arrivals that were due and never sent.
    pub(crate) dropped: u64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) slowest: f64,
    /// The 99.9th percentile of the lateness of starts; zero where nothing had a timetable.
    pub(crate) late: f64,
}

fn command(lab: &Lab, plan: &str, args: &[&str]) -> Outcome<(Command, PathBuf)> {
    let directory = lab.scratch().join("played");
    if directory.exists() {
        fs::remove_dir_all(&directory).context(directory.display())?;
    }
    fs::create_dir_all(&directory).context(directory.display())?;
    let file = directory.join("plan.toml");
    fs::write(&file, plan).context(file.display())?;
    let mut command = pinned(Some(GENERATOR), &lab.programs.assay);
    command
        .arg("run")
        .arg(&file)
        .arg("--quiet")
        .arg("--runs")
        .arg(directory.join("runs"));
    command.args(args);
    Ok((command, directory))
}

/// Starts a run and does not wait for it; [`read`] tells of the directory what came of it.
pub(crate) fn start(lab: &Lab, plan: &str, args: &[&str]) -> Outcome<(Process, PathBuf)> {
    let (mut command, directory) = command(lab, plan, args)?;
    let log = directory.join("log");
    Ok((Process::start("assay run", &mut command, &log)?, directory))
}

/// Plays a plan on the generator's core.
pub(crate) fn play(lab: &Lab, plan: &str, args: &[&str]) -> Outcome<Played> {
    let (mut command, directory) = command(lab, plan, args)?;
    let out = command.output().context("assay run")?;
    let log = directory.join("log");
    fs::write(&log, out.stderr).context(log.display())?;
    read(lab, &directory)
}

/// What the run that was started in a directory has written.
pub(crate) fn read(lab: &Lab, directory: &Path) -> Outcome<Played> {
    let said = fs::read_to_string(directory.join("log")).unwrap_or_default();
    let mut runs = fs::read_dir(directory.join("runs")).context(said)?;
    let run = runs
        .next()
        .context("no run directory")?
        .context("the run directory")?;
    let text = fs::read(run.path().join("summary.json")).context("summary.json")?;
    let summary: Value = serde_json::from_slice(&text).context("summary.json")?;
    lab.results.raw("played", &summary)?;
    let rows = summary["rows"].as_array().context("rows")?;
    let row = rows
        .iter()
        .find(|row| row["unit"] == "sample")
        .context("a row of samples")?;
    let flow = rows
        .iter()
        .find(|row| row["unit"] == "flow")
        .context("a row of flows")?;
    let number = |value: &Value| value.as_f64().context("a number that is not there");
    let time = |of: &str, name: &str| Ok(number(&row[of][name])? * 1000.0);
    Ok(Played {
        rate: number(&row["per_second"])?,
        calls: row["count"].as_u64().unwrap_or(0),
        errors: row["errors"].as_u64().unwrap_or(u64::MAX),
        dropped: flow["dropped"].as_u64().unwrap_or(0),
        p50: time("response", "p50")?,
        p99: time("response", "p99")?,
        slowest: time("response", "max")?,
        late: row["late"]["p99_9"].as_f64().unwrap_or(0.0) * 1000.0,
    })
}

/// What hey reaches on the same core, where it is installed.
pub(crate) fn hey(lab: &Lab, url: &str, connections: usize) -> Outcome<Option<f64>> {
    let places = lab.search_path.split(':').map(Path::new);
    let Some(program) = places
        .map(|place| place.join("hey"))
        .find(|file| file.is_file())
    else {
        return Ok(None);
    };
    let seconds = format!("{:.0}s", (lab.plan.seconds + lab.plan.warmup).max(1.0));
    let mut command = pinned(Some(GENERATOR), &program);
    command.args([
        "-c",
        &connections.to_string(),
        "-z",
        &seconds,
        "-cpus",
        "1",
        url,
    ]);
    let out = command.output().context("hey")?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Requests/sec:"));
    let rate = line.and_then(|rate| rate.trim().parse().ok());
    Ok(Some(rate.context(text)?))
}
