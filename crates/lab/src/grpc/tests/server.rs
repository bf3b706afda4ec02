//! A server that does what a test tells it, proper gRPC or not, with framing of its own.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;
use tokio_rustls::TlsAcceptor;

type Seen = Rc<RefCell<Vec<(String, HeaderMap)>>>;
type Handler = Rc<dyn Fn(Exchange) -> Pin<Box<dyn Future<Output = ()>>>>;

pub(super) struct Server {
    pub(super) address: String,
    /// How many connections were accepted.
    pub(super) connections: Rc<Cell<usize>>,
    /// Path and headers of every call, in order.
    pub(super) seen: Seen,
}

/// What a handler may tell the connection of its call.
pub(super) enum Order {
    GoAway(Reason),
    Retire,
    Cut,
}

impl Server {
    pub(super) async fn start<F>(handler: impl Fn(Exchange) -> F + 'static) -> Self
    where
        F: Future<Output = ()> + 'static,
    {
        Self::start_with(None, handler).await
    }

    pub(super) async fn start_with<F>(
        tls: Option<TlsAcceptor>,
        handler: impl Fn(Exchange) -> F + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap().to_string(),
            connections: Rc::default(),
            seen: Rc::default(),
        };
        let handler: Handler = Rc::new(move |exchange| Box::pin(handler(exchange)));
        let (connections, seen) = (server.connections.clone(), server.seen.clone());
        spawn_local(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                connections.set(connections.get() + 1);
                let (handler, seen) = (handler.clone(), seen.clone());
                drop(spawn_local(accepted(tcp, tls.clone(), handler, seen)));
            }
        });
        server
    }
}

async fn accepted(tcp: TcpStream, tls: Option<TlsAcceptor>, handler: Handler, seen: Seen) {
    let Some(tls) = tls else {
        return connection(tcp, handler, seen).await;
    };
    match tls.accept(tcp).into_fallible().await {
        Ok(stream) => connection(stream, handler, seen).await,
        // Closing at once would reset the connection and lose the alert.
        Err((_, mut tcp)) => drop(tcp.read_to_end(&mut Vec::new()).await),
    }
}

async fn connection<T: AsyncRead + AsyncWrite + Unpin>(io: T, handler: Handler, seen: Seen) {
    let mut builder = h2::server::Builder::new();
    // The library's server does not put up with many small messages at once.
    builder.data_frame_budget(1 << 20);
    let Ok(mut connection) = builder.handshake(io).await else {
        return;
    };
    let (order, mut orders) = unbounded_channel();
    loop {
        tokio::select! {
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { return };
                let (head, body) = request.into_parts();
                let path = head.uri.path().to_owned();
                seen.borrow_mut().push((path.clone(), head.headers.clone()));
                drop(spawn_local(handler(Exchange {
                    path,
                    headers: head.headers,
                    body,
                    respond,
                    out: None,
                    held: Vec::new(),
                    order: order.clone(),
                })));
            }
            Some(order) = orders.recv() => match order {
                Order::GoAway(reason) => connection.abrupt_shutdown(reason),
                Order::Retire => connection.graceful_shutdown(),
                Order::Cut => return,
            },
        }
    }
}

/// One call, as the server sees it.
pub(super) struct Exchange {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    body: RecvStream,
    pub(super) respond: SendResponse<Bytes>,
    out: Option<SendStream<Bytes>>,
    held: Vec<u8>,
    pub(super) order: UnboundedSender<Order>,
}

impl Exchange {
    /// The next message of the client; `None` at the end of its stream.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(message) = self.held_message() {
                return Some(message);
            }
            let data = self.body.data().await?.ok()?;
            let released = self.body.flow_control().release_capacity(data.len());
            released.unwrap();
            self.held.extend_from_slice(&data);
        }
    }

    fn held_message(&mut self) -> Option<Vec<u8>> {
        let length = self.held.get(1..5)?.try_into().unwrap();
        let end = 5 + u32::from_be_bytes(length) as usize;
        let message = self.held.get(5..end)?.to_vec();
        self.held.drain(..end);
        Some(message)
    }

    pub(super) fn open_as(&mut self, status: u16, content_type: &'static str) {
        let mut head = Response::new(());
        *head.status_mut() = StatusCode::from_u16(status).unwrap();
        let content_type = HeaderValue::from_static(content_type);
        head.headers_mut().insert("content-type", content_type);
        self.out = Some(self.respond.send_response(head, false).unwrap());
    }

    pub(super) fn open(&mut self) {
        self.open_as(200, "application/grpc+proto");
    }

    /// Sends bytes as one DATA frame. A client that has gone is none of the server's business.
    pub(super) fn send(&mut self, bytes: impl Into<Bytes>) {
        if let Some(out) = &mut self.out {
            out.send_data(bytes.into(), false).unwrap_or_default();
        }
    }

    pub(super) fn message(&mut self, message: &impl prost::Message) {
        self.send(framed(&message.encode_to_vec()));
    }

    pub(super) fn finish(&mut self, code: &'static str, message: &'static str) {
        if let Some(mut out) = self.out.take() {
            out.send_trailers(status(code, message)).unwrap_or_default();
        }
    }

    /// Ends the stream without trailers.
    pub(super) fn break_off(&mut self) {
        if let Some(mut out) = self.out.take() {
            out.send_data(Bytes::new(), true).unwrap_or_default();
        }
    }

    /// Answers with nothing but trailers.
    pub(super) fn refuse(&mut self, code: &'static str, message: &'static str) {
        let mut head = Response::new(());
        *head.headers_mut() = status(code, message);
        let content_type = HeaderValue::from_static("application/grpc");
        head.headers_mut().insert("content-type", content_type);
        drop(self.respond.send_response(head, true).unwrap());
    }
}

pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    [&[0], &length.to_be_bytes()[..], message].concat()
}

fn status(code: &'static str, message: &'static str) -> HeaderMap {
    let mut fields = HeaderMap::new();
    fields.insert("grpc-status", HeaderValue::from_static(code));
    if !message.is_empty() {
        fields.insert("grpc-message", HeaderValue::from_static(message));
    }
    fields
}
