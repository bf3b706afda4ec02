//! A small HTTP client: one connection a call, so that nothing is shared between tests.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::future::{Future, IntoFuture};
use std::net::SocketAddr;
use std::pin::Pin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A call to be made.
pub struct Call {
    to: SocketAddr,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn text(&self) -> String {
        format!("{} {}", self.status, String::from_utf8_lossy(&self.body))
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status and `error`, for tables.
    pub fn refusal(&self) -> (u16, String) {
        (self.status, self.json()["error"].as_str().unwrap_or_default().to_owned())
    }
}

impl Call {
    pub fn new(to: SocketAddr, method: &str, path: &str) -> Self {
        let (method, path) = (method.to_owned(), path.to_owned());
        Self { to, method, path, headers: Vec::new(), body: Bytes::new() }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn basic(self, id: &str, secret: &str) -> Self {
        let pair = STANDARD.encode(format!("{}:{}", escape(id), escape(secret)));
        self.header("authorization", &format!("Basic {pair}"))
    }

    #[must_use]
    pub fn form(self, pairs: &[(&str, &str)]) -> Self {
        let pairs: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect();
        self.raw("application/x-www-form-urlencoded", pairs.join("&"))
    }

    #[must_use]
    pub fn json(self, value: &Value) -> Self {
        self.raw("application/json", value.to_string())
    }

    #[must_use]
    pub fn raw(mut self, kind: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header("content-type", kind)
    }

    async fn send(self) -> Result<Answer, String> {
        let broken = |error: &dyn std::fmt::Display| error.to_string();
        let stream = TcpStream::connect(self.to).await.map_err(|e| broken(&e))?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|e| broken(&e))?;
        let driving = tokio::spawn(connection);
        let mut request =
            Request::builder().method(&*self.method).uri(&self.path).header("host", "signet.test");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(self.body)).map_err(|e| broken(&e))?;
        let answer = sender.send_request(request).await.map_err(|e| broken(&e))?;
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.map_err(|e| broken(&e))?.to_bytes();
        driving.abort();
        Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// Makes the call; a connection that breaks is an error instead of a panic.
    pub async fn attempt(self) -> Result<Answer, String> {
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

/// Form-encodes everything that is not plainly harmless.
pub fn escape(text: &str) -> String {
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
pub async fn bytes(to: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).await.unwrap();
    // The other side may close before it has read everything.
    drop(stream.write_all(bytes).await);
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    String::from_utf8_lossy(&answer).into_owned()
}
