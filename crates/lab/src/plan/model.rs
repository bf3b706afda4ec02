//! A plan that was checked: what the engine works from. It must not know how it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use super::mix::Mix;
use super::problem::{Places, PlanError};
use super::schedule::{Rates, Users};
use super::secrets::Secrets;
use super::steps::Step;
use super::steps::rpc::RpcRequest;
use super::tables::{End, Keep, Protocol, Reuse, Share, Spacing};
use super::template::Template;
use super::think::Think;
use super::tree::With;
use super::user::Values;
use crate::clock::Nanos;
use crate::wire::trust::Trust;

/// What to do.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) target: Option<TargetName>,
    pub(crate) seed: u64,
    /// The beginning of the run, which is kept apart from the figures.
    pub(crate) warmup: Nanos,
    /// How long answers that are on their way at the end are waited for.
    pub(crate) grace: Nanos,
    /// How long a call may take.
    pub(crate) timeout: Nanos,
    pub(crate) keep: Keep,
    /// As they are written; see [`Plan::problem`] for faults found in them later.
    pub(crate) thresholds: Vec<String>,
    pub(crate) autostop: Vec<String>,
    pub(crate) watch: Vec<toml::Table>,
    pub(crate) connection: Connection,
    pub(crate) feeds: Vec<FeedPlan>,
    pub(crate) populations: Vec<Population>,
    pub(crate) setup: Vec<FlowPlan>,
    pub(crate) teardown: Vec<FlowPlan>,
    /// The plan's variables, and the environment's as `env:NAME`.
    pub(super) values: Values,
    pub(super) secrets: Secrets,
    pub(super) places: Places,
    /// The plan as it is used, in TOML, without secrets.
    pub(super) used: String,
}

impl Plan {
    /// What all users share. `target` are the values that templates call `${target.…}`, by their names
    /// without `target.`.
    pub(crate) fn values(&self, target: impl IntoIterator<Item = (String, String)>) -> Arc<Values> {
        let mut values = self.values.0.clone();
        let target = target.into_iter();
        values.extend(target.map(|(name, value)| (format!("target.{name}"), value)));
        Arc::new(Values(values))
    }

    /// The plan with its overrides as TOML, every secret `[redacted]`: for the directory of the run.
    pub(crate) fn as_used(&self) -> &str {
        &self.used
    }

    /// All flows: those of the populations, of the set-up and of the tear-down.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &FlowPlan> {
        let populations = self.populations.iter();
        let populations = populations.flat_map(|population| &population.flows);
        populations.chain(&self.setup).chain(&self.teardown)
    }

    /// Whether it has to know what the target says of itself.
    pub(crate) fn uses_flows(&self) -> bool {
        let asks = |name: &&str| name.starts_with("target.") && !name.ends_with(".issuer");
        self.flows().any(|flow| {
            let is_built_in = matches!(flow.kind, FlowKind::BuiltIn { .. });
            is_built_in || flow.kind.names().iter().any(asks)
        })
    }

    /// What its templates ask of the target that is not among these names, and where.
    pub(crate) fn unknown_of_target(&self, known: &BTreeMap<String, String>) -> Option<PlanError> {
        let all = self.flows();
        all.flat_map(|flow| flow.kind.names().into_iter().map(move |name| (flow, name)))
            .find_map(|(flow, name)| {
                let asked = name.strip_prefix("target.")?;
                let names: Vec<&str> = known.keys().map(String::as_str).collect();
                let what = || {
                    format!(
                        "the target does not tell `{asked}`; it tells {}",
                        names.join(", ")
                    )
                };
                (!known.contains_key(asked)).then(|| self.problem(&flow.written, what()))
            })
    }

    /// A text without the plan's secrets: for everything that a run keeps or prints.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.secrets.redact(text)
    }

    /// Something is wrong with an option, such as `thresholds[1]`: told with its place in the file.
    pub(crate) fn problem(&self, option: &str, what: impl Into<String>) -> PlanError {
        self.places.problem(option, what).into()
    }
}

/// Whom to load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TargetName {
    /// A file in `bench/targets`, without its ending.
    File(String),
    /// What such a file holds.
    Table(toml::Table),
}

/// How users connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) protocol: Protocol,
    pub(crate) reuse: Reuse,
    /// Only its authorities are believed.
    pub(crate) ca_file: Option<PathBuf>,
    /// Any certificate is believed.
    pub(crate) insecure: bool,
    /// How many the calls in gRPC of a generator take in turn.
    pub(crate) connections: NonZeroUsize,
}

impl Connection {
    pub(crate) fn trust(&self) -> Trust {
        match &self.ca_file {
            _ if self.insecure => Trust::Anybody,
            None => Trust::System,
            Some(path) => Trust::File(path.clone()),
        }
    }
}

