//! `assay echo`: the least an authorization server's transport can do, as a ceiling to compare with.
//! It parses a form and answers JSON, signed on request; it must not know clients, storage or logs.

mod token;

use std::cell::Cell;
use std::convert::Infallible;
use std::io::{self, Write as _, stdout};
use std::net::SocketAddr;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, LocalOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_local;

use crate::clock::{Clock, Nanos, nanos};
use crate::timing::alarm::Alarm;
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

/// A pause that everything which arrives meanwhile waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stall {
    /// After the first request.
    pub(crate) after: Duration,
    pub(crate) length: Duration,
}

impl FromStr for Stall {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!("{text:?} is not like 30s+2s: when, after the first request, and for how long")
        };
        let (after, length) = text.split_once('+').ok_or_else(expected)?;
        let parse = |text: &str| humantime::parse_duration(text.trim()).map_err(|_| expected());
        Ok(Self {
            after: parse(after)?,
            length: parse(length)?,
        })
    }
}

/// How answers are made late on purpose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delays {
    /// Of every answer.
    pub(crate) fixed: Option<Duration>,
    pub(crate) stall: Option<Stall>,
}

/// What the connections share.
#[derive(Debug)]
struct Station {
    answer: Answer,
    delays: Delays,
    clock: Clock,
    alarm: Alarm,
    /// When the first request arrived.
    first: Cell<Option<Nanos>>,
    requests: Cell<u64>,
    body_bytes: Cell<u64>,
}

impl Station {
    /// Books a request and waits until it may be answered.
    async fn admit(&self) {
        self.requests.set(self.requests.get() + 1);
        if self.delays.fixed.is_none() && self.delays.stall.is_none() {
            return;
        }
        let now = self.clock.now();
        let first = self.first.get().unwrap_or(now);
        self.first.set(Some(first));
        let due = self.due(now, now - first);
        self.alarm.at(due).await;
    }

    /// When a request is answered that arrived `now`, so long after the first one.
    fn due(&self, now: Nanos, since_first: Nanos) -> Nanos {
        let due = now + self.delays.fixed.map_or(0, nanos);
        let Some(stall) = self.delays.stall else {
            return due;
        };
        let (begin, end) = (nanos(stall.after), nanos(stall.after) + nanos(stall.length));
        if (begin..end).contains(&since_first) {
            due.max(now - since_first + end)
        } else {
            due
        }
    }
}

/// Serves on one thread until the process is told to stop, then says what it answered.
pub(crate) fn serve(
    listen: SocketAddr,
    sign: Option<Algorithm>,
    delays: Delays,
) -> Result<(), EchoError> {
    let answer = match sign {
        None => Answer::Echo,
        Some(algorithm) => Answer::Token(Signer::new(algorithm).map_err(|_| EchoError::Key)?),
    };
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    runtime.block_on(async {
        let mut stop = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let listener = TcpListener::bind(listen).await?;
        writeln!(stdout(), "listening on {}", listener.local_addr()?)?;
        let clock = Clock::start();
        let station = Rc::new(Station {
            answer,
            delays,
            clock,
            alarm: Alarm::new(clock)?,
            first: Cell::new(None),
            requests: Cell::new(0),
            body_bytes: Cell::new(0),
        });
        let timekeeper = Rc::clone(&station);
        drop(spawn_local(async move { timekeeper.alarm.run().await }));
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    // A connection that was gone before it was accepted is the client's affair.
                    if let Ok((stream, _)) = accepted {
                        drop(spawn_local(connection(stream, Rc::clone(&station))));
                    }
                }
                Some(()) = stop.recv() => break,
                Some(()) = terminate.recv() => break,
            }
        }
        let (requests, bytes) = (station.requests.get(), station.body_bytes.get());
        writeln!(
            stdout(),
            "answered {requests} requests with {bytes} bytes of bodies"
        )?;
        Ok(())
    })
}

async fn connection(stream: TcpStream, station: Rc<Station>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let server = auto::Builder::new(Local);
    let service = service_fn(move |request| {
        let station = Rc::clone(&station);
        async move {
            let response = respond(request, &station).await;
            let bytes = response.body().size_hint().exact().unwrap_or(0);
            station.body_bytes.set(station.body_bytes.get() + bytes);
            Ok::<_, Infallible>(response)
        }
    });
    // How a connection ends is the client's affair; the client reports it.
    drop(server.serve_connection(TokioIo::new(stream), service).await);
}

async fn respond(request: Request<Incoming>, station: &Station) -> Response<Full<Bytes>> {
    station.admit().await;
    if !matches!(*request.method(), Method::POST | Method::GET) {
        return json(StatusCode::METHOD_NOT_ALLOWED, "{}".into());
    }
    let Ok(body) = request.into_body().collect().await else {
        return json(StatusCode::BAD_REQUEST, "{}".into());
    };
    let body = body.to_bytes();
    let form: Vec<(_, _)> = form_urlencoded::parse(&body).collect();
    let text = match &station.answer {
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
