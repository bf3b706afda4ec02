//! Runs the binary under test and reads what it printed.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

pub(crate) fn assay() -> Command {
    Command::new(env!("CARGO_BIN_EXE_assay"))
}

/// Runs `assay hit --json` to its end.
pub(crate) fn hit(args: &[&str], url: &str) -> Value {
    let output = hit_output(args, url);
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{output:?}"
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn hit_output(args: &[&str], url: &str) -> Output {
    let mut command = assay();
    command
        .args(["hit", "--json", "--quiet"])
        .args(args)
        .arg(url);
    command.output().unwrap()
}

/// A server started from the binary; it ends with the test.
pub(crate) struct Echo {
    child: Child,
    pub(crate) url: String,
}

impl Echo {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut command = assay();
        command.args(["echo", "--listen", "127.0.0.1:0"]).args(args);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap();
        Self {
            url: format!("http://{address}/"),
            child,
        }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
