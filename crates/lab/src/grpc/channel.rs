//! Calls to one server over its connections, on one thread. It must not know when or how often calls
//! are made.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use http::header::{CONTENT_TYPE, TE, USER_AGENT};
use http::uri::{Authority, Parts, Scheme, Uri};
use http::{HeaderMap, HeaderValue, Method, Request, Version};

use super::call::{CallResult, Progress};
use super::connection::{Sender, Shared, open};
use super::exchange::{Inbox, Outbox, exchange};
use super::fault::Fault;
use super::metadata::Metadata;
use super::prepared::Prepared;
use super::status::Status;
use super::target::{Connections, GrpcTarget};
use crate::clock::{Clock, Nanos, nanos};
use crate::wire::dial::Dialer;
use crate::wire::{Dialled, Failure, Kind};

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("grpc-assay/", env!("CARGO_PKG_VERSION")));
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const TRAILERS: HeaderValue = HeaderValue::from_static("trailers");
/// Those that every call has: te, content-type, user-agent, grpc-timeout.
const OWN_FIELDS: usize = 4;

/// Belongs to the runtime of one thread; its connections live in tasks there (`spawn_local`).
#[derive(Debug)]
pub(crate) struct Channel {
    dialer: Rc<Dialer>,
    /// Empty when every call has a connection of its own.
    shared: Vec<Shared>,
    turn: Cell<usize>,
    scheme: Scheme,
    authority: Authority,
    max_message: usize,
}

impl Channel {
    /// Opens nothing yet.
    pub(crate) fn new(target: &GrpcTarget, clock: Clock) -> Result<Self, Failure> {
        let authority = Authority::try_from(target.target.authority())
            .map_err(|error| Failure::new(Kind::Lookup, error))?;
        let dialer = Dialer::new(&target.target, target.tls.as_ref(), true, clock)?;
        let dialer = Rc::new(dialer);
        let shared = match target.connections {
            Connections::Shared(count) => count.get(),
            Connections::PerCall => 0,
        };
        Ok(Self {
            shared: (0..shared)
                .map(|_| Shared::new(Rc::clone(&dialer)))
                .collect(),
            dialer,
            turn: Cell::new(0),
            scheme: if target.tls.is_some() {
                Scheme::HTTPS
            } else {
                Scheme::HTTP
            },
            authority,
            max_message: target.max_message,
        })
    }

    /// A channel to the same server with connections of its own.
    pub(crate) fn anew(&self) -> Self {
        let shared = self.shared.iter();
        Self {
            dialer: Rc::clone(&self.dialer),
            shared: shared
                .map(|_| Shared::new(Rc::clone(&self.dialer)))
                .collect(),
            turn: Cell::new(0),
            scheme: self.scheme.clone(),
            authority: self.authority.clone(),
            max_message: self.max_message,
        }
    }

    /// Makes a call, at once and only once. The server is told the deadline, and what is not over by
    /// then is given up. Dropping the future abandons the call.
    pub(crate) async fn call(
        &self,
        prepared: &Prepared,
        metadata: &Metadata,
        deadline: Option<Duration>,
    ) -> CallResult {
        let clock = self.dialer.clock();
        let start = clock.now();
        let mut progress = Progress::new(start, self.max_message, prepared.paired);
        let mut fields = HeaderMap::with_capacity(OWN_FIELDS + metadata.fields().len());
        fields.insert(TE, TRAILERS);
        fields.insert(CONTENT_TYPE, GRPC);
        fields.insert(USER_AGENT, AGENT);
        fields.extend(metadata.fields().clone());
        let ending = match deadline {
            None => self.run(prepared, fields, None, &mut progress).await,
            Some(limit) => {
                let until = Until {
                    start,
                    limit: nanos(limit),
                };
                let work = self.run(prepared, fields, Some(until), &mut progress);
                let ended = tokio::time::timeout(limit, work).await;
                ended.unwrap_or(Err(Fault::Deadline))
            }
        };
        progress.close(clock.now(), ending)
    }

    async fn run(
        &self,
        prepared: &Prepared,
        mut fields: HeaderMap,
        until: Option<Until>,
        progress: &mut Progress,
    ) -> Result<Status, Fault> {
        let clock = self.dialer.clock();
        let (mut sender, dialled) = self.sender().await?;
        progress.dialled(dialled);
        if let Some(until) = until {
            let left = until.left(clock.now()).ok_or(Fault::Deadline)?;
            fields.insert("grpc-timeout", timeout(left));
        }
        let request = self.request(prepared, fields)?;
        let empty = prepared.messages == 0;
        let (response, stream) = sender.requests.send_request(request, empty)?;
        let outbox = Outbox::new(prepared, stream);
        let ending = exchange(outbox, Inbox::Waiting(response), progress, clock).await;
        ending.map_err(|fault| sender.explain(fault))
    }

    async fn sender(&self) -> Result<(Sender, Dialled), Fault> {
        let start = self.dialer.clock().now();
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        match turn.checked_rem(self.shared.len()) {
            None => open(&self.dialer, start).await,
            Some(index) => self.shared[index].sender(start).await,
        }
    }

    fn request(&self, prepared: &Prepared, fields: HeaderMap) -> Result<Request<()>, Fault> {
        let mut parts = Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(prepared.path.clone());
        let uri = Uri::from_parts(parts).map_err(|error| Fault::Http2(error.to_string()))?;
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        *request.version_mut() = Version::HTTP_2;
        *request.headers_mut() = fields;
        Ok(request)
    }
}

/// A deadline.
#[derive(Clone, Copy, Debug)]
struct Until {
    start: Nanos,
    limit: Nanos,
}

impl Until {
    /// What is left of it after connecting; `None` when it has passed.
    fn left(self, now: Nanos) -> Option<Nanos> {
        self.limit
            .checked_sub(now - self.start)
            .filter(|left| *left > 0)
    }
}

/// A length of time as `grpc-timeout`: at most eight digits, in the finest unit that allows it, rounded
/// up.
fn timeout(length: Nanos) -> HeaderValue {
    const UNITS: [(Nanos, char); 5] = [
        (1, 'n'),
        (1_000, 'u'),
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60_000_000_000, 'M'),
    ];
    let fits = |(unit, _): &&(Nanos, char)| length.div_ceil(*unit) < 100_000_000;
    // 2^64 nanoseconds are 307 million minutes.
    let (unit, letter) = UNITS.iter().find(fits).unwrap_or(&(3_600_000_000_000, 'H'));
    let text = format!("{}{letter}", length.div_ceil(*unit));
    // Digits and a letter are always a value.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("99999999H"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_has_eight_digits_at_most_and_is_never_rounded_down() {
        let cases = [
            (1, "1n"),
            (99_999_999, "99999999n"),
            (100_000_000, "100000u"),
            (1_500_000_001, "1500001u"),
            (20_000_000_000, "20000000u"),
            (100_000_000_001, "100001m"),
            (100_000_000_000_000, "100000S"),
            (Nanos::MAX, "5124096H"),
        ];
        for (length, expected) in cases {
            assert_eq!(timeout(length), expected, "{length}");
        }
    }

    #[test]
    fn a_deadline_that_has_passed_leaves_nothing() {
        let until = Until {
            start: 100,
            limit: 50,
        };
        assert_eq!(until.left(120), Some(30));
        assert_eq!(until.left(150), None);
        assert_eq!(until.left(200), None);
    }
}
