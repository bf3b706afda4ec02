//! Assay: a load lab for authorization servers. Whatever speaks HTTP is a target; the lab knows no
//! server in particular and shares no code with any.

mod alarm;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the engine that uses it comes with the plans")
)]
mod call;
mod cli;
mod clock;
#[expect(dead_code, reason = "the engine that uses it comes with the plans")]
mod compare;
mod echo;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the engine that uses it comes with the plans")
)]
mod feed;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the engine that uses it comes with the plans")
)]
mod grpc;
mod histogram;
mod hit;
#[expect(dead_code, reason = "the engine that uses it comes with the plans")]
mod plan;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the engine that uses it comes with the plans")
)]
mod plot;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the engine that uses it comes with the plans")
)]
mod record;
mod report;
mod sample;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the engine that uses it comes with the plans")
)]
mod scenario;
mod target;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the engine that uses it comes with the plans")
)]
mod watch;
mod watchdog;
mod wire;

use std::fmt::Display;
use std::io::{Write as _, stderr};
use std::process::ExitCode;

use clap::Parser as _;

use cli::{Cli, Command};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FAILED: u8 = 1;
const USAGE: u8 = 2;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Hit(args) => hit::hit(*args).unwrap_or_else(|error| {
            complain(&error, if error.is_usage() { USAGE } else { FAILED })
        }),
        Command::Echo(args) => match echo::serve(args.listen, args.sign) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&error, FAILED),
        },
        Command::Merge(args) => {
            hit::merge::merge(&args).unwrap_or_else(|error| complain(&error, FAILED))
        }
    }
}

/// A variable of the environment, for the secrets that a plan names.
#[expect(clippy::disallowed_methods, reason = "only here is it read")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn complain(error: &dyn Display, code: u8) -> ExitCode {
    // Without stderr the exit status has to say it alone.
    drop(writeln!(stderr(), "assay: {error}"));
    ExitCode::from(code)
}
