//! How long a connection may keep the server waiting: for the headers of a request once their
//! first byte is there, and for the next request. One look a second at all connections of a
//! thread costs less than two timers for every request.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::AbortHandle;

use crate::clock::Clock;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What HTTP/2 connections begin with (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI ";

/// What a connection is waiting for, and until when.
#[derive(Debug)]
pub struct Patience {
    clock: Clock,
    headers: Duration,
    idle: Duration,
    requests: AtomicU32,
    multiplexed: AtomicBool,
    between: AtomicBool,
    /// Milliseconds of [`Clock::uptime`]; `u64::MAX` while a request is being answered.
    deadline: AtomicU64,
}

impl Patience {
    /// The patience with a connection that was just accepted.
    pub fn new(clock: Clock, headers: Duration, idle: Duration) -> Arc<Self> {
        let patience = Self {
            clock,
            headers,
            idle,
            requests: AtomicU32::new(0),
            multiplexed: AtomicBool::new(false),
            between: AtomicBool::new(false),
            deadline: AtomicU64::new(u64::MAX),
        };
        patience.wait(headers);
        Arc::new(patience)
    }

    fn wait(&self, time: Duration) {
        let deadline = self.clock.uptime().saturating_add(time).as_millis();
        self.deadline.store(
            u64::try_from(deadline).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    /// Somebody else minds the time.
    pub fn suspend(&self) {
        self.deadline.store(u64::MAX, Ordering::Relaxed);
    }

    /// It waits for headers again.
    pub fn resume(&self) {
        self.wait(self.headers);
    }

    /// A request has arrived in full, but for its body.
    pub fn begin(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.deadline.store(u64::MAX, Ordering::Relaxed);
    }

    /// A request was answered.
    pub fn end(&self) {
        if self.requests.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.between.store(true, Ordering::Relaxed);
            self.wait(self.idle);
        }
    }

    fn arrived(&self, bytes: &[u8]) {
        if bytes.starts_with(PREFACE) {
            self.multiplexed.store(true, Ordering::Relaxed);
        }
        // On HTTP/2 bytes may be pings; there the idle time simply runs on.
        if !self.multiplexed.load(Ordering::Relaxed) && self.between.swap(false, Ordering::Relaxed)
        {
            self.wait(self.headers);
        }
    }

    fn is_over(&self, now: Duration) -> bool {
        now.as_millis() > u128::from(self.deadline.load(Ordering::Relaxed))
    }
}

/// A stream that notes when bytes arrive.
#[derive(Debug)]
pub struct Watched<S> {
    stream: S,
    patience: Arc<Patience>,
}

impl<S> Watched<S> {
    /// Watches a stream.
    pub fn new(stream: S, patience: Arc<Patience>) -> Self {
        Self { stream, patience }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let arrived = &buffer.filled()[before..];
        if !arrived.is_empty() {
            self.patience.arrived(arrived);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }
}

/// The connections of one door on one thread.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Mutex<Vec<Connection>>>);

type Connection = (Arc<Patience>, AbortHandle);

impl Watch {
    /// Looks after a connection from now on.
    pub fn add(&self, patience: Arc<Patience>, connection: AbortHandle) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((patience, connection));
    }

    /// Ends connections whose time is over, until it is dropped.
    pub async fn run(self, clock: Clock) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.look(clock.uptime());
        }
    }

    fn look(&self, now: Duration) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, connection) in watched.iter().filter(|(patience, _)| patience.is_over(now)) {
            connection.abort();
        }
        watched.retain(|(_, connection)| !connection.is_finished());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_given_its_time_in_every_state() {
        let patience = Patience::new(
            Clock::system(),
            Duration::from_secs(10),
            Duration::from_secs(75),
        );
        let start = Clock::system().uptime();
        let over = |seconds| patience.is_over(start + Duration::from_secs(seconds));
        assert!(over(12) && !over(8), "headers");
        patience.begin();
        assert!(!over(1_000_000), "while a request is being answered");
        patience.end();
        assert!(over(77) && !over(70), "between requests");
        patience.arrived(b"POST");
        assert!(over(12) && !over(8), "headers of the next one");
    }

    #[test]
    fn a_ping_on_http2_is_not_the_beginning_of_headers() {
        let patience = Patience::new(
            Clock::system(),
            Duration::from_secs(10),
            Duration::from_secs(75),
        );
        patience.arrived(b"PRI * HTTP/2.0");
        patience.begin();
        patience.begin();
        patience.end();
        patience.end();
        patience.arrived(b"ping");
        assert!(!patience.is_over(Clock::system().uptime() + Duration::from_mins(1)));
    }
}
