//! `signet config …` and `signet migrate`: what the server would start with, without starting it.

use super::args::{ConfigArgs, ConfigCommand, MigrateArgs};
use super::console::Console;
use super::error::CliError;
use crate::config::{Config, Outside};
use crate::store::{Store, StoreUrl};

/// Carries out a command about the configuration.
pub(super) fn run(command: ConfigCommand, console: &mut Console<'_>) -> Result<(), CliError> {
    match command {
        ConfigCommand::Check(args) => {
            let config = load(&args)?;
            console.say("the configuration is in order")?;
            for (name, value) in [
                ("issuer", config.issuer.clone()),
                ("public", config.public_listen.to_string()),
                ("admin", config.admin_listen.to_string()),
                ("store", config.store.to_string()),
                ("data", config.data_dir.display().to_string()),
            ] {
                console.say(format!("{name:<8}{value}"))?;
            }
            Ok(())
        }
        ConfigCommand::Print {
            config,
            show_secrets,
        } => {
            let text = load(&config)?.print(!show_secrets);
            console.write(text.as_bytes())
        }
    }
}

/// Applies the missing migrations.
pub(super) fn migrate(args: &MigrateArgs, console: &mut Console<'_>) -> Result<(), CliError> {
    let url = if let Some(url) = &args.store {
        url.clone()
    } else {
        let config = ConfigArgs::of_migration(args);
        load(&config)?.store.expose().to_owned()
    };
    let failed = |fault: crate::store::OpenError| CliError::Failed(fault.to_string());
    let url = StoreUrl::parse(&url).map_err(failed)?;
    let (before, after) = Store::migrate(&url).map_err(failed)?;
    if before == after {
        return console.say(format!("{url} has schema {after} already"));
    }
    console.say(format!("{url} went from schema {before} to {after}"))
}

fn load(args: &ConfigArgs) -> Result<Config, CliError> {
    let file = args.config.as_deref();
    Config::load(file, &Outside::real(), &args.overrides())
        .map_err(|fault| CliError::Failed(format!("the configuration is not in order:\n{fault}")))
}