/// Rows of data.
#[derive(Clone, Debug)]
pub(crate) struct FeedPlan {
    pub(crate) name: String,
    pub(crate) source: FeedSource,
    pub(crate) share: Share,
    pub(crate) end: End,
    pub(crate) shuffle: bool,
}

impl FeedPlan {
    /// The option that says where its rows come from, for [`Plan::problem`].
    pub(crate) fn option(&self) -> String {
        match &self.source {
            FeedSource::Csv(_) => format!("feeds.{}.file", self.name),
            FeedSource::Generated { .. } => format!("feeds.{}", self.name),
        }
    }

    /// The names of its columns; none where only the file tells them.
    pub(crate) fn columns(&self) -> Vec<&str> {
        match &self.source {
            FeedSource::Csv(csv) => csv.columns.iter().map(String::as_str).collect(),
            FeedSource::Generated { columns, .. } => {
                columns.iter().map(|(name, _)| name.as_str()).collect()
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum FeedSource {
    Csv(Csv),
    Generated {
        columns: Vec<(String, Template)>,
        rows: u64,
    },
}

/// A CSV file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Csv {
    pub(crate) path: PathBuf,
    /// Empty: the first row names them.
    pub(crate) columns: Vec<String>,
    /// The first row holds names.
    pub(crate) header: bool,
    pub(crate) delimiter: u8,
    pub(crate) quotes: bool,
}

/// A group of virtual users who do the same.
#[derive(Clone, Debug)]
pub(crate) struct Population {
    pub(crate) name: String,
    pub(crate) load: Load,
    /// The schedule of `load` begins so long after the run.
    pub(crate) delay: Nanos,
    /// Between two passes of a user.
    pub(crate) think: Think,
    /// Between two steps of a pass, unless the step has its own.
    pub(crate) step_think: Think,
    /// From the beginning of one pass of a user to that of the next, at least; 0 is nothing.
    pub(crate) pacing: Nanos,
    pub(crate) flows: Vec<FlowPlan>,
    /// Which of `flows` a pass takes: of a user `user + pass`, of an arrival its number.
    pub(crate) mix: Mix,
    /// Columns of feeds that its templates use, as `feed.column`.
    pub(crate) columns: BTreeSet<String>,
}

impl Population {
    /// When none of its passes begins any more, counted from the beginning of the run; `Nanos::MAX` where
    /// only loops end it.
    pub(crate) fn end(&self) -> Nanos {
        let end = match &self.load {
            Load::Users { schedule, .. } => schedule.end(),
            Load::Rate { schedule, .. } => schedule.end(),
        };
        end.saturating_add(self.delay)
    }
}

/// When passes begin.
#[derive(Clone, Debug)]
pub(crate) enum Load {
    /// A closed loop.
    Users {
        schedule: Users,
        /// Passes of each user.
        loops: Option<u64>,
    },
    /// An open loop.
    Rate {
        schedule: Rates,
        spacing: Spacing,
        /// Passes that may be under way at the same time.
        limit: u64,
        /// Arrivals that may wait.
        backlog: u64,
    },
}

/// What one pass does.
#[derive(Clone, Debug)]
pub(crate) struct FlowPlan {
    pub(crate) name: String,
    pub(crate) kind: FlowKind,
    /// The option that uses it, for [`Plan::problem`]: `populations[0].mix[1]`.
    pub(crate) option: String,
    /// The option that holds its steps or parameters: the same, or `flows.NAME`.
    pub(crate) written: String,
}

impl FlowPlan {
    /// Its calls in gRPC, each with the option that holds it.
    pub(crate) fn rpcs(&self) -> impl Iterator<Item = (String, &RpcRequest)> {
        let steps: &[Step] = match &self.kind {
            FlowKind::BuiltIn { .. } => &[],
            FlowKind::Steps(steps) => steps,
        };
        let numbered = steps.iter().enumerate();
        numbered.filter_map(|(index, step)| {
            let option = format!("{}.steps[{index}].grpc", self.written);
            Some((option, step.rpc()?))
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) enum FlowKind {
    /// A flow of the lab.
    BuiltIn {
        flow: String,
        with: With,
    },
    Steps(Arc<[Step]>),
}

impl FlowKind {
    /// The names that must have a value at some time of a pass.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::BuiltIn { with, .. } => with.names().collect(),
            Self::Steps(steps) => steps.iter().flat_map(Step::names).collect(),
        }
    }

    /// The names that get a value in a pass.
    pub(crate) fn extracts(&self) -> Vec<&str> {
        match self {
            Self::BuiltIn { .. } => Vec::new(),
            Self::Steps(steps) => steps.iter().flat_map(Step::extracted).collect(),
        }
    }
}
