//! The real binary as a child: started on free ports, killed, asked to end, listened to.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, Permissions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

use super::dice::Dice;
use super::wire::{Ask, Wire};

/// By what name all of them go, whatever their ports are.
pub(crate) const ISSUER: &str = "http://localhost:4444";
/// What a start may take, on a machine that is busy with other things.
const START: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(5);

/// How a server is to be started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The directory of the server's data.
    pub(crate) data: PathBuf,
    /// Where its output goes: a directory that is not the data's.
    logs: PathBuf,
    binary: PathBuf,
    variables: Vec<(String, String)>,
    user: Option<(u32, u32)>,
}

/// A server that was started.
#[derive(Debug)]
pub(crate) struct Signet {
    child: Child,
    pub(crate) public: SocketAddr,
    pub(crate) admin: SocketAddr,
    data: PathBuf,
    log: PathBuf,
    /// The bootstrap token, once the server was ready.
    pub(crate) token: String,
    /// What the start took.
    pub(crate) ready_after: Duration,
}

/// A port that nobody listens on, outside the range from which connections take theirs.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let spread = std::process::id().wrapping_mul(7919).wrapping_add(number) % 9000;
        let port = 10_000 + u16::try_from(spread).unwrap();
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

/// A file with a new cluster key, for stores that need one.
pub(crate) fn cluster_key(place: &Path) -> PathBuf {
    let key = Dice::new(Dice::any_seed()).bytes::<32>();
    let path = place.join("cluster.key");
    std::fs::write(&path, URL_SAFE_NO_PAD.encode(key)).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path
}

impl Launch {
    /// A development server on this store, its data in `place/data`.
    pub(crate) fn new(place: &Path, store: &str) -> Self {
        let given = [
            ("SIGNET_STORE", store),
            ("SIGNET_ISSUER", ISSUER),
            // Nothing that the tests want to find again expires under their hands.
            ("SIGNET_TOKENS_ACCESS_TOKEN_LIFETIME", "36000"),
            // Keys that are rotated sign at once.
            ("SIGNET_KEYS_JWKS_MAX_AGE", "0"),
            ("SIGNET_KEYS_PUBLISH_BEFORE", "0"),
            ("SIGNET_LOG_REQUESTS", "off"),
            ("SIGNET_THREADS", "2"),
        ];
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            data: place.join("data"),
            logs: place.to_owned(),
            binary: env!("CARGO_BIN_EXE_signet").into(),
            variables: given.map(own).into(),
            user: None,
        }
    }

    /// The same with a variable set, or set to something else.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        let value = value.as_ref().to_str().unwrap().to_owned();
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value));
        self
    }

    /// The value of a variable that was set.
    pub(crate) fn variable(&self, name: &str) -> &str {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| &**value).unwrap()
    }

    /// The same as another user, from a copy of the binary that this user may read.
    #[must_use]
    pub(crate) fn run_as(mut self, user: u32, group: u32) -> Self {
        let copy = self.logs.join("signet");
        std::fs::copy(&self.binary, &copy).unwrap();
        (self.binary, self.user) = (copy, Some((user, group)));
        self
    }

    /// Starts it on these ports, public and admin, and does not wait.
    pub(crate) fn spawn_at(&self, ports: [u16; 2]) -> Signet {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let [public, admin] = ports.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let log = self.logs.join(format!("signet-{number}.log"));
        let output = File::create(&log).unwrap();
        let mut command = Command::new(&self.binary);
        command
            .args(["serve", "--dev"])
            .env_clear()
            .env("SIGNET_DATA_DIR", &self.data)
            .env("SIGNET_PUBLIC_LISTEN", public.to_string())
            .env("SIGNET_ADMIN_LISTEN", admin.to_string())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.logs)
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        let child = spawn(&mut command);
        let (token, ready_after) = (String::new(), Duration::ZERO);
        Signet {
            child,
            public,
            admin,
            data: self.data.clone(),
            log,
            token,
            ready_after,
        }
    }

    /// Starts it on free ports and does not wait.
    pub(crate) fn spawn(&self) -> Signet {
        self.spawn_at([free_port(), free_port()])
    }

    /// Starts it and waits until it is ready; panics with its output where it does not get there.
    pub(crate) async fn start(&self) -> Signet {
        for _ in 0..5 {
            let mut signet = self.spawn();
            match signet.wait_until_ready().await {
                Ok(()) => return signet,
                // Another test was faster.
                Err(output) if output.contains("is taken") => {}
                Err(output) => panic!("the server did not start:\n{output}"),
            }
        }
        panic!("no ports are free");
    }

    /// Starts it and waits for it to refuse: its exit code and its output.
    pub(crate) async fn refusal(&self) -> (i32, String) {
        let mut signet = self.spawn();
        let status = signet.wait_for_end(START).await;
        let output = signet.output();
        let code = status.and_then(|status| status.code());
        (
            code.unwrap_or_else(|| panic!("it neither ran nor refused:\n{output}")),
            output,
        )
    }
}

impl Signet {
    /// Waits until it is ready; what it said where it ended instead.
    pub(crate) async fn wait_until_ready(&mut self) -> Result<(), String> {
        let started = Instant::now();
        while started.elapsed() < START {
            if self.child.try_wait().unwrap().is_some() {
                return Err(self.output());
            }
            let asked = Wire::new(self.public)
                .call(&Ask::get("/health/ready"))
                .await;
            if asked.is_ok_and(|answer| answer.status == 200) {
                self.ready_after = started.elapsed();
                let token = std::fs::read_to_string(self.data.join("admin.token")).unwrap();
                token.trim().clone_into(&mut self.token);
                return Ok(());
            }
            sleep(TICK).await;
        }
        Err(format!("not ready after {START:?}:\n{}", self.output()))
    }

    /// What it has written so far.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// SIGKILL; its memory is gone when this returns.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its exit status, or nothing where it is still running after that time.
    pub(crate) async fn wait_for_end(&mut self, patience: Duration) -> Option<ExitStatus> {
        let asked = Instant::now();
        loop {
            let status = self.child.try_wait().unwrap();
            if status.is_some() || asked.elapsed() >= patience {
                return status;
            }
            sleep(TICK).await;
        }
    }

    /// SIGTERM; panics where it does not end well within that time.
    pub(crate) async fn stop(mut self) {
        self.signal(Signal::TERM);
        let status = self.wait_for_end(Duration::from_secs(10)).await;
        assert!(
            status.is_some_and(|status| status.success()),
            "{status:?}\n{}",
            self.output()
        );
    }

    /// A request at the admin door.
    pub(crate) fn as_admin(&self, ask: Ask) -> Ask {
        ask.bearer(&self.token)
    }
}

impl Drop for Signet {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Starts a program. While another thread of the tests forks, the descriptor through which a copy
/// of the program was written lives on in its child for a moment, and the program is "busy".
fn spawn(command: &mut Command) -> Child {
    for _ in 0..500 {
        match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            spawned => return spawned.unwrap(),
        }
    }
    panic!("the program stays busy");
}
