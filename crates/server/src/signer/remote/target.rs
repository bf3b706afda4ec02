//! Where a signing service is, and how to reach it: `https`, or `http` on this machine.

use http::{HeaderValue, Uri};
use rustls::pki_types::ServerName;
use signet_oauth::secret::Secret;
use std::io;
use std::net::IpAddr;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::fetch::Roots;

/// A stream, with TLS or without.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

pub(super) struct Target {
    host: String,
    port: u16,
    /// What the paths of the protocol come behind; no slash at its end.
    prefix: String,
    authority: HeaderValue,
    bearer: Option<HeaderValue>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.into())
}

impl Target {
    pub(super) fn new(url: &str, token: Option<&Secret>, roots: &Roots) -> io::Result<Self> {
        let uri: Uri = url
            .parse()
            .map_err(|_| invalid(format!("{url:?} is not a URL")))?;
        let (Some(scheme), Some(authority), Some(host)) =
            (uri.scheme_str(), uri.authority(), uri.host())
        else {
            return Err(invalid(format!("{url:?} has no scheme or no host")));
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        let tls = match scheme {
            "https" => Some((
                roots.connector().map_err(invalid)?.clone(),
                server_name(&host)?,
            )),
            "http" if is_here(&host) => None,
            _ => return Err(invalid(format!("{url:?}: https, or http on loopback only"))),
        };
        let usual_port = if tls.is_some() { 443 } else { 80 };
        Ok(Self {
            port: uri.port_u16().unwrap_or(usual_port),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            authority: header(authority.as_str())?,
            bearer: token.map(bearer).transpose()?,
            host,
            tls,
        })
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn authority(&self) -> &HeaderValue {
        &self.authority
    }

    pub(super) fn bearer(&self) -> Option<&HeaderValue> {
        self.bearer.as_ref()
    }

    pub(super) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(match &self.tls {
            None => Box::new(stream),
            Some((tls, name)) => Box::new(tls.connect(name.clone(), stream).await?),
        })
    }
}

fn header(text: &str) -> io::Result<HeaderValue> {
    HeaderValue::from_str(text).map_err(|_| invalid("not a header value"))
}

fn bearer(token: &Secret) -> io::Result<HeaderValue> {
    let mut value = header(&format!("Bearer {}", token.expose()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_here(host: &str) -> bool {
    host == "localhost"
        || host
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(|_| invalid(format!("{host:?} is not a name")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_stays_on_this_machine() {
        for good in [
            "http://127.0.0.1:1",
            "http://[::1]:1/kms/",
            "http://localhost/",
        ] {
            assert!(Target::new(good, None, &Roots::system()).is_ok(), "{good}");
        }
        for bad in [
            "http://kms.example",
            "http://10.0.0.1",
            "ftp://localhost",
            "localhost",
            "",
            "/",
        ] {
            assert!(Target::new(bad, None, &Roots::system()).is_err(), "{bad}");
        }
        let target = Target::new("http://127.0.0.1:1/kms/", None, &Roots::system()).unwrap();
        assert_eq!((target.prefix(), target.port), ("/kms", 1));
    }
}
