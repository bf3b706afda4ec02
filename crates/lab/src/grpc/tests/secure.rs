//! TLS: who is believed, and who has to show a certificate.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::grpc::status::Code;
use crate::grpc::target::{Identity, Tls};
use crate::wire::Kind;
use crate::wire::trust::Trust;

/// A certificate authority and what it has signed, in files.
struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self {
            folder: tempfile::tempdir().unwrap(),
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn trust(&self) -> Trust {
        Trust::File(self.write("ca.pem", &self.certificate.pem()))
    }

    fn sign(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    fn identity(&self) -> Identity {
        let (certificate, key) = self.sign("client");
        Identity {
            certificate: self.write("client.pem", &certificate.pem()),
            key: self.write("client.key", &key.serialize_pem()),
        }
    }

    /// With `clients` the server wants a certificate of that authority.
    fn acceptor(&self, clients: Option<&Self>, protocol: &str) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(clients.certificate.der().clone()).unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let (certificate, key) = self.sign("127.0.0.1");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = builder
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![protocol.into()];
        TlsAcceptor::from(Arc::new(config))
    }
}

async fn secure_call(server: &Server, tls: &Tls) -> CallResult {
    let target = GrpcTarget::new(&server.address, Some(tls)).unwrap();
    let channel = Channel::new(&target, Clock::start()).unwrap();
    call(&channel, &unary()).await
}

fn refused(result: CallResult) -> String {
    assert_eq!(result.code(), Code::UNAVAILABLE, "{:?}", result.ending);
    let failure = result.ending.unwrap_err().failure();
    assert_eq!(failure.kind, Kind::Tls, "{failure:?}");
    failure.detail
}

#[test]
fn a_server_of_the_right_authority_is_believed_and_of_another_is_not() {
    on_runtime(async {
        let (authority, other) = (Authority::new("one"), Authority::new("other"));
        let acceptor = authority.acceptor(None, "h2");
        let server = Server::start_with(Some(acceptor), service::serve).await;
        let trusting = |trust| Tls {
            trust,
            identity: None,
        };
        let result = secure_call(&server, &trusting(authority.trust())).await;
        assert_eq!(result.code(), Code::OK, "{:?}", result.ending);
        let result = secure_call(&server, &trusting(Trust::Anybody)).await;
        assert_eq!(result.code(), Code::OK, "{:?}", result.ending);
        let result = secure_call(&server, &trusting(other.trust())).await;
        let detail = refused(result);
        assert!(detail.contains("UnknownIssuer"), "{detail}");
        assert_eq!(server.seen.borrow().len(), 2);
    });
}

#[test]
fn a_server_that_wants_a_certificate_lets_nobody_in_without_the_right_one() {
    on_runtime(async {
        let (authority, other) = (Authority::new("one"), Authority::new("other"));
        let acceptor = authority.acceptor(Some(&authority), "h2");
        let server = Server::start_with(Some(acceptor), service::serve).await;
        let showing = |identity| Tls {
            trust: authority.trust(),
            identity,
        };
        let result = secure_call(&server, &showing(Some(authority.identity()))).await;
        assert_eq!(result.code(), Code::OK, "{:?}", result.ending);
        let detail = refused(secure_call(&server, &showing(None)).await);
        assert!(detail.contains("CertificateRequired"), "{detail}");
        refused(secure_call(&server, &showing(Some(other.identity()))).await);
        assert_eq!(server.seen.borrow().len(), 1);
    });
}

#[test]
fn a_server_without_http2_is_refused() {
    on_runtime(async {
        let authority = Authority::new("one");
        let acceptor = authority.acceptor(None, "http/1.1");
        let server = Server::start_with(Some(acceptor), service::serve).await;
        let tls = Tls {
            trust: authority.trust(),
            identity: None,
        };
        refused(secure_call(&server, &tls).await);
    });
}
