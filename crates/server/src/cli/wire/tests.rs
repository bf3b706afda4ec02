use super::*;
use crate::cli::admin::{Body, read, request};
use http::Method;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fs;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const SOON: Duration = Duration::from_secs(5);

/// A server that answers every request with its number; `per_connection` of them until it hangs up.
async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, per_connection: usize) {
    for connection in 0.. {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream: Box<dyn Stream> = match &tls {
            None => Box::new(stream),
            Some(tls) => match tls.accept(stream).await {
                Ok(stream) => Box::new(stream),
                Err(_) => continue,
            },
        };
        for number in 0..per_connection {
            if !read_head(&mut stream).await {
                break;
            }
            let body = format!("{{\"connection\":{connection},\"number\":{number}}}");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).await.unwrap();
        }
    }
}

async fn read_head(stream: &mut Box<dyn Stream>) -> bool {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if !matches!(stream.read(&mut byte).await, Ok(1)) {
            return false;
        }
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"GET /version HTTP/1.1\r\n"));
    true
}

async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn wire(url: &str, authority: Option<&PathBuf>) -> Wire {
    Wire::new(Endpoint::parse(url).unwrap(), "--admin", authority).unwrap()
}

async fn ask(wire: &mut Wire) -> Result<String, CliError> {
    let request = request(Method::GET, "/version", Body::None)?;
    let answer = wire.send(request, SOON).await?;
    read(wire.endpoint(), "admin", &answer).map(|value| value.to_string())
}

#[tokio::test]
async fn a_connection_is_kept_and_made_again_when_it_is_gone() {
    let (listener, port) = listener().await;
    tokio::spawn(serve(listener, None, 2));
    let mut wire = wire(&format!("http://localhost:{port}"), None);
    for expected in [(0, 0), (0, 1), (1, 0)] {
        let (connection, number) = expected;
        let answer = ask(&mut wire).await.unwrap();
        assert_eq!(
            answer,
            format!("{{\"connection\":{connection},\"number\":{number}}}")
        );
        // The server hangs up after its second answer; that is known a moment later.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn only_a_server_that_proves_who_it_is_is_spoken_to() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let authority = dir.path().join("authority.pem");
    fs::write(&authority, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let (listener, port) = listener().await;
    tokio::spawn(serve(
        listener,
        Some(TlsAcceptor::from(Arc::new(config))),
        1,
    ));

    let known = ask(&mut wire(
        &format!("https://localhost:{port}"),
        Some(&authority),
    ))
    .await;
    assert!(known.is_ok(), "{known:?}");
    for (url, authority) in [
        (format!("https://localhost:{port}"), None),
        (format!("https://127.0.0.1:{port}"), Some(&authority)),
    ] {
        let refused = ask(&mut wire(&url, authority)).await.unwrap_err();
        assert!(
            matches!(refused, CliError::Untrusted { .. }),
            "{url}: {refused}"
        );
    }
    let unread = dir.path().join("empty.pem");
    fs::write(&unread, "nothing").unwrap();
    let endpoint = Endpoint::parse("https://localhost").unwrap();
    assert!(Wire::new(endpoint, "--admin", Some(&unread)).is_err());
}

#[tokio::test]
async fn a_server_without_tls_is_told_from_one_that_is_not_trusted() {
    let (listener, port) = listener().await;
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await
                .unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    let refused = ask(&mut wire(&format!("https://localhost:{port}"), None))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("is it http://"), "{refused}");
}

#[tokio::test]
async fn nobody_and_silence_are_told_apart() {
    let (bound, port) = listener().await;
    let request = || request(Method::GET, "/version", Body::None).unwrap();
    let mut silent = wire(&format!("http://127.0.0.1:{port}"), None);
    let moment = Duration::from_millis(50);
    let refused = silent.send(request(), moment).await.unwrap_err();
    assert!(matches!(refused, CliError::Broken { .. }), "{refused}");
    drop(bound);
    let mut nobody = wire(&format!("http://127.0.0.1:{port}"), None);
    let refused = nobody.send(request(), moment).await.unwrap_err();
    assert!(matches!(refused, CliError::Unreachable { .. }), "{refused}");
}
