//! Where and with what was measured, as far as the machine tells. It must not know what was measured.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// What the system says is read from here.
const PROC: &str = "/proc";
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Environment {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    /// How the processor chooses its frequency; virtual machines do not say.
    pub(crate) governor: Option<String>,
    /// Runnable threads over the last 1, 5 and 15 minutes, before the run.
    pub(crate) load_average: String,
    pub(crate) assay: String,
    /// Of the directory the command was given in, if it is under version control.
    pub(crate) git: Option<Git>,
    /// Without secrets.
    pub(crate) command: Vec<String>,
    /// Of the target and whatever else says its version.
    pub(crate) versions: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Git {
    pub(crate) commit: String,
    /// Files differ from the commit.
    pub(crate) dirty: bool,
}

impl Environment {
    /// Looks around. `command` has no secrets any more; what is not known stays empty.
    pub(crate) fn look(
        directory: &Path,
        command: Vec<String>,
        versions: BTreeMap<String, String>,
    ) -> Self {
        let proc = |file: &str| read(&Path::new(PROC).join(file)).unwrap_or_default();
        let processors = proc("cpuinfo");
        Self {
            cpu: values(&processors, "model name")
                .next()
                .unwrap_or("unknown")
                .to_owned(),
            cores: values(&processors, "processor").count(),
            memory_bytes: memory(&proc("meminfo")),
            kernel: proc("sys/kernel/osrelease"),
            governor: read(Path::new(GOVERNOR)),
            load_average: load(&proc("loadavg")),
            assay: env!("CARGO_PKG_VERSION").to_owned(),
            git: git(directory),
            command,
            versions,
        }
    }
}

fn read(file: &Path) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}

fn values<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .filter(move |(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

fn memory(text: &str) -> u64 {
    let kib = values(text, "MemTotal").next();
    let kib = kib.and_then(|value| value.split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or_default().saturating_mul(1024)
}

fn load(text: &str) -> String {
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn git(directory: &Path) -> Option<Git> {
    let said = |arguments: &[&str]| {
        let mut git = Command::new("git");
        let out = git.arg("-C").arg(directory).args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        out.status.success().then_some(text)
    };
    Some(Git {
        commit: said(&["rev-parse", "HEAD"])?,
        dirty: !said(&["status", "--porcelain"])?.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_in_what_the_system_says() {
        let processors = "processor\t: 0\nmodel name\t: A Chip: fast\n\nprocessor\t: 1\n";
        assert_eq!(
            values(processors, "model name").next(),
            Some("A Chip: fast")
        );
        assert_eq!(values(processors, "processor").count(), 2);
        assert_eq!(
            memory("MemTotal:       2048 kB\nMemFree: 1 kB\n"),
            2_097_152
        );
        assert_eq!(memory("nothing"), 0);
        assert_eq!(load("0.10 0.20 0.30 1/200 4711"), "0.10 0.20 0.30");
    }

    #[test]
    fn a_directory_without_version_control_has_no_commit() {
        let directory = tempfile::tempdir().unwrap();
        let found = Environment::look(directory.path(), Vec::new(), BTreeMap::new());
        assert_eq!(found.git, None);
        assert!(found.cores > 0 && found.memory_bytes > 0);
    }

    #[test]
    fn a_changed_file_makes_the_commit_dirty() {
        let directory = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| {
            let mut git = Command::new("git");
            let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
            git.arg("-C").arg(directory.path()).args(identity);
            assert!(git.args(arguments).output().unwrap().status.success());
        };
        run(&["init", "-q"]);
        run(&["commit", "-q", "--allow-empty", "-m", "first"]);
        let clean = git(directory.path()).unwrap();
        assert_eq!((clean.commit.len(), clean.dirty), (40, false));
        fs::write(directory.path().join("new"), "").unwrap();
        assert!(git(directory.path()).unwrap().dirty);
    }
}
