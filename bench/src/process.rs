//! Programs under measurement: started on a core of their own, watched through `/proc`, stopped by
//! their id. It must not know what they are.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::clock;
use crate::failure::{Context, Outcome};
use crate::number::real;

/// Time that a program gets to end by itself.
const GRACE: Duration = Duration::from_mins(1);

/// A core of the machine, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Core(pub(crate) u32);

/// Where the two sides of a measurement run.
pub(crate) const SERVER: Core = Core(0);
pub(crate) const GENERATOR: Core = Core(1);

/// A command that runs on one core and ends when this process does.
pub(crate) fn pinned(core: Option<Core>, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM"]);
    if let Some(Core(number)) = core {
        command.args(["taskset", "-c", &number.to_string()]);
    }
    command.arg(program).stdin(Stdio::null());
    command
}

/// A running program; it is stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

/// Memory of a process in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub(crate) struct Memory {
    /// Everything of it that is in memory.
    pub(crate) rss: u64,
    /// The same, with shared pages divided among those who share them.
    pub(crate) pss: u64,
}

impl Process {
    /// Starts the command, its output going to `log`.
    pub(crate) fn start(name: &str, command: &mut Command, log: &Path) -> Outcome<Self> {
        let opened = || File::options().create(true).append(true).open(log);
        let out = opened().context(format_args!("cannot write {}", log.display()))?;
        let err = opened().context(format_args!("cannot write {}", log.display()))?;
        let child = command.stdout(out).stderr(err).spawn();
        let child = child.context(format_args!(
            "cannot start {name} (setpriv, taskset there?)"
        ))?;
        Ok(Self { child })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Processor time of all its threads so far. Threads that have ended are not in it: those of a
    /// server do not end.
    pub(crate) fn cpu(&self) -> Outcome<Duration> {
        let directory = format!("/proc/{}/task", self.id());
        let threads = fs::read_dir(&directory).context(&directory)?;
        let of = |file: PathBuf| {
            let text = fs::read_to_string(file).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        };
        let times = threads
            .flatten()
            .filter_map(|thread| of(thread.path().join("schedstat")));
        Ok(Duration::from_nanos(times.sum()))
    }

    /// What it holds in memory now.
    pub(crate) fn memory(&self) -> Outcome<Memory> {
        let file = format!("/proc/{}/smaps_rollup", self.id());
        let text = fs::read_to_string(&file).context(&file)?;
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            kib.map_or(0, |kib| kib * 1024)
        };
        Ok(Memory {
            rss: bytes("Rss:"),
            pss: bytes("Pss:"),
        })
    }

    /// Asks it to end, and waits until it did.
    pub(crate) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if self.ended().is_some() {
            return;
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let asked = pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
        if !asked || clock::poll(GRACE, || self.ended()).is_none() {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Processor time of the children of this process that have ended and were waited for, to a tick.
pub(crate) fn cpu_of_ended_children() -> Outcome<Duration> {
    let text = fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
    // The fields are counted after the name, which may hold anything.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let children = fields.split_whitespace().skip(13).take(2);
    let ticks: u64 = children.filter_map(|field| field.parse::<u64>().ok()).sum();
    let seconds = real(ticks) / real(rustix::param::clock_ticks_per_second());
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopped_process_is_gone_and_was_seen() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let mut command = pinned(Some(SERVER), Path::new("sleep"));
        let process = Process::start("sleep", command.arg("60"), &log).unwrap();
        let id = process.id();
        assert!(process.memory().unwrap().rss > 0);
        assert!(process.cpu().unwrap() < Duration::from_secs(1));
        process.stop();
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }
}
