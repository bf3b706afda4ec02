//! The only way out of the process on behalf of a client: `GET` of a URL that a client was registered
//! with, and `POST` of a form to one. A client must not make the server talk to the network behind
//! it, so only public addresses are reached, over https, without redirects, with bounds on time,
//! size and number.

mod address;
mod places;
mod roots;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

pub use address::is_public;
use places::{Place, Places};
pub use roots::Roots;

/// Bytes of an answer.
const MAX_BYTES: usize = 64 * 1024;

/// Why a URL could not be fetched.
#[derive(Debug)]
pub enum FetchError {
    /// The URL is not one that the server goes to.
    Refused(&'static str),
    /// The other side did not answer as it should.
    Failed(String),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => f.write_str(why),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for FetchError {}

fn broken<E: fmt::Display>(what: &'static str) -> impl FnOnce(E) -> FetchError {
    move |error| FetchError::Failed(format!("{what}: {error}"))
}

/// Calls URLs.
#[derive(Clone)]
pub struct Fetcher {
    roots: Roots,
    /// `host:port` that may be private, and reached without TLS.
    allowed: Arc<[String]>,
    timeout: Duration,
    places: Places,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fetcher({} private hosts allowed)", self.allowed.len())
    }
}

struct Target {
    host: String,
    port: u16,
    secure: bool,
    path: String,
}

impl Target {
    /// `host:port`, as the operator names places.
    fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The value of `Host`: a port that goes without saying is not said (RFC 9110 §7.2).
    fn authority(&self) -> String {
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            _ => self.place(),
        }
    }
}

/// A connection, which ends when nobody wants anything of it any more.
struct Driving(AbortHandle);

impl Drop for Driving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An answer whose body is still to come.
struct Answer {
    response: Response<Incoming>,
    _driving: Driving,
    _place: Place,
}

impl Fetcher {
    /// A fetcher that believes these authorities. `allowed` are `host:port` of the operator's own
    /// network that may be reached, over plain http too; `timeout` is for the whole of a call.
    pub fn new(roots: Roots, allowed: &[String], timeout: Duration) -> Self {
        Self {
            roots,
            allowed: allowed
                .iter()
                .map(|place| place.to_ascii_lowercase())
                .collect(),
            timeout,
            places: Places::default(),
        }
    }

    /// The body of a `200` answer.
    ///
    /// # Errors
    /// The URL is none that the server goes to, or there was no such answer in time.
    pub async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        let accept = "application/jwk-set+json, application/json";
        let request = Request::get("/").header(header::ACCEPT, accept);
        let call = async {
            let mut answer = self.call(url, request, Bytes::new()).await?;
            expect(&answer, |status| status == StatusCode::OK)?;
            let body = Limited::new(answer.response.body_mut(), MAX_BYTES).collect();
            let body = body.await.map_err(broken("the answer broke off"))?;
            Ok(body.to_bytes().into())
        };
        self.in_time(call).await
    }

    /// Sends a form (`application/x-www-form-urlencoded`); any answer of `2xx` will do.
    ///
    /// # Errors
    /// The URL is none that the server goes to, or there was no such answer in time.
    pub async fn post(&self, url: &str, form: String) -> Result<(), FetchError> {
        let kind = "application/x-www-form-urlencoded";
        let request = Request::post("/").header(header::CONTENT_TYPE, kind);
        let call = async {
            let answer = self.call(url, request, form.into()).await?;
            expect(&answer, |status| status.is_success())
        };
        self.in_time(call).await
    }

    async fn in_time<T>(
        &self,
        call: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        let called = tokio::time::timeout(self.timeout, call).await;
        called.unwrap_or_else(|_| Err(FetchError::Failed("no answer in time".to_owned())))
    }

    async fn call(
        &self,
        url: &str,
        request: http::request::Builder,
        body: Bytes,
    ) -> Result<Answer, FetchError> {
        let target = self.target(url)?;
        let place = self
            .places
            .take(&target.place())
            .ok_or_else(|| FetchError::Failed("too many calls to it are under way".to_owned()))?;
        let request = request
            .uri(target.path.as_str())
            .header(header::HOST, target.authority())
            .body(Full::new(body))
            .map_err(broken("the URL makes no request"))?;
        let stream = self.connect(&target).await?;
        if !target.secure {
            return exchange(stream, request, place).await;
        }
        let name = ServerName::try_from(target.host.trim_matches(['[', ']']).to_owned())
            .map_err(broken("the host is no name"))?;
        let connector = self.roots.connector().map_err(FetchError::Failed)?;
        let stream = connector
            .connect(name, stream)
            .await
            .map_err(broken("TLS failed"))?;
        exchange(stream, request, place).await
    }

    fn target(&self, url: &str) -> Result<Target, FetchError> {
        let uri: Uri = url
            .parse()
            .map_err(|_| FetchError::Refused("the URL is malformed"))?;
        let host = uri
            .host()
            .ok_or(FetchError::Refused("the URL has no host"))?
            .to_ascii_lowercase();
        let secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let target = Target {
            path: path.to_owned(),
            host,
            port,
            secure,
        };
        if !secure && !self.is_allowed(&target) {
            return Err(FetchError::Refused("only https URLs are called"));
        }
        Ok(target)
    }

    fn is_allowed(&self, target: &Target) -> bool {
        self.allowed.contains(&target.place())
    }

    /// Resolves once, judges the addresses, and connects to one of those that were judged: a name
    /// that resolves differently a moment later changes nothing.
    async fn connect(&self, target: &Target) -> Result<TcpStream, FetchError> {
        let host = target.host.trim_matches(['[', ']']);
        let found = tokio::net::lookup_host((host, target.port))
            .await
            .map_err(broken("the host is unknown"))?;
        let anywhere = self.is_allowed(target);
        let mut last = FetchError::Refused("the host is not a public one");
        let reachable = |address: &SocketAddr| anywhere || is_public(address.ip());
        for address in found.filter(reachable) {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = broken("cannot connect")(error),
            }
        }
        Err(last)
    }
}

async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    place: Place,
) -> Result<Answer, FetchError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken("no HTTP"))?;
    let driving = Driving(tokio::spawn(connection).abort_handle());
    let response = sender
        .send_request(request)
        .await
        .map_err(broken("no answer"))?;
    Ok(Answer {
        response,
        _driving: driving,
        _place: place,
    })
}

fn expect(answer: &Answer, good: impl Fn(StatusCode) -> bool) -> Result<(), FetchError> {
    let status = answer.response.status();
    if good(status) {
        return Ok(());
    }
    let hint = if status.is_redirection() {
        ": redirects are not followed"
    } else {
        ""
    };
    Err(FetchError::Failed(format!("answered with {status}{hint}")))
}

#[cfg(test)]
mod tests;
