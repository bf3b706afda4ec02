//! Everything that has to be there before the first call of a run: the plan, the target and what it
//! says of itself, conditions, sources to watch, feeds. It must not drive load.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize as _;
use url::Url;

use crate::clock::Nanos;
use crate::compare::judge::autostop::Rule;
use crate::compare::judge::threshold::Threshold;
use crate::feed::Feeds;
use crate::grpc::reflection::NoSchema;
use crate::plan::model::{Connection, Plan, TargetName};
use crate::plan::schedule::Part;
use crate::plan::user::Values;
use crate::plan::{Outside, Protocol, Reuse};
use crate::play::cast::{self, Cast, Given, Role};
use crate::play::lines::Ways;
use crate::play::once;
use crate::play::remote::{Remote, Written};
use crate::play::{PlayError, Request};
use crate::record::names::Step;
use crate::scenario::parameters;
use crate::scenario::target::file::SecretSource;
use crate::scenario::target::{BadTarget, Target};
use crate::watch::config::{Generator, Source};
use crate::wire::session::Manner;
use crate::wire::trust::{self, BadTrust};

/// Where the targets of this repository are, seen from its root.
const TARGETS: &str = "bench/targets";

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadRun {
    #[error("no target: name one with --target, or in the plan")]
    NoTarget,
    #[error("the target {0} is neither a file nor one of bench/targets: {1}")]
    TargetFile(String, io::Error),
    #[error("{0}: {1}")]
    Target(String, BadTarget),
    #[error("the secret {name} of the target cannot be read from {place}: {why}")]
    Secret {
        name: String,
        place: String,
        why: String,
    },
    #[error(transparent)]
    Trust(#[from] BadTrust),
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    Write(PathBuf, io::Error),
    #[error("the gRPC server at {0}: {1}")]
    Reflection(String, NoSchema),
    #[error("the run was ended: {0}")]
    Ended(String),
}

/// A plan and its target, checked and set up.
pub(crate) struct Ready {
    pub(crate) plan: Plan,
    pub(crate) target: Target,
    /// As it is kept.
    pub(crate) target_table: toml::Table,
    pub(crate) ways: Ways,
    pub(crate) steps: Arc<[Step]>,
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) autostop: Vec<Rule>,
    pub(crate) sources: Vec<Source>,
    pub(crate) warnings: Vec<String>,
    /// What must not be kept or shown.
    pub(crate) secrets: Vec<String>,
    pub(crate) base: Arc<Url>,
    pub(crate) values: Arc<Values>,
    roles: Vec<Role>,
    feeds: Arc<Feeds>,
}

impl Ready {
    pub(crate) async fn make(request: &Request<'_>) -> Result<Self, PlayError> {
        let outside = Outside {
            environment: request.environment,
            flows: &parameters::names(),
        };
        let plan = Plan::load(&request.plan, &request.overrides, &outside)?;
        let thresholds = parsed(&plan, "thresholds", &plan.thresholds)?;
        let autostop = parsed(&plan, "autostop", &plan.autostop)?;
        let sources = sources(&plan)?;
        let (mut target, target_table, written) = load_target(&plan, request)?;
        let (secrets, unread) = read_secrets(&mut target, request.environment);
        // Most flows need no secret of the target: those that do say so when they miss it.
        let mut warnings: Vec<String> = unread.iter().map(ToString::to_string).collect();
        warnings.extend(target.warning());
        warnings.extend(target.file.notes.clone());
        let manner = manner(&plan.connection)?;
        once::ask_target(&plan, &mut target, &manner).await?;
        let mut remote = Remote::open(&plan, &target, &written)?;
        let base = match (&remote, target.file.issuer.as_str()) {
            (Some(remote), "") => remote.url().clone(),
            (_, issuer) => Url::parse(issuer).map_err(|_| BadRun::NoTarget)?,
        };
        let base = Arc::new(base);
        let known = target.tells();
        if let Some(problem) = plan.unknown_of_target(&known) {
            return Err(problem.into());
        }
        let values = plan.values(known);
        if let Some(remote) = &mut remote {
            remote.bind(plan.setup.iter(), &values).await?;
        }
        let grpc = remote.as_ref().map(|remote| remote.server().clone());
        let ways = Ways { manner, grpc };
        let values = once::set_up(&plan, &target, &ways, &base, values).await?;
        if let Some(remote) = &mut remote {
            remote.bind(plan.flows(), &values).await?;
        }
        let feeds = Arc::new(Feeds::open(&plan, &values, Part::WHOLE)?);
        let given = Given {
            target: &target,
            values: &values,
        };
        let (roles, steps) = cast::roles(&plan, given, &feeds)
            .map_err(|bad| plan.problem(&bad.option, bad.why.to_string()))?;
        Ok(Self {
            warnings,
            steps: steps.into(),
            plan,
            target,
            target_table,
            ways,
            thresholds,
            autostop,
            sources,
            secrets,
            base,
            values,
            roles,
            feeds,
        })
    }

