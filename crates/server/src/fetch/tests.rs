//! Places that hang, redirect, are private, or have a certificate of an authority nobody knows.

use super::*;
use rcgen::{CertificateParams, KeyPair};
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_rustls::TlsAcceptor;

const SOON: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_mins(1);
const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\n\r\n";

/// A place on this machine; what it was asked, and how often.
struct Here {
    at: String,
    asked: Arc<AtomicUsize>,
    request: UnboundedReceiver<String>,
}

impl Here {
    /// Answers every request with these bytes, over TLS or not; with none, it hangs.
    async fn answering(answer: &'static str, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let (heard, request) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let heard = heard.clone();
                drop(tokio::spawn(meet(stream, tls.clone(), answer, heard)));
            }
        });
        Self { at, asked, request }
    }

    /// A fetcher that may come here.
    fn fetcher(&self, timeout: Duration) -> Fetcher {
        Fetcher::new(Roots::system(), std::slice::from_ref(&self.at), timeout)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn meet(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    answer: &str,
    heard: UnboundedSender<String>,
) {
    match tls {
        None => talk(stream, answer, heard).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                talk(stream, answer, heard).await;
            }
        }
    }
}

async fn talk(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &str,
    heard: UnboundedSender<String>,
) {
    let mut request = Vec::new();
    let mut part = [0; 4096];
    while !(request.ends_with(b"=1") || request.ends_with(b"\r\n\r\n")) {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(count) => request.extend_from_slice(&part[..count]),
        }
    }
    drop(heard.send(String::from_utf8(request).unwrap()));
    if answer.is_empty() {
        std::future::pending::<()>().await;
    }
    drop(stream.write_all(answer.as_bytes()).await);
    drop(stream.shutdown().await);
}

fn why<T: fmt::Debug>(outcome: Result<T, FetchError>) -> String {
    outcome.unwrap_err().to_string()
}

#[tokio::test]
async fn nothing_private_is_reached() {
    let here = Here::answering(NO_CONTENT, None).await;
    let port = here.at.rsplit_once(':').unwrap().1;
    let fetcher = Fetcher::new(Roots::system(), &["127.0.0.2:1".to_owned()], LATE);
    for url in [
        "http://example.com/".to_owned(),
        format!("https://127.0.0.1:{port}/"),
        format!("https://localhost:{port}/"),
        format!("https://[::1]:{port}/"),
        format!("https://[::ffff:127.0.0.1]:{port}/"),
        format!("https://2130706433:{port}/"),
        format!("https://0x7f.1:{port}/"),
        format!("https://0:{port}/"),
        format!("https://a@127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}/"),
        "file:///etc/passwd".to_owned(),
        "https:///x".to_owned(),
        "//x".to_owned(),
        String::new(),
    ] {
        for refused in [
            fetcher.get(&url).await.map(drop),
            fetcher.post(&url, "a=1".to_owned()).await,
        ] {
            assert!(refused.is_err(), "{url}");
        }
    }
    assert_eq!(here.asked(), 0);
}

