//! Where and with what was measured, and how quiet the machine was. It must not know what was measured.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::clock;
use crate::failure::{Context, Outcome};
use crate::lab::Programs;
use crate::number::real;

/// More than this of a core in strangers' hands, and a figure deserves a warning.
const NOISY: f64 = 0.05;

/// The machine and the programs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Environment {
    pub(crate) measured_at: String,
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: f64,
    pub(crate) kernel: String,
    pub(crate) commit: String,
    pub(crate) load_average: String,
    pub(crate) versions: BTreeMap<&'static str, String>,
}

impl Environment {
    pub(crate) fn look(programs: &Programs) -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let models: Vec<&str> = values(&cpuinfo, "model name").collect();
        let memory = read("/proc/meminfo");
        let kib = values(&memory, "MemTotal").next();
        let kib = kib.and_then(|value| value.split(' ').next()?.parse::<u64>().ok());
        let (signet, assay) = (first_line(&programs.signet, "--version"), &programs.assay);
        let versions = [
            ("signet", signet),
            ("assay", first_line(assay, "--version")),
            ("rustc", first_line(Path::new("rustc"), "--version")),
            ("wrk", first_line(&programs.wrk, "--version")),
            ("nginx", first_line(&programs.nginx, "-v")),
            ("postgres", first_line(&programs.postgres, "--version")),
        ];
        Self {
            measured_at: clock::utc(),
            cpu: models.first().map_or("unknown", |model| *model).to_owned(),
            cores: models.len(),
            memory_gib: real(kib.unwrap_or(0)) / 1024.0 / 1024.0,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            commit: output(Command::new("git").args(["describe", "--always", "--dirty"])),
            load_average: load_average(),
            versions: versions.into_iter().collect(),
        }
    }

    /// `2026-01-31-2x-intel-xeon`: the day, and the machine without its name.
    pub(crate) fn slug(&self) -> String {
        let day = self.measured_at.split('T').next().unwrap_or_default();
        let model = self
            .cpu
            .to_lowercase()
            .replace("(r)", " ")
            .replace("(tm)", " ");
        let words = model.split(|c: char| !c.is_ascii_alphanumeric());
        let known = words.filter(|word| !word.is_empty() && !["cpu", "processor"].contains(word));
        let model: Vec<&str> = known.take(4).collect();
        format!("{day}-{}x-{}", self.cores, model.join("-"))
    }

    pub(crate) fn markdown(&self) -> String {
        let versions: Vec<String> = self
            .versions
            .iter()
            .filter(|(_, version)| !version.is_empty())
            .map(|(program, version)| {
                if version.contains(program) {
                    version.clone()
                } else {
                    format!("{program} {version}")
                }
            })
            .collect();
        format!(
            "{} cores of {}, {:.0} GiB, Linux {}; commit {}; {}. Measured {}; load average at the \
             start {}.\n",
            self.cores,
            self.cpu,
            self.memory_gib,
            self.kernel,
            self.commit,
            versions.join(", "),
            self.measured_at,
            self.load_average
        )
    }
}

fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

fn values<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .filter(move |(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

fn output(command: &mut Command) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    // nginx says its version on stderr.
    command.output().map_or(String::new(), |out| {
        let said = text(&out.stdout);
        if said.is_empty() {
            text(&out.stderr)
        } else {
            said
        }
    })
}

fn first_line(program: &Path, argument: &str) -> String {
    let said = output(Command::new(program).arg(argument));
    said.lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches(" Copyright (C) 2012 Will Glozer")
        .to_owned()
}

/// Runnable threads over the last 1, 5 and 15 minutes.
pub(crate) fn load_average() -> String {
    read("/proc/loadavg")
        .split(' ')
        .take(3)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Processor time of the whole machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineTime {
    busy: Duration,
    stolen: Duration,
}

impl MachineTime {
    pub(crate) fn now() -> Outcome<Self> {
        let text = fs::read_to_string("/proc/stat").context("/proc/stat")?;
        let line = text.lines().next().unwrap_or_default();
        let fields: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .filter_map(|field| field.parse().ok())
            .collect();
        let of = |at: usize| fields.get(at).copied().unwrap_or(0);
        let hertz = real(rustix::param::clock_ticks_per_second());
        let time = |ticks: u64| Duration::from_secs_f64(real(ticks) / hertz);
        // user nice system idle iowait irq softirq steal
        let busy = of(0) + of(1) + of(2) + of(5) + of(6);
        Ok(Self {
            busy: time(busy),
            stolen: time(of(7)),
        })
    }

    /// What others used of one core since then: `ours` of it was the measurement itself.
    pub(crate) fn strangers_since(self, then: Self, ours: Duration, over: Duration) -> Strangers {
        let busy = self.busy.saturating_sub(then.busy).saturating_sub(ours);
        let stolen = self.stolen.saturating_sub(then.stolen);
        let share = |part: Duration| part.as_secs_f64() / over.as_secs_f64();
        Strangers {
            busy: share(busy),
            stolen: share(stolen),
        }
    }
}

/// Processor time that was not the measurement's, in cores.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Strangers {
    /// Other programs of this machine.
    pub(crate) busy: f64,
    /// Other machines of the host.
    pub(crate) stolen: f64,
}

impl Strangers {
    pub(crate) fn are_noisy(self) -> bool {
        self.busy + self.stolen > NOISY
    }
}
