//! Reading `/proc`: the list of processes and what each of them uses. It must not know which of them are
//! meant.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::choose::Listed;
use super::parse::{self, Tcp};

/// What one process uses. What this user may not read is `None`.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    pub(crate) pid: u32,
    pub(crate) stat: parse::Stat,
    pub(crate) rss: u64,
    /// The part of it that no file or shared memory stands behind.
    pub(crate) anonymous: u64,
    pub(crate) pss: Option<u64>,
    /// Voluntary and involuntary.
    pub(crate) switches: [u64; 2],
    pub(crate) io: Option<[u64; 6]>,
    pub(crate) open: Option<Open>,
}

/// Open descriptors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    pub(crate) files: u64,
    pub(crate) sockets: Vec<u64>,
}

impl Usage {
    /// Ended, but its parent has not yet asked for its result.
    pub(crate) fn is_zombie(&self) -> bool {
        self.stat.state == 'Z'
    }
}

/// The file system, which is somewhere else in tests.
#[derive(Clone, Debug)]
pub(crate) struct Proc {
    root: PathBuf,
}

impl Proc {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    fn text(&self, pid: u32, file: &str) -> Option<String> {
        let bytes = fs::read(self.root.join(pid.to_string()).join(file)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Ticks since the machine started.
    pub(crate) fn uptime(&self) -> Option<u64> {
        parse::uptime(&fs::read_to_string(self.root.join("uptime")).ok()?)
    }

    /// Every process. Those that end meanwhile are left out. Command lines are read when asked for.
    pub(crate) fn list(&self, commands: bool) -> Vec<Listed> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid| self.listed(pid, commands)).collect()
    }

    pub(crate) fn listed(&self, pid: u32, commands: bool) -> Option<Listed> {
        let text = self.text(pid, "stat")?;
        let command = if commands {
            let arguments = self.text(pid, "cmdline").unwrap_or_default();
            arguments.trim_end_matches('\0').replace('\0', " ")
        } else {
            String::new()
        };
        Some(Listed {
            pid,
            parent: parse::stat(&text)?.parent,
            name: parse::name(&text)?.to_owned(),
            command,
        })
    }

    /// `None` when the process is gone.
    pub(crate) fn usage(&self, pid: u32, pss: bool) -> Option<Usage> {
        let stat = parse::stat(&self.text(pid, "stat")?)?;
        let status = self.text(pid, "status")?;
        let memory = |key| parse::kilobytes(&status, key).unwrap_or(0);
        let rollup = pss.then(|| self.text(pid, "smaps_rollup")).flatten();
        Some(Usage {
            pid,
            stat,
            rss: memory("VmRSS"),
            anonymous: memory("RssAnon"),
            pss: rollup.and_then(|text| parse::kilobytes(&text, "Pss")),
            switches: self.switches(pid, stat.threads, &status),
            io: self.text(pid, "io").and_then(|text| parse::io(&text)),
            open: self.open(pid),
        })
    }

    /// Context switches of all threads: the file of a process speaks of its first thread only.
    fn switches(&self, pid: u32, threads: u64, status: &str) -> [u64; 2] {
        let of = |text: &str| {
            ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"]
                .map(|key| parse::number(text, key).unwrap_or(0))
        };
        if threads <= 1 {
            return of(status);
        }
        let tasks = fs::read_dir(self.root.join(pid.to_string()).join("task"));
        let mut sum = [0; 2];
        for task in tasks.into_iter().flatten().flatten() {
            let text = fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let [voluntary, involuntary] = of(&text);
            sum = [sum[0] + voluntary, sum[1] + involuntary];
        }
        sum
    }

    fn open(&self, pid: u32) -> Option<Open> {
        let entries = fs::read_dir(self.root.join(pid.to_string()).join("fd")).ok()?;
        let mut open = Open::default();
        for entry in entries.flatten() {
            open.files += 1;
            let link = fs::read_link(entry.path()).unwrap_or_default();
            open.sockets.extend(link.to_str().and_then(parse::socket));
        }
        Some(open)
    }

    /// How many connections are in which state: those of the sockets given, and all that only wait for
    /// their time to pass, in the network that `pid` sees.
    pub(crate) fn connections(&self, pid: u32, sockets: &HashSet<u64>) -> BTreeMap<Tcp, u64> {
        let mut states = BTreeMap::new();
        for file in ["net/tcp", "net/tcp6"] {
            let text = self.text(pid, file).unwrap_or_default();
            let counted = parse::connections(&text)
                .filter(|(state, inode)| *state == Tcp::TimeWait || sockets.contains(inode));
            for (state, _) in counted {
                *states.entry(state).or_insert(0) += 1;
            }
        }
        states
    }
}
