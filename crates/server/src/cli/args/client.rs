//! The commands about clients.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::fields::{FieldArgs, SecretArgs, forms, kinds};
use super::service::AdminArgs;

#[derive(Debug, Args)]
pub(in crate::cli) struct ClientGroup {
    #[command(subcommand)]
    pub(in crate::cli) command: ClientCommand,
    #[command(flatten)]
    pub(in crate::cli) server: AdminArgs,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ClientCommand {
    /// Create a client; a secret is made for it unless one is given, and told once
    Create {
        /// Its id [default: one is drawn]
        #[arg(long)]
        id: Option<String>,
        #[command(flatten)]
        write: WriteArgs,
    },
    /// Show a client
    Get {
        /// The client
        id: String,
    },
    /// List clients in the order of their ids
    List(ListArgs),
    /// Replace the whole description of a client; its secret stays unless another one is given
    Replace {
        /// The client
        id: String,
        #[command(flatten)]
        write: WriteArgs,
        /// Only if the client still has this version
        #[arg(long, value_name = "VERSION")]
        if_version: Option<u64>,
    },
    /// Change some fields of a client
    Update {
        /// The client
        id: String,
        #[command(flatten)]
        write: WriteArgs,
        /// Field to take away, by its name in JSON; may be given many times
        #[arg(long, value_name = "FIELD", help_heading = "Fields")]
        unset: Vec<String>,
        /// Only if the client still has this version
        #[arg(long, value_name = "VERSION")]
        if_version: Option<u64>,
    },
    /// Delete clients; their tokens are dead
    Delete {
        /// The clients
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Give a client a new secret, told once; its tokens are dead
    RotateSecret {
        /// The client
        id: String,
    },
    /// Disable a client: it gets no tokens, and those that it has are dead
    Disable {
        /// The client
        id: String,
    },
    /// Enable a client again; its tokens from before stay dead
    Enable {
        /// The client
        id: String,
    },
    /// Revoke every token that was issued to a client so far
    RevokeTokens {
        /// The client
        id: String,
    },
    /// Create clients from a file: of Signet, of Hydra, or a realm export of Keycloak
    ///
    /// The file is a JSON array, an object with the array `clients`, or one JSON object a line.
    /// docs/cli.md says how the fields are mapped. An import that broke off is taken up again
    /// with --skip-existing.
    Import(ImportArgs),
}

/// What a client is written from.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct WriteArgs {
    #[command(flatten)]
    pub(in crate::cli) fields: FieldArgs,
    #[command(flatten)]
    pub(in crate::cli) secret: SecretArgs,
}

#[derive(Debug, Default, Args)]
pub(in crate::cli) struct ListArgs {
    /// Begin after this id
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) after: Option<String>,
    /// How many, at most 1000 [default: 100]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000), conflicts_with = "all")]
    pub(in crate::cli) limit: Option<u16>,
    /// All of them, page by page
    #[arg(long)]
    pub(in crate::cli) all: bool,
    /// Only clients of this name
    #[arg(long)]
    pub(in crate::cli) name: Option<String>,
    /// Only clients of this owner
    #[arg(long)]
    pub(in crate::cli) owner: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArgs {
    /// The file; `-` is the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(in crate::cli) file: PathBuf,
    /// Whose file it is
    #[arg(long, value_enum, default_value_t = Format::Auto)]
    pub(in crate::cli) format: Format,
    /// Leave clients that exist as they are, and go on
    #[arg(long)]
    pub(in crate::cli) skip_existing: bool,
    /// Make secrets for clients that come without one, and write them to this file, a JSON object
    /// a line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(in crate::cli) secrets: Option<PathBuf>,
    /// How secrets that come in clear are hashed [default: as the server is configured]
    #[arg(long, value_name = "SPEC")]
    pub(in crate::cli) secret_hash: Option<String>,
    /// What access tokens look like where the file does not say
    #[arg(long, value_name = "FORM", value_parser = forms())]
    pub(in crate::cli) access_token: Option<String>,
    /// Whether access tokens are written to the store where the file does not say
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(in crate::cli) persistence: Option<String>,
    /// Send nothing: print what would be sent, a JSON object a line, secrets included
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// Requests that are under way at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(in crate::cli) jobs: u16,
}

/// Whose file is imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// Keycloak where a client has `clientId`, Hydra otherwise
    #[default]
    Auto,
    /// Fields as they are
    Signet,
    /// What Hydra answers at `/clients`, or rows of its table `hydra_client`
    Hydra,
    /// A realm export
    Keycloak,
}
