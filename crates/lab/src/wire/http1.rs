//! HTTP/1.1 over a connection of its own, one request at a time. It must not know when or how often
//! requests are sent.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};

use super::dial::{Dialer, Stream};
use super::response::{Kept, Response};
use super::{Answer, Dialled, Failure, Kind};
use crate::clock::Nanos;
use crate::hit::request::Requests;

const READ_BUFFER: usize = 16 * 1024;
const CLOSED_EARLY: &str = "connection closed before the answer ended";

/// The lane's own connection for one request that is sent again and again.
#[derive(Debug)]
pub(crate) struct Http1 {
    line: Line,
    requests: Arc<Requests>,
    scratch: Vec<u8>,
}

impl Http1 {
    pub(crate) fn new(dialer: Rc<Dialer>, requests: Arc<Requests>, keep_alive: bool) -> Self {
        Self {
            line: Line::new(dialer, keep_alive),
            requests,
            scratch: Vec::new(),
        }
    }

    pub(crate) async fn exchange(&mut self, ordinal: u64, start: Nanos) -> Result<Answer, Failure> {
        let message = self.requests.message(ordinal, &mut self.scratch);
        let response = Response::new(self.requests.method() == http::Method::HEAD);
        let (answer, _) = self.line.exchange(message, response, start).await?;
        Ok(answer)
    }
}

/// A connection to one place, opened when it is needed.
#[derive(Debug)]
pub(crate) struct Line {
    dialer: Rc<Dialer>,
    keep_alive: bool,
    open: Option<Stream>,
    input: Vec<u8>,
}

impl Line {
    pub(crate) fn new(dialer: Rc<Dialer>, keep_alive: bool) -> Self {
        Self {
            dialer,
            keep_alive,
            open: None,
            input: vec![0; READ_BUFFER],
        }
    }

    /// The connection is taken out while a request is on its way and comes back only after a
    /// complete answer, so an abandoned or failed exchange can never leave half an answer behind.
    pub(crate) async fn exchange(
        &mut self,
        message: &[u8],
        mut response: Response,
        start: Nanos,
    ) -> Result<(Answer, Option<Kept>), Failure> {
        let clock = self.dialer.clock();
        let (mut stream, dialled) = match self.take_idle().await {
            Some(stream) => (stream, Dialled::default()),
            None => self.dialer.dial(start).await?,
        };
        let sent = send(&mut stream, message).await;
        let wrote = clock.now();
        let mut first = None;
        while !response.is_done() {
            let got = stream.read(&mut self.input).await;
            first.get_or_insert_with(|| clock.now());
            let got = match (got, &sent) {
                (Ok(0), _) if response.close() => 0,
                // The server has not read the request and said nothing whole: the write failed first.
                (Ok(0) | Err(_), Err(error)) => return Err(Failure::of_io(error)),
                (Err(error), Ok(())) => return Err(Failure::of_io(&error)),
                (Ok(0), Ok(())) => return Err(Failure::new(Kind::Closed, CLOSED_EARLY)),
                (Ok(got), _) => got,
            };
            let fed = response.feed(&self.input[..got]);
            fed.map_err(|malformed| Failure::new(Kind::Protocol, malformed))?;
        }
        let ended = clock.now();
        let first = first.unwrap_or(ended);
        if self.keep_alive && sent.is_ok() && response.is_reusable() {
            self.open = Some(stream);
        }
        let answer = Answer {
            status: response.status(),
            body: response.body(),
            dialled,
            write: wrote - start - dialled.whole,
            wait: first - wrote,
            read: ended - first,
            ended,
        };
        Ok((answer, response.into_kept()))
    }

    /// The open connection, unless the server closed it (or spoke) while nothing was asked: that is
    /// its right, and no request was lost by it.
    async fn take_idle(&mut self) -> Option<Stream> {
        let mut stream = self.open.take()?;
        let mut probe = [0; 1];
        let quiet = poll_fn(|context| {
            let mut probe = ReadBuf::new(&mut probe);
            let read = Pin::new(&mut stream).poll_read(context, &mut probe);
            Poll::Ready(read.is_pending())
        })
        .await;
        quiet.then_some(stream)
    }
}

async fn send(stream: &mut Stream, message: &[u8]) -> std::io::Result<()> {
    stream.write_all(message).await?;
    stream.flush().await
}
