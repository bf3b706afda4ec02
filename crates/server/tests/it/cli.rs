//! The command line: the real binary, against a server on free ports.

mod clients;
mod failures;
mod import;
mod service;
mod users;
mod without_server;

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

/// `signet serve --dev` on free ports, with a data directory of its own; commands run there, too.
struct Server {
    child: Child,
    dir: tempfile::TempDir,
    admin: String,
    public: String,
}

impl Server {
    fn start() -> Self {
        Self::with(&[])
    }

    /// A server with options changed.
    fn with(options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let arguments = "serve --dev --data-dir . --issuer http://127.0.0.1:4444 \
                         --public-listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 \
                         --set log.level=error --set hashing.failure_delay_ms=0";
        let mut command = Command::new(env!("CARGO_BIN_EXE_signet"));
        command.args(arguments.split_whitespace());
        command.args(options.iter().flat_map(|option| ["--set", option]));
        command
            .current_dir(dir.path())
            .env_clear()
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, told) = mpsc::channel();
        // To the end: a server whose output nobody takes would stand still one day.
        thread::spawn(move || {
            for url in said
                .map_while(Result::ok)
                .filter_map(|line| listener(&line))
            {
                drop(tell.send(url));
            }
        });
        let public = told
            .recv()
            .expect("a server that starts says where it listens");
        let admin = told.recv().expect("and where for administrators");
        Self {
            child,
            dir,
            admin,
            public,
        }
    }

    fn stop(&mut self) {
        // It may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The URL of a line that says where the server listens.
fn listener(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let names_one = matches!(words.next()?, "public" | "admin");
    words.next().filter(|_| names_one).map(str::to_owned)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What a command did.
#[derive(Debug)]
struct Done {
    status: i32,
    out: String,
    err: String,
}

impl Done {
    /// The answer of a command that went well.
    fn text(self) -> String {
        assert_eq!(self.status, 0, "{self:?}");
        self.out
    }

    /// The same as JSON.
    fn json(self) -> Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What a command said that did not go well.
    fn refusal(self) -> String {
        assert_eq!((self.status, self.out.as_str()), (1, ""), "{self:?}");
        self.err
    }
}

/// Runs the binary in a directory, with nothing in its environment but these variables.
fn run(dir: &Path, env: &[(&str, &str)], arguments: &[&str], input: &str) -> Done {
    let mut child = Command::new(env!("CARGO_BIN_EXE_signet"))
        .args(arguments)
        .current_dir(dir)
        .env_clear()
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may be gone already.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    Done {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A command against a server: what it needs to find it stands in the environment.
fn signet(server: &Server, arguments: &[&str]) -> Done {
    signet_reading(server, arguments, "")
}

/// A command without blanks in its arguments.
fn line(server: &Server, arguments: &str) -> Done {
    signet(server, &arguments.split_whitespace().collect::<Vec<_>>())
}

/// The same with a standard input.
fn signet_reading(server: &Server, arguments: &[&str], input: &str) -> Done {
    let dir = server.dir.path();
    let env = [
        ("SIGNET_ADMIN_URL", server.admin.as_str()),
        ("SIGNET_ISSUER", server.public.as_str()),
        ("SIGNET_DATA_DIR", dir.to_str().unwrap()),
    ];
    run(dir, &env, arguments, input)
}

/// A file in the server's directory, where commands run.
fn file(server: &Server, name: &str, text: &str) {
    fs::write(server.dir.path().join(name), text).unwrap();
}

/// A token of the client, or what the server has against it.
fn token(server: &Server, id: &str, secret: &str) -> Result<String, String> {
    let arguments = ["token", "get", "--client-id", id, "--client-secret-stdin"];
    let done = signet_reading(server, &arguments, secret);
    match done.status {
        0 => Ok(done.out.trim().to_owned()),
        _ => Err(done.err),
    }
}

fn is_active(server: &Server, token: &str) -> bool {
    signet(server, &["token", "introspect", token, "--json"]).json()["active"] == true
}
