//! An hour of an open loop: what the generator holds in memory must not depend on how long it runs.

use clap::ValueEnum;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::played::{self, Played};
use super::{RATE, asking};
use crate::bars::megabytes;
use crate::clock::Stopwatch;
use crate::failure::{Context, Failed, Outcome};
use crate::lab::Lab;
use crate::number::{figure, real};
use crate::plot::{self, Panel};
use crate::process::Process;
use crate::server::Echo;

/// How long each run is, where nobody says otherwise.
pub(crate) const SECONDS: f64 = 3600.0;
/// The same with `--quick`.
pub(crate) const QUICK_SECONDS: f64 = 60.0;
/// Between two looks at the memory.
const EVERY: Duration = Duration::from_secs(1);
/// Megabytes that the generator may hold.
const MOST: f64 = 100.0;
/// What the most memory of the later part may be of the most before.
const FLAT: f64 = 1.10;
/// The share of the run after which everything that a run needs once has been used once.
const SETTLED: f64 = 0.25;
/// By how much the achieved rate may miss the planned one.
const TOLERANCE: f64 = 0.005;

/// What the run keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keep {
    Histograms,
    Samples,
}

impl Keep {
    fn name(self) -> &'static str {
        match self {
            Self::Histograms => "histograms",
            Self::Samples => "samples",
        }
    }
}

/// One look.
#[derive(Clone, Copy, Debug, Serialize)]
struct Sample {
    seconds: f64,
    memory: u64,
    disk: u64,
}

#[derive(Debug, Serialize)]
struct Summary {
    keep: &'static str,
    seconds: f64,
    planned_rate: f64,
    achieved_rate: f64,
    calls: u64,
    errors: u64,
    dropped: u64,
    settled_megabytes: f64,
    later_megabytes: f64,
    growth: f64,
    most_megabytes: f64,
    disk_megabytes: f64,
    generator_cpu_share: f64,
    troubles: Vec<String>,
}

/// Runs `assay run` against `assay echo` for as long as the plan says, and looks at its memory.
pub(crate) fn run(lab: &Lab, keep: Keep) -> Outcome<()> {
    let echo = Echo::start(lab, None)?;
    let load = format!("rate = '{RATE}/s'\nlimit = 2000");
    let plan = asking(&echo.url("/"), &load, lab.plan.seconds, 0.0);
    let (mut child, directory) = played::start(lab, &plan, &["--keep", keep.name()])?;
    let (samples, cpu) = watch(lab, &mut child, &directory)?;
    let played = played::read(lab, &directory)?;
    report(lab, keep, &played, &samples, cpu)
}

/// Until the child has ended: what it holds, and the processor time that it used at last.
fn watch(lab: &Lab, child: &mut Process, directory: &Path) -> Outcome<(Vec<Sample>, Duration)> {
    let (clock, mut samples, mut cpu) = (Stopwatch::start(), Vec::new(), Duration::ZERO);
    while child.ended().is_none() {
        thread::sleep(EVERY);
        // It may have ended meanwhile: what has ended holds nothing.
        let memory = child.memory().map_or(0, |memory| memory.rss);
        if memory == 0 {
            continue;
        }
        cpu = child.cpu().unwrap_or(cpu);
        let sample = Sample {
            seconds: clock.seconds(),
            memory,
            disk: bytes(directory).context(directory.display())?,
        };
        if samples.len() % 60 == 0 {
            let (memory, disk) = (megabytes(sample.memory), megabytes(sample.disk));
            lab.say(format_args!(
                "soak of the lab: memory {memory:.1} MB, run directory {disk:.1} MB"
            ));
        }
        samples.push(sample);
    }
    Ok((samples, cpu))
}

/// What the files below a directory hold.
fn bytes(directory: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let about = entry.metadata()?;
        sum += if about.is_dir() {
            bytes(&entry.path())?
        } else {
            about.len()
        };
    }
    Ok(sum)
}

fn summary(lab: &Lab, keep: Keep, played: &Played, samples: &[Sample], cpu: Duration) -> Summary {
    let last = samples.last().map_or(0.0, |sample| sample.seconds);
    let most = |from: f64, to: f64| {
        let within = |sample: &&Sample| (from * last..=to * last).contains(&sample.seconds);
        let memory = samples.iter().filter(within).map(|sample| sample.memory);
        megabytes(memory.max().unwrap_or(0))
    };
    let summary = Summary {
        keep: keep.name(),
        seconds: lab.plan.seconds,
        planned_rate: RATE,
        achieved_rate: played.rate,
        calls: played.calls,
        errors: played.errors,
        dropped: played.dropped,
        settled_megabytes: most(0.0, SETTLED),
        later_megabytes: most(SETTLED, 1.0),
        growth: most(SETTLED, 1.0) / most(0.0, SETTLED),
        most_megabytes: most(0.0, 1.0),
        disk_megabytes: megabytes(samples.last().map_or(0, |sample| sample.disk)),
        generator_cpu_share: cpu.as_secs_f64() / last,
        troubles: Vec::new(),
    };
    Summary {
        troubles: summary.troubles(),
        ..summary
    }
}

