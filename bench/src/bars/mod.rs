//! Every bar of the token service, a group of rows each.

mod introspection;
mod live;
mod memory;
mod reads;
mod revocations;
mod starts;
mod tokens;
mod yardstick;

pub(crate) use memory::megabytes;
pub(crate) use tokens::asking;

use clap::ValueEnum;
use std::io::{Write as _, stdout};

use crate::failure::{Context, Failed, Outcome};
use crate::lab::Lab;
use crate::row::Table;

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// The ceiling against nginx, and our generator against wrk
    Yardstick,
    /// Client credentials without a store
    Tokens,
    /// Introspection of different tokens
    Introspection,
    /// A client, discovery, the key set
    Reads,
    /// Idle, and after many tokens
    Memory,
    /// Persisted tokens among millions of live ones
    Live,
    /// Start with many clients and revocations
    Starts,
    /// Revocations of JWTs at a fixed rate, and what they cost others
    Revocations,
    /// The same of opaque tokens
    OpaqueRevocations,
}

/// Measures the groups, or all of them.
pub(crate) fn run(lab: &Lab, groups: &[Group]) -> Outcome<()> {
    let mut table = Table::new(lab);
    let all = Group::value_variants();
    for group in if groups.is_empty() { all } else { groups } {
        let (name, measure): (_, fn(&Lab, &mut Table) -> Outcome<()>) = match group {
            Group::Yardstick => ("yardstick", yardstick::measure),
            Group::Tokens => ("tokens", tokens::measure),
            Group::Introspection => ("introspection", introspection::measure),
            Group::Reads => ("reads", reads::measure),
            Group::Memory => ("memory", memory::measure),
            Group::Live => ("live", live::measure),
            Group::Starts => ("starts", starts::measure),
            Group::Revocations => ("revocations", revocations::jwt),
            Group::OpaqueRevocations => ("opaque-revocations", revocations::opaque),
        };
        table.try_group(name, measure)?;
    }
    stdout()
        .write_all(table.markdown().as_bytes())
        .context("standard output")?;
    lab.say(format_args!(
        "kept in {}",
        lab.results.directory().display()
    ));
    match table.missed() {
        0 => Ok(()),
        missed => Err(Failed::because(format_args!(
            "{missed} bars missed or not measured"
        ))),
    }
}
