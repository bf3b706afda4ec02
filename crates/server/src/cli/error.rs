//! Why a command did not do what it was asked: a sentence for the user, which says what to do, and
//! an exit status.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// The arguments do not go together.
    #[error("{0}")]
    Usage(String),
    /// A sentence that was made elsewhere.
    #[error("{0}")]
    Failed(String),
    /// The user was told already.
    #[error("")]
    Told,
    /// A file or stream cannot be read or written.
    #[error("{}: {cause}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// There is no admin token.
    #[error(
        "the admin token cannot be read: {}: {cause}\nThe server writes it into its data \
         directory when it first starts (`signet serve`), readable by its own user only. Name the \
         directory with --data-dir, or the file with --token-file", .path.display()
    )]
    NoToken {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// Nobody answers.
    #[error(
        "no server answers at {endpoint} ({cause})\nStart one with `signet serve --dev`, or \
         `signet serve --config FILE`; if it listens elsewhere, name the URL with {option}"
    )]
    Unreachable {
        /// Where it should be.
        endpoint: String,
        /// The argument that names another one.
        option: &'static str,
        /// What the system said.
        cause: String,
    },
    /// The connection is not secure.
    #[error(
        "{endpoint} could not prove who it is ({cause})\nIf its certificate is of your own \
         authority, name the authority's PEM file with --cacert"
    )]
    Untrusted {
        /// The server.
        endpoint: String,
        /// What TLS said.
        cause: String,
    },
    /// The connection broke, or no answer came in time.
    #[error("{endpoint} did not answer: {cause}")]
    Broken {
        /// The server.
        endpoint: String,
        /// What happened.
        cause: String,
    },
    /// The server does not believe in our token.
    #[error(
        "the server at {endpoint} does not accept the admin token of {}: {description}\nIs it the \
         token of this server? Name another file with --token-file, or its data directory with \
         --data-dir", .token_file.display()
    )]
    Unauthorized {
        /// The server.
        endpoint: String,
        /// Where the token came from.
        token_file: PathBuf,
        /// What the server said.
        description: String,
    },
    /// The server says no.
    #[error("{description} ({code})")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The error code.
        code: String,
        /// The server's sentence.
        description: String,
    },
    /// Somebody else answers.
    #[error(
        "{endpoint} answered with something that is not Signet's (HTTP {status})\nIs it the URL \
         of the {listener} listener?"
    )]
    Foreign {
        /// The server.
        endpoint: String,
        /// HTTP status.
        status: u16,
        /// The listener that was meant.
        listener: &'static str,
    },
    /// The user reads no more.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    /// A file that cannot be read or written.
    pub(super) fn file(path: &Path, cause: impl Display) -> Self {
        Self::File {
            path: path.to_owned(),
            cause: cause.to_string(),
        }
    }

    /// The exit status: 2 where the command line is wrong, as clap says it, 1 otherwise.
    pub(super) fn status(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            // Whoever closed the pipe has read enough: `signet client list | head`.
            Self::Output(fault) if fault.kind() == io::ErrorKind::BrokenPipe => 0,
            _ => 1,
        }
    }

    /// Whether there is anything left to say.
    pub(super) fn is_silent(&self) -> bool {
        matches!(self, Self::Told) || self.status() == 0
    }

    /// Whether the next request would fail in the same way.
    pub(super) fn is_lasting(&self) -> bool {
        match self {
            Self::Refused { status, .. } => *status == 403,
            _ => true,
        }
    }
}
