//! A small HTTP client: one connection a call, so that nothing is shared between tests; and a
//! [`Session`] for those who make thousands of calls.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::future::{Future, IntoFuture};
use std::net::SocketAddr;
use std::pin::Pin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::PATIENCE;

/// A call to be made.
pub(crate) struct Call {
    to: SocketAddr,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.status, String::from_utf8_lossy(&self.body))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// Status and `error`, for tables.
    pub(crate) fn refusal(&self) -> (u16, String) {
        (
            self.status,
            self.json()["error"].as_str().unwrap_or_default().to_owned(),
        )
    }
}

impl Call {
    pub(crate) fn new(to: SocketAddr, method: &str, path: &str) -> Self {
        let (method, path) = (method.to_owned(), path.to_owned());
        Self {
            to,
            method,
            path,
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub(crate) fn basic(self, id: &str, secret: &str) -> Self {
        let pair = STANDARD.encode(format!("{}:{}", escape(id), escape(secret)));
        self.header("authorization", &format!("Basic {pair}"))
    }

    #[must_use]
    pub(crate) fn form(self, pairs: &[(&str, &str)]) -> Self {
        let pairs: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{name}={}", escape(value)))
            .collect();
        self.raw("application/x-www-form-urlencoded", pairs.join("&"))
    }

    #[must_use]
    pub(crate) fn json(self, value: &Value) -> Self {
        self.raw("application/json", value.to_string())
    }

    #[must_use]
    pub(crate) fn raw(mut self, kind: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header("content-type", kind)
    }

    fn request(self) -> Result<Request<Full<Bytes>>, String> {
        let mut request = Request::builder().method(&*self.method).uri(&self.path);
        if self.headers.iter().all(|(name, _)| name != "host") {
            request = request.header("host", "signet.test");
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request
            .body(Full::new(self.body))
            .map_err(|error| error.to_string())
    }

    async fn send(self) -> Result<Answer, String> {
        let sending = async { Session::connect(self.to).await?.try_send(self).await };
        tokio::time::timeout(PATIENCE, sending)
            .await
            .unwrap_or_else(|_| Err("no answer".to_owned()))
    }

    /// Makes the call; a connection that breaks is an error instead of a panic.
    pub(crate) async fn attempt(self) -> Result<Answer, String> {
        self.send().await
    }
}

impl IntoFuture for Call {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.send().await.unwrap_or_else(|error| panic!("{error}")) })
    }
}

/// A connection on which calls follow one another.
pub(crate) struct Session {
    sender: SendRequest<Full<Bytes>>,
    driving: JoinHandle<hyper::Result<()>>,
}

impl Session {
    /// Connects; panics where nobody listens.
    pub(crate) async fn open(to: SocketAddr) -> Self {
        Self::connect(to).await.unwrap()
    }

    async fn connect(to: SocketAddr) -> Result<Self, String> {
        let stream = TcpStream::connect(to)
            .await
            .map_err(|error| error.to_string())?;
        let shaken = handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| error.to_string())?;
        Ok(Self {
            sender,
            driving: tokio::spawn(connection),
        })
    }

    async fn try_send(&mut self, call: Call) -> Result<Answer, String> {
        let request = call.request()?;
        self.sender
            .ready()
            .await
            .map_err(|error| error.to_string())?;
        let answer = self
            .sender
            .send_request(request)
            .await
            .map_err(|error| error.to_string())?;
        let (parts, body) = answer.into_parts();
        let body = body
            .collect()
            .await
            .map_err(|error| error.to_string())?
            .to_bytes();
        Ok(Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        })
    }

    /// Makes a call, wherever it was meant to go.
    pub(crate) async fn send(&mut self, call: Call) -> Answer {
        self.try_send(call)
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

/// Form-encodes everything that is not plainly harmless.
pub(crate) fn escape(text: &str) -> String {
    let escaped: Vec<String> = text
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    escaped.concat()
}

/// Sends bytes as they are and reads until the other side closes.
pub(crate) async fn bytes(to: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).await.unwrap();
    // The other side may close before it has read everything.
    drop(stream.write_all(bytes).await);
    rest(&mut stream).await
}

/// Everything that comes until the other side closes; panics where it never does.
pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let reading = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    // A reset is an end, too.
    drop(reading.unwrap_or_else(|_| panic!("the connection is neither used nor closed")));
    String::from_utf8_lossy(&answer).into_owned()
}
