//! One kept connection to a signing service (HTTP/1.1): opened when needed, opened again when it
//! broke, one request at a time.

use super::target::Target;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::fmt::Display;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Bytes of an answer: a hundred keys, or one signature.
const MAX_ANSWER: usize = 256 * 1024;

/// A request of the protocol.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) path: String,
    /// JSON to post; `None` to get.
    pub(super) body: Option<Bytes>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The service cannot be reached, broke off, or is in trouble.
    Broken(String),
    /// It says that the request is wrong.
    Refused(StatusCode),
}

fn broken<E: Display>(what: &'static str) -> impl FnOnce(E) -> Fault {
    move |error| Fault::Broken(format!("{what}: {error}"))
}

pub(super) struct Link {
    target: Arc<Target>,
    open: Option<Open>,
}

struct Open {
    sender: SendRequest<Full<Bytes>>,
    driving: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

impl Link {
    pub(super) fn new(target: Arc<Target>) -> Self {
        Self { target, open: None }
    }

    /// Sends the request and reads the answer. Where the future is dropped, or fails, the
    /// connection is closed: what would come back is nobody's answer.
    pub(super) async fn call(&mut self, ask: &Ask) -> Result<Bytes, Fault> {
        if let Some(mut open) = self.open.take().filter(|open| !open.sender.is_closed()) {
            // A kept connection may be closed by the other side just now: signing twice does no
            // harm, so the request is sent again on a new one.
            if let Ok(answer) = self.exchange(&mut open, ask).await {
                self.open = Some(open);
                return answer.read();
            }
        }
        let mut open = self.connect().await?;
        let answer = self.exchange(&mut open, ask).await?;
        self.open = Some(open);
        answer.read()
    }

    async fn connect(&self) -> Result<Open, Fault> {
        let stream = self
            .target
            .connect()
            .await
            .map_err(broken("cannot connect"))?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(broken("no HTTP"))?;
        // Its end shows as the end of the request.
        let driving = tokio::spawn(async move { drop(connection.await) });
        Ok(Open { sender, driving })
    }

    async fn exchange(&self, open: &mut Open, ask: &Ask) -> Result<Answer, Fault> {
        open.sender
            .ready()
            .await
            .map_err(broken("the connection is closed"))?;
        let request = self.request(ask).map_err(broken("the request"))?;
        let answer = open.sender.send_request(request);
        let answer = answer.await.map_err(broken("no answer"))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|error| Fault::Broken(format!("the answer broke off: {error}")))?;
        Ok(Answer {
            status,
            body: body.to_bytes(),
        })
    }

    fn request(&self, ask: &Ask) -> Result<Request<Full<Bytes>>, http::Error> {
        let method = if ask.body.is_some() {
            Method::POST
        } else {
            Method::GET
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{}", self.target.prefix(), ask.path))
            .header(header::HOST, self.target.authority())
            .header(header::ACCEPT, "application/json");
        if let Some(bearer) = self.target.bearer() {
            request = request.header(header::AUTHORIZATION, bearer);
        }
        if ask.body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        request.body(Full::new(ask.body.clone().unwrap_or_default()))
    }
}

struct Answer {
    status: StatusCode,
    body: Bytes,
}

impl Answer {
    fn read(self) -> Result<Bytes, Fault> {
        match self.status {
            StatusCode::OK => Ok(self.body),
            status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
                Err(Fault::Refused(status))
            }
            status => Err(Fault::Broken(format!("answered {status}"))),
        }
    }
}
