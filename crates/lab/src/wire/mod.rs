//! One request and its answer over a connection, with the moments that the report needs. It must not
//! know pacing, totals or reports.

pub(crate) mod dial;
mod http1;
mod http2;
mod response;
pub(crate) mod session;
pub(crate) mod target;
pub(crate) mod trust;

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::clock::Nanos;

pub(crate) use http1::Http1;
pub(crate) use http2::{Http2, Trunk};

/// Why a request got no answer. A status is never a failure: it is an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The name has no address.
    Lookup,
    /// No connection was made.
    Connect,
    /// No secure connection was made.
    Tls,
    /// The whole exchange took longer than allowed.
    Timeout,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before the answer was complete.
    Closed,
    /// The answer is not HTTP.
    Protocol,
    /// The connection failed in another way.
    Io,
    /// The run was stopped while the request was on its way.
    Interrupted,
}

impl Kind {
    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Protocol => "protocol",
            Self::Io => "io",
            Self::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    /// What the system said, for the reader of the report.
    pub(crate) detail: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, detail: impl fmt::Display) -> Self {
        Self {
            kind,
            detail: detail.to_string(),
        }
    }

    /// The same, with where the call was to go. The query is left out: it may hold secrets.
    pub(crate) fn at(self, url: &Url) -> Self {
        Self {
            detail: format!("{}: {}", place(url), self.detail),
            ..self
        }
    }

    /// A failure of an established connection.
    fn of_io(error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Kind::Reset,
            io::ErrorKind::UnexpectedEof => Kind::Closed,
            io::ErrorKind::InvalidData => Kind::Tls,
            _ => Kind::Io,
        };
        Self::new(kind, error)
    }
}

/// A URL for messages: without what may be a secret.
pub(crate) fn place(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

/// What opening a connection took. All zero when an open one was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dialled {
    /// How many connections were opened: zero or one.
    pub(crate) count: u64,
    pub(crate) lookup: Nanos,
    /// Lookup, TCP and TLS together.
    pub(crate) whole: Nanos,
}

/// A complete answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: u64,
    pub(crate) dialled: Dialled,
    pub(crate) write: Nanos,
    pub(crate) wait: Nanos,
    pub(crate) read: Nanos,
    /// When the last byte of the answer was here.
    pub(crate) ended: Nanos,
}

/// A connection of either protocol, as one lane uses it.
#[derive(Debug)]
pub(crate) enum Link {
    Http1(Http1),
    Http2(Http2),
}

impl Link {
    /// Sends request `ordinal` at once and reads the whole answer. Dropping the future in between
    /// abandons the request and, with HTTP/1.1, its connection.
    pub(crate) async fn exchange(&mut self, ordinal: u64, start: Nanos) -> Result<Answer, Failure> {
        match self {
            Self::Http1(link) => link.exchange(ordinal, start).await,
            Self::Http2(link) => link.exchange(ordinal, start).await,
        }
    }
}
