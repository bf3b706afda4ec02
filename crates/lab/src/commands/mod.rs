//! The commands that work on plans and run directories: from what the user asked for to what is printed.
//! It must not know how anything is done.

pub(crate) mod cli;
mod draw;
mod prepare;

use std::collections::BTreeMap;
use std::io::{self, Write as _, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::commands::cli::{
    AbArgs, Command, CompareArgs, CompareOptions, JudgeArgs, ReportArgs, RunArgs, RunCommon, Shape,
};
use crate::compare::judge::grammar::Unclear;
use crate::compare::judge::threshold::{self, Threshold};
use crate::compare::judge::{NOT_KEPT, exit_code};
use crate::compare::order::{Side, interleaved};
use crate::compare::{self, CompareError, Comparison, Options};
use crate::plan::Overrides;
use crate::play::{self, PlayError, Played, Request};
use crate::record::control::{self, StopError};
use crate::record::kept::{Kept, KeptError};
use crate::record::summary::{Summary, Unreadable};
use crate::report::kept::{self, Form, ReportError};
use crate::report::table;

/// What commands know of the process that they run in.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// Tells a variable of the environment.
    pub(crate) environment: &'a dyn Fn(&str) -> Option<String>,
    /// The command as it was given.
    pub(crate) arguments: &'a [String],
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Play(#[from] PlayError),
    #[error(transparent)]
    Stop(#[from] StopError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error(transparent)]
    Draw(#[from] draw::DrawError),
    #[error("{0}")]
    Threshold(#[from] Unclear),
    #[error("the report cannot be made: {0}")]
    Text(#[from] std::fmt::Error),
    #[error("the report cannot be made: {0}")]
    Json(#[from] serde_json::Error),
    #[error("cannot write the report: {0}")]
    Output(#[from] io::Error),
    #[error(transparent)]
    Kept(#[from] KeptError),
    #[error("{path}: its plan has no thresholds; give some with -t", path = .0.display())]
    NoThresholds(PathBuf),
    #[error("the sides have no step in common: there is nothing to compare")]
    NothingInCommon,
    #[error("a run of side {0} was stopped before its end: the sides cannot be compared")]
    Cut(&'static str),
}

impl CommandError {
    /// Whether what was asked makes no sense, rather than that doing it failed.
    pub(crate) fn is_usage(&self) -> bool {
        match self {
            Self::Play(error) => error.is_usage(),
            Self::Threshold(_) | Self::NoThresholds(_) => true,
            _ => false,
        }
    }
}

pub(crate) fn perform(
    command: Command,
    surroundings: Surroundings<'_>,
) -> Result<ExitCode, CommandError> {
    match command {
        Command::Run(args) => run(*args, surroundings),
        Command::Stop(args) => {
            control::stop(&args.run)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Report(args) => report(args),
        Command::Plot(args) => {
            for file in draw::draw(&args.runs, args.output.as_deref(), &args.series)? {
                writeln!(stdout(), "{}", file.display())?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Compare(args) => compare_runs(&args),
        Command::Ab(args) => ab(&args, surroundings),
        Command::Judge(args) => judge(&args),
        Command::Prepare(args) => {
            let files = prepare::prepare(&args, surroundings.environment)?;
            for file in files {
                writeln!(stdout(), "{}", file.display())?;
            }
            Ok(ExitCode::SUCCESS)
        }
        // What is not about plans and runs has been done by now.
        Command::Hit(_) | Command::Echo(_) | Command::Merge(_) => Ok(ExitCode::SUCCESS),
    }
}

fn request<'a>(
    plan: PathBuf,
    mut overrides: Overrides,
    common: &RunCommon,
    surroundings: Surroundings<'a>,
) -> Request<'a> {
    let keep = common.keep.iter().map(|keep| format!("keep={keep}"));
    overrides.set.extend(keep);
    Request {
        plan,
        overrides,
        target_set: pairs(&common.target_set),
        root: common.runs.clone(),
        threads: common.threads,
        quiet: common.quiet,
        watch_every: common.watch_every,
        labels: pairs(&common.label),
        command: surroundings.arguments.to_vec(),
        environment: surroundings.environment,
    }
}

fn run(args: RunArgs, surroundings: Surroundings<'_>) -> Result<ExitCode, CommandError> {
    let overrides = Overrides {
        target: args.target,
        users: args.users,
        rate: args.rate,
        duration: args.duration,
        set: args.set,
    };
    let played = play::play(&request(args.plan, overrides, &args.common, surroundings))?;
    tell(&played)?;
    let code = exit_code(&played.judgements, played.stop.as_ref());
    let rows = &played.summary.rows;
    // A run of which nothing was right has shown nothing, whether or not anybody set a threshold.
    let is_empty = rows.iter().all(|row| row.right() == 0);
    Ok(if code == 0 && is_empty {
        ExitCode::FAILURE
    } else {
        code.into()
    })
}

fn tell(played: &Played) -> Result<(), CommandError> {
    let mut out = stdout().lock();
    out.write_all(table::render(&played.summary)?.as_bytes())?;
    if !played.judgements.is_empty() {
        out.write_all(threshold::render(&played.judgements)?.as_bytes())?;
    }
    writeln!(out, "kept in {}", played.directory.display())?;
    Ok(())
}

fn report(args: ReportArgs) -> Result<ExitCode, CommandError> {
    let form = match args.layout {
        Some(layout) => Form::Layout(layout),
        None if args.json => Form::Json,
        None if args.hey => Form::Hey { step: args.step },
        None => Form::Table,
    };
    stdout().write_all(kept::report(&args.runs, &form)?.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn options(wishes: &CompareOptions) -> Options {
    Options {
        alpha: wishes.alpha,
        least: wishes.least.unwrap_or(0.0),
        resources: wishes.resources,
        metrics: if wishes.metric.is_empty() {
            Options::default().metrics
        } else {
            wishes.metric.clone()
        },
    }
}

fn show(comparison: &Comparison, wishes: &CompareOptions) -> Result<ExitCode, CommandError> {
    if comparison.lines.is_empty() {
        return Err(CommandError::NothingInCommon);
    }
    let text = match wishes.format {
        Shape::Text => comparison.text()?,
        Shape::Markdown => comparison.markdown()?,
        Shape::Json => comparison.json()?,
    };
    stdout().write_all(text.as_bytes())?;
    let fails = wishes.fail_if_worse && comparison.is_worse();
    Ok(if fails {
        NOT_KEPT.into()
    } else {
        ExitCode::SUCCESS
    })
}

fn compare_runs(args: &CompareArgs) -> Result<ExitCode, CommandError> {
    let comparison = compare::compare(&args.a, &args.b, &options(&args.options))?;
    show(&comparison, &args.options)
}

/// Runs both sides in turns, so that what happens to the machine happens to both.
fn ab(args: &AbArgs, surroundings: Surroundings<'_>) -> Result<ExitCode, CommandError> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for side in interleaved(args.repeats) {
        let (name, plan, target, set, runs) = match side {
            Side::A => ("A", &args.plan, &args.a_target, &args.a_set, &mut a),
            Side::B => {
                let plan = args.b_plan.as_ref().unwrap_or(&args.plan);
                ("B", plan, &args.b_target, &args.b_set, &mut b)
            }
        };
        let overrides = Overrides {
            target: target.clone(),
            set: args.set.iter().chain(set).cloned().collect(),
            ..Overrides::default()
        };
        let mut asked = request(plan.clone(), overrides, &args.common, surroundings);
        asked.labels.insert("side".to_owned(), name.to_owned());
        let played = play::play(&asked)?;
        if played.interrupted || played.stop.is_some() {
            return Err(CommandError::Cut(name));
        }
        runs.push(played.directory);
        writeln!(io::stderr(), "{name}: {}", runs[runs.len() - 1].display())?;
    }
    let comparison = compare::compare(&a, &b, &options(&args.options))?;
    show(&comparison, &args.options)
}

/// The thresholds that were given or, where none was, those of the run's plan.
fn thresholds(args: &JudgeArgs, run: &Path) -> Result<Vec<Threshold>, CommandError> {
    let mut texts = args.threshold.clone();
    if texts.is_empty() {
        let kept = Kept::open(run)?;
        let planned = kept.plan.get("thresholds").and_then(toml::Value::as_array);
        let planned = planned
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_str);
        texts.extend(planned.map(str::to_owned));
    }
    if texts.is_empty() {
        return Err(CommandError::NoThresholds(run.to_owned()));
    }
    let parsed = texts.iter().map(|text| text.parse());
    Ok(parsed.collect::<Result<_, Unclear>>()?)
}

fn judge(args: &JudgeArgs) -> Result<ExitCode, CommandError> {
    let mut code = 0;
    for run in &args.runs {
        let thresholds = thresholds(args, run)?;
        let judgements = threshold::judge(&Summary::read(run)?, &thresholds);
        let mut out = stdout().lock();
        if args.runs.len() > 1 {
            writeln!(out, "{}", run.display())?;
        }
        out.write_all(threshold::render(&judgements)?.as_bytes())?;
        code = code.max(exit_code(&judgements, None));
    }
    Ok(code.into())
}

/// Pairs of the command line as a map.
fn pairs(of: &[(String, String)]) -> BTreeMap<String, String> {
    of.iter().cloned().collect()
}
