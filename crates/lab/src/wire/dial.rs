//! Opening connections: name, TCP, TLS. It must not know what is sent over them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Host;

use super::{Dialled, Failure, Kind};
use crate::clock::{Clock, Nanos};
use crate::wire::target::Target;

/// An open connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Opens connections to one target.
#[derive(Debug)]
pub(crate) struct Dialer {
    host: Host<String>,
    port: u16,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    http2: bool,
    clock: Clock,
}

impl Dialer {
    /// `tls` is used when the target asks for it. `http2`: refuse a server that does not agree.
    pub(crate) fn new(
        target: &Target,
        tls: Option<&Arc<ClientConfig>>,
        http2: bool,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let tls = tls.map(|config| {
            let name = match target.host() {
                Host::Domain(name) => ServerName::try_from(name.clone())
                    .map_err(|error| Failure::new(Kind::Tls, error))?,
                Host::Ipv4(address) => ServerName::from(IpAddr::from(*address)),
                Host::Ipv6(address) => ServerName::from(IpAddr::from(*address)),
            };
            Ok((Arc::clone(config), name))
        });
        Ok(Self {
            host: target.host().clone(),
            port: target.port(),
            tls: tls.transpose()?,
            http2,
            clock,
        })
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Opens a connection; `start` is when that began.
    pub(crate) async fn dial(&self, start: Nanos) -> Result<(Stream, Dialled), Failure> {
        let (addresses, lookup) = self.addresses(start).await?;
        let tcp = TcpStream::connect(addresses.as_slice())
            .await
            .map_err(|error| Failure::new(Kind::Connect, error))?;
        // Without this the kernel may hold a small request back and the target gets the blame.
        tcp.set_nodelay(true)
            .map_err(|error| Failure::new(Kind::Connect, error))?;
        let stream = match &self.tls {
            None => Stream::Plain(tcp),
            Some((config, name)) => {
                let connector = TlsConnector::from(Arc::clone(config));
                let tls = connector.connect(name.clone(), tcp).await;
                let tls = tls.map_err(|error| Failure::new(Kind::Tls, error))?;
                if self.http2 && tls.get_ref().1.alpn_protocol() != Some(b"h2") {
                    let detail = "the server did not agree to HTTP/2";
                    return Err(Failure::new(Kind::Tls, detail));
                }
                Stream::Tls(Box::new(tls))
            }
        };
        let dialled = Dialled {
            count: 1,
            lookup,
            whole: self.clock.now() - start,
        };
        Ok((stream, dialled))
    }

    async fn addresses(&self, start: Nanos) -> Result<(Vec<SocketAddr>, Nanos), Failure> {
        let name = match &self.host {
            Host::Ipv4(address) => return Ok((vec![(*address, self.port).into()], 0)),
            Host::Ipv6(address) => return Ok((vec![(*address, self.port).into()], 0)),
            Host::Domain(name) => name.as_str(),
        };
        match tokio::net::lookup_host((name, self.port)).await {
            Ok(found) => Ok((found.collect(), self.clock.now() - start)),
            Err(error) => Err(Failure::new(Kind::Lookup, error)),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
