//! An authority of the tests' own: certificates of servers, and clients that believe it.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::unique;

/// An authority that only those know who are told.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut about = CertificateParams::default();
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Clients tell authorities apart by their names first.
        about.distinguished_name.push(DnType::CommonName, unique());
        Self(CertifiedIssuer::self_signed(about, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn issue(&self, name: &str) -> Issued {
        let key = KeyPair::generate().unwrap();
        let about = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = about.signed_by(&key, &self.0).unwrap();
        Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// Its own certificate, in a file.
    pub(crate) fn file(&self, dir: &Path) -> PathBuf {
        let file = dir.join("ca.pem");
        std::fs::write(&file, self.0.pem()).unwrap();
        file
    }

    /// Connects as a client that believes this authority and nobody else.
    pub(crate) async fn connect(
        &self,
        to: SocketAddr,
        versions: &[&'static SupportedProtocolVersion],
        protocols: &[&str],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
        config.alpn_protocols = protocols.collect();
        let stream = TcpStream::connect(to).await?;
        let name = ServerName::from(to.ip());
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
    }
}

impl Issued {
    /// Writes `chain.pem` and `key.pem`.
    pub(crate) fn write(&self, dir: &Path) {
        std::fs::write(dir.join("chain.pem"), &self.certificate).unwrap();
        std::fs::write(dir.join("key.pem"), &self.key).unwrap();
    }

    /// The certificate as it is sent.
    pub(crate) fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()
    }

    /// A server that shows it.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.der()], key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}
