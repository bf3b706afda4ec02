//! `assay echo`: the least an authorization server's transport can do, as a ceiling to compare with.
//! It parses a form and answers JSON, signed on request; it must not know clients, storage or logs.

mod token;

use std::convert::Infallible;
use std::io::{self, Write as _, stdout};
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, LocalOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_local;

pub(crate) use token::Algorithm;
use token::{Claims, Signer};

#[derive(Debug, thiserror::Error)]
pub(crate) enum EchoError {
    #[error("cannot listen: {0}")]
    Listen(#[from] io::Error),
    #[error("cannot make a key")]
    Key,
}

#[derive(Debug)]
enum Answer {
    Echo,
    Token(Signer),
}

/// Serves on one thread until the process is told to stop.
pub(crate) fn serve(listen: SocketAddr, sign: Option<Algorithm>) -> Result<(), EchoError> {
    let answer = match sign {
        None => Answer::Echo,
        Some(algorithm) => Answer::Token(Signer::new(algorithm).map_err(|_| EchoError::Key)?),
    };
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    runtime.block_on(async {
        let mut stop = signal(SignalKind::interrupt())?;
        let listener = TcpListener::bind(listen).await?;
        writeln!(stdout(), "listening on {}", listener.local_addr()?)?;
        let answer = Rc::new(answer);
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    // A connection that was gone before it was accepted is the client's affair.
                    if let Ok((stream, _)) = accepted {
                        drop(spawn_local(connection(stream, Rc::clone(&answer))));
                    }
                }
                Some(()) = stop.recv() => return Ok(()),
            }
        }
    })
}

async fn connection(stream: TcpStream, answer: Rc<Answer>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let server = auto::Builder::new(Local);
    let service = service_fn(move |request| {
        let answer = Rc::clone(&answer);
        async move { Ok::<_, Infallible>(respond(request, &answer).await) }
    });
    // How a connection ends is the client's affair; the client reports it.
    drop(server.serve_connection(TokioIo::new(stream), service).await);
}

async fn respond(request: Request<Incoming>, answer: &Answer) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::POST | Method::GET) {
        return json(StatusCode::METHOD_NOT_ALLOWED, "{}".into());
    }
    let Ok(body) = request.into_body().collect().await else {
        return json(StatusCode::BAD_REQUEST, "{}".into());
    };
    let body = body.to_bytes();
    let form: Vec<(_, _)> = form_urlencoded::parse(&body).collect();
    let text = match answer {
        Answer::Echo => serde_json::to_vec(&Echo {
            active: true,
            token_type: "Bearer",
            iss: token::ISSUER,
            form: Pairs(&form),
        })
        .ok(),
        Answer::Token(signer) => token::grant(signer, &Claims::of(&form)).ok(),
    };
    match text {
        Some(text) => json(StatusCode::OK, text.into()),
        None => json(StatusCode::INTERNAL_SERVER_ERROR, "{}".into()),
    }
}

fn json(status: StatusCode, text: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let json = http::HeaderValue::from_static("application/json");
    headers.insert(http::header::CONTENT_TYPE, json);
    let no_store = http::HeaderValue::from_static("no-store");
    headers.insert(http::header::CACHE_CONTROL, no_store);
    response
}

/// About as long as the answer to an introspection request.
#[derive(Serialize)]
struct Echo<'a> {
    active: bool,
    token_type: &'static str,
    iss: &'static str,
    form: Pairs<'a>,
}

/// Form parameters as a JSON object, in their order.
struct Pairs<'a>(&'a [(std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Runs the streams of an HTTP/2 connection on the one thread.
#[derive(Clone, Copy, Debug)]
struct Local;

impl<F> hyper::rt::Executor<F> for Local
where
    F: Future + 'static,
{
    fn execute(&self, task: F) {
        drop(spawn_local(task));
    }
}
