//! TLS of a door: handshakes with an end and a number of their own, beside those who are served.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::certificate::Certificate;
use crate::telemetry::metrics::Metrics;

/// What a door needs to speak TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// What it shows.
    pub certificate: Arc<Certificate>,
    /// How long a handshake may take.
    pub timeout: Duration,
    /// How many there may be at a time.
    pub handshakes: Arc<Semaphore>,
}

impl Tls {
    /// Makes a connection of a stream; `None` where the other side did not do its part.
    pub async fn shake_hands(
        &self,
        stream: TcpStream,
        address: IpAddr,
        metrics: &Metrics,
    ) -> Option<TlsStream<TcpStream>> {
        // Over the limit the connection is closed at once: a clear refusal beats a silent queue.
        let Ok(_place) = self.handshakes.try_acquire() else {
            metrics.tls("handshakes_refused");
            return None;
        };
        let shaking = TlsAcceptor::from(self.certificate.config()).accept(stream);
        match tokio::time::timeout(self.timeout, shaking).await {
            Ok(Ok(stream)) => {
                metrics.tls("handshakes");
                Some(stream)
            }
            Ok(Err(error)) => {
                metrics.tls("handshakes_failed");
                tracing::debug!(%address, %error, "a TLS handshake failed");
                None
            }
            Err(_) => {
                metrics.tls("handshakes_late");
                None
            }
        }
    }
}

/// Whether both sides chose HTTP/2.
pub fn is_http2(stream: &TlsStream<TcpStream>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(b"h2")
}
