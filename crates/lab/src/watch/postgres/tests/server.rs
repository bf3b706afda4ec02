//! A `PostgreSQL` of a test's own, with settings that the shared one does not have. It must not know what is
//! tested.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::environment;

pub(super) struct Server {
    directory: tempfile::TempDir,
    port: u16,
    process: Child,
}

/// `PostgreSQL` refuses root: then it runs as the user that `make test` names.
fn as_user(program: &str) -> Command {
    let user = environment("SIGNET_TEST_PG_USER");
    let program = format!("{}/{program}", environment("SIGNET_TEST_PG_BIN"));
    if user.is_empty() {
        return Command::new(program);
    }
    let group = Command::new("id").args(["-g", &user]).output().unwrap();
    let group = String::from_utf8(group.stdout).unwrap();
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--reuid={user}"))
        .arg(format!("--regid={}", group.trim()))
        .args(["--clear-groups", "--pdeathsig", "INT"])
        .arg(program);
    command
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

impl Server {
    /// With these settings, such as `fsync=off`.
    pub(super) fn start(settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let user = environment("SIGNET_TEST_PG_USER");
        if !user.is_empty() {
            succeed(Command::new("chown").arg(user).arg(directory.path()));
        }
        let data = directory.path().join("db");
        succeed(
            as_user("initdb")
                .args(["-U", "tester", "--auth=trust", "-N", "-D"])
                .arg(&data)
                .current_dir(directory.path()),
        );
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        drop(taken);
        let mut command = as_user("postgres");
        command.args(["-c", "listen_addresses=127.0.0.1", "-p", &port.to_string()]);
        for setting in settings {
            command.args(["-c", setting]);
        }
        command.arg("-k").arg(directory.path()).arg("-D").arg(&data);
        let process = command
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            directory,
            port,
            process,
        };
        server.wait();
        server
    }

    fn wait(&self) {
        let program = format!("{}/pg_isready", environment("SIGNET_TEST_PG_BIN"));
        let is_ready = || {
            let mut command = Command::new(&program);
            let port = self.port.to_string();
            let asked = command
                .args(["-q", "-h", "127.0.0.1", "-p", &port])
                .status();
            asked.unwrap().success()
        };
        for _ in 0..600 {
            if is_ready() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("PostgreSQL does not start in {:?}", self.directory.path());
    }

    pub(super) fn url(&self) -> String {
        format!("postgres://tester@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Not by the program `kill`, which a bare system does not have.
        let pid = i32::try_from(self.process.id())
            .ok()
            .and_then(Pid::from_raw);
        if let Some(pid) = pid {
            kill_process(pid, Signal::INT).unwrap_or(());
        }
        drop(self.process.wait());
    }
}
