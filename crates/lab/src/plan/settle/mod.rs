//! From the tables of a plan to the plan: what options mean together, and everything that is wrong
//! with them. It must not know files or the command line.

mod feeds;
mod flows;
mod names;
mod population;
mod rpc;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::Outside;
use super::mix::Mix;
use super::model::{Connection, FlowPlan, Plan, Population, TargetName};
use super::problem::{Places, Problem};
use super::quantity::{Length, Scalar};
use super::secrets::Secrets;
use super::tables::{FlowTable, PlanTable, PopulationTable};
use super::template::is_name;
use super::think::Think;
use super::user::Values;
use crate::clock::Nanos;
use flows::Flows;
use names::Known;

const SECOND: Nanos = 1_000_000_000;

/// What is wrong so far, and where everything stands.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) places: Places,
    pub(super) problems: Vec<Problem>,
}

impl Findings {
    pub(super) fn refuse(&mut self, option: &str, what: impl Into<String>) {
        self.problems.push(self.places.problem(option, what));
    }

    /// A flow that is used twice has its faults once.
    fn forget_repetitions(&mut self) {
        let mut seen: Vec<Problem> = Vec::new();
        for problem in self.problems.drain(..) {
            if !seen.contains(&problem) {
                seen.push(problem);
            }
        }
        self.problems = seen;
    }

    /// The value, or a problem and nothing.
    pub(super) fn ok<T>(&mut self, option: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|what| self.refuse(option, what)).ok()
    }
}

/// Settles a plan. `used` is the plan as it was written, with its overrides.
pub(super) fn settle(
    table: PlanTable,
    used: &toml::Table,
    file: &Path,
    outside: &Outside<'_>,
    findings: &mut Findings,
) -> Option<Plan> {
    let (values, secrets) = values(&table, outside, findings);
    let feeds = feeds::settle(&table, file, findings);
    let flows = Flows::new(&table.flows, outside.flows, findings);
    let setup = in_order(&table.setup, "setup", &flows, findings);
    let teardown = in_order(&table.teardown, "teardown", &flows, findings);
    let populations = populations(&table, &flows, findings);
    let known = Known {
        values: values.keys().cloned().collect(),
        feeds: &feeds,
    };
    known.check(&setup, &teardown, &populations, findings);
    check_names_of_flows(&populations, findings);
    let target = target(table.target, findings);
    check_warmup(table.warmup, &populations, findings);
    if table.connection.insecure && table.connection.ca_file.is_some() {
        let what = "expected either `ca_file` or `insecure`, which believes everybody";
        findings.refuse("connection.insecure", what);
    }
    findings.forget_repetitions();
    if !findings.problems.is_empty() {
        return None;
    }
    Some(Plan {
        name: table.name.unwrap_or_else(|| stem(file)),
        description: table.description,
        target,
        seed: table.seed,
        warmup: table.warmup.0,
        grace: table.grace.map_or(10 * SECOND, |Length(grace)| grace),
        timeout: table.timeout.map_or(20 * SECOND, |Length(timeout)| timeout),
        keep: table.keep,
        thresholds: table.thresholds,
        autostop: table.autostop,
        watch: table.watch,
        connection: Connection {
            protocol: table.connection.protocol,
            reuse: table.connection.reuse,
            ca_file: table.connection.ca_file.map(|path| beside(file, &path)),
            insecure: table.connection.insecure,
            connections: table.connection.connections.unwrap_or(NonZeroUsize::MIN),
        },
        feeds,
        populations,
        setup,
        teardown,
        used: toml::to_string(&secrets.redact_table(used)).unwrap_or_default(),
        values: Values(values),
        secrets,
        places: findings.places.clone(),
    })
}

fn stem(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or(file.as_os_str());
    stem.to_string_lossy().into_owned()
}

/// A path of the plan: relative to its directory.
fn beside(file: &Path, path: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(path)
}

fn target(written: Option<toml::Value>, findings: &mut Findings) -> Option<TargetName> {
    match written? {
        toml::Value::String(name) => Some(TargetName::File(name)),
        toml::Value::Table(table) => Some(TargetName::Table(table)),
        other => {
            let what = format!(
                "expected the name of a file in bench/targets or a table, not a {}",
                other.type_str()
            );
            findings.refuse("target", what);
            None
        }
    }
}

/// The variables of the plan and what it takes from the environment; and which of them are secret.
fn values(
    table: &PlanTable,
    outside: &Outside<'_>,
    findings: &mut Findings,
) -> (BTreeMap<String, String>, Secrets) {
    let mut values = BTreeMap::new();
    for (name, Scalar(value)) in &table.variables {
        if !is_name(name) || ["user", "pass", "row"].contains(&name.as_str()) {
            let what =
                "expected a name of letters, digits, `_` and `-`, and not `user`, `pass` or `row`";
            findings.refuse(&format!("variables.{name}"), what);
        }
        values.insert(name.clone(), value.clone());
    }
    let mut secret = Vec::new();
    for (index, name) in table.secrets.iter().enumerate() {
        if let Some(value) = values.get(name) {
            secret.push(value.clone());
        } else if let Some(value) = (outside.environment)(name) {
            secret.push(value.clone());
            values.insert(format!("env:{name}"), value);
        } else {
            let what = format!("`{name}` is neither in [variables] nor in the environment");
            findings.refuse(&format!("secrets[{index}]"), what);
        }
    }
    let secrets = Secrets::new(secret.iter().map(String::as_str));
    (values, secrets)
}

