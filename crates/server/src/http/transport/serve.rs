//! Connections are accepted and served, requests counted and logged, and all of it is drained
//! when the process is asked to stop.

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::{HeaderValue, Request};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tower::Service;

use super::patience::{Patience, Watch, Watched};
use super::peer::Peer;
use super::proxies::{self, TrustedProxies};
use super::tls::{Tls, is_http2};
use crate::app::App;
use crate::config::Requests;
use crate::flow::Fault;
use crate::http::direct::{Side, direct};
use crate::http::reply::{Reason, Refusal};
use crate::telemetry::metrics::Endpoint;

/// Numbers requests across all threads of the process.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// One listener of the server.
#[derive(Clone)]
pub struct Door {
    /// Which of the two it is.
    pub side: Side,
    /// What it answers.
    pub router: Router,
    /// What the process consists of.
    pub app: Arc<App>,
    /// How many connections it serves at once.
    pub connections: Arc<Semaphore>,
    /// Who is believed about the sender of a request.
    pub proxies: Arc<TrustedProxies>,
    /// How it speaks TLS, where it does.
    pub tls: Option<Tls>,
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Door({})", self.side.name())
    }
}

/// Accepts until `stop` says so, then lets requests in flight finish. Connections that wait in
/// the listener's queue at that moment are served too: whoever has connected gets an answer.
pub async fn serve(door: Door, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    // Shared by the connections of this thread only, so that counting its users is cheap.
    let door = Arc::new(door);
    let accepting = Accepting {
        builders: Arc::new(Builders::new(&door.app)),
        graceful: GracefulShutdown::new(),
        watch: Watch::default(),
    };
    let watching = tokio::spawn(accepting.watch.clone().run(door.app.clock.clone()));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => accepting.open(&door, stream, address.ip()),
                Err(error) => {
                    // Out of file descriptors, most likely: accepting at once again would spin.
                    tracing::error!(%error, door = door.side.name(), "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            _ = stop.changed() => break,
        }
    }
    while let Some(Ok((stream, address))) = listener.accept().now_or_never() {
        accepting.open(&door, stream, address.ip());
    }
    drop(listener);
    let drained = accepting.graceful.shutdown();
    if tokio::time::timeout(door.app.limits.drain_timeout, drained)
        .await
        .is_err()
    {
        tracing::warn!(
            door = door.side.name(),
            "requests were still running when the drain time was over"
        );
    }
    watching.abort();
}

/// What every connection of a door needs.
struct Accepting {
    builders: Arc<Builders>,
    graceful: GracefulShutdown,
    watch: Watch,
}

type Builder = auto::Builder<TokioExecutor>;

/// How connections are served: TLS says beforehand which version of HTTP is spoken.
struct Builders {
    either: Builder,
    http1: Builder,
    http2: Builder,
}

impl Builders {
    fn new(app: &App) -> Self {
        Self {
            either: builder(app),
            http1: builder(app).http1_only(),
            http2: builder(app).http2_only(),
        }
    }
}

