use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use super::*;

fn figure(poll: &Poll, name: &str) -> Option<Measure> {
    let mut readings = poll.readings.iter();
    readings
        .find(|reading| reading.name == name)
        .map(|reading| reading.measure)
}

fn level(poll: &Poll, name: &str) -> f64 {
    match figure(poll, name) {
        Some(Measure::Level(value)) => value,
        other => panic!("{name}: {other:?}"),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
fn rounded(poll: &Poll, name: &str) -> i64 {
    level(poll, name).round() as i64
}

fn count(poll: &Poll, name: &str) -> f64 {
    match figure(poll, name) {
        Some(Measure::Count(value)) => value,
        other => panic!("{name}: {other:?}"),
    }
}

fn own() -> Processes {
    Processes::new(Which::Pid(std::process::id()), false, true)
}

#[test]
fn this_process_has_memory_threads_and_sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let poll = own().poll().unwrap();
    assert!(level(&poll, "rss") > 1e6);
    assert!(level(&poll, "pss") > 1e5 && level(&poll, "pss") <= level(&poll, "rss") * 1.5);
    assert!(level(&poll, "threads") >= 1.0);
    assert_eq!(rounded(&poll, "processes"), 1);
    assert!(level(&poll, "sockets") >= 2.0);
    assert!(level(&poll, "tcp_listen") >= 1.0);
    assert!(level(&poll, "tcp_established") >= 1.0);
    drop(client);
}

#[test]
fn this_process_uses_time_and_writes() {
    let mut processes = own();
    let first = processes.poll().unwrap();
    assert!(
        count(&first, "cpu") == 0.0,
        "nothing before the beginning counts"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    let clock = crate::clock::thread_cpu();
    while crate::clock::thread_cpu() - clock < 50_000_000 {
        fs::write(file.path(), [0; 100]).unwrap();
    }
    let second = processes.poll().unwrap();
    assert!(count(&second, "cpu") >= 3.0, "{second:?}");
    assert!(count(&second, "write_calls") >= 1.0);
    assert!(count(&second, "write_bytes") >= 100.0);
    let sum = count(&second, "cpu_user") + count(&second, "cpu_system");
    assert!((count(&second, "cpu") - sum).abs() < 1e-9);
}

/// A child that lives until its input is closed, below a shell that waits for it.
fn family() -> Child {
    Command::new("sh")
        .args(["-c", "echo ready; cat; exit 0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn children_are_added_up_when_they_are_asked_for() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let mut shell = family();
    let mut output = BufReader::new(shell.stdout.take().unwrap());
    let mut input = shell.stdin.take().unwrap();
    input.write_all(b"echoed\n").unwrap();
    let mut line = String::new();
    // The second line comes from the child.
    output.read_line(&mut line).unwrap();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\nechoed\n");
    let poll = |children| Processes::new(Which::Pid(shell.id()), children, false).poll();
    assert_eq!(rounded(&poll(false).unwrap(), "processes"), 1);
    assert_eq!(rounded(&poll(true).unwrap(), "processes"), 2);
    drop(input);
    shell.wait().unwrap();
}

#[test]
fn a_process_that_is_gone_is_an_error_and_not_the_end() {
    let mut shell = family();
    let mut processes = Processes::new(Which::Pid(shell.id()), false, false);
    let poll = processes.poll().unwrap();
    assert_eq!(poll.notes, [format!("watching process {}", shell.id())]);
    drop(shell.stdin.take());
    shell.wait().unwrap();
    assert_eq!(processes.poll(), Err("the process is gone".to_owned()));
}

#[test]
fn a_pid_file_is_read_at_every_tick() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pid");
    let mut processes = Processes::new(Which::PidFile(path.clone()), false, false);
    assert!(processes.poll().unwrap_err().contains("pid"));
    fs::write(
        &path,
        format!("{}\n/var/lib/data\n5432\n", std::process::id()),
    )
    .unwrap();
    assert!(processes.poll().is_ok());
    fs::write(&path, "none\n").unwrap();
    assert!(processes.poll().unwrap_err().contains("not a process id"));
}

#[test]
fn a_pattern_never_means_the_lab_itself() {
    let mut processes = Processes::new(Which::Pattern("*".to_owned()), false, false);
    let pids = processes.choose().unwrap();
    assert!(!pids.is_empty() && !pids.contains(&std::process::id()));
    processes.which = Which::Pattern("no such program".to_owned());
    let error = processes.poll().unwrap_err();
    assert_eq!(error, "no process matches `no such program`");
}

/// A file system of one process, as far as it is read.
fn fixture(stat: &str, io: Option<&str>) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let own = root.path().join("7");
    fs::create_dir_all(own.join("fd")).unwrap();
    fs::create_dir_all(own.join("net")).unwrap();
    fs::write(root.path().join("uptime"), "100.00 90.00\n").unwrap();
    fs::write(own.join("stat"), stat).unwrap();
    let status = "VmRSS:\t 100 kB\nRssAnon:\t 40 kB\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n";
    fs::write(own.join("status"), status).unwrap();
    if let Some(io) = io {
        fs::write(own.join("io"), io).unwrap();
    }
    root
}

fn at(root: &tempfile::TempDir) -> Processes {
    let mut processes = Processes::new(Which::Pid(7), false, false);
    processes.proc = Proc::new(root.path());
    processes
}

const STAT: &str = "7 (x) S 1 7 7 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 10 0 25";
const IO: &str = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n";

#[test]
fn figures_are_those_of_the_files() {
    let root = fixture(STAT, Some(IO));
    let mut processes = at(&root);
    processes.poll().unwrap();
    let own = root.path().join("7");
    let later = STAT.replace("150 50", "250 100");
    fs::write(own.join("stat"), later).unwrap();
    fs::write(own.join("io"), IO.replace("syscr: 3", "syscr: 13")).unwrap();
    let poll = processes.poll().unwrap();
    for (name, value) in [
        ("cpu", 150.0),
        ("cpu_user", 100.0),
        ("cpu_system", 50.0),
        ("read_calls", 10.0),
        ("write_calls", 0.0),
        ("io_calls", 10.0),
        ("switches_forced", 0.0),
    ] {
        assert!(
            (count(&poll, name) - value).abs() < 1e-9,
            "{name}: {poll:?}"
        );
    }
    assert_eq!(rounded(&poll, "rss"), 102_400);
    assert_eq!(rounded(&poll, "anonymous"), 40_960);
}

#[test]
fn what_may_not_be_read_is_told_and_not_shown_as_zero() {
    let root = fixture(STAT, None);
    let poll = at(&root).poll().unwrap();
    assert_eq!(figure(&poll, "io_calls"), None);
    assert_eq!(figure(&poll, "disk_read_bytes"), None);
    assert!(figure(&poll, "cpu").is_some());
    assert!(
        poll.notes
            .iter()
            .any(|note| note.contains("input and output"))
    );
}

#[test]
fn an_id_that_is_used_again_begins_at_zero() {
    let root = fixture(STAT, Some(IO));
    let mut processes = at(&root);
    processes.poll().unwrap();
    // Started after the first look, and used a second since.
    let another = "7 (y) S 1 7 7 0 -1 0 0 0 0 0 100 0 0 0 20 0 1 0 10050 0 25";
    fs::write(root.path().join("7/stat"), another).unwrap();
    let poll = processes.poll().unwrap();
    assert!((count(&poll, "cpu") - 100.0).abs() < 1e-9, "{poll:?}");
}
