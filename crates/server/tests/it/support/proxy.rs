//! A way to a server that can be cut and mended.

use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Forwards connections while it is whole. Needs a runtime with threads of its own.
pub(crate) struct Proxy {
    at: SocketAddr,
    whole: watch::Sender<bool>,
    forwarding: JoinHandle<()>,
}

impl Proxy {
    /// A way to the test server of `PostgreSQL`.
    pub(crate) async fn to_postgres() -> Self {
        let url = super::environment("SIGNET_TEST_POSTGRES");
        let to = address(&url).to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (whole, state) = watch::channel(true);
        let forwarding = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if *state.borrow() {
                    tokio::spawn(forward(stream, to.clone(), state.clone()));
                }
            }
        });
        Self {
            at,
            whole,
            forwarding,
        }
    }

    /// The same URL, by this way.
    pub(crate) fn redirect(&self, url: &str) -> String {
        url.replacen(address(url), &self.at.to_string(), 1)
    }

    /// Breaks every connection and takes no more.
    pub(crate) fn cut(&self) {
        self.whole.send_replace(false);
    }

    /// Forwards again.
    pub(crate) fn mend(&self) {
        self.whole.send_replace(true);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.forwarding.abort();
    }
}

async fn forward(mut from: TcpStream, to: String, mut state: watch::Receiver<bool>) {
    let Ok(mut to) = TcpStream::connect(to).await else {
        return;
    };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut from, &mut to) => {}
        _ = state.wait_for(|whole| !whole) => {}
    }
}

/// `HOST:PORT` of a URL.
fn address(url: &str) -> &str {
    let rest = url.split("://").nth(1).unwrap();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    rest[..end].rsplit('@').next().unwrap()
}
