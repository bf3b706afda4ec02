//! The connections of somebody who goes through flows, whatever protocol a call has. It must not know
//! flows, pacing or totals.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::call::{Call, Ending, Reply, Rpc};
use crate::clock::{Clock, Nanos};
use crate::grpc::call::CallResult;
use crate::grpc::channel::Channel;
use crate::grpc::target::GrpcTarget;
use crate::wire::session::{Exchange, Manner, Session};
use crate::wire::{self, Answer, Failure, Kind};

/// What is to be sent.
pub(crate) enum Sent {
    Http(Call),
    Grpc(Rpc),
}

impl Sent {
    /// For messages: without what may be a secret.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Http(call) => format!("{} {}", call.method, wire::place(&call.url)),
            Self::Grpc(rpc) => wire::place(&rpc.url),
        }
    }
}

/// How everybody's connections are made.
#[derive(Clone, Debug)]
pub(crate) struct Ways {
    pub(crate) manner: Manner,
    pub(crate) grpc: Option<GrpcTarget>,
}

impl From<Manner> for Ways {
    fn from(manner: Manner) -> Self {
        Self { manner, grpc: None }
    }
}

/// What those share whose calls begin on one thread.
#[derive(Debug)]
pub(crate) struct Switchboard {
    exchange: Rc<Exchange>,
    channel: Option<Rc<Channel>>,
}

impl Switchboard {
    pub(crate) fn new(ways: &Ways, clock: Clock) -> Result<Self, Failure> {
        let channel = ways.grpc.as_ref();
        let channel = channel.map(|target| Channel::new(target, clock));
        Ok(Self {
            exchange: Exchange::new(ways.manner.clone(), clock),
            channel: channel.transpose()?.map(Rc::new),
        })
    }

    /// The connections of one more user.
    pub(crate) fn lines(&self) -> Lines {
        Lines {
            session: Session::new(Rc::clone(&self.exchange)),
            channel: self.channel.clone(),
        }
    }
}

/// The connections of one user.
#[derive(Debug)]
pub(crate) struct Lines {
    session: Session,
    /// Where the target has a server of gRPC.
    channel: Option<Rc<Channel>>,
}

impl Lines {
    /// Leaves every connection: the next calls open new ones.
    pub(crate) fn hang_up(&mut self) {
        self.session.hang_up();
        if let Some(channel) = &mut self.channel {
            *channel = Rc::new(channel.anew());
        }
    }

    /// Sends a call at once and reads the whole answer, of which at most `limit` bytes are kept, if
    /// anything is. The time that a call may take is enforced here for gRPC alone, which tells it to the
    /// server.
    pub(crate) async fn exchange(
        &mut self,
        sent: Sent,
        limit: Option<usize>,
        start: Nanos,
        timeout: Nanos,
    ) -> Result<(Answer, Reply), Failure> {
        let rpc = match sent {
            Sent::Http(call) => return self.session.exchange(call, limit, start).await,
            Sent::Grpc(rpc) => rpc,
        };
        let Some(channel) = &self.channel else {
            return Err(Failure::new(Kind::Lookup, "the target has no gRPC server"));
        };
        let deadline = Some(Duration::from_nanos(timeout));
        let result = channel.call(&rpc.prepared, &rpc.metadata, deadline).await;
        let code = result.code();
        if let Err(fault) = &result.ending
            && !rpc.expected.contains(&code)
        {
            return Err(fault.failure().at(&rpc.url));
        }
        let message = result.message.as_ref().filter(|_| limit.is_some());
        let message = message
            .map(|message| rpc.prepared.json(message))
            .transpose();
        let ending = Ending {
            code,
            messages: result.received,
            message: message.map_err(|why| Failure::new(Kind::Protocol, why).at(&rpc.url))?,
        };
        let answer = answer(&result);
        let reply = Reply {
            url: rpc.url,
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: result.message.unwrap_or_else(Bytes::new),
            ending: Some(ending),
        };
        Ok((answer, reply))
    }
}

/// The figures of a call that ended as it should or with another code.
fn answer(result: &CallResult) -> Answer {
    let connected = result.start + result.dialled.whole;
    let first = result.first.unwrap_or(result.end);
    Answer {
        status: result.code().number(),
        body: result.received_bytes,
        dialled: result.dialled,
        write: 0,
        wait: first.saturating_sub(connected),
        read: result.end - first,
        ended: result.end,
    }
}
