//! Which server is talked to, and the commands about keys and tokens.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::endpoint::Endpoint;
use super::fields::signing_algs;

/// Which server is administrated.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Connection")]
pub(in crate::cli) struct AdminArgs {
    /// Admin listener of the server [env: SIGNET_ADMIN_URL] [default: http://127.0.0.1:4445]
    #[arg(long, global = true, value_name = "URL", value_parser = Endpoint::parse)]
    pub(in crate::cli) admin: Option<Endpoint>,
    /// File that holds the admin token [env: SIGNET_ADMIN_TOKEN_FILE] [default: admin.token in
    /// the data directory]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(in crate::cli) token_file: Option<PathBuf>,
    /// Data directory of the server [env: SIGNET_DATA_DIR] [default: ./data]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}

/// What holds for every command that talks to a server.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Connection")]
pub(in crate::cli) struct OutputArgs {
    /// PEM file of the authorities to believe instead of the system's, for https
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(in crate::cli) cacert: Option<PathBuf>,
    /// Print JSON for machines instead of text for people
    #[arg(long, global = true)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct KeysGroup {
    #[command(subcommand)]
    pub(in crate::cli) command: KeysCommand,
    #[command(flatten)]
    pub(in crate::cli) server: AdminArgs,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum KeysCommand {
    /// List the signing keys
    List,
    /// Make a key; it signs once its publication has reached everybody
    Create(KeyArgs),
    /// Publish the next key of an algorithm; it takes over once it is known everywhere
    Rotate(KeyArgs),
    /// Retire a key at once: it signs no more, and stays published until its tokens are dead
    Retire {
        /// The key, as `signet keys list` names it
        #[arg(allow_hyphen_values = true)]
        kid: String,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct KeyArgs {
    /// Algorithm of the key [default: the server's]
    #[arg(long, value_parser = signing_algs())]
    pub(in crate::cli) alg: Option<String>,
    /// Remote signer that holds the key, by its name in the configuration
    #[arg(long, value_name = "SIGNER", requires = "kid")]
    pub(in crate::cli) remote: Option<String>,
    /// Name of the key at the remote signer
    #[arg(long, requires = "remote")]
    pub(in crate::cli) kid: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TokenCommand {
    /// Say what there is to know about a token
    Introspect(PresentedArgs),
    /// Revoke a token, by itself or by its handle
    Revoke(RevokeArgs),
    /// List the persisted tokens of a client that have not expired, the soonest to expire first
    List(TokensArgs),
    /// Get a token as a client would, with client_credentials
    ///
    /// Prints the token and nothing else: `TOKEN=$(signet token get --client-id shop …)`.
    Get(Box<GetTokenArgs>),
    /// Remove from the store what has expired; it goes by itself in time
    Flush(AdminArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct PresentedArgs {
    /// The token; `-` reads it from the standard input
    pub(in crate::cli) token: String,
    #[command(flatten)]
    pub(in crate::cli) server: AdminArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RevokeArgs {
    /// The token; `-` reads it from the standard input. With --client, a handle that `token list`
    /// shows
    #[arg(allow_hyphen_values = true)]
    pub(in crate::cli) token: String,
    /// Client whose token it is: needed for a handle
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) client: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) server: AdminArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct TokensArgs {
    /// The client
    pub(in crate::cli) client: String,
    /// Where to go on: the hint of the page before
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub(in crate::cli) after: Option<String>,
    /// Tokens on the page [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(in crate::cli) limit: Option<u16>,
    /// All pages
    #[arg(long, conflicts_with_all = ["after", "limit"])]
    pub(in crate::cli) all: bool,
    #[command(flatten)]
    pub(in crate::cli) server: AdminArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct GetTokenArgs {
    /// The client
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) client_id: String,
    /// Its secret; others on this machine may see it in the list of processes
    #[arg(
        long,
        value_name = "SECRET",
        conflicts_with = "client_secret_stdin",
        allow_hyphen_values = true
    )]
    pub(in crate::cli) client_secret: Option<String>,
    /// Read the secret from the standard input
    #[arg(long)]
    pub(in crate::cli) client_secret_stdin: bool,
    /// Scopes, separated by spaces [default: those that the client is registered for]
    #[arg(long)]
    pub(in crate::cli) scope: Vec<String>,
    /// Resource that the token is for; may be given many times
    #[arg(long, value_name = "URI")]
    pub(in crate::cli) resource: Vec<String>,
    /// Public listener of the server [env: SIGNET_ISSUER] [default: http://127.0.0.1:4444]
    #[arg(long, value_name = "URL", value_parser = Endpoint::parse, help_heading = "Connection")]
    pub(in crate::cli) server: Option<Endpoint>,
    #[command(flatten)]
    pub(in crate::cli) output: OutputArgs,
}
