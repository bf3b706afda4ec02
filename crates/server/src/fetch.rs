//! The only way out of the process on behalf of a client: `GET` of a URL that a client was
//! registered with. A client must not make the server talk to the network behind it, so only
//! public addresses are reached, over https, without redirects, with bounds on time and size.

use http::{Request, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// For the whole of a fetch.
const TIMEOUT: Duration = Duration::from_secs(5);
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

/// Fetches URLs.
#[derive(Clone)]
pub struct Fetcher {
    tls: Arc<OnceLock<Option<TlsConnector>>>,
    /// `host:port` that may be private, and reached without TLS.
    allowed: Arc<[String]>,
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

impl Fetcher {
    /// A fetcher that trusts the system's authorities; `allowed` are `host:port` of the operator's
    /// own network that may be reached, over plain http too.
    pub fn new(allowed: &[String]) -> Self {
        Self {
            tls: Arc::default(),
            allowed: allowed.into(),
        }
    }

    /// The authorities are read at the first fetch: most servers never fetch anything.
    fn tls(&self) -> Result<&TlsConnector, FetchError> {
        let made = self.tls.get_or_init(|| {
            let mut roots = rustls::RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            let builder = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .ok()?;
            let config = builder.with_root_certificates(roots).with_no_client_auth();
            Some(TlsConnector::from(Arc::new(config)))
        });
        made.as_ref()
            .ok_or_else(|| FetchError::Failed("TLS cannot be set up".to_owned()))
    }

    /// The body of a `200` answer.
    pub async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        let target = self.target(url)?;
        let fetched = tokio::time::timeout(TIMEOUT, self.fetch(&target)).await;
        fetched.unwrap_or_else(|_| Err(FetchError::Failed("no answer in time".to_owned())))
    }

    fn target(&self, url: &str) -> Result<Target, FetchError> {
        let uri: Uri = url
            .parse()
            .map_err(|_| FetchError::Refused("the URL is malformed"))?;
        let host = uri
            .host()
            .ok_or(FetchError::Refused("the URL has no host"))?
            .to_owned();
        let secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let target = Target {
            path: uri
                .path_and_query()
                .map_or("/", |path| path.as_str())
                .to_owned(),
            host,
            port,
            secure,
        };
        if !secure && !self.is_allowed(&target) {
            return Err(FetchError::Refused("only https URLs are fetched"));
        }
        Ok(target)
    }

    fn is_allowed(&self, target: &Target) -> bool {
        self.allowed
            .iter()
            .any(|known| *known == format!("{}:{}", target.host, target.port))
    }

    async fn fetch(&self, target: &Target) -> Result<Vec<u8>, FetchError> {
        let stream = TcpStream::connect(self.resolve(target).await?)
            .await
            .map_err(broken("cannot connect"))?;
        if !target.secure {
            return ask(stream, target).await;
        }
        let name = ServerName::try_from(target.host.trim_matches(['[', ']']).to_owned())
            .map_err(broken("the host is no name"))?;
        let stream = self
            .tls()?
            .connect(name, stream)
            .await
            .map_err(broken("TLS failed"))?;
        ask(stream, target).await
    }

    /// Resolves once, judges the address, and connects to that very address: a name that answers
    /// differently a moment later changes nothing.
    async fn resolve(&self, target: &Target) -> Result<SocketAddr, FetchError> {
        let host = target.host.trim_matches(['[', ']']);
        let mut found = tokio::net::lookup_host((host, target.port))
            .await
            .map_err(broken("the host is unknown"))?;
        let allowed = self.is_allowed(target);
        found
            .find(|address| allowed || is_public(address.ip()))
            .ok_or(FetchError::Refused("the host is not a public one"))
    }
}

async fn ask<S>(stream: S, target: &Target) -> Result<Vec<u8>, FetchError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken("no HTTP"))?;
    let driving = tokio::spawn(connection);
    let request = Request::get(&target.path)
        .header(header::HOST, format!("{}:{}", target.host, target.port))
        .header(header::ACCEPT, "application/jwk-set+json, application/json")
        .body(Empty::<bytes::Bytes>::new())
        .map_err(broken("the URL makes no request"))?;
    let answer = sender
        .send_request(request)
        .await
        .map_err(broken("no answer"))?;
    if answer.status() != http::StatusCode::OK {
        driving.abort();
        return Err(FetchError::Failed(format!(
            "answered with {}",
            answer.status()
        )));
    }
    let body = Limited::new(answer.into_body(), MAX_BYTES).collect().await;
    driving.abort();
    let body =
        body.map_err(|error| FetchError::Failed(format!("the answer broke off: {error}")))?;
    Ok(body.to_bytes().into())
}

/// Whether an address belongs to the public Internet (IANA special-purpose registries).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b)))
}

/// Only global unicast, and of that nothing that hides an IPv4 address or means documentation.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let [a, b, ..] = address.segments();
    let global = (0x2000..0x4000).contains(&a);
    let special = a == 0x2002 || (a == 0x2001 && (b < 0x200 || b == 0xdb8)) || a == 0x3fff;
    global && !special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_told_from_public_ones() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "198.18.0.1",
            "192.0.0.8",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "2001:db8::1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fec0::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in [
            "1.1.1.1",
            "93.184.216.34",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[tokio::test]
    async fn nothing_private_is_reached() {
        let fetcher = Fetcher::new(&[]);
        for url in [
            "http://example.com/",
            "https://127.0.0.1:1/",
            "https://localhost:1/",
            "https://[::1]:1/",
            "https://2130706433/",
            "file:///etc/passwd",
            "https:///x",
        ] {
            let refused = fetcher.get(url).await;
            assert!(
                matches!(refused, Err(FetchError::Refused(_) | FetchError::Failed(_))),
                "{url}"
            );
        }
    }
}
