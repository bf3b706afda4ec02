//! Stopping a run from outside: a running run says in its directory which process it is, and whoever
//! wants it to end checks that before it sends a signal. It must not know what a run is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

const FILE: &str = "running.json";

#[derive(Debug, thiserror::Error)]
pub(crate) enum StopError {
    #[error("{}: no run is going on here; give the directory that `assay run` named when it began", .0.display())]
    NotRunning(PathBuf),
    #[error("{}: the run is gone without having ended; what it wrote is what there is", .0.display())]
    Gone(PathBuf),
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error("{}: not what a run writes: {}", .0.display(), .1)]
    Content(PathBuf, serde_json::Error),
    #[error("process {0} cannot be asked to stop: {1}")]
    Signal(i32, rustix::io::Errno),
}

/// A process that cannot be mistaken for a later one with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    pid: i32,
    /// When it was started, in clock ticks since the machine was.
    started: u64,
}

/// The sign that a run is going on; it is taken down when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    file: PathBuf,
}

impl Running {
    pub(crate) fn here(directory: &Path) -> io::Result<Self> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let started = started(pid).ok_or_else(|| io::Error::other("/proc cannot be read"))?;
        let file = directory.join(FILE);
        fs::write(&file, serde_json::to_vec(&Identity { pid, started })?)?;
        Ok(Self { file })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A sign that stays up names a process that is no more, which `stop` finds out.
        drop(fs::remove_file(&self.file));
    }
}

/// Asks the run of this directory to end as Ctrl-C would: with a report of what was measured.
pub(crate) fn stop(directory: &Path) -> Result<(), StopError> {
    let identity = find(directory)?;
    let pid =
        Pid::from_raw(identity.pid).filter(|_| started(identity.pid) == Some(identity.started));
    let pid = pid.ok_or_else(|| StopError::Gone(directory.to_owned()))?;
    kill_process(pid, Signal::INT).map_err(|error| StopError::Signal(identity.pid, error))
}

fn find(directory: &Path) -> Result<Identity, StopError> {
    let file = directory.join(FILE);
    let text = match fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StopError::NotRunning(directory.to_owned()));
        }
        read => read.map_err(|error| StopError::File(file.clone(), error))?,
    };
    serde_json::from_slice(&text).map_err(|error| StopError::Content(file, error))
}

fn started(pid: i32) -> Option<u64> {
    started_of(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Field 22 of proc(5); the fields are counted after the name, which may hold anything.
fn started_of(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Child, Command};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn claim(directory: &Path, identity: Identity) {
        fs::write(directory.join(FILE), serde_json::to_vec(&identity).unwrap()).unwrap();
    }

    fn pid(child: &Child) -> i32 {
        i32::try_from(child.id()).unwrap()
    }

    #[test]
    fn the_start_is_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 99 1";
        assert_eq!(started_of(stat), Some(12345));
        assert_eq!(started_of("nonsense"), None);
    }

    #[test]
    fn a_running_run_gets_an_interrupt() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = sleeper();
        let identity = Identity {
            pid: pid(&child),
            started: started(pid(&child)).unwrap(),
        };
        claim(directory.path(), identity);
        stop(directory.path()).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(2));
        assert!(matches!(stop(directory.path()), Err(StopError::Gone(_))));
    }

    #[test]
    fn a_stranger_with_the_number_of_a_dead_run_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = sleeper();
        let identity = Identity {
            pid: pid(&child),
            started: 1,
        };
        claim(directory.path(), identity);
        assert!(matches!(stop(directory.path()), Err(StopError::Gone(_))));
        assert!(child.try_wait().unwrap().is_none(), "it was not touched");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_sign_is_up_while_a_run_lasts() {
        let directory = tempfile::tempdir().unwrap();
        let running = Running::here(directory.path()).unwrap();
        let identity = find(directory.path()).unwrap();
        assert_eq!(identity.pid, i32::try_from(std::process::id()).unwrap());
        drop(running);
        let stopped = stop(directory.path());
        assert!(matches!(stopped, Err(StopError::NotRunning(_))));
    }
}
