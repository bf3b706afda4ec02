//! A gRPC server on a library that the lab has nothing of, which remembers every call.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::{pending, ready};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};

use http::header::AUTHORIZATION;
use prost::Message;
use tokio::sync::{mpsc, oneshot};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tonic::server::{Grpc, NamedService};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming, TlsConnectInfo};
use tonic::transport::{Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;

use crate::rpc_service::{
    Operation, StreamRequest, StreamResponse, Transformed, UnaryRequest, UnaryResponse, descriptors,
};

type Stream<T> = tonic::codegen::BoxStream<T>;

/// One call as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) authorization: Option<String>,
    /// The field `x-tag`.
    pub(crate) tag: Option<String>,
    pub(crate) peer: SocketAddr,
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) calls: Vec<Seen>,
    /// The texts of unary and collected messages, in their order.
    pub(crate) texts: Vec<String>,
    /// Messages that came in over streams of both directions.
    pub(crate) operations: u64,
    /// Bytes of all messages that were handed over.
    pub(crate) sent: u64,
}

impl Log {
    pub(crate) fn connections(&self) -> usize {
        let peers: BTreeSet<_> = self.calls.iter().map(|seen| seen.peer).collect();
        peers.len()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.calls
            .iter()
            .filter(|seen| seen.method == method)
            .count()
    }
}

/// How the server is to be.
#[derive(Default)]
pub(crate) struct Manner {
    pub(crate) tls: Option<ServerTlsConfig>,
    /// Everything wants this token, reflection as well.
    pub(crate) token: Option<&'static str>,
    /// Every so many calls, all connections are told to go away.
    pub(crate) retire_every: Option<usize>,
    pub(crate) without_reflection: bool,
}

/// It ends with the test.
pub(crate) struct RpcServer {
    pub(crate) address: String,
    log: Arc<Mutex<Log>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RpcServer {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let log = Arc::default();
        let (retire, retired) = mpsc::unbounded_channel();
        let service = TestService {
            log: Arc::clone(&log),
            token: manner.token,
            retire_every: manner.retire_every,
            retire,
        };
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = serve(&listener, &manner, &service, retired) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            log,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }
}

impl Drop for RpcServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Serves round after round: the connections of one are told to go away when the next begins.
async fn serve(
    listener: &TcpListener,
    manner: &Manner,
    service: &TestService,
    mut retired: mpsc::UnboundedReceiver<()>,
) {
    loop {
        let listener = listener.try_clone().unwrap();
        let incoming = TcpIncoming::from(tokio::net::TcpListener::from_std(listener).unwrap());
        let (over, ended) = oneshot::channel::<()>();
        let mut builder = Server::builder();
        if let Some(tls) = &manner.tls {
            builder = builder.tls_config(tls.clone()).unwrap();
        }
        let set = descriptors();
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(&set)
            .build_v1()
            .unwrap();
        let token = manner.token;
        let reflection = InterceptedService::new(reflection, move |request: Request<()>| {
            let given = request.metadata().get("authorization");
            let given = given.and_then(|value| value.to_str().ok());
            allowed(token, given).then_some(request).ok_or_else(refused)
        });
        let mut router = builder.add_service(service.clone());
        if !manner.without_reflection {
            router = router.add_service(reflection);
        }
        drop(tokio::spawn(async move {
            let ended = async { drop(ended.await) };
            router.serve_with_incoming_shutdown(incoming, ended).await
        }));
        if retired.recv().await.is_none() {
            return;
        }
        drop(over);
    }
}

fn allowed(token: Option<&str>, given: Option<&str>) -> bool {
    let wanted = token.map(|token| format!("Bearer {token}"));
    wanted.is_none_or(|wanted| given == Some(&wanted))
}

fn refused() -> Status {
    Status::unauthenticated("a token is wanted")
}

#[derive(Clone)]
struct TestService {
    log: Arc<Mutex<Log>>,
    token: Option<&'static str>,
    retire_every: Option<usize>,
    retire: mpsc::UnboundedSender<()>,
}

impl NamedService for TestService {
    const NAME: &'static str = "api.v1.TestService";
}

