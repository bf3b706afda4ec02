//! Plans played against small servers that count what reaches them: every sample is accounted for,
//! and a run directory is left however the run ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::lab::assay;
use crate::stub::{Act, Stub, ok};

/// A plan, where its runs go, and how it went.
pub(crate) struct Lab {
    pub(crate) dir: tempfile::TempDir,
}

impl Lab {
    /// `populations` and more, for a target at `url`.
    pub(crate) fn new(url: &str, text: &str) -> Self {
        // Tables come after the options of the top, which the text begins with.
        let target =
            format!("[target]\nname = 'stub'\ntested = true\nissuer = '{url}'\ndiscovery = ''\n");
        Self::of_plan(&format!("{text}\n{target}"))
    }

    /// A whole plan, its target included.
    pub(crate) fn of_plan(plan: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("plan.toml"), plan).unwrap();
        Self { dir }
    }

    /// A file beside the plan.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = assay();
        command
            .arg("run")
            .arg(self.dir.path().join("plan.toml"))
            .arg("--runs")
            .arg(self.dir.path().join("runs"))
            .arg("--quiet")
            .args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// The only run directory.
    pub(crate) fn directory(&self) -> PathBuf {
        let mut runs = fs::read_dir(self.dir.path().join("runs")).unwrap();
        runs.next().unwrap().unwrap().path()
    }

    pub(crate) fn summary(&self) -> Value {
        let text = fs::read(self.directory().join("summary.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

pub(crate) fn row<'a>(summary: &'a Value, step: &str) -> &'a Value {
    let rows = summary["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["step"] == step);
    found.unwrap_or_else(|| panic!("{step} in {summary:#}"))
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

pub(crate) const LOOPS: &str = "
[[populations]]
name = 'p'
users = 5
loops = 40
steps = [{ name = 'get', url = '/a', check = { status = 200, contains = ['ok'] } }]
";

#[test]
fn every_pass_of_a_closed_loop_is_sent_once_and_counted() {
    let stub = Stub::start(|_| ok());
    let lab = Lab::new(&stub.url, LOOPS);
    let output = lab.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary = lab.summary();
    let get = row(&summary, "p/steps/get");
    assert_eq!(stub.seen().len(), 200);
    assert_eq!((&get["count"], &get["errors"]), (&200.into(), &0.into()));
    assert_eq!(get["statuses"]["200"], 200);
    assert_eq!(get["bytes"], 400);
    assert_eq!(row(&summary, "p/steps")["count"], 200, "whole flows");
    assert_eq!(stub.connections(), 5, "one for each user");
    assert_eq!(
        get["response"], get["service"],
        "a closed loop waits for nothing"
    );
    assert_eq!(get["late"], Value::Null, "and so nothing is late in it");
}

#[test]
fn a_rate_has_its_arrivals_and_no_more() {
    let stub = Stub::start(|_| ok());
    let plan = LOOPS.replace("users = 5\nloops = 40", "rate = '200/s'\nduration = '1 s'");
    let lab = Lab::new(&stub.url, &plan);
    let output = lab.run(&["--threads", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary = lab.summary();
    let get = row(&summary, "p/steps/get");
    assert_eq!(get["count"], stub.seen().len());
    let whole = row(&summary, "p/steps");
    let due = whole["count"].as_u64().unwrap() + whole["dropped"].as_u64().unwrap();
    assert_eq!(due, 200, "sent or dropped, and never both");
    let late = |at: &str| get["late"][at].as_f64().unwrap();
    assert!(0.0 < late("p50") && late("p50") <= late("p99_9") && late("p99_9") <= late("max"));
    assert!(get["response"]["max"].as_f64().unwrap() >= late("max"));
    let shown = text(&output);
    assert!(
        shown
            .lines()
            .any(|line| line.trim_start().starts_with("late ")),
        "{shown}"
    );
    let mut judge = assay();
    let judge = judge
        .arg("judge")
        .args(["-t", "late p99.9 < 1 h", "-t", "late max < 1 ns"]);
    let judged = text(&judge.arg(lab.directory()).output().unwrap());
    assert!(judged.contains("pass  late p99.9 < 1 h") && judged.contains("FAIL  late max < 1 ns"));
}

#[test]
fn what_goes_wrong_is_counted_by_kind_and_never_sent_again() {
    let stub = Stub::start(|seen| match seen.index % 5 {
        0 => Act::Send(b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno".to_vec()),
        1 => Act::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nelse".to_vec()),
        2 => Act::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf".to_vec()),
        3 => {
            Act::Send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n".to_vec())
        }
        _ => ok(),
    });
    let lab = Lab::new(&stub.url, LOOPS);
    let output = lab.run(&[]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "no threshold, no judgement: {}",
        text(&output)
    );
    let summary = lab.summary();
    let get = row(&summary, "p/steps/get");
    assert_eq!(stub.seen().len(), 200);
    assert_eq!((&get["count"], &get["errors"]), (&200.into(), &160.into()));
    assert_eq!(get["wrong"]["status"], 40);
    assert_eq!(get["wrong"]["body"], 40);
    assert_eq!(get["failed"]["closed"], 40);
    assert_eq!(get["failed"]["protocol"], 40);
    assert_eq!(get["statuses"]["503"], 40);
    let notes = summary["notes"].to_string();
    assert!(
        notes.contains("first closed"),
        "an example of each: {notes}"
    );
}

#[test]
fn silence_is_a_timeout_and_the_run_goes_on() {
    let stub = Stub::start(|seen| if seen.index == 3 { Act::Ignore } else { ok() });
    let plan = format!("timeout = '300 ms'\n{LOOPS}")
        .replace("users = 5\nloops = 40", "users = 1\nloops = 10");
    let lab = Lab::new(&stub.url, &plan);
    let output = lab.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary = lab.summary();
    let get = row(&summary, "p/steps/get");
    assert_eq!(
        (&get["count"], &get["failed"]["timeout"]),
        (&10.into(), &1.into())
    );
}

#[test]
fn nobody_there_is_no_crash() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", free.local_addr().unwrap());
    drop(free);
    let plan = LOOPS.replace("users = 5\nloops = 40", "users = 50\nloops = 4");
    let lab = Lab::new(&url, &format!("thresholds = ['errors < 1 %']\n{plan}"));
    let output = lab.run(&[]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert_eq!(row(&lab.summary(), "p/steps/get")["failed"]["connect"], 200);
}

#[test]
fn a_stopped_run_leaves_its_figures() {
    let stub = Stub::start(|_| ok());
    let plan = LOOPS.replace("loops = 40", "duration = '1 h'");
    let lab = Lab::new(&stub.url, &plan);
    let child = lab.command(&[]).stdout(Stdio::piped()).spawn().unwrap();
    // The run lasts an hour: something is sent, or the test is cut off.
    while stub.seen().len() < 50 {
        std::thread::yield_now();
    }
    let stop = assay().arg("stop").arg(lab.directory()).output().unwrap();
    assert_eq!(stop.status.code(), Some(0), "{}", text(&stop));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let summary = lab.summary();
    let get = row(&summary, "p/steps/get");
    let sent = stub.seen().len() as u64;
    assert_eq!(get["count"], sent, "what was on its way is counted, too");
    assert_eq!(get["errors"], 0, "and is no error of the target's");
    assert!(
        summary["notes"]
            .to_string()
            .contains("stopped before its end")
    );
    let again = assay().arg("stop").arg(lab.directory()).output().unwrap();
    assert_eq!(again.status.code(), Some(1), "there is no run any more");
}

#[test]
fn a_rule_ends_a_run_that_is_past_saving() {
    let stub =
        Stub::start(|_| Act::Send(b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n".to_vec()));
    let plan = LOOPS.replace("loops = 40", "duration = '1 h'\nthink = '5 ms'");
    let lab = Lab::new(
        &stub.url,
        &format!("autostop = ['5xx > 50 % for 2 s']\n{plan}"),
    );
    let output = lab.run(&[]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(
        lab.summary()["notes"]
            .to_string()
            .contains("5xx > 50 % for 2 s")
    );
}

#[test]
fn figures_are_the_same_when_they_are_made_anew_from_samples() {
    let stub = Stub::start(|seen| match seen.index % 7 {
        0 => Act::Send(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_vec()),
        _ => ok(),
    });
    let lab = Lab::new(&stub.url, LOOPS);
    lab.run(&[]);
    let directory = lab.directory();
    let before = lab.summary();
    fs::remove_file(directory.join("histograms.json")).unwrap();
    fs::remove_file(directory.join("summary.json")).unwrap();
    let report = assay()
        .arg("report")
        .arg("--json")
        .arg(&directory)
        .output()
        .unwrap();
    let after: Value = serde_json::from_slice(&report.stdout).unwrap();
    for part in ["rows", "warmup", "plan", "target"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    for form in [vec!["--hey"], vec!["--layout", "hydra"], vec![]] {
        let mut command = assay();
        command
            .arg("report")
            .args(&form)
            .arg(&directory)
            .current_dir(root());
        let report = command.output().unwrap();
        assert_eq!(report.status.code(), Some(0), "{form:?}: {}", text(&report));
    }
    let plots = assay().arg("plot").arg(&directory).output().unwrap();
    assert_eq!(plots.status.code(), Some(0), "{}", text(&plots));
    let svg = fs::read_to_string(directory.join("time.svg")).unwrap();
    assert!(svg.starts_with("<svg"), "{svg:.80}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn no_file_of_a_run_holds_a_secret() {
    let stub = Stub::start(|_| {
        Act::Send(
            b"HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n{\"t\": \"tok-53cr3t-value\"}".to_vec(),
        )
    });
    let plan = "
secrets = ['PASSPHRASE', 'key']
[variables]
key = 'very-53cr3t-key'
[[populations]]
users = 1
loops = 3
steps = [
  { name = 'in', method = 'POST', url = '/in', form = { password = '${env:PASSPHRASE}', key = '${key}' }, extract = { token = { json = '/t' } } },
  { name = 'use', url = '/use', bearer = '${token}', check = { contains = ['nothing of the kind'] } },
]
";
    let lab = Lab::new(&stub.url, plan);
    let output = lab
        .command(&["--label", "note=very-53cr3t-key"])
        .env("PASSPHRASE", "env-53cr3t")
        .output()
        .unwrap();
    assert_eq!(stub.seen().len(), 6, "{}", text(&output));
    assert!(
        stub.seen()[0].body.contains("env-53cr3t") && stub.seen()[1].head.contains("tok-53cr3t")
    );
    assert!(!text(&output).contains("53cr3t"), "{}", text(&output));
    for file in fs::read_dir(lab.directory()).unwrap() {
        let path = file.unwrap().path();
        let content = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!content.contains("53cr3t"), "{}", path.display());
    }
}

#[test]
fn a_plan_with_a_mistake_is_told_with_its_line() {
    let stub = Stub::start(|_| ok());
    let lab = Lab::new(&stub.url, &LOOPS.replace("loops", "lops"));
    let output = lab.run(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let said = text(&output);
    assert!(
        said.contains("plan.toml:") && said.contains("loops"),
        "{said}"
    );
    assert_eq!(stub.seen().len(), 0);
    assert!(!lab.dir.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn feeds_give_every_row_once() {
    let stub = Stub::start(|_| ok());
    let plan = "
[feeds.ids]
kind = 'ids'
rows = 60
end = 'stop'
[[populations]]
users = 4
duration = '1 h'
steps = [{ url = '/${ids.id}' }]
";
    let lab = Lab::new(&stub.url, plan);
    let output = lab.run(&["--threads", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let mut paths: Vec<String> = stub
        .seen()
        .iter()
        .map(|seen| seen.head.lines().next().unwrap().to_owned())
        .collect();
    assert_eq!(paths.len(), 60);
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 60, "no row twice");
}

#[test]
fn two_sides_are_run_in_turns_and_compared() {
    let stub = Stub::start(|_| ok());
    let lab = Lab::new(&stub.url, LOOPS);
    let output = assay()
        .arg("ab")
        .arg(lab.dir.path().join("plan.toml"))
        .args([
            "--b-set",
            "populations.p.users=2",
            "--repeats",
            "2",
            "--quiet",
            "--runs",
        ])
        .arg(lab.dir.path().join("runs"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(
        text(&output).contains("too few repeats"),
        "{}",
        text(&output)
    );
    let note =
        "the plans called plan are not the same in all runs: they differ in populations.p.users";
    assert!(text(&output).contains(note), "{}", text(&output));
    assert_eq!(stub.seen().len(), 2 * 200 + 2 * 80);
    let runs = fs::read_dir(lab.dir.path().join("runs")).unwrap();
    let runs: Vec<PathBuf> = runs.map(|run| run.unwrap().path()).collect();
    assert_eq!(runs.len(), 4);
    let judged = assay()
        .arg("judge")
        .args(["-t", "errors == 0"])
        .args(&runs)
        .output()
        .unwrap();
    assert_eq!(judged.status.code(), Some(0), "{}", text(&judged));
    let judged = assay()
        .arg("judge")
        .args(["-t", "rate < 1/s"])
        .args(&runs)
        .output()
        .unwrap();
    assert_eq!(judged.status.code(), Some(3), "{}", text(&judged));
}

#[test]
fn nothing_right_is_no_success() {
    let stub = Stub::start(|_| Act::Send(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_vec()));
    let lab = Lab::new(&stub.url, LOOPS);
    let output = lab.run(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
}

#[test]
fn steps_know_what_the_target_says_of_itself() {
    let stub = Stub::start(|seen| {
        if !seen.head.contains("/.well-known/") {
            return ok();
        }
        let host = seen
            .head
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .unwrap();
        let body = format!(
            "{{\"issuer\": \"http://{host}/\", \"token_endpoint\": \"http://{host}/tokens\", \"jwks_uri\": \"http://{host}/.well-known/keys\", \"keys\": []}}"
        );
        Act::Send(
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .into_bytes(),
        )
    });
    let plan = LOOPS.replace("url = '/a'", "url = '${target.token_endpoint}'");
    let lab = Lab::new(&stub.url, &plan);
    let path = lab.dir.path().join("plan.toml");
    let with_discovery = fs::read_to_string(&path)
        .unwrap()
        .replace("discovery = ''\n", "");
    fs::write(&path, with_discovery).unwrap();
    let output = lab.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let tokens = stub
        .seen()
        .iter()
        .filter(|seen| seen.head.starts_with("GET /tokens "))
        .count();
    assert_eq!(tokens, 200);
    let unknown = LOOPS.replace("url = '/a'", "url = '${target.nothing_such}'");
    let lab = Lab::new(&stub.url, &unknown);
    let output = lab.run(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("nothing_such"), "{}", text(&output));
}

#[test]
fn a_run_is_judged_by_the_thresholds_of_its_plan_again() {
    let stub = Stub::start(|_| ok());
    let lab = Lab::new(&stub.url, &format!("thresholds = ['rate < 1/s']\n{LOOPS}"));
    assert_eq!(lab.run(&[]).status.code(), Some(3));
    let judged = assay().arg("judge").arg(lab.directory()).output().unwrap();
    assert_eq!(judged.status.code(), Some(3), "{}", text(&judged));
}