impl Summary {
    /// What is not as it should be; empty, or the soak has failed.
    fn troubles(&self) -> Vec<String> {
        let reached = self.achieved_rate / self.planned_rate;
        let wrong = [
            (self.most_megabytes >= MOST, "more memory than the bar"),
            // Where nothing was seen, growth is no number, and nothing has been shown.
            (
                self.growth.is_nan() || self.growth > FLAT,
                "memory grew with the time",
            ),
            (self.errors > 0, "errors: the load was not the planned one"),
            (
                (reached - 1.0).abs() > TOLERANCE,
                "the rate was not reached: the load was not the planned one",
            ),
        ];
        let wrong = wrong.into_iter().filter(|(is_wrong, _)| *is_wrong);
        wrong.map(|(_, what)| what.to_owned()).collect()
    }

    fn markdown(&self, lab: &Lab) -> String {
        let verdict = match self.troubles.as_slice() {
            [] => "yes".to_owned(),
            troubles => format!("NO: {}", troubles.join("; ")),
        };
        format!(
            "# Soak of the lab: {}/s for {} s, {} kept\n\n{}\n\
             | | |\n|---|--:|\n| achieved rate | {}/s |\n| calls | {} |\n| errors | {} |\n\
             | arrivals dropped | {} |\n| most memory in the first quarter (RSS) | {:.1} MB |\n\
             | most memory afterwards | {:.1} MB ({:+.1} %) |\n| run directory | {:.1} MB |\n\
             | generator's share of its core | {:.0} % |\n| below {MOST} MB and flat | {verdict} |\n\n\
             ![Memory over time]({}.svg)\n",
            figure(self.planned_rate),
            self.seconds,
            self.keep,
            lab.environment.markdown(),
            figure(self.achieved_rate),
            figure(real(self.calls)),
            self.errors,
            self.dropped,
            self.settled_megabytes,
            self.later_megabytes,
            (self.growth - 1.0) * 100.0,
            self.disk_megabytes,
            self.generator_cpu_share * 100.0,
            self.keep,
        )
    }
}

fn report(
    lab: &Lab,
    keep: Keep,
    played: &Played,
    samples: &[Sample],
    cpu: Duration,
) -> Outcome<()> {
    let (name, summary) = (keep.name(), summary(lab, keep, played, samples, cpu));
    lab.results.json(&format!("{name}.json"), &summary)?;
    let mut csv = String::from("seconds,memory_bytes,disk_bytes\n");
    for s in samples {
        writeln!(csv, "{:.1},{},{}", s.seconds, s.memory, s.disk).context("a table")?;
    }
    lab.results.text(&format!("{name}.csv"), &csv)?;
    draw(lab, name, samples)?;
    let text = summary.markdown(lab);
    lab.results.text(&format!("{name}.md"), &text)?;
    lab.say(text);
    match summary.troubles.as_slice() {
        [] => Ok(()),
        troubles => Err(Failed::because(troubles.join("; "))),
    }
}

fn draw(lab: &Lab, name: &str, samples: &[Sample]) -> Outcome<()> {
    let curve = |of: fn(&Sample) -> u64| {
        let points = samples.iter();
        points.map(move |sample| (sample.seconds, megabytes(of(sample))))
    };
    let panel = |title, curve| Panel {
        title,
        unit: "MB",
        curves: vec![curve],
    };
    let memory = curve(|sample| sample.memory).collect();
    let disk = curve(|sample| sample.disk).collect();
    plot::write(
        &lab.results.directory().join(format!("{name}.svg")),
        &[
            panel("Memory of the generator", ("memory (RSS)", memory)),
            panel("What the run has written", ("run directory", disk)),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(most: f64, growth: f64, rate: f64, errors: u64) -> Summary {
        Summary {
            keep: "histograms",
            seconds: 1.0,
            planned_rate: RATE,
            achieved_rate: rate,
            calls: 1,
            errors,
            dropped: 0,
            settled_megabytes: most,
            later_megabytes: most,
            growth,
            most_megabytes: most,
            disk_megabytes: 0.0,
            generator_cpu_share: 0.5,
            troubles: Vec::new(),
        }
    }

    #[test]
    fn whatever_is_not_as_it_should_be_is_trouble() {
        let cases = [
            (summary(99.9, 1.1, 20_000.0, 0), 0),
            (summary(100.0, 1.0, 20_000.0, 0), 1),
            (summary(50.0, 1.2, 20_000.0, 0), 1),
            (summary(50.0, 1.0, 19_800.0, 0), 1),
            (summary(50.0, 1.0, 20_000.0, 1), 1),
            (summary(50.0, f64::NAN, 20_000.0, 0), 1),
        ];
        for (summary, troubles) in cases {
            assert_eq!(summary.troubles().len(), troubles, "{summary:?}");
        }
    }

    #[test]
    fn files_are_counted_at_every_depth() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("runs")).unwrap();
        fs::write(directory.path().join("log"), b"123").unwrap();
        fs::write(directory.path().join("runs/samples"), b"45").unwrap();
        assert_eq!(bytes(directory.path()).unwrap(), 5);
    }
}
