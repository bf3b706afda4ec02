//! A `PostgreSQL` of this test's own, to be frozen, stopped and started as it pleases.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};
use tokio_postgres::error::SqlState;

use super::child::free_port;
use super::plan::variable;
use crate::support::query;

/// A server with its data in a temporary directory. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Postgres {
    place: TempDir,
    port: u16,
    /// Certificate and key, in PEM, where nobody is let in without TLS.
    tls: Option<(String, String)>,
    running: Option<Child>,
}

fn needed(name: &str) -> String {
    variable(name).unwrap_or_else(|| {
        panic!("{name} is not set: run the tests by `make test`, or beside `scripts/with-postgres`")
    })
}

/// One of `PostgreSQL`'s programs, run as a user that it accepts and ended with this thread.
fn program(name: &str, place: &Path) -> Command {
    let binary = PathBuf::from(needed("SIGNET_TEST_PG_BIN")).join(name);
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if let Some(user) = variable("SIGNET_TEST_PG_USER") {
        command.args([
            format!("--reuid={user}"),
            format!("--regid={}", group_of(&user)),
        ]);
        command.arg("--clear-groups");
    }
    command
        .arg(binary)
        .arg("-D")
        .arg(place.join("db"))
        .current_dir(place)
        .stdin(Stdio::null());
    command
}

fn group_of(user: &str) -> String {
    let told = Command::new("id").args(["-g", user]).output().unwrap();
    String::from_utf8(told.stdout).unwrap().trim().to_owned()
}

fn run(mut command: Command) {
    let run = command.output().unwrap();
    let said = [run.stdout, run.stderr].concat();
    assert!(
        run.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&said)
    );
}

impl Postgres {
    /// A new one, running.
    pub(crate) async fn start_new() -> Self {
        Self::new(None).await
    }

    /// A new one that shows this certificate and lets nobody in without TLS, running.
    pub(crate) async fn start_with_tls(certificate: &str, key: &str) -> Self {
        Self::new(Some((certificate.to_owned(), key.to_owned()))).await
    }

    async fn new(tls: Option<(String, String)>) -> Self {
        let place = tempfile::tempdir().unwrap();
        if let Some(user) = variable("SIGNET_TEST_PG_USER") {
            let mut chown = Command::new("chown");
            chown.arg(user).arg(place.path());
            run(chown);
        }
        let mut initdb = program("initdb", place.path());
        let options = [
            "-U",
            "signet",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
        ];
        initdb.args(options).arg("--no-sync");
        run(initdb);
        let mut postgres = Self {
            place,
            port: free_port(),
            tls,
            running: None,
        };
        postgres.prepare_tls();
        postgres.start().await;
        postgres
    }

    fn prepare_tls(&self) {
        let Some((certificate, key)) = &self.tls else {
            return;
        };
        let who = "hostssl all all 127.0.0.1/32 trust\nlocal all all trust\n";
        for (name, text) in [
            ("db/server.crt", certificate.as_str()),
            ("db/server.key", key),
            ("db/pg_hba.conf", who),
        ] {
            let file = self.place.path().join(name);
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
            if let Some(user) = variable("SIGNET_TEST_PG_USER") {
                let mut chown = Command::new("chown");
                chown.arg(user).arg(&file);
                run(chown);
            }
        }
    }

    /// Runs a statement over its socket, where TLS is not asked for.
    pub(crate) async fn run_here(&self, sql: &str) {
        let (place, port) = (self.place.path().display(), self.port);
        let here = format!("host={place} port={port} user=signet dbname=postgres");
        query(&here, sql).await;
    }

    /// Whether it lets us in, or says that it would with TLS.
    async fn answers(&self) -> bool {
        let connected = tokio_postgres::connect(&self.url(), tokio_postgres::NoTls).await;
        let wants_tls = SqlState::INVALID_AUTHORIZATION_SPECIFICATION;
        match connected {
            Ok(_) => true,
            Err(error) => self.tls.is_some() && error.code() == Some(&wants_tls),
        }
    }

    pub(crate) fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The URL of another database there.
    pub(crate) fn url_of(&self, database: &str) -> String {
        format!("postgres://signet@127.0.0.1:{}/{database}", self.port)
    }

    /// Starts it and waits until it lets us in.
    pub(crate) async fn start(&mut self) {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.log())
            .unwrap();
        let mut postgres = program("postgres", self.place.path());
        postgres
            .arg("-p")
            .arg(self.port.to_string())
            .arg("-k")
            .arg(self.place.path());
        postgres.args(["-c", "listen_addresses=127.0.0.1"]);
        if self.tls.is_some() {
            postgres.args(["-c", "ssl=on"]);
        }
        postgres.stdout(log.try_clone().unwrap()).stderr(log);
        self.running = Some(postgres.spawn().unwrap());
        let started = Instant::now();
        while !self.answers().await {
            let log = || fs::read_to_string(self.log()).unwrap();
            assert!(
                started.elapsed() < Duration::from_secs(30),
                "no PostgreSQL:\n{}",
                log()
            );
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn log(&self) -> PathBuf {
        self.place.path().join("log")
    }

    fn pid(&self) -> Pid {
        Pid::from_child(self.running.as_ref().unwrap())
    }

    /// An immediate shutdown: every process quits where it stands, and the next start recovers
    /// from the log.
    pub(crate) fn crash(&mut self) {
        kill_process(self.pid(), Signal::QUIT).unwrap();
        self.running.take().unwrap().wait().unwrap();
    }

    /// All of its processes stand still: connections stay open, and nothing answers.
    pub(crate) fn freeze(&self) {
        // The parent first: then there are no new children.
        kill_process(self.pid(), Signal::STOP).unwrap();
        self.signal_children(Signal::STOP);
    }

    /// The sessions that there are stand still; new ones are let in.
    pub(crate) fn freeze_sessions(&self) {
        let is_session = |pid: &Pid| {
            let line = fs::read_to_string(format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
            line.is_ok_and(|line| line.contains(" 127.0.0.1("))
        };
        for session in children(self.pid()).into_iter().filter(is_session) {
            kill_process(session, Signal::STOP).unwrap();
        }
    }

    pub(crate) fn thaw(&self) {
        self.signal_children(Signal::CONT);
        kill_process(self.pid(), Signal::CONT).unwrap();
    }

    fn signal_children(&self, signal: Signal) {
        for child in children(self.pid()) {
            // It may have ended meanwhile.
            let _ = kill_process(child, signal);
        }
    }
}

/// The processes whose parent is this one.
fn children(parent: Pid) -> Vec<Pid> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(number) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The name of the program, in parentheses, may hold anything.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let its_parent = after_name
            .split_whitespace()
            .nth(1)
            .and_then(|number| number.parse().ok());
        if its_parent == Some(parent.as_raw_nonzero().get()) {
            children.extend(Pid::from_raw(number));
        }
    }
    children
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        let pid = Pid::from_child(&running);
        for child in children(pid) {
            let _ = kill_process(child, Signal::CONT);
        }
        let _ = kill_process(pid, Signal::CONT);
        let _ = kill_process(pid, Signal::QUIT);
        drop(running.wait());
    }
}
