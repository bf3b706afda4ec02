//! Which authorities are believed about servers that this one calls: the system's, and those of a file
//! that the operator names.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tokio_rustls::TlsConnector;

/// Authorities. The system's are read when the first connection is made: most servers make none.
#[derive(Clone, Default)]
pub struct Roots {
    further: Arc<[CertificateDer<'static>]>,
    connector: Arc<OnceLock<Result<TlsConnector, String>>>,
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Roots(the system's and {} more)", self.further.len())
    }
}

impl Roots {
    /// The system's alone.
    pub fn system() -> Self {
        Self::default()
    }

    /// The system's, and those in this PEM file.
    ///
    /// # Errors
    /// Why the file is of no use.
    pub fn with_file(path: &Path) -> Result<Self, String> {
        let explain = |fault: &dyn fmt::Display| format!("{}: {fault}", path.display());
        let mut further = Vec::new();
        let mut tried = RootCertStore::empty();
        let found = CertificateDer::pem_file_iter(path).map_err(|fault| explain(&fault))?;
        for certificate in found {
            let certificate = certificate.map_err(|fault| explain(&fault))?;
            tried
                .add(certificate.clone())
                .map_err(|fault| explain(&fault))?;
            further.push(certificate);
        }
        if further.is_empty() {
            return Err(explain(&"it holds no certificate"));
        }
        Ok(Self {
            further: further.into(),
            connector: Arc::default(),
        })
    }

    /// Makes connections to servers that these authorities vouch for.
    ///
    /// # Errors
    /// There are no authorities at all, or TLS cannot be set up.
    pub fn connector(&self) -> Result<&TlsConnector, String> {
        let made = self.connector.get_or_init(|| self.connect());
        made.as_ref().map_err(Clone::clone)
    }

    fn connect(&self) -> Result<TlsConnector, String> {
        let mut roots = RootCertStore::empty();
        let system = rustls_native_certs::load_native_certs().certs;
        // What the system has and nobody can read vouches for nobody.
        roots.add_parsable_certificates(system.into_iter().chain(self.further.iter().cloned()));
        if roots.is_empty() {
            let what = "the system trusts no certificates: install ca-certificates, or give \
                outgoing.ca_file";
            return Err(what.to_owned());
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|fault| format!("TLS cannot be set up: {fault}"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(TlsConnector::from(Arc::new(config)))
    }
}
