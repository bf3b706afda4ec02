//! Assay: a load lab for authorization servers. Whatever speaks HTTP is a target; the lab knows no
//! server in particular and shares no code with any.

mod call;
mod clock;
mod commands;
mod compare;
mod echo;
mod feed;
mod grpc;
mod histogram;
mod hit;
mod page;
mod plan;
mod play;
mod record;
mod report;
mod sample;
mod scenario;
mod timing;
mod watch;
mod wire;

use std::fmt::Display;
use std::io::{Write as _, stderr};
use std::process::ExitCode;

use clap::Parser as _;

use commands::Surroundings;
use commands::cli::{Cli, Command};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FAILED: u8 = 1;
const USAGE: u8 = 2;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Hit(args) => hit::hit(*args).unwrap_or_else(|error| {
            complain(&error, if error.is_usage() { USAGE } else { FAILED })
        }),
        Command::Echo(args) => {
            let delays = echo::Delays {
                fixed: args.delay,
                stall: args.stall,
            };
            match echo::serve(args.listen, args.sign, delays) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => complain(&error, FAILED),
            }
        }
        Command::Merge(args) => {
            hit::merge::merge(&args).unwrap_or_else(|error| complain(&error, FAILED))
        }
        lab => {
            let arguments: Vec<String> = std::env::args().collect();
            let surroundings = Surroundings {
                environment: &environment,
                arguments: &arguments,
            };
            commands::perform(lab, surroundings).unwrap_or_else(|error| {
                complain(&error, if error.is_usage() { USAGE } else { FAILED })
            })
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