impl Service<http::Request<Body>> for TestService {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl TestService {
    async fn answer(self, request: http::Request<Body>) -> http::Response<Body> {
        let seen = seen(&request);
        let (method, given) = (seen.method.clone(), seen.authorization.clone());
        let count = {
            let mut log = self.log.lock().unwrap();
            log.calls.push(seen);
            log.calls.len()
        };
        if self.retire_every.is_some_and(|every| count % every == 0) {
            self.retire.send(()).unwrap();
        }
        if !allowed(self.token, given.as_deref()) {
            return refused().into_http();
        }
        let log = self.log;
        match method.as_str() {
            "Unary" => {
                let unary = service_fn(|request| ready(unary(&log, request)));
                Grpc::new(ProstCodec::default()).unary(unary, request).await
            }
            "ServerStream" => {
                let stream = service_fn(|request| ready(server_stream(Arc::clone(&log), request)));
                let mut grpc = Grpc::new(ProstCodec::default());
                grpc.server_streaming(stream, request).await
            }
            "BidirectionalStream" => {
                let both =
                    service_fn(|request| ready(Ok(bidirectional(Arc::clone(&log), request))));
                Grpc::new(ProstCodec::default())
                    .streaming(both, request)
                    .await
            }
            "Collect" => {
                let collect = service_fn(|request| collect(Arc::clone(&log), request));
                let mut grpc = Grpc::new(ProstCodec::default());
                grpc.client_streaming(collect, request).await
            }
            // Says nothing, ever.
            "Hang" => pending().await,
            _ => Status::unimplemented("no such method").into_http(),
        }
    }
}

fn seen(request: &http::Request<Body>) -> Seen {
    let header = |name: &str| {
        let value = request.headers().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    let extensions = request.extensions();
    let plain = extensions.get::<TcpConnectInfo>();
    let secure = extensions.get::<TlsConnectInfo<TcpConnectInfo>>();
    let peer = plain.or(secure.map(TlsConnectInfo::get_ref));
    let (_, method) = request.uri().path().rsplit_once('/').unwrap();
    Seen {
        method: method.to_owned(),
        authorization: header(AUTHORIZATION.as_str()),
        tag: header("x-tag"),
        peer: peer.unwrap().remote_addr().unwrap(),
    }
}

fn sent<T: Message>(log: &Mutex<Log>, message: T) -> T {
    log.lock().unwrap().sent += message.encoded_len() as u64;
    message
}

fn unary(
    log: &Mutex<Log>,
    request: Request<UnaryRequest>,
) -> Result<Response<UnaryResponse>, Status> {
    let UnaryRequest { message } = request.into_inner();
    if message.len() > 4096 {
        return Err(Status::invalid_argument("more than 4096 bytes"));
    }
    log.lock().unwrap().texts.push(message.clone());
    let timestamp = 1 << 60;
    Ok(Response::new(sent(
        log,
        UnaryResponse { message, timestamp },
    )))
}

fn server_stream(
    log: Arc<Mutex<Log>>,
    request: Request<StreamRequest>,
) -> Result<Response<Stream<StreamResponse>>, Status> {
    let StreamRequest { count, .. } = request.into_inner();
    if !(1..=10_000).contains(&count) {
        return Err(Status::invalid_argument("count"));
    }
    let each = (1..=count).map(move |sequence| {
        Ok(sent(
            &log,
            StreamResponse {
                value: i64::from(sequence) << 40,
                sequence,
                timestamp: 0,
            },
        ))
    });
    Ok(Response::new(Box::pin(tonic::codegen::tokio_stream::iter(
        each,
    ))))
}

fn bidirectional(
    log: Arc<Mutex<Log>>,
    request: Request<Streaming<Operation>>,
) -> Response<Stream<Transformed>> {
    use tonic::codegen::tokio_stream::StreamExt as _;

    let each = request.into_inner().map(move |asked| {
        let Operation { value, operation } = asked?;
        log.lock().unwrap().operations += 1;
        let transformed = match operation.as_str() {
            "double" => value.checked_mul(2),
            "square" => value.checked_mul(value),
            "negate" => value.checked_neg(),
            _ => return Err(Status::invalid_argument("unknown operation")),
        };
        let transformed = transformed.ok_or_else(|| Status::out_of_range("overflow"))?;
        Ok(sent(
            &log,
            Transformed {
                original_value: value,
                transformed_value: transformed,
                operation,
            },
        ))
    });
    Response::new(Box::pin(each))
}

async fn collect(
    log: Arc<Mutex<Log>>,
    request: Request<Streaming<UnaryRequest>>,
) -> Result<Response<UnaryResponse>, Status> {
    let mut messages = request.into_inner();
    let mut joined = String::new();
    while let Some(asked) = messages.message().await? {
        joined += &asked.message;
        log.lock().unwrap().texts.push(asked.message);
    }
    let answer = UnaryResponse {
        message: joined,
        timestamp: 0,
    };
    Ok(Response::new(sent(&log, answer)))
}
