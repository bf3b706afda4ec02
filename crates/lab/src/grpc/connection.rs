//! A connection that calls share, opened when it is needed and again when it was lost. It must not
//! know what is called.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use h2::Reason;
use h2::client::{Builder, SendRequest};
use tokio::sync::Mutex;
use tokio::task::spawn_local;

use super::fault::Fault;
use crate::clock::Nanos;
use crate::wire::Dialled;
use crate::wire::dial::Dialer;

/// Windows wide enough that the lab never holds a server back: what a server may send ahead, on one
/// stream and on all of a connection.
const STREAM_WINDOW: u32 = 2 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;
/// The most that headers and trailers of an answer may take.
const MAX_FIELDS: u32 = 64 << 10;
/// How far small messages may come in faster than calls take them, about 250 for each: the library's
/// own limit, meant for strangers, ends a connection that streams small messages at full speed.
const SMALL_FRAMES: usize = 32 << 20;
/// Calls that were given up whose late answers are still recognised as such.
const GIVEN_UP: usize = 1000;

/// A handle on an open connection, for one call.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) requests: SendRequest<Bytes>,
    farewell: Rc<Cell<Option<Reason>>>,
}

impl Sender {
    /// The same fault, with the reason where the server gave one: the calls that a GOAWAY says will
    /// still be processed learn no more than that the connection is gone.
    pub(super) fn explain(&self, fault: Fault) -> Fault {
        match (fault, self.farewell.get()) {
            (Fault::Connection(_), Some(reason)) => Fault::GoAway(reason),
            (fault, _) => fault,
        }
    }
}

#[derive(Debug)]
pub(super) struct Shared {
    dialer: Rc<Dialer>,
    sender: Mutex<Option<Sender>>,
}

impl Shared {
    pub(super) fn new(dialer: Rc<Dialer>) -> Self {
        Self {
            dialer,
            sender: Mutex::new(None),
        }
    }

    /// A handle on the connection. The call that finds it missing opens it, the others wait. One that
    /// was lost or that the server wants to end is found out here, before anything is sent.
    pub(super) async fn sender(&self, start: Nanos) -> Result<(Sender, Dialled), Fault> {
        let mut waited = Dialled::default();
        let mut held = if let Ok(held) = self.sender.try_lock() {
            held
        } else {
            let held = self.sender.lock().await;
            waited.whole = self.dialer.clock().now() - start;
            held
        };
        if let Some(sender) = held.as_ref()
            && sender.requests.clone().ready().await.is_ok()
        {
            return Ok((sender.clone(), waited));
        }
        *held = None;
        let (sender, mut dialled) = open(&self.dialer, self.dialer.clock().now()).await?;
        dialled.whole = self.dialer.clock().now() - start;
        Ok((held.insert(sender).clone(), dialled))
    }
}

/// Opens a connection. It closes when the last handle and the last call are gone.
pub(super) async fn open(dialer: &Dialer, start: Nanos) -> Result<(Sender, Dialled), Fault> {
    let (stream, mut dialled) = dialer.dial(start).await?;
    let (requests, connection) = Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(MAX_FIELDS)
        .data_frame_budget(SMALL_FRAMES)
        .max_concurrent_reset_streams(GIVEN_UP)
        // Answers that come later still are the target's slowness, and no reason to end a connection.
        .max_local_error_reset_streams(None)
        .enable_push(false)
        .handshake(stream)
        .await?;
    let farewell = Rc::new(Cell::new(None));
    let sender = Sender {
        requests,
        farewell: Rc::clone(&farewell),
    };
    // Its failure reaches every call that was on its way.
    drop(spawn_local(async move {
        if let Err(error) = connection.await
            && error.is_remote()
        {
            farewell.set(error.reason());
        }
    }));
    dialled.whole = dialer.clock().now() - start;
    Ok((sender, dialled))
}