fn in_order(
    tables: &[FlowTable],
    list: &str,
    flows: &Flows<'_>,
    findings: &mut Findings,
) -> Vec<FlowPlan> {
    let entries = tables.iter().enumerate();
    let settled = entries.filter_map(|(index, table)| {
        let option = format!("{list}[{index}]");
        if table.weight.is_some() {
            findings.refuse(&option, "`weight` belongs to the flows of a `mix`");
        }
        flows.settle(table, &option, findings)
    });
    settled.collect()
}

fn populations(table: &PlanTable, flows: &Flows<'_>, findings: &mut Findings) -> Vec<Population> {
    if table.populations.is_empty() {
        findings.refuse("populations", "a plan needs at least one `[[populations]]`");
    }
    let mut names = BTreeSet::new();
    let mut settled = Vec::new();
    for (index, written) in table.populations.iter().enumerate() {
        let option = format!("populations[{index}]");
        let name = match &written.name {
            Some(name) => name.clone(),
            None if table.populations.len() == 1 => "users".to_owned(),
            None => {
                findings.refuse(&option, "each of several populations needs a `name`");
                continue;
            }
        };
        if !names.insert(name.clone()) {
            findings.refuse(&option, format!("another population is called `{name}`"));
        }
        let seed = (table.seed, index as u64);
        settled.extend(one(written, name, &option, seed, (flows, findings)));
    }
    settled
}

fn one(
    table: &PopulationTable,
    name: String,
    option: &str,
    seed: (u64, u64),
    (flows, findings): (&Flows<'_>, &mut Findings),
) -> Option<Population> {
    let load = population::load(table, option, findings);
    let is_open = table.users.is_none() && table.rate.is_some();
    let pauses = table.think != Think::None || table.pacing != Length(0);
    if is_open && pauses {
        findings.refuse(
            option,
            "`think` and `pacing` are for `users`: a `rate` says itself when passes begin",
        );
    }
    let (flows, weights) = mix(table, option, flows, findings)?;
    let names = flows.iter().flat_map(|flow| flow.kind.names());
    let is_column = |name: &&str| name.contains('.') && !name.starts_with("target.");
    Some(Population {
        name,
        load: load?,
        delay: table.delay.0,
        think: table.think,
        step_think: table.step_think,
        pacing: table.pacing.0,
        columns: names.filter(is_column).map(str::to_owned).collect(),
        mix: Mix::new(&weights, seed),
        flows,
    })
}

/// The flows of a population and their weights.
fn mix(
    table: &PopulationTable,
    option: &str,
    flows: &Flows<'_>,
    findings: &mut Findings,
) -> Option<(Vec<FlowPlan>, Vec<u32>)> {
    if table.mix.is_empty() {
        let alone = FlowTable {
            flow: table.flow.clone(),
            with: table.with.clone(),
            steps: table.steps.clone(),
            ..FlowTable::default()
        };
        let flow = flows.settle(&alone, option, findings)?;
        return Some((vec![flow], vec![1]));
    }
    if table.flow.is_some() || !table.steps.is_empty() || !table.with.is_empty() {
        findings.refuse(option, "expected one of `flow`, `steps` and `mix`");
    }
    let (mut settled, mut weights) = (Vec::new(), Vec::new());
    for (index, entry) in table.mix.iter().enumerate() {
        let option = format!("{option}.mix[{index}]");
        let weight = entry.weight.unwrap_or(1);
        if !(1..=1_000_000).contains(&weight) {
            let what = format!("expected a whole number from 1 to 1000000, not {weight}");
            findings.refuse(&format!("{option}.weight"), what);
        }
        settled.extend(flows.settle(entry, &option, findings));
        weights.push(weight);
    }
    (settled.len() == weights.len()).then_some((settled, weights))
}

/// A run that is all warm-up measures nothing.
fn check_warmup(Length(warmup): Length, populations: &[Population], findings: &mut Findings) {
    let ends = populations.iter().map(Population::end);
    if warmup > 0 && ends.max().is_some_and(|end| end <= warmup) {
        let what = "the warm-up is as long as the whole run, so nothing would be measured";
        findings.refuse("warmup", what);
    }
}

/// Reports tell flows by their names.
fn check_names_of_flows(populations: &[Population], findings: &mut Findings) {
    for population in populations {
        let mut names = BTreeSet::new();
        for flow in &population.flows {
            if !names.insert(&flow.name) {
                let what = format!(
                    "another flow of the mix is called `{}`: give it a `name`",
                    flow.name
                );
                findings.refuse(&flow.option, what);
            }
        }
    }
}
