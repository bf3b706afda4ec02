//! Which servers are believed: the settings of TLS. It must not know addresses or requests.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadTrust {
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    File(PathBuf, rustls::pki_types::pem::Error),
    #[error("{0} holds no certificate")]
    Empty(PathBuf),
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// Whom to believe.
#[derive(Clone, Debug)]
pub(crate) enum Trust {
    /// The authorities that this system knows.
    System,
    /// Only the authorities, or the server certificate itself, of this PEM file.
    File(PathBuf),
    /// Anybody.
    Anybody,
}

/// The client's side of TLS. Sessions are not resumed: every connection pays for a full handshake,
/// as the first connection of every real client does.
pub(crate) fn client(trust: &Trust, http2: bool) -> Result<ClientConfig, BadTrust> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?;
    let mut config = match trust {
        Trust::System => builder.with_root_certificates(system()),
        Trust::File(path) => builder.with_root_certificates(from_file(path)?),
        Trust::Anybody => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider))),
    }
    .with_no_client_auth();
    let protocol = if http2 { "h2" } else { "http/1.1" };
    config.alpn_protocols = vec![protocol.into()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    // Authorities that cannot be read are not believed; the handshake then says who is missing.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn from_file(path: &PathBuf) -> Result<RootCertStore, BadTrust> {
    let bad = |cause| BadTrust::File(path.clone(), cause);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(bad)? {
        roots.add(certificate.map_err(bad)?)?;
    }
    if roots.is_empty() {
        return Err(BadTrust::Empty(path.clone()));
    }
    Ok(roots)
}

/// Believes any certificate, but still checks that the server holds its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
