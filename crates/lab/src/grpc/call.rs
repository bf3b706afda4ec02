//! What came of one call: its times, its counts and its end. It must not know how the call is made or
//! what was expected of it.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};

use super::fault::Fault;
use super::frame::{Malformed, PREFIX, Unframer};
use super::status::{Code, Status};
use crate::clock::Nanos;
use crate::wire::Dialled;

/// All moments are nanoseconds of the channel's clock. The counts are right for calls that failed
/// half-way, too.
#[derive(Debug)]
pub(crate) struct CallResult {
    pub(crate) start: Nanos,
    /// When the first message of the answer was whole.
    pub(crate) first: Option<Nanos>,
    /// When the last message of the answer was whole.
    pub(crate) last: Option<Nanos>,
    pub(crate) end: Nanos,
    /// What connecting took, when that was part of the call.
    pub(crate) dialled: Dialled,
    /// Messages handed to the connection, and messages of the answer.
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Bytes of these messages, without their frames.
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    /// Bidirectional: from handing over message *k* to the answer's message *k* being whole.
    pub(crate) round_trips: Vec<Nanos>,
    /// The last message of the answer, undecoded.
    pub(crate) message: Option<Bytes>,
    pub(crate) ending: Result<Status, Fault>,
}

impl CallResult {
    /// The code of the server or, for a call without a proper end, the one a client library would give.
    pub(crate) fn code(&self) -> Code {
        match &self.ending {
            Ok(status) => status.code,
            Err(fault) => fault.code(),
        }
    }
}

/// What a call has come to so far. It outlives an exchange that is cut short.
#[derive(Debug)]
pub(super) struct Progress {
    result: CallResult,
    unframer: Unframer,
    /// When each message was sent that is not answered yet; kept when answers are paired.
    unanswered: Option<VecDeque<Nanos>>,
}

impl Progress {
    pub(super) fn new(start: Nanos, max_message: usize, paired: bool) -> Self {
        Self {
            result: CallResult {
                start,
                first: None,
                last: None,
                end: start,
                dialled: Dialled::default(),
                sent: 0,
                received: 0,
                sent_bytes: 0,
                received_bytes: 0,
                round_trips: Vec::new(),
                message: None,
                ending: Err(Fault::NoStatus),
            },
            unframer: Unframer::new(max_message),
            unanswered: paired.then(VecDeque::new),
        }
    }

    pub(super) fn dialled(&mut self, dialled: Dialled) {
        self.result.dialled = dialled;
    }

    pub(super) fn sent(&self) -> u64 {
        self.result.sent
    }

    pub(super) fn outstanding(&self) -> u64 {
        self.result.sent.saturating_sub(self.result.received)
    }

    pub(super) fn received(&self) -> u64 {
        self.result.received
    }

    /// A message in its frame is about to be handed over.
    pub(super) fn send(&mut self, frame: &Bytes, now: Nanos) {
        self.result.sent += 1;
        self.result.sent_bytes += (frame.len() - PREFIX) as u64;
        if let Some(unanswered) = &mut self.unanswered {
            unanswered.push_back(now);
        }
    }

    /// Bytes of the answer came.
    pub(super) fn receive(&mut self, mut bytes: Bytes, now: Nanos) -> Result<(), Malformed> {
        while bytes.has_remaining() {
            let Some(message) = self.unframer.next(&mut bytes)? else {
                return Ok(());
            };
            self.result.first.get_or_insert(now);
            self.result.last = Some(now);
            self.result.received += 1;
            self.result.received_bytes += message.len() as u64;
            self.result.message = Some(message);
            let sent = self.unanswered.as_mut().and_then(VecDeque::pop_front);
            self.result.round_trips.extend(sent.map(|sent| now - sent));
        }
        Ok(())
    }

    /// The answer is over.
    pub(super) fn finish(&self) -> Result<(), Malformed> {
        self.unframer.finish()
    }

    pub(super) fn close(self, end: Nanos, ending: Result<Status, Fault>) -> CallResult {
        CallResult {
            end,
            ending,
            ..self.result
        }
    }
}