    /// What the generators play; asked for once.
    pub(crate) fn cast(&mut self, begin: Nanos) -> Cast {
        Cast {
            populations: std::mem::take(&mut self.roles),
            seed: self.plan.seed,
            begin,
            warm_until: begin.saturating_add(self.plan.warmup),
            base: Arc::clone(&self.base),
            values: Arc::clone(&self.values),
            feeds: Arc::clone(&self.feeds),
            reuse: self.plan.connection.reuse,
        }
    }
}

/// Conditions of the plan, each told with its place when it makes no sense.
fn parsed<T>(plan: &Plan, option: &str, texts: &[String]) -> Result<Vec<T>, PlayError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let each = texts.iter().enumerate().map(|(at, text)| {
        text.parse().map_err(|why: T::Err| {
            plan.problem(&format!("{option}[{at}]"), why.to_string())
                .into()
        })
    });
    each.collect()
}

fn sources(plan: &Plan) -> Result<Vec<Source>, PlayError> {
    let each = plan.watch.iter().enumerate().map(|(at, table)| {
        Source::deserialize(table.clone()).map_err(|why| {
            plan.problem(&format!("watch[{at}]"), why.to_string())
                .into()
        })
    });
    let mut sources: Vec<Source> = each.collect::<Result<_, PlayError>>()?;
    let is_watched = sources
        .iter()
        .any(|source| matches!(source, Source::Generator(_)));
    if !is_watched {
        sources.push(Source::Generator(Generator::default()));
    }
    Ok(sources)
}

fn load_target(
    plan: &Plan,
    request: &Request<'_>,
) -> Result<(Target, toml::Table, Written), PlayError> {
    match &plan.target {
        None => Err(BadRun::NoTarget.into()),
        Some(TargetName::Table(table)) => {
            let target = Target::load(&table.to_string(), &request.target_set)
                .map_err(|why| BadRun::Target("the plan's target".to_owned(), why))?;
            Ok((target, table.clone(), Written::Plan(request.plan.clone())))
        }
        Some(TargetName::File(name)) => {
            Ok(open_target(name, Some(&request.plan), &request.target_set)?)
        }
    }
}

/// A target by its name, the table that its file holds, and that file.
pub(crate) fn open_target(
    name: &str,
    plan: Option<&Path>,
    set: &BTreeMap<String, String>,
) -> Result<(Target, toml::Table, Written), BadRun> {
    let (path, text) = target_text(name, plan)?;
    let target = Target::load(&text, set).map_err(|why| BadRun::Target(name.to_owned(), why))?;
    let mut table: toml::Table = text.parse().unwrap_or_default();
    let variables = table
        .get_mut("variables")
        .and_then(toml::Value::as_table_mut);
    if let Some(variables) = variables {
        variables.extend(
            set.iter()
                .map(|(name, value)| (name.clone(), value.as_str().into())),
        );
    }
    Ok((target, table, Written::File { path, text }))
}

/// A target by the path of its file, or by name: beside the plan's directory or seen from here.
fn target_text(name: &str, plan: Option<&Path>) -> Result<(PathBuf, String), BadRun> {
    let file = format!("{name}.toml");
    let beside = plan
        .and_then(Path::parent)
        .map(|plans| plans.join("../targets").join(&file));
    let places = [
        Some(PathBuf::from(name)),
        beside,
        Some(Path::new(TARGETS).join(&file)),
    ];
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for place in places.into_iter().flatten() {
        match fs::read_to_string(&place) {
            Ok(text) => return Ok((place, text)),
            Err(error) => last = error,
        }
    }
    Err(BadRun::TargetFile(name.to_owned(), last))
}

/// Gives the target its secrets: their values, and those that cannot be read.
pub(crate) fn read_secrets(
    target: &mut Target,
    environment: &dyn Fn(&str) -> Option<String>,
) -> (Vec<String>, Vec<BadRun>) {
    let sources: BTreeMap<String, SecretSource> = target
        .secrets()
        .map(|(name, source)| (name.to_owned(), source.clone()))
        .collect();
    let (mut values, mut unread) = (Vec::new(), Vec::new());
    for (name, source) in sources {
        match read_secret(&name, source, environment) {
            Ok(value) => {
                target.set_secret(&name, &value);
                values.push(value);
            }
            Err(why) => unread.push(why),
        }
    }
    (values, unread)
}

fn read_secret(
    name: &str,
    source: SecretSource,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, BadRun> {
    let bad = |place: String, why: String| BadRun::Secret {
        name: name.to_owned(),
        place,
        why,
    };
    match source {
        SecretSource::File(path) => fs::read_to_string(&path)
            .map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
            .map_err(|error| bad(path.display().to_string(), error.to_string())),
        SecretSource::Env(variable) => environment(&variable).ok_or_else(|| {
            let place = format!("the environment variable {variable}");
            bad(place, "it is not set".to_owned())
        }),
    }
}

fn manner(connection: &Connection) -> Result<Manner, BadRun> {
    let http2 = connection.protocol == Protocol::H2;
    let trust = trust::client(&connection.trust(), http2)?;
    Ok(Manner {
        tls: Some(Arc::new(trust)),
        http2,
        keep_alive: connection.reuse != Reuse::Call,
    })
}
