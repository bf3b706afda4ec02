//! The two directions of one call, which run at the same time: messages out as flow control and the
//! caller's limit allow, the answer in. It must not know connections or what is expected.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response, StatusCode};

use super::call::Progress;
use super::fault::Fault;
use super::prepared::{Answer, Prepared};
use super::status::{Code, Status};
use crate::clock::Clock;

/// Sends all messages and reads the answer to its end.
pub(super) async fn exchange(
    mut outbox: Outbox<'_>,
    mut inbox: Inbox,
    progress: &mut Progress,
    clock: Clock,
) -> Result<Status, Fault> {
    // The first message goes without waiting for room: at worst the connection holds one message.
    outbox.send(progress, clock);
    loop {
        let sends = outbox.may_send(progress);
        tokio::select! {
            biased;
            part = inbox.next() => match part? {
                Part::Data(bytes) => progress.receive(bytes, clock.now())?,
                Part::End(status) => return ended(status, outbox.prepared, progress),
            },
            () = outbox.room(), if sends => outbox.send(progress, clock),
        }
    }
}

fn ended(status: Status, prepared: &Prepared, progress: &Progress) -> Result<Status, Fault> {
    progress.finish()?;
    let one = matches!(prepared.answer, Answer::One(_));
    if one && status.code == Code::OK && progress.received() != 1 {
        return Err(Fault::NotOne(progress.received()));
    }
    Ok(status)
}

/// The way out.
pub(super) struct Outbox<'a> {
    prepared: &'a Prepared,
    /// `None` when nothing more can be sent.
    stream: Option<SendStream<Bytes>>,
}

impl<'a> Outbox<'a> {
    pub(super) fn new(prepared: &'a Prepared, stream: SendStream<Bytes>) -> Self {
        let stream = (prepared.messages > 0).then_some(stream);
        Self { prepared, stream }
    }

    fn may_send(&self, progress: &Progress) -> bool {
        self.stream.is_some() && progress.outstanding() < self.prepared.outstanding
    }

    /// Waits until the connection takes the next message.
    async fn room(&mut self) {
        poll_fn(|context| self.poll_room(context)).await;
    }

    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(stream) = &mut self.stream else {
            return Poll::Pending;
        };
        // A message is handed over whole as soon as there is room for its first byte, so what waits in
        // the connection is never more than one message.
        stream.reserve_capacity(1);
        while stream.capacity() == 0 {
            if !matches!(ready!(stream.poll_capacity(context)), Some(Ok(_))) {
                // The server wants no more; what it says instead is on its way in.
                self.stream = None;
                return Poll::Ready(());
            }
        }
        Poll::Ready(())
    }

    /// Hands over the next message, and the end of the stream with the last one.
    fn send(&mut self, progress: &mut Progress, clock: Clock) {
        let next = progress.sent();
        let Some((stream, frame)) = self.stream.as_mut().zip(self.prepared.frame(next)) else {
            return;
        };
        let last = next + 1 >= self.prepared.messages;
        progress.send(frame, clock.now());
        if stream.send_data(frame.clone(), last).is_err() || last {
            self.stream = None;
        }
    }
}

enum Part {
    Data(Bytes),
    End(Status),
}

/// The way in.
pub(super) enum Inbox {
    Waiting(ResponseFuture),
    Open {
        body: RecvStream,
        /// A status that came with the headers: nothing but trailers is to follow.
        early: Option<Status>,
    },
}

impl Inbox {
    /// What comes next. Dropping the future in between loses nothing.
    async fn next(&mut self) -> Result<Part, Fault> {
        loop {
            match self {
                Self::Waiting(response) => *self = opened(response.await?)?,
                Self::Open { body, early } => return part(body, early.as_ref()).await,
            }
        }
    }
}

async fn part(body: &mut RecvStream, early: Option<&Status>) -> Result<Part, Fault> {
    let Some(data) = body.data().await else {
        let trailers = body.trailers().await?;
        return end(trailers.as_ref(), early);
    };
    let data = data?;
    body.flow_control().release_capacity(data.len())?;
    Ok(Part::Data(data))
}

fn opened(response: Response<RecvStream>) -> Result<Inbox, Fault> {
    let (head, body) = response.into_parts();
    let early = Status::find(&head.headers)?;
    if early.is_none() && head.status != StatusCode::OK {
        return Err(Fault::Http(head.status));
    }
    if early.is_none() && !is_grpc(&head.headers) {
        return Err(Fault::NotGrpc);
    }
    Ok(Inbox::Open { body, early })
}

fn end(trailers: Option<&HeaderMap>, early: Option<&Status>) -> Result<Part, Fault> {
    let status = match trailers {
        Some(trailers) => Status::find(trailers)?,
        None => None,
    };
    let status = status.or_else(|| early.cloned());
    status.map(Part::End).ok_or(Fault::NoStatus)
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
    let Some(rest) = value.and_then(|value| value.strip_prefix(b"application/grpc")) else {
        return false;
    };
    // `application/grpc-web` is another protocol.
    matches!(rest.first(), None | Some(b'+' | b';'))
}
