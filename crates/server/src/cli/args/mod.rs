//! What may be said on the command line. It must not do anything: it is data, from which help,
//! completions and manual pages come, too.

#![expect(clippy::doc_markdown, reason = "clap prints the comments as they are")]

mod client;
mod endpoint;
mod fields;
mod service;
#[cfg(test)]
mod tests;
mod user;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

pub(super) use client::{ClientCommand, ClientGroup, Format, ImportArgs, ListArgs, WriteArgs};
pub(super) use endpoint::Endpoint;
pub(super) use fields::{FieldArgs, LoginArgs, SecretArgs, TokenArgs};
pub(super) use service::{
    AdminArgs, GetTokenArgs, KeyArgs, KeysCommand, KeysGroup, PresentedArgs, RevokeArgs,
    TokenCommand, TokensArgs,
};
pub(super) use user::{CreateUserArgs, ImportUsersArgs, UserCommand, UserGroup, UserPageArgs};

/// An OAuth 2.0 and OpenID Connect authorization server
///
/// `signet serve --dev` starts one to try out. The commands `client`, `user`, `keys` and
/// `token` talk to a server that is running.
#[derive(Debug, Parser)]
#[command(
    name = "signet",
    version,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the server until SIGTERM or Ctrl-C
    Serve(ServeArgs),
    /// Check the configuration, or print it
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Bring the schema of the store up to date; the server must not be running
    Migrate(MigrateArgs),
    /// Create, read, change, delete and import clients
    Client(Box<ClientGroup>),
    /// Create, find, change, lock and import users; end their sessions
    User(Box<UserGroup>),
    /// List, create, rotate and retire signing keys
    Keys(KeysGroup),
    /// Get, introspect and revoke tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Print the completions of a shell
    ///
    /// For bash: `signet completions bash > ~/.local/share/bash-completion/completions/signet`
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write all of them into a directory
    Man {
        /// The directory, made if it is not there
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

/// What `signet serve` was asked to do.
#[derive(Clone, Debug, Default, Args)]
pub struct ServeArgs {
    /// Where the configuration comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// Where the configuration comes from: a file, and what goes over it.
#[derive(Clone, Debug, Default, Args)]
pub struct ConfigArgs {
    /// Development mode: an http issuer on loopback, and a demo client
    #[arg(long)]
    pub dev: bool,
    /// The configuration, a TOML file [env: SIGNET_CONFIG]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// `sqlite:PATH`, `postgres://USER@HOST/DATABASE` or `memory:`; a password is better kept in
    /// SIGNET_STORE or in a file [env: SIGNET_STORE]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Directory of what the server writes itself [env: SIGNET_DATA_DIR] [default: ./data]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    data_dir: Option<String>,
    /// URL by which clients know the server [env: SIGNET_ISSUER]
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
    /// Address that clients are answered at [env: SIGNET_PUBLIC_LISTEN]
    #[arg(long, value_name = "ADDRESS")]
    public_listen: Option<SocketAddr>,
    /// Address that administrators are answered at [env: SIGNET_ADMIN_LISTEN]
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<SocketAddr>,
    /// Any option, as in `tokens.signing_alg=EdDSA`; may be given many times
    #[arg(long = "set", value_name = "OPTION=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
}

impl ConfigArgs {
    /// What was said on the command line, by the paths of the options.
    pub fn overrides(&self) -> Vec<(&str, String)> {
        let text = |address: &SocketAddr| address.to_string();
        let named = [
            ("dev", self.dev.then(|| "true".to_owned())),
            ("store", self.store.clone()),
            ("data_dir", self.data_dir.clone()),
            ("issuer", self.issuer.clone()),
            ("public_listen", self.public_listen.as_ref().map(text)),
            ("admin_listen", self.admin_listen.as_ref().map(text)),
        ];
        let named = named
            .into_iter()
            .filter_map(|(option, value)| Some((option, value?)));
        let set = self
            .set
            .iter()
            .map(|(option, value)| (option.as_str(), value.clone()));
        named.chain(set).collect()
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Say whether the server would start with this configuration, and everything that is wrong
    Check(ConfigArgs),
    /// Print the whole configuration, defaults included, as a TOML file
    Print {
        #[command(flatten)]
        config: ConfigArgs,
        /// Print the password of the store, too
        #[arg(long)]
        show_secrets: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct MigrateArgs {
    /// `sqlite:PATH` or `postgres://…`; otherwise the configuration says where the store is
    #[arg(long, value_name = "URL")]
    pub(super) store: Option<String>,
    /// The configuration, a TOML file [env: SIGNET_CONFIG]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) config: Option<PathBuf>,
    /// Directory of what the server writes itself [env: SIGNET_DATA_DIR] [default: ./data]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) data_dir: Option<String>,
}

impl ConfigArgs {
    /// The configuration as far as a migration reads it: where the store is. A migration may run
    /// where nobody knows the issuer, which development mode does not ask for.
    pub(super) fn of_migration(args: &MigrateArgs) -> Self {
        Self {
            dev: true,
            config: args.config.clone(),
            data_dir: args.data_dir.clone(),
            ..Self::default()
        }
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (option, value) = text.split_once('=').ok_or("write it as OPTION=VALUE")?;
    Ok((option.trim().to_owned(), value.to_owned()))
}
