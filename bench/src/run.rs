//! One run of the load generator, with the processor time of the server that it loaded. It must not
//! know what is compared with what.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::environment::{MachineTime, Strangers, load_average};
use crate::failure::{Context, Failed, Outcome};
use crate::lab::Lab;
use crate::number::real;
use crate::process::{GENERATOR, Process, cpu_of_ended_children, pinned};

/// The body of the requests.
#[derive(Clone, Debug, Default)]
pub(crate) enum Body {
    #[default]
    None,
    Form(String),
    /// The lines of a file in turn.
    FormLines(PathBuf),
    Json(String),
    JsonLines(PathBuf),
}

/// How many requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    Seconds(f64),
    Requests(u64),
}

/// What `assay hit` is asked to do.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) url: String,
    pub(crate) body: Body,
    pub(crate) authorization: Option<String>,
    pub(crate) concurrency: usize,
    pub(crate) amount: Amount,
    pub(crate) warmup: f64,
    /// Open loop: arrivals per second.
    pub(crate) rate: Option<f64>,
    /// Bytes that the average answer has at least: a short one would be a refusal.
    pub(crate) smallest: f64,
}

impl Hit {
    /// The closed loop of the plan.
    pub(crate) fn planned(lab: &Lab, url: String, body: Body) -> Self {
        Self {
            url,
            body,
            authorization: None,
            concurrency: lab.plan.concurrency,
            amount: Amount::Seconds(lab.plan.seconds),
            warmup: lab.plan.warmup,
            rate: None,
            smallest: 0.0,
        }
    }

    pub(crate) fn with(mut self, authorization: &str) -> Self {
        self.authorization = Some(authorization.to_owned());
        self
    }

    pub(crate) fn answers_of_at_least(mut self, bytes: f64) -> Self {
        self.smallest = bytes;
        self
    }

    pub(crate) fn requests(mut self, requests: u64) -> Self {
        self.amount = Amount::Requests(requests);
        self.warmup = 0.0;
        self
    }

    /// So many arrivals of an open loop.
    pub(crate) fn requests_at_rate(self, requests: u64) -> Self {
        Self {
            rate: self.rate,
            ..self.requests(requests)
        }
    }

    pub(crate) fn command(&self, assay: &Path) -> Command {
        let mut command = pinned(Some(GENERATOR), assay);
        command.args(["hit", "--quiet", "-c", &self.concurrency.to_string()]);
        match self.amount {
            Amount::Seconds(seconds) => command.args(["-z", &format!("{}ms", seconds * 1000.0)]),
            Amount::Requests(requests) => command.args(["-n", &requests.to_string()]),
        };
        if self.warmup > 0.0 {
            command.args(["--warmup", &format!("{}ms", self.warmup * 1000.0)]);
        }
        if let Some(rate) = self.rate {
            command.args(["-q", &rate.to_string()]);
        }
        if let Some(authorization) = &self.authorization {
            command.args(["-H", &format!("Authorization: {authorization}")]);
        }
        match &self.body {
            Body::None => &mut command,
            Body::Form(text) => command.args(["-d", text]),
            Body::FormLines(file) => command.arg("--each").arg(file),
            Body::Json(text) => command.args(["-T", "application/json", "-d", text]),
            Body::JsonLines(file) => command.args(["-T", "application/json", "--each"]).arg(file),
        };
        command.arg(&self.url);
        command
    }
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    /// Answers per second.
    pub(crate) rate: f64,
    pub(crate) answers: u64,
    /// Seconds, from the intended start where there was one.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) slowest: f64,
    pub(crate) body_bytes: f64,
    /// Processor time of the server per request in microseconds, and of the generator.
    pub(crate) server_cpu: f64,
    pub(crate) generator_cpu: f64,
    /// How much of its core the generator used; near 1 it was the limit, not the server.
    pub(crate) generator_share: f64,
    pub(crate) strangers: Strangers,
    pub(crate) load_average: String,
    /// What the generator printed.
    #[serde(skip)]
    pub(crate) text: String,
    /// What went wrong; empty, or the figures mean nothing.
    pub(crate) troubles: Vec<String>,
}

impl Run {
    /// The same, where nothing went wrong.
    pub(crate) fn flawless(self) -> Outcome<Self> {
        if self.troubles.is_empty() {
            return Ok(self);
        }
        Err(Failed::because(self.troubles.join("; ")))
    }
}

#[derive(Debug, Deserialize)]
struct Report {
    requests_per_second: f64,
    responses: u64,
    statuses: BTreeMap<String, u64>,
    error_count: u64,
    errors: Value,
    dropped: u64,
    body_bytes: u64,
    response: Latency,
    generator: Generator,
    warmup: Option<Warmup>,
}

#[derive(Debug, Deserialize)]
struct Latency {
    count: u64,
    p50: f64,
    p99: f64,
    max: f64,
}

#[derive(Debug, Deserialize)]
struct Generator {
    cpu_seconds: f64,
    busiest_core_share: f64,
}

#[derive(Debug, Deserialize)]
struct Warmup {
    response: Latency,
}

/// What was read of the clocks before a run.
#[derive(Debug)]
pub(crate) struct Before {
    clock: Stopwatch,
    machine: MachineTime,
    ours: Duration,
    server: Duration,
    load_average: String,
}

impl Before {
    pub(crate) fn now(server: Option<&Process>) -> Outcome<Self> {
        Ok(Self {
            load_average: load_average(),
            server: server.map_or(Ok(Duration::ZERO), Process::cpu)?,
            ours: cpu_of_ended_children()?,
            machine: MachineTime::now()?,
            clock: Stopwatch::start(),
        })
    }

