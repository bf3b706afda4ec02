//! A client on a connection that it keeps: fast enough for load, and exact about what was answered
//! and what was not. Never tries again by itself: an operation that got no answer may be done.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use crate::support::http::escape;

/// Nothing takes longer, whatever the machine is doing besides: this is a hang.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request to be made.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: Method,
    path: String,
    authorization: Option<String>,
    kind: &'static str,
    body: Bytes,
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: Bytes,
}

/// Why nothing came back.
#[derive(Clone, Debug)]
pub(crate) enum Broken {
    /// Nobody listens: nothing was sent.
    NotSent(String),
    /// The connection broke after something was sent, perhaps.
    Unanswered(String),
    /// Nothing came for so long that it is a hang.
    Hung,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(why) => write!(f, "not sent: {why}"),
            Self::Unanswered(why) => write!(f, "no answer: {why}"),
            Self::Hung => write!(f, "no answer within {PATIENCE:?}"),
        }
    }
}

impl Ask {
    fn new(method: Method, path: impl Into<String>) -> Self {
        let (kind, body) = ("", Bytes::new());
        Self {
            method,
            path: path.into(),
            authorization: None,
            kind,
            body,
        }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn post(path: impl Into<String>) -> Self {
        Self::new(Method::POST, path)
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// The request for a token by `client_credentials`.
    pub(crate) fn token(id: &str, secret: &str) -> Self {
        let grant = [("grant_type", "client_credentials")];
        Self::post("/oauth2/token").basic(id, secret).form(&grant)
    }

    /// The same, with a signed assertion instead of a secret.
    pub(crate) fn token_by_assertion(jwt: &str) -> Self {
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        let form = [
            ("grant_type", "client_credentials"),
            ("client_assertion_type", kind),
            ("client_assertion", jwt),
        ];
        Self::post("/oauth2/token").form(&form)
    }

    #[must_use]
    pub(crate) fn basic(mut self, id: &str, secret: &str) -> Self {
        let pair = STANDARD.encode(format!("{}:{}", escape(id), escape(secret)));
        self.authorization = Some(format!("Basic {pair}"));
        self
    }

    #[must_use]
    pub(crate) fn bearer(mut self, token: &str) -> Self {
        self.authorization = Some(format!("Bearer {token}"));
        self
    }

    #[must_use]
    pub(crate) fn form(mut self, pairs: &[(&str, &str)]) -> Self {
        let pairs: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{name}={}", escape(value)))
            .collect();
        (self.kind, self.body) = ("application/x-www-form-urlencoded", pairs.join("&").into());
        self
    }

    #[must_use]
    pub(crate) fn json(mut self, value: &Value) -> Self {
        (self.kind, self.body) = ("application/json", value.to_string().into());
        self
    }

    fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(&self.path)
            .header("host", "signet.test");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        if !self.kind.is_empty() {
            request = request.header("content-type", self.kind);
        }
        request.body(Full::new(self.body.clone())).unwrap()
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|fault| panic!("{fault}: {self:?}"))
    }

    /// A member of the body that is a text.
    pub(crate) fn text(&self, member: &str) -> String {
        let text = self.json()[member].as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("no {member}: {self:?}"))
    }
}

/// One connection, opened when it is needed.
#[derive(Debug)]
pub(crate) struct Wire {
    to: SocketAddr,
    open: Option<(SendRequest<Full<Bytes>>, AbortHandle)>,
}

impl Wire {
    pub(crate) fn new(to: SocketAddr) -> Self {
        Self { to, open: None }
    }

    /// Makes the request.
    pub(crate) async fn call(&mut self, ask: &Ask) -> Result<Answer, Broken> {
        let answered = tokio::time::timeout(PATIENCE, self.attempt(ask)).await;
        let answered = answered.unwrap_or(Err(Broken::Hung));
        if answered.is_err() {
            self.close();
        }
        answered
    }

    /// Makes the request; panics where nothing comes back.
    pub(crate) async fn must(&mut self, ask: &Ask) -> Answer {
        self.call(ask)
            .await
            .unwrap_or_else(|broken| panic!("{}: {broken}", ask.path))
    }

    async fn attempt(&mut self, ask: &Ask) -> Result<Answer, Broken> {
        // A connection that the server has closed meanwhile is no failure.
        if self
            .open
            .as_ref()
            .is_none_or(|(sender, _)| sender.is_closed())
        {
            self.open = Some(
                self.connect()
                    .await
                    .map_err(|fault| Broken::NotSent(fault.to_string()))?,
            );
        }
        let (sender, _) = self.open.as_mut().unwrap();
        let unanswered = |fault: hyper::Error| Broken::Unanswered(format!("{fault:?}"));
        sender
            .ready()
            .await
            .map_err(|fault| Broken::NotSent(format!("{fault:?}")))?;
        let answer = sender
            .send_request(ask.request())
            .await
            .map_err(unanswered)?;
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.map_err(unanswered)?.to_bytes();
        let retry_after = parts.headers.get("retry-after");
        let retry_after = retry_after.map(|value| value.to_str().unwrap().to_owned());
        Ok(Answer {
            status: parts.status.as_u16(),
            retry_after,
            body,
        })
    }

    async fn connect(&self) -> std::io::Result<(SendRequest<Full<Bytes>>, AbortHandle)> {
        let stream = TcpStream::connect(self.to).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(std::io::Error::other)?;
        let driving = tokio::spawn(async move { drop(connection.await) });
        Ok((sender, driving.abort_handle()))
    }

    fn close(&mut self) {
        if let Some((_, driving)) = self.open.take() {
            driving.abort();
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.close();
    }
}
