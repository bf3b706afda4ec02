//! Processes of this machine: processor time, memory, input and output, sockets. It must not know
//! schedules or files of results.

mod choose;
mod group;
mod parse;
mod read;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::config;
use super::meter::{Measure, Poll, Reading};
use group::{COUNTERS, Group, Member};
use parse::Tcp;
use read::{Proc, Usage};

/// Linux counts in hundredths of a second towards programs, whatever its own clock does.
const TICKS: u64 = 100;

/// Which processes.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    Pid(u32),
    PidFile(PathBuf),
    Pattern(String),
}

/// The processes of one source.
#[derive(Debug)]
pub(crate) struct Processes {
    proc: Proc,
    which: Which,
    children: bool,
    pss: bool,
    group: Group,
    roots: BTreeSet<u32>,
    /// The I/O last read of each process, for the moment between its end and its burial.
    io: HashMap<u32, [u64; 6]>,
}

impl Processes {
    pub(crate) fn new(which: Which, children: bool, pss: bool) -> Self {
        // The kernel adds an ended child's I/O to its parent's always, its time apart from it.
        let mut inherited = [false; COUNTERS];
        inherited[..2].fill(children);
        inherited[2..8].fill(true);
        Self {
            proc: Proc::new(Path::new("/proc")),
            which,
            children,
            pss,
            group: Group::new(inherited),
            roots: BTreeSet::new(),
            io: HashMap::new(),
        }
    }

    /// `None` when a source says nothing about which processes; a checked one does.
    pub(crate) fn of(source: &config::Process) -> Option<Self> {
        let by_file = || source.pid_file.clone().map(Which::PidFile);
        let by_pattern = || source.pattern.clone().map(Which::Pattern);
        let which = source
            .pid
            .map(Which::Pid)
            .or_else(by_file)
            .or_else(by_pattern)?;
        Some(Self::new(which, source.children, source.pss))
    }

    pub(crate) fn poll(&mut self) -> Result<Poll, String> {
        let pids = self.choose()?;
        let usages = pids
            .iter()
            .filter_map(|pid| self.proc.usage(*pid, self.pss));
        let usages: Vec<_> = usages.collect();
        if usages.is_empty() {
            return Err("the process is gone".to_owned());
        }
        let uptime = self.proc.uptime().ok_or("/proc/uptime cannot be read")?;
        let members: Vec<_> = usages.iter().map(|usage| self.member(usage)).collect();
        let totals = self.group.add(uptime, &members);
        self.io = usages
            .iter()
            .filter_map(|usage| Some((usage.pid, usage.io?)))
            .collect();
        let mut poll = Poll {
            readings: used(&totals),
            notes: self.changes(&usages),
        };
        hide_unreadable(&usages, &mut poll);
        poll.readings.extend(self.held(&usages));
        Ok(poll)
    }

    fn choose(&self) -> Result<Vec<u32>, String> {
        let (roots, listed) = match &self.which {
            Which::Pid(pid) => (vec![*pid], None),
            Which::PidFile(path) => (vec![pid_of(path)?], None),
            Which::Pattern(pattern) => {
                let listed = self.proc.list(true);
                // The lab's own command line may well hold the pattern.
                let meant = listed.iter().filter(|process| {
                    process.pid != std::process::id() && choose::is_meant(process, pattern)
                });
                let roots: Vec<_> = meant.map(|process| process.pid).collect();
                if roots.is_empty() {
                    return Err(format!("no process matches `{pattern}`"));
                }
                (roots, Some(listed))
            }
        };
        if !self.children {
            return Ok(roots);
        }
        let listed = listed.unwrap_or_else(|| self.proc.list(false));
        Ok(choose::with_children(&listed, &roots))
    }

    fn member(&self, usage: &Usage) -> Member {
        let stat = &usage.stat;
        let (mut user, mut system) = (stat.user, stat.system);
        if self.children {
            user += stat.reaped_user;
            system += stat.reaped_system;
        }
        let last = || self.io.get(&usage.pid).copied();
        let io = usage.io.or_else(last).unwrap_or_default();
        let mut counters = [0; COUNTERS];
        counters[..2].copy_from_slice(&[user, system]);
        counters[2..8].copy_from_slice(&io);
        counters[8..].copy_from_slice(&usage.switches);
        Member {
            pid: usage.pid,
            started: stat.started,
            parent: stat.parent,
            counters,
        }
    }

    /// Says when other processes are watched than before; children come and go unsaid.
    fn changes(&mut self, usages: &[Usage]) -> Vec<String> {
        let pids: BTreeSet<_> = usages.iter().map(|usage| usage.pid).collect();
        let roots: BTreeSet<_> = usages
            .iter()
            .filter(|usage| !self.children || !pids.contains(&usage.stat.parent))
            .map(|usage| usage.pid)
            .collect();
        if roots == self.roots {
            return Vec::new();
        }
        let list: Vec<_> = roots.iter().take(20).map(u32::to_string).collect();
        let more = if roots.len() > list.len() {
            ", …"
        } else {
            ""
        };
        self.roots = roots;
        vec![format!("watching process {}{more}", list.join(", "))]
    }

