//! TLS: authorities, insecure mode and HTTP/2.

use std::io::Write as _;
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::lab::hit;
use crate::stub::{Stub, ok};

/// A server with a certificate of its own making, and that certificate as PEM.
fn secure_stub() -> (Stub, String) {
    let names = ["127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let stub = Stub::wrapped(
        "https",
        |_| ok(),
        move |stream| {
            let session = ServerConnection::new(Arc::clone(&config));
            let session = session.map_err(std::io::Error::other)?;
            Ok(StreamOwned::new(session, stream))
        },
    );
    (stub, made.cert.pem())
}

#[test]
fn unknown_certificate_is_refused() {
    let (stub, _) = secure_stub();
    let run = hit(&["-n", "3", "-c", "1"], &stub.url);
    assert_eq!(run["responses"], 0);
    assert_eq!(run["errors"]["tls"]["count"], 3);
}

#[test]
fn unknown_certificate_is_accepted_when_told_so() {
    let (stub, _) = secure_stub();
    let run = hit(&["-n", "30", "-c", "3", "--insecure"], &stub.url);
    assert_eq!(run["responses"], 30);
    assert_eq!(stub.connections(), 3);
}

#[test]
fn given_authority_is_believed() {
    let (stub, pem) = secure_stub();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(pem.as_bytes()).unwrap();
    let path = file.path().to_str().unwrap();
    let run = hit(&["-n", "30", "-c", "3", "--cacert", path], &stub.url);
    assert_eq!(run["responses"], 30);
    assert_eq!(run["error_count"], 0);
}

#[test]
fn server_that_does_not_agree_to_http2_is_a_tls_error() {
    let (stub, _) = secure_stub();
    let run = hit(&["-n", "1", "-c", "1", "--insecure", "--http2"], &stub.url);
    assert_eq!(run["errors"]["tls"]["count"], 1);
}
