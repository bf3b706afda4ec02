//! The command line: `signet serve` is handed on, everything else is done here. Clients, users,
//! keys and tokens are changed through the admin interface of a running server, never in its store: the
//! file is locked, and its caches would not know.

mod admin;
mod args;
mod client;
mod console;
mod error;
mod import;
mod keys;
mod manual;
mod settings;
mod table;
mod token;
mod user;
mod wire;

use std::ffi::OsString;
use std::future::Future;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::Parser;

pub use self::args::{ConfigArgs, ServeArgs};

use self::admin::{Admin, Lookup};
use self::args::{AdminArgs, Cli, ClientCommand, Command};
use self::client::Session;
use self::console::Console;
use self::error::CliError;

/// Does what the arguments say; the first of them is the name of the program. `env` looks up a
/// variable of the environment, `serve` runs the server.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    env: &dyn Fn(&str) -> Option<OsString>,
    serve: impl FnOnce(ServeArgs) -> ExitCode,
) -> ExitCode {
    let command = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.command,
        Err(refused) => {
            // Help and version come this way, too. Where they cannot be written, nobody reads.
            drop(refused.print());
            return ExitCode::from(u8::try_from(refused.exit_code()).unwrap_or(2));
        }
    };
    let command = match command {
        Command::Serve(args) => return serve(args),
        command => command,
    };
    let stdin = io::stdin();
    let is_interactive = stdin.is_terminal();
    let (mut out, mut err, mut input) = (io::stdout().lock(), io::stderr(), stdin.lock());
    let mut console = Console {
        out: &mut out,
        err: &mut err,
        input: &mut input,
        is_interactive,
    };
    match carry_out(command, env, &mut console) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is_silent() {
                console.hint(format!("signet: {error}"));
            }
            ExitCode::from(error.status())
        }
    }
}

fn carry_out(command: Command, env: Lookup<'_>, console: &mut Console<'_>) -> Result<(), CliError> {
    match command {
        // Handed on before.
        Command::Serve(_) => Ok(()),
        Command::Config(command) => settings::run(command, console),
        Command::Migrate(args) => settings::migrate(&args, console),
        Command::Client(group) => {
            if let ClientCommand::Import(args) = &group.command
                && args.dry_run
            {
                return import::rehearse(args, group.server.output.json, console);
            }
            let session = open(&group.server, env, console)?;
            wait(client::run(*group, session))
        }
        Command::User(group) => {
            let session = open(&group.server, env, console)?;
            wait(user::run(*group, session))
        }
        Command::Keys(group) => {
            let session = open(&group.server, env, console)?;
            wait(keys::run(group.command, session))
        }
        Command::Token(command) => wait(token::run(command, env, console)),
        Command::Completions { shell } => manual::completions(shell, console),
        Command::Man { dir } => manual::pages(dir.as_deref(), console),
    }
}

fn open<'a, 'b>(
    args: &AdminArgs,
    env: Lookup<'_>,
    console: &'a mut Console<'b>,
) -> Result<Session<'a, 'b>, CliError> {
    let admin = Admin::open(args, env, console)?;
    Ok(Session {
        admin,
        console,
        json: args.output.json,
    })
}

fn wait(work: impl Future<Output = Result<(), CliError>>) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .map_err(|fault| CliError::Failed(fault.to_string()))?
        .block_on(work)
}
