//! One request of a flow and its answer, as plain values: what flows build and judge, and what the
//! engine sends. It must not know connections, time or totals.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;
use url::Url;

use crate::grpc::metadata::Metadata;
use crate::grpc::prepared::Prepared;
use crate::grpc::status::Code;

/// A request, whole. `Host`, `Content-Length` and `Connection` are the engine's to add.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
}

impl fmt::Debug for Call {
    /// Without what may hold secrets: query, headers, body.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Call({} {})", self.method, self.url.path())
    }
}

/// A call in gRPC, whole.
#[derive(Clone)]
pub(crate) struct Rpc {
    /// The method as a URL.
    pub(crate) url: Url,
    pub(crate) prepared: Prepared,
    pub(crate) metadata: Arc<Metadata>,
    /// The codes with which it ends as it should. A call without a proper end counts as an answer where
    /// the code that it stands for is one of them.
    pub(crate) expected: Arc<[Code]>,
}

impl fmt::Debug for Rpc {
    /// Without what may hold secrets: messages, metadata.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Rpc({})", self.url.path())
    }
}

/// How a call in gRPC ended.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) code: Code,
    /// How many messages the answer had.
    pub(crate) messages: u64,
    /// The last of them, where the judge looks inside.
    pub(crate) message: Option<Value>,
}

/// An answer, whole. Redirects are never followed for a flow: following is a step of its own.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// What was asked, for resolving relative references and for the scope of cookies.
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Of a call in gRPC, whose body is the last message, encoded.
    pub(crate) ending: Option<Ending>,
}

/// Why an answer is not the right one. It counts as an error of its step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{check}: {detail}")]
pub(crate) struct Wrong {
    /// The name of the check, one of few, such as `status`, `signature`, `nonce`: errors are counted by it.
    pub(crate) check: &'static str,
    /// What was expected and what came, without secrets and tokens.
    pub(crate) detail: String,
}

/// What a flow wants next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Send this as the step of this index; its answer goes into the next `advance`.
    Send { step: usize, call: Call },
    /// The same in gRPC.
    Call { step: usize, rpc: Rpc },
    /// The flow is complete.
    Done,
}

/// One pass through a scenario, for one user. A pass is a value: no I/O, no clock of its own.
pub(crate) trait Flow {
    /// Judges the answer to what was sent last (`None` at the beginning) and builds what comes next.
    /// A `Wrong` ends the pass and is booked as an error of the step that was answered.
    fn advance(&mut self, reply: Option<&Reply>) -> Result<Next, Wrong>;

    /// Whether the judge of what was sent last looks at more than the status. Where it does not, headers
    /// and body of the answer are counted and not kept.
    fn looks_inside(&self) -> bool {
        true
    }
}
