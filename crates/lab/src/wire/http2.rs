//! HTTP/2: many lanes share a connection, each request is a stream of it. It must not know when or
//! how often requests are sent.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::sync::Mutex;
use tokio::task::spawn_local;

use super::dial::Dialer;
use super::response::Kept;
use super::{Answer, Dialled, Failure, Kind};
use crate::clock::Nanos;
use crate::hit::request::Requests;

type Sender = SendRequest<Full<Bytes>>;

/// A connection that lanes share; opened when it is needed and again when it was lost.
#[derive(Debug)]
pub(crate) struct Trunk {
    dialer: Dialer,
    sender: Mutex<Option<Sender>>,
}

impl Trunk {
    pub(crate) fn new(dialer: Dialer) -> Self {
        Self {
            dialer,
            sender: Mutex::new(None),
        }
    }

    /// Sends a request as a stream of the connection and reads the whole answer.
    pub(crate) async fn exchange(
        &self,
        request: http::Request<Full<Bytes>>,
        mut kept: Option<Kept>,
        start: Nanos,
    ) -> Result<(Answer, Option<Kept>), Failure> {
        let clock = self.dialer.clock();
        let (mut sender, dialled) = self.sender(start).await?;
        sender.ready().await.map_err(|error| of_hyper(&error))?;
        let answer = sender.send_request(request);
        let wrote = clock.now();
        let response = answer.await.map_err(|error| of_hyper(&error))?;
        let first = clock.now();
        let (head, body) = response.into_parts();
        if let Some(kept) = &mut kept {
            kept.headers = head.headers;
        }
        let body = drain(body, &mut kept).await?;
        let ended = clock.now();
        let answer = Answer {
            status: head.status.as_u16(),
            body,
            dialled,
            write: wrote - start - dialled.whole,
            wait: first - wrote,
            read: ended - first,
            ended,
        };
        Ok((answer, kept))
    }

    /// A handle on the connection. The lane that finds it missing opens it, the others wait.
    async fn sender(&self, start: Nanos) -> Result<(Sender, Dialled), Failure> {
        let clock = self.dialer.clock();
        let mut waited = Dialled::default();
        let mut held = if let Ok(held) = self.sender.try_lock() {
            held
        } else {
            let held = self.sender.lock().await;
            waited.whole = clock.now() - start;
            held
        };
        if let Some(sender) = held.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok((sender.clone(), waited));
        }
        let (stream, mut dialled) = self.dialer.dial(clock.now()).await?;
        let (sender, connection) = Builder::new(Local)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| of_hyper(&error))?;
        // Its failure reaches every request that was on its way.
        drop(spawn_local(connection));
        dialled.whole = clock.now() - start;
        Ok((held.insert(sender).clone(), dialled))
    }
}

#[derive(Debug)]
pub(crate) struct Http2 {
    trunk: Rc<Trunk>,
    requests: Arc<Requests>,
}

impl Http2 {
    pub(crate) fn new(trunk: Rc<Trunk>, requests: Arc<Requests>) -> Self {
        Self { trunk, requests }
    }

    pub(crate) async fn exchange(&mut self, ordinal: u64, start: Nanos) -> Result<Answer, Failure> {
        let request = self.requests.request(ordinal);
        let (answer, _) = self.trunk.exchange(request, None, start).await?;
        Ok(answer)
    }
}

/// Reads the body to its end, counts its bytes, and keeps them where somebody wants them.
async fn drain(mut body: Incoming, kept: &mut Option<Kept>) -> Result<u64, Failure> {
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| of_hyper(&error))?;
        let Some(data) = frame.data_ref() else {
            continue;
        };
        bytes += data.len() as u64;
        if let Some(kept) = kept {
            kept.add(data);
        }
    }
    Ok(bytes)
}

fn of_hyper(error: &hyper::Error) -> Failure {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(next) = cause {
        if let Some(io) = next.downcast_ref::<std::io::Error>() {
            return Failure::of_io(io);
        }
        cause = next.source();
    }
    let kind = if error.is_closed() || error.is_canceled() || error.is_incomplete_message() {
        Kind::Closed
    } else {
        Kind::Protocol
    };
    Failure::new(kind, error)
}

/// Runs the connection's tasks on the thread of its lanes.
#[derive(Clone, Copy, Debug)]
struct Local;

impl<F> hyper::rt::Executor<F> for Local
where
    F: Future<Output = ()> + 'static,
{
    fn execute(&self, task: F) {
        drop(spawn_local(task));
    }
}
