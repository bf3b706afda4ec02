//! The commands about users.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::service::AdminArgs;

#[derive(Debug, Args)]
pub(in crate::cli) struct UserGroup {
    #[command(subcommand)]
    pub(in crate::cli) command: UserCommand,
    #[command(flatten)]
    pub(in crate::cli) server: AdminArgs,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum UserCommand {
    /// Create a user
    Create(CreateUserArgs),
    /// Show a user
    Get {
        /// The user, by id or username
        user: String,
    },
    /// List users in the order of their usernames
    List(UserPageArgs),
    /// Find users by the beginning of what is known about them
    Search {
        /// What it begins with; case does not count
        text: String,
        /// Where to look
        #[arg(long, value_enum, default_value_t = SearchBy::Username)]
        by: SearchBy,
        #[command(flatten)]
        page: UserPageArgs,
    },
    /// Import users from a file: of Signet, or a realm export of Keycloak
    ///
    /// The file is one JSON object a line, a JSON array, or an object with the array `users`.
    /// docs/cli.md says how the fields are mapped. Users that exist are left as they are, so that
    /// an import that broke off is taken up by the same command.
    Import(ImportUsersArgs),
    /// Lock users: they cannot log in, and their tokens and sessions are dead
    Lock {
        /// The users, by id or username
        #[arg(required = true, value_name = "USER")]
        users: Vec<String>,
    },
    /// Unlock users; their tokens and sessions from before stay dead
    Unlock {
        /// The users, by id or username
        #[arg(required = true, value_name = "USER")]
        users: Vec<String>,
    },
    /// Set the password of a user, read from the standard input; tokens and sessions are dead
    Password {
        /// The user, by id or username
        user: String,
        /// An existing hash instead: bcrypt, PBKDF2 or Argon2
        #[arg(long, value_name = "HASH")]
        hash: Option<String>,
    },
    /// Give a user these roles and no others; its tokens are dead
    Roles {
        /// The user, by id or username
        user: String,
        /// The roles; none takes all away
        #[arg(value_name = "ROLE")]
        roles: Vec<String>,
    },
    /// Delete users; their tokens and sessions are dead
    Delete {
        /// The users, by id or username
        #[arg(required = true, value_name = "USER")]
        users: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// List the sessions in which a user is logged in
    Sessions {
        /// The user, by id or username
        user: String,
    },
    /// End the sessions of a user, with the tokens that belong to them
    EndSessions {
        /// The user, by id or username
        user: String,
        /// Only this one, as `signet user sessions` names it
        #[arg(long, value_name = "SID")]
        session: Option<String>,
    },
    /// List what a user allowed which clients
    Consents {
        /// The user, by id or username
        user: String,
    },
    /// Withdraw what a user allowed a client; the client must ask again
    Withdraw {
        /// The user, by id or username
        user: String,
        /// The client
        client: String,
    },
}

#[derive(Debug, Default, Args)]
pub(in crate::cli) struct CreateUserArgs {
    /// The name at login
    pub(in crate::cli) username: Option<String>,
    /// JSON object with any fields of a user; `-` is the standard input. Arguments go over it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(in crate::cli) from: Option<PathBuf>,
    /// The subject of its tokens [default: one is drawn]
    #[arg(long)]
    pub(in crate::cli) id: Option<String>,
    /// The full name
    #[arg(long)]
    pub(in crate::cli) name: Option<String>,
    /// The e-mail address
    #[arg(long)]
    pub(in crate::cli) email: Option<String>,
    /// The e-mail address is known to be the user's
    #[arg(long, requires = "email")]
    pub(in crate::cli) email_verified: bool,
    /// Role of the user; may be given many times
    #[arg(long)]
    pub(in crate::cli) role: Vec<String>,
    /// Read the password from the standard input
    #[arg(long, conflicts_with = "password_hash")]
    pub(in crate::cli) password_stdin: bool,
    /// An existing hash of the password: bcrypt, PBKDF2 or Argon2
    #[arg(long, value_name = "HASH")]
    pub(in crate::cli) password_hash: Option<String>,
}

#[derive(Debug, Default, Args)]
pub(in crate::cli) struct UserPageArgs {
    /// Where to go on: the hint of the page before
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub(in crate::cli) after: Option<String>,
    /// How many, at most 1000 [default: 100]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000), conflicts_with = "all")]
    pub(in crate::cli) limit: Option<u16>,
    /// All of them, page by page
    #[arg(long)]
    pub(in crate::cli) all: bool,
}

/// What users are searched by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SearchBy {
    /// The name at login
    Username,
    /// The e-mail address
    Email,
    /// The full name
    Name,
}

impl SearchBy {
    /// The parameter of the query.
    pub(in crate::cli) fn parameter(self) -> &'static str {
        match self {
            Self::Username => "username",
            Self::Email => "email",
            Self::Name => "name",
        }
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportUsersArgs {
    /// The file; `-` is the standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(in crate::cli) file: PathBuf,
    /// Users that are sent, and written, at once
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(in crate::cli) batch: u16,
}