    /// Processor time of the server and of the generator since then, and of strangers.
    pub(crate) fn until_now(
        &self,
        server: Option<&Process>,
    ) -> Outcome<(Duration, Duration, Strangers)> {
        let over = self.clock.elapsed();
        let machine = MachineTime::now()?;
        let spent = server
            .map_or(Ok(Duration::ZERO), Process::cpu)?
            .saturating_sub(self.server);
        let generated = cpu_of_ended_children()?.saturating_sub(self.ours);
        let strangers = machine.strangers_since(self.machine, spent + generated, over);
        Ok((spent, generated, strangers))
    }
}

/// Runs `assay hit` once; `row` names the file that keeps what it said.
pub(crate) fn hit(lab: &Lab, row: &str, hit: &Hit, server: &Process) -> Outcome<Run> {
    let before = Before::now(Some(server))?;
    let file = tempfile::NamedTempFile::new_in(lab.scratch()).context("a file for assay hit")?;
    let mut command = hit.command(&lab.programs.assay);
    let out = command
        .arg("--save")
        .arg(file.path())
        .output()
        .context("assay hit")?;
    let (spent, _, strangers) = before.until_now(Some(server))?;
    let said = String::from_utf8_lossy(&out.stderr);
    let saved = fs::read(file.path()).context("what assay hit saved")?;
    let document: Value =
        serde_json::from_slice(&saved).context(format_args!("assay hit: {}", said.trim()))?;
    lab.results.raw(row, &document)?;
    let report = Report::deserialize(&document).context("the JSON of assay hit")?;
    let warmed = report
        .warmup
        .as_ref()
        .map_or(0, |warmup| warmup.response.count);
    let requests = real((report.responses + warmed).max(1));
    let troubles = troubles(hit, &report);
    Ok(Run {
        rate: report.requests_per_second,
        answers: report.responses,
        p50: report.response.p50,
        p99: report.response.p99,
        slowest: report.response.max,
        body_bytes: real(report.body_bytes) / real(report.responses.max(1)),
        server_cpu: spent.as_secs_f64() * 1e6 / requests,
        generator_cpu: report.generator.cpu_seconds * 1e6 / real(report.responses.max(1)),
        generator_share: report.generator.busiest_core_share,
        strangers,
        load_average: before.load_average,
        text: String::from_utf8_lossy(&out.stdout).into_owned(),
        troubles,
    })
}

fn troubles(hit: &Hit, report: &Report) -> Vec<String> {
    let mut troubles = Vec::new();
    for (status, count) in &report.statuses {
        if !status.starts_with('2') {
            troubles.push(format!("{count} answers {status}"));
        }
    }
    if report.error_count > 0 {
        troubles.push(format!("{} errors: {}", report.error_count, report.errors));
    }
    if report.dropped > 0 {
        troubles.push(format!("{} arrivals dropped", report.dropped));
    }
    let average = real(report.body_bytes) / real(report.responses.max(1));
    if average < hit.smallest {
        troubles.push(format!("answers of {average:.0} bytes say nothing"));
    }
    troubles
}

/// Runs `wrk` once with one thread on the generator's core; `script` may set method and body.
pub(crate) fn wrk(
    lab: &Lab,
    row: &str,
    url: &str,
    script: Option<&Path>,
    server: &Process,
) -> Outcome<Run> {
    let plan = &lab.plan;
    let mut command = pinned(Some(GENERATOR), &lab.programs.wrk);
    let seconds = format!("{:.0}s", (plan.seconds + plan.warmup).max(1.0));
    command.args([
        "-t1",
        "-c",
        &plan.concurrency.to_string(),
        "-d",
        &seconds,
        "--latency",
    ]);
    if let Some(script) = script {
        command.arg("-s").arg(script);
    }
    let before = Before::now(Some(server))?;
    let out = command.arg(url).output().context("wrk")?;
    let (spent, generated, strangers) = before.until_now(Some(server))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    lab.results.raw(row, &Value::String(text.clone()))?;
    let answers: u64 = text
        .lines()
        .find_map(|line| line.trim().split_once(" requests in ")?.0.parse().ok())
        .context(format_args!("wrk said: {text}"))?;
    let rate = value(&text, "Requests/sec:").and_then(|text| text.parse().ok());
    let complaint = text
        .lines()
        .find(|line| line.contains("Socket errors") || line.contains("Non-2xx"));
    let requests = real(answers.max(1));
    Ok(Run {
        rate: rate.context("wrk gave no rate")?,
        answers,
        p50: value(&text, "50%")
            .and_then(wrk_seconds)
            .unwrap_or_default(),
        p99: value(&text, "99%")
            .and_then(wrk_seconds)
            .unwrap_or_default(),
        slowest: 0.0,
        body_bytes: 0.0,
        server_cpu: spent.as_secs_f64() * 1e6 / requests,
        generator_cpu: generated.as_secs_f64() * 1e6 / requests,
        generator_share: generated.as_secs_f64() / (plan.seconds + plan.warmup).max(1.0),
        strangers,
        load_average: before.load_average,
        text: String::new(),
        troubles: complaint
            .map(|line| line.trim().to_owned())
            .into_iter()
            .collect(),
    })
}

fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.trim().strip_prefix(name))
        .map(str::trim)
}

/// `1.25ms` in seconds.
fn wrk_seconds(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_alphabetic())?;
    let (number, unit) = text.split_at(at);
    let scale = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}
