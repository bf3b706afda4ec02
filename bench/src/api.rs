//! Requests of the preparation: few at a time, or many over some connections. Load is `assay`'s job.

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::failure::{Context, Failed, Outcome};

const PATIENCE: Duration = Duration::from_secs(30);
const FORM: &str = "application/x-www-form-urlencoded";

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) kind: &'static str,
    pub(crate) body: Bytes,
}

impl Ask {
    pub(crate) fn get(path: &str) -> Self {
        let body = Bytes::new();
        Self {
            method: Method::GET,
            path: path.to_owned(),
            authorization: None,
            kind: FORM,
            body,
        }
    }

    pub(crate) fn form(path: &str, body: impl Into<Bytes>) -> Self {
        let method = Method::POST;
        Self {
            method,
            path: path.to_owned(),
            authorization: None,
            kind: FORM,
            body: body.into(),
        }
    }

    pub(crate) fn json(path: &str, body: &Value) -> Self {
        let kind = "application/json";
        Self {
            kind,
            ..Self::form(path, body.to_string())
        }
    }

    pub(crate) fn with(mut self, authorization: &str) -> Self {
        self.authorization = Some(authorization.to_owned());
        self
    }

    fn request(&self, to: SocketAddr) -> Outcome<Request<Full<Bytes>>> {
        let mut request = Request::builder()
            .method(&self.method)
            .uri(&self.path)
            .header(header::HOST, to.to_string())
            .header(header::CONTENT_TYPE, self.kind);
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        request
            .body(Full::new(self.body.clone()))
            .context("a request of the preparation")
    }
}

/// `Basic …` of a client, whose id and secret need no escaping here.
pub(crate) fn basic(id: &str, secret: &str) -> String {
    use base64::Engine as _;
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}"));
    format!("Basic {pair}")
}

/// A connection that is kept.
#[derive(Debug)]
pub(crate) struct Connection {
    to: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    pub(crate) async fn open(to: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(to)
            .await
            .context(format_args!("cannot connect to {to}"))?;
        stream.set_nodelay(true).context("a connection")?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .context("a connection")?;
        drop(tokio::spawn(driver));
        Ok(Self { to, sender })
    }

    pub(crate) async fn ask(&mut self, ask: &Ask) -> Outcome<(StatusCode, Bytes)> {
        let request = ask.request(self.to)?;
        let what = format_args!("{} {}", ask.method, ask.path).to_string();
        self.sender.ready().await.context(&what)?;
        let answer = timeout(PATIENCE, async {
            let answer = self.sender.send_request(request).await?;
            let status = answer.status();
            Ok::<_, hyper::Error>((status, answer.into_body().collect().await?.to_bytes()))
        });
        answer.await.context(&what)?.context(&what)
    }

    /// The answer, where its status is a good one.
    pub(crate) async fn expect(&mut self, ask: &Ask) -> Outcome<Bytes> {
        let (status, body) = self.ask(ask).await?;
        if status.is_success() {
            return Ok(body);
        }
        let text = String::from_utf8_lossy(&body).into_owned();
        Err(Failed::because(format_args!(
            "{} {}: {status} {text}",
            ask.method, ask.path
        )))
    }
}

/// A runtime for the preparation.
pub(crate) fn runtime() -> Outcome<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime")
}

/// One request on a connection of its own.
pub(crate) fn once(to: SocketAddr, ask: &Ask) -> Outcome<(StatusCode, Bytes)> {
    runtime()?.block_on(async { Connection::open(to).await?.ask(ask).await })
}

/// The same, where only a good status will do; the answer as JSON, or null where it is none.
pub(crate) fn expect(to: SocketAddr, ask: &Ask) -> Outcome<Value> {
    let body = runtime()?.block_on(async { Connection::open(to).await?.expect(ask).await })?;
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}
