//! A plan made ready to be played: its flows with the numbers under which their steps are booked. It
//! must not know connections or time.

use std::sync::Arc;

use url::Url;

use crate::clock::Nanos;
use crate::feed::{Feeds, Need};
use crate::plan::Reuse;
use crate::plan::model::{FlowKind, FlowPlan, Load, Plan, Population};
use crate::plan::steps::Step as PlanStep;
use crate::plan::user::Values;
use crate::play::pass::Numbers;
use crate::record::names::{Step, Unit};
use crate::scenario::Scenario;
use crate::scenario::parameters::BadScenario;
use crate::scenario::target::Target;

/// What all generators play.
pub(crate) struct Cast {
    pub(crate) populations: Vec<Role>,
    pub(crate) seed: u64,
    /// When the schedules begin, on the clock of the run.
    pub(crate) begin: Nanos,
    /// What was due before is warm-up.
    pub(crate) warm_until: Nanos,
    /// What relative URLs of steps begin at.
    pub(crate) base: Arc<Url>,
    pub(crate) values: Arc<Values>,
    pub(crate) feeds: Arc<Feeds>,
    pub(crate) reuse: Reuse,
}

/// A population and its flows.
pub(crate) struct Role {
    pub(crate) plan: Population,
    pub(crate) acts: Vec<Act>,
    /// Where arrivals are booked that were never sent.
    pub(crate) drops: u16,
    /// The columns of feeds that it uses.
    pub(crate) needs: Vec<Need>,
    /// The most users that there are at the same time; with a rate, 1.
    pub(crate) most: u64,
}

/// A flow that passes go through.
pub(crate) struct Act {
    pub(crate) numbers: Numbers,
    pub(crate) script: Script,
    /// Whether its answers hold new tokens.
    pub(crate) issues: bool,
}

pub(crate) enum Script {
    Steps(Arc<[PlanStep]>),
    BuiltIn(Box<Scenario>),
}

impl Cast {
    /// How many passes there will be, where the plan says so.
    pub(crate) fn passes(&self) -> Option<u64> {
        let of = |role: &Role| match &role.plan.load {
            Load::Users { schedule, loops } => Some(schedule.most().saturating_mul((*loops)?)),
            Load::Rate { .. } => None,
        };
        self.populations.iter().map(of).sum()
    }

    /// When no pass begins any more.
    pub(crate) fn end(&self) -> Nanos {
        let end = |role: &Role| {
            let end = match &role.plan.load {
                Load::Users { schedule, .. } => schedule.end(),
                Load::Rate { schedule, .. } => schedule.end(),
            };
            end.saturating_add(role.plan.delay)
                .saturating_add(self.begin)
        };
        self.populations.iter().map(end).max().unwrap_or(0)
    }
}

/// A flow of a plan that cannot be played, and the option that asks for it.
#[derive(Debug)]
pub(crate) struct BadFlow {
    pub(crate) option: String,
    pub(crate) why: BadScenario,
}

/// What flows are given from outside: a target, and the values that all users share.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) target: &'a Target,
    pub(crate) values: &'a Values,
}

/// The scripts of the plan's populations, and the names of everything that is booked.
pub(crate) fn roles(
    plan: &Plan,
    given: Given<'_>,
    feeds: &Feeds,
) -> Result<(Vec<Role>, Vec<Step>), BadFlow> {
    let mut steps = Vec::new();
    let mut roles = Vec::new();
    for population in &plan.populations {
        let mut acts = Vec::new();
        for flow in &population.flows {
            acts.push(act(&population.name, flow, given, &mut steps)?);
        }
        roles.push(Role {
            drops: acts.first().map_or(u16::MAX, |act| act.numbers.whole),
            needs: feeds.needs(&population.columns),
            most: match &population.load {
                Load::Users { schedule, .. } => schedule.most(),
                Load::Rate { .. } => 1,
            },
            plan: population.clone(),
            acts,
        });
    }
    Ok((roles, steps))
}

fn act(
    population: &str,
    flow: &FlowPlan,
    given: Given<'_>,
    steps: &mut Vec<Step>,
) -> Result<Act, BadFlow> {
    let (script, names) = script(flow, given)?;
    let issues = match &script {
        Script::BuiltIn(scenario) => scenario.issues(),
        Script::Steps(_) => false,
    };
    let whole = format!("{population}/{}", flow.name);
    let number = |steps: &Vec<Step>| u16::try_from(steps.len()).unwrap_or(u16::MAX);
    let numbers = Numbers {
        whole: number(steps),
        first: number(steps).saturating_add(1),
    };
    let calls = names.iter().map(|name| Step {
        name: format!("{whole}/{name}"),
        unit: Unit::Sample,
    });
    let flow = Step {
        name: whole.clone(),
        unit: Unit::Flow,
    };
    steps.push(flow);
    steps.extend(calls.collect::<Vec<_>>());
    Ok(Act {
        numbers,
        script,
        issues,
    })
}

/// What a flow does, and the names of its steps.
pub(crate) fn script(flow: &FlowPlan, given: Given<'_>) -> Result<(Script, Vec<String>), BadFlow> {
    let (name, with) = match &flow.kind {
        FlowKind::Steps(steps) => {
            let names = steps.iter().map(|step| step.name.clone()).collect();
            return Ok((Script::Steps(Arc::clone(steps)), names));
        }
        FlowKind::BuiltIn { flow, with } => (flow, with),
    };
    let refused = |why| BadFlow {
        option: flow.written.clone(),
        why,
    };
    let scenario = Scenario::parse(name, &with.table(), given.target).map_err(refused)?;
    // What the parameters name has been checked with the plan; what they leave out has a name, too.
    let is_known =
        |name: &str| with.names().any(|known| known == name) || given.values.0.contains_key(name);
    scenario.check_names(&is_known).map_err(refused)?;
    let names = scenario.steps().to_vec();
    Ok((Script::BuiltIn(Box::new(scenario)), names))
}