fn builder(app: &App) -> Builder {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .header_read_timeout(None)
        .max_buf_size(app.limits.header_bytes)
        .half_close(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(app.limits.header_timeout)
        .max_header_list_size(u32::try_from(app.limits.header_bytes).unwrap_or(u32::MAX))
        .max_concurrent_streams(256);
    builder
}

impl Accepting {
    fn open(&self, door: &Arc<Door>, stream: TcpStream, address: IpAddr) {
        // Over the limit the connection is closed at once: a clear refusal beats a silent queue.
        let Ok(permit) = Arc::clone(&door.connections).try_acquire_owned() else {
            return;
        };
        // Small answers must not wait for more data to fill a packet.
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let limits = &door.app.limits;
        let patience = Patience::new(
            door.app.clock.clone(),
            limits.header_timeout,
            limits.idle_timeout,
        );
        let connection = Connection {
            door: Arc::clone(door),
            address: address.to_canonical(),
            patience: Arc::clone(&patience),
            watcher: self.graceful.watcher(),
            _permit: permit,
        };
        let builders = Arc::clone(&self.builders);
        // Two tasks of two sizes: a connection without TLS does not carry the room for it.
        let task = match &door.tls {
            None => tokio::spawn(async move { connection.serve(&builders.either, stream).await }),
            Some(tls) => {
                let tls = tls.clone();
                tokio::spawn(async move { connection.shake_hands(&tls, &builders, stream).await })
            }
        };
        self.watch.add(patience, task.abort_handle());
    }
}

/// A connection that was let in.
struct Connection {
    door: Arc<Door>,
    /// Of the other end.
    address: IpAddr,
    patience: Arc<Patience>,
    watcher: Watcher,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    async fn shake_hands(self, tls: &Tls, builders: &Builders, stream: TcpStream) {
        self.patience.suspend();
        let metrics = &self.door.app.metrics;
        let Some(stream) = tls.shake_hands(stream, self.address, metrics).await else {
            return;
        };
        self.patience.resume();
        let builder = if is_http2(&stream) {
            &builders.http2
        } else {
            &builders.http1
        };
        self.serve(builder, stream).await;
    }

    async fn serve<S>(self, builder: &Builder, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (door, patience, address) = (&self.door, &self.patience, self.address);
        let service = service_fn(move |request| {
            let (door, waiting) = (Arc::clone(door), Arc::clone(patience));
            async move {
                waiting.begin();
                let answered = respond(door, request, address).await;
                waiting.end();
                answered
            }
        });
        let stream = TokioIo::new(Watched::new(stream, Arc::clone(patience)));
        let connection = builder.serve_connection(stream, service);
        // A broken connection is the other side's business.
        drop(self.watcher.watch(connection).await);
    }
}

/// Answers one request: counts it, logs it, and turns a panic into a `server_error`.
async fn respond(
    door: Arc<Door>,
    mut request: Request<Incoming>,
    peer: IpAddr,
) -> Result<Response, Infallible> {
    let app = Arc::clone(&door.app);
    let address = door.proxies.client_of(peer, request.headers());
    proxies::strip(request.headers_mut());
    let started = app.clock.uptime();
    let endpoint = Endpoint::of(door.side.name(), request.uri().path());
    let log = app.limits.request_log;
    let line = (log != Requests::Off).then(|| (request.method().clone(), request.uri().clone()));
    let mut answering = pin!(answer(&door, request, Peer(address)));
    // A panic is caught poll by poll: the connection, and everybody on it, lives on.
    let answered = poll_fn(|context| {
        let poll = AssertUnwindSafe(|| answering.as_mut().poll(context));
        catch_unwind(poll).map_or_else(|panic| Poll::Ready(Err(panic)), |poll| poll.map(Ok))
    })
    .await;
    let mut response = answered.unwrap_or_else(|_| {
        app.metrics.panics.inc();
        Refusal(Fault::lasting("a handler panicked").into()).into_response()
    });
    let elapsed = app.clock.uptime().saturating_sub(started);
    let status = response.status();
    app.metrics.answered(endpoint, status.as_u16(), elapsed);
    let failed = status.is_client_error() || status.is_server_error();
    if failed || log == Requests::All {
        let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
        let id = format!("{:03x}-{number:x}", app.locators.node());
        let reason = response.extensions_mut().remove::<Reason>();
        if let Some((method, uri)) = &line {
            let label = reason.as_ref().map_or("", |reason| reason.label);
            let (status, micros, path) = (status.as_u16(), elapsed.as_micros(), uri.path());
            tracing::info!(target: "access", id, door = door.side.name(), %method, path, status, micros, reason = label, %address);
        }
        if let Some(fault) = reason.and_then(|reason| reason.fault) {
            tracing::error!(id, door = door.side.name(), fault, "a request failed");
        }
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert("x-request-id", id);
        }
    }
    Ok(response)
}

async fn answer(door: &Door, request: Request<Incoming>, peer: Peer) -> Response {
    let request = match direct(&door.app, door.side, peer, request).await {
        Ok(response) => return response,
        Err(request) => request,
    };
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(peer);
    let Ok(response) = door.router.clone().call(request).await;
    response
}