#[tokio::test]
async fn a_form_is_posted_to_a_host_that_was_named() {
    let mut here = Here::answering(NO_CONTENT, None).await;
    let url = format!("http://{}/logout?tenant=1", here.at);
    let fetcher = here.fetcher(LATE);
    fetcher
        .post(&url, "logout_token=1".to_owned())
        .await
        .unwrap();
    let request = here.request.recv().await.unwrap();
    assert!(request.starts_with("POST /logout?tenant=1 HTTP/1.1\r\n"));
    let head = request.to_lowercase();
    for line in [
        "content-type: application/x-www-form-urlencoded\r\n",
        "content-length: 14\r\n",
        &format!("host: {}\r\n", here.at),
    ] {
        assert!(head.contains(line), "{line} {request}");
    }
    assert!(request.ends_with("\r\n\r\nlogout_token=1"));
    let other_port = url.replace(&here.at, "127.0.0.1:1");
    assert_eq!(
        why(fetcher.post(&other_port, String::new()).await),
        "only https URLs are called"
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let answer = "HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n";
    let here = Here::answering(answer, None).await;
    let url = format!("http://{}/", here.at);
    let fetcher = here.fetcher(LATE);
    for refused in [
        fetcher.get(&url).await.map(drop),
        fetcher.post(&url, "a=1".to_owned()).await,
    ] {
        assert!(why(refused).contains("redirects are not followed"));
    }
    assert_eq!(here.asked(), 2, "and nobody else was");
}

#[tokio::test]
async fn who_hangs_is_given_up_and_keeps_nobody_else_waiting() {
    let hanging = Here::answering("", None).await;
    let quick = Here::answering(NO_CONTENT, None).await;
    let allowed = [hanging.at.clone(), quick.at.clone()];
    let fetcher = Fetcher::new(Roots::system(), &allowed, SOON);
    let url = format!("http://{}/", hanging.at);
    assert_eq!(
        why(fetcher.post(&url, "a=1".to_owned()).await),
        "no answer in time"
    );
    assert_eq!(why(fetcher.get(&url).await), "no answer in time");
    let patient = Fetcher {
        timeout: LATE,
        ..fetcher
    };
    let waiting: Vec<_> = (0..100)
        .map(|_| {
            let (patient, url) = (patient.clone(), url.clone());
            tokio::spawn(async move { patient.post(&url, "a=1".to_owned()).await })
        })
        .collect();
    while waiting.iter().filter(|call| !call.is_finished()).count() > 16 {
        tokio::task::yield_now().await;
    }
    let other = format!("http://{}/", quick.at);
    patient.post(&other, "a=1".to_owned()).await.unwrap();
    for call in waiting {
        call.abort();
    }
}

#[tokio::test]
async fn answers_that_are_too_long_or_no_http_are_failures() {
    for (answer, said) in [
        ("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n", "500"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\nx",
            "broke off",
        ),
        ("hello", "no answer"),
    ] {
        let here = Here::answering(answer, None).await;
        let got = here
            .fetcher(LATE)
            .get(&format!("http://{}/", here.at))
            .await;
        assert!(why(got).contains(said), "{answer}");
    }
    let long: &'static str = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{}",
        "x".repeat(100_000)
    )
    .leak();
    let here = Here::answering(long, None).await;
    let got = here
        .fetcher(LATE)
        .get(&format!("http://{}/", here.at))
        .await;
    assert!(why(got).contains("limit"));
}

/// A certificate for 127.0.0.1, as PEM, and who shows it.
fn authority() -> (String, TlsAcceptor) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let private = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private.into())
        .unwrap();
    (certificate.pem(), TlsAcceptor::from(Arc::new(config)))
}

#[tokio::test]
async fn a_further_authority_is_believed_only_when_it_is_named() {
    let (pem, tls) = authority();
    let here = Here::answering(NO_CONTENT, Some(tls)).await;
    let url = format!("https://{}/", here.at);
    let post = |roots| {
        let fetcher = Fetcher::new(roots, std::slice::from_ref(&here.at), LATE);
        let url = url.clone();
        async move { fetcher.post(&url, "a=1".to_owned()).await }
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    std::fs::write(&file, authority().0).unwrap();
    assert!(why(post(Roots::with_file(&file).unwrap()).await).contains("TLS failed"));
    std::fs::write(&file, pem).unwrap();
    post(Roots::with_file(&file).unwrap()).await.unwrap();
}

#[test]
fn a_file_without_authorities_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    assert!(Roots::with_file(&file).is_err(), "there is none");
    for text in [
        "",
        "hello",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        std::fs::write(&file, text).unwrap();
        let error = Roots::with_file(&file).unwrap_err();
        assert!(error.contains("ca.pem"), "{error}");
    }
}