    /// What is held at this moment.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits of bytes are more than any machine has"
    )]
    fn held(&self, usages: &[Usage]) -> Vec<Reading> {
        let level = |name, unit, value: u64| Reading::new(name, unit, Measure::Level(value as f64));
        let sum = |of: fn(&Usage) -> u64| usages.iter().map(of).sum();
        let mut readings = vec![
            level("rss", "B", sum(|usage| usage.rss)),
            level("anonymous", "B", sum(|usage| usage.anonymous)),
            level("threads", "", sum(|usage| usage.stat.threads)),
            level("processes", "", usages.len() as u64),
        ];
        let alive = || usages.iter().filter(|usage| !usage.is_zombie());
        if let Some(pss) = alive().map(|usage| usage.pss).sum::<Option<u64>>() {
            readings.push(level("pss", "B", pss));
        }
        let open: Option<Vec<_>> = alive().map(|usage| usage.open.as_ref()).collect();
        let (Some(open), Some(first)) = (open, alive().next()) else {
            return readings;
        };
        // Forked processes share sockets.
        let sockets: HashSet<u64> = open.iter().flat_map(|open| open.sockets.clone()).collect();
        let files = open.iter().map(|open| open.files).sum();
        readings.push(level("open_files", "", files));
        readings.push(level("sockets", "", sockets.len() as u64));
        let states = self.proc.connections(first.pid, &sockets);
        for (name, state) in [
            ("tcp_established", Tcp::Established),
            ("tcp_opening", Tcp::Opening),
            ("tcp_close_wait", Tcp::CloseWait),
            ("tcp_closing", Tcp::Closing),
            ("tcp_listen", Tcp::Listen),
            ("tcp_time_wait", Tcp::TimeWait),
        ] {
            let count = states.get(&state).copied().unwrap_or(0);
            readings.push(level(name, "", count));
        }
        readings
    }
}

fn pid_of(path: &Path) -> Result<u32, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // PostgreSQL writes more lines below the id.
    let first = text.lines().next().unwrap_or_default().trim();
    first
        .parse()
        .map_err(|_| format!("{}: the first line is not a process id", path.display()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a rate is read to a few digits only"
)]
fn used(totals: &[u64; COUNTERS]) -> Vec<Reading> {
    let percent = |ticks: u64| ticks as f64 * 100.0 / TICKS as f64;
    let core = |name, ticks| Reading::new(name, "% of a core", Measure::Count(percent(ticks)));
    let [user, system, rest @ ..] = *totals;
    let mut readings = vec![
        core("cpu", user + system),
        core("cpu_user", user),
        core("cpu_system", system),
    ];
    let names = [
        ("read_calls", "1/s"),
        ("write_calls", "1/s"),
        ("read_bytes", "B/s"),
        ("write_bytes", "B/s"),
        ("disk_read_bytes", "B/s"),
        ("disk_write_bytes", "B/s"),
        ("switches_voluntary", "1/s"),
        ("switches_forced", "1/s"),
    ];
    for ((name, unit), total) in names.into_iter().zip(rest) {
        readings.push(Reading::new(name, unit, Measure::Count(total as f64)));
    }
    let [reads, writes, ..] = rest;
    readings.push(Reading::new(
        "io_calls",
        "1/s",
        Measure::Count((reads + writes) as f64),
    ));
    readings
}

/// A sum that leaves somebody out would be wrong: what is not readable of one process is not shown.
fn hide_unreadable(usages: &[Usage], poll: &mut Poll) {
    let alive = || usages.iter().filter(|usage| !usage.is_zombie());
    if alive().any(|usage| usage.io.is_none()) {
        poll.readings.retain(|reading| {
            !["_calls", "_bytes"]
                .iter()
                .any(|end| reading.name.ends_with(end))
        });
        let why =
            "input and output of a process cannot be read: run the lab as the same user or as root";
        poll.notes.push(why.to_owned());
    }
    if alive().any(|usage| usage.open.is_none()) {
        let why = "open files of a process cannot be read: run the lab as the same user or as root";
        poll.notes.push(why.to_owned());
    }
}

/// All processes of a `PostgreSQL` server on this machine, by the id of one that serves a session; `None`
/// when there is no such process here.
pub(crate) fn postmaster(backend: u32) -> Option<Processes> {
    let proc = Proc::new(Path::new("/proc"));
    let backend = proc.listed(backend, false)?;
    let parent = proc.listed(backend.parent, false)?;
    // The id may be another machine's, behind a tunnel, and mean something else here.
    let is_server = |name: &str| name == "postgres" || name == "postmaster";
    let found = is_server(&backend.name) && is_server(&parent.name);
    found.then(|| Processes::new(Which::Pid(parent.pid), true, false))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
