//! One connection to one listener, kept for as many requests as the command makes. It knows HTTP
//! and TLS, and nothing about what is said.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::args::Endpoint;
use super::error::CliError;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// The largest answer that is read: a page of a thousand clients with their keys.
const MAX_ANSWER: usize = 64 << 20;

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    /// HTTP status.
    pub(super) status: StatusCode,
    /// Seconds that the server asks us to wait.
    pub(super) retry_after: Option<u64>,
    /// The body.
    pub(super) body: Bytes,
}

/// A connection that is made when it is needed.
pub(super) struct Wire {
    endpoint: Endpoint,
    option: &'static str,
    tls: Option<TlsConnector>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Wire {
    /// A connection to `endpoint`, which `option` names on the command line.
    pub(super) fn new(
        endpoint: Endpoint,
        option: &'static str,
        authorities: Option<&PathBuf>,
    ) -> Result<Self, CliError> {
        let tls = endpoint
            .is_tls
            .then(|| connector(authorities))
            .transpose()?;
        Ok(Self {
            endpoint,
            option,
            tls,
            sender: None,
        })
    }

    /// Another connection to the same listener.
    pub(super) fn another(&self) -> Self {
        Self {
            endpoint: self.endpoint.clone(),
            option: self.option,
            tls: self.tls.clone(),
            sender: None,
        }
    }

    /// The listener.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request whose URI is a path, and reads the answer. A request is never sent twice:
    /// whether one that broke off was carried out is for the user to find out.
    pub(super) async fn send(
        &mut self,
        mut request: Request<Full<Bytes>>,
        patience: Duration,
    ) -> Result<Answer, CliError> {
        let host = HeaderValue::from_str(&self.endpoint.authority);
        let host = host.map_err(|fault| self.broken(&fault))?;
        request.headers_mut().insert(header::HOST, host);
        let mut sender = self.connection().await?;
        let exchange = async {
            let answer = sender
                .send_request(request)
                .await
                .map_err(|fault| fault.to_string())?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, MAX_ANSWER).collect().await;
            let body = body.map_err(|fault| fault.to_string())?.to_bytes();
            Ok::<_, String>((head, body))
        };
        let (head, body) = match timeout(patience, exchange).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(fault)) => return Err(self.broken(&fault)),
            Err(_) => return Err(self.broken(&format!("no answer in {} s", patience.as_secs()))),
        };
        self.sender = Some(sender);
        let retry_after = head.headers.get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(Answer {
            status: head.status,
            retry_after,
            body,
        })
    }

    async fn connection(&mut self) -> Result<SendRequest<Full<Bytes>>, CliError> {
        if let Some(mut kept) = self.sender.take()
            && kept.ready().await.is_ok()
        {
            return Ok(kept);
        }
        let connected = timeout(CONNECT, self.connect()).await;
        let stream = connected.unwrap_or_else(|_| Err(self.unreachable(&"no answer in 10 s")))?;
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|fault| self.broken(&fault))?;
        // Whatever ends it, the next request says so.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    async fn connect(&self) -> Result<Box<dyn Stream>, CliError> {
        let address = (self.endpoint.host.as_str(), self.endpoint.port);
        let stream = TcpStream::connect(address)
            .await
            .map_err(|fault| self.unreachable(&fault))?;
        stream
            .set_nodelay(true)
            .map_err(|fault| self.broken(&fault))?;
        let Some(tls) = &self.tls else {
            return Ok(Box::new(stream));
        };
        let name = ServerName::try_from(self.endpoint.host.clone());
        let name = name.map_err(|fault| self.untrusted(&fault.to_string()))?;
        match tls.connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(fault) => Err(self.untrusted(&tls_fault(&fault))),
        }
    }

    fn unreachable(&self, cause: &dyn Display) -> CliError {
        CliError::Unreachable {
            endpoint: self.endpoint.to_string(),
            option: self.option,
            cause: cause.to_string(),
        }
    }

    fn untrusted(&self, cause: &str) -> CliError {
        CliError::Untrusted {
            endpoint: self.endpoint.to_string(),
            cause: cause.to_owned(),
        }
    }

    fn broken(&self, cause: &dyn Display) -> CliError {
        CliError::Broken {
            endpoint: self.endpoint.to_string(),
            cause: cause.to_string(),
        }
    }
}

/// What rustls has against the server, which `io::Error` wraps.
fn tls_fault(fault: &io::Error) -> String {
    match fault
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    {
        Some(rustls::Error::InvalidMessage(_)) => {
            "it does not speak TLS: is it http://?".to_owned()
        }
        Some(inner) => inner.to_string(),
        None => fault.to_string(),
    }
}

fn connector(authorities: Option<&PathBuf>) -> Result<TlsConnector, CliError> {
    let roots = if let Some(path) = authorities {
        from_file(path)?
    } else {
        let mut roots = RootCertStore::empty();
        // Authorities that cannot be read are not believed; the handshake says who is missing.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|fault| CliError::Failed(format!("TLS: {fault}")))?;
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn from_file(path: &Path) -> Result<RootCertStore, CliError> {
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path).map_err(|fault| CliError::file(path, fault))?;
    for certificate in found {
        let certificate = certificate.map_err(|fault| CliError::file(path, fault))?;
        roots
            .add(certificate)
            .map_err(|fault| CliError::file(path, fault))?;
    }
    if roots.is_empty() {
        return Err(CliError::file(path, "it holds no certificate"));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests;
