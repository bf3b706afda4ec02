//! Which server is called, how its connections are secured and how many there are. It must not know
//! what is called.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use crate::wire::target::{BadTarget, Target};
use crate::wire::trust::{self, BadTrust, Trust};

/// The size of message beyond which clients of gRPC give up unless they are told otherwise.
const MAX_MESSAGE: usize = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadGrpcTarget {
    #[error("{address:?} is no address of a gRPC server ({cause}): write host:port")]
    Address { address: String, cause: BadTarget },
    #[error("{0:?} is no address of a gRPC server: write host:port, without scheme and path")]
    NotBare(String),
    #[error(transparent)]
    Trust(#[from] BadTrust),
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    File(PathBuf, pem::Error),
    #[error("{0} holds no certificate")]
    Empty(PathBuf),
    #[error("the client certificate {path} cannot be used: {cause}", path = .0.display(), cause = .1)]
    Identity(PathBuf, rustls::Error),
}

/// The client's side of TLS.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(crate) trust: Trust,
    /// With it the connection is mutually authenticated.
    pub(crate) identity: Option<Identity>,
}

/// PEM files: a certificate with its chain, and its private key.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// How the calls of one channel are spread over connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connections {
    /// This many, in turn; opened when they are needed and again when they were lost.
    Shared(NonZeroUsize),
    /// A new one for every call.
    PerCall,
}

/// A server, ready to be called from any number of threads.
#[derive(Clone, Debug)]
pub(crate) struct GrpcTarget {
    pub(super) target: Target,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(crate) connections: Connections,
    /// The longest message of an answer, in bytes.
    pub(crate) max_message: usize,
}

impl GrpcTarget {
    /// `address` is `host:port`; all calls share one connection until told otherwise.
    pub(crate) fn new(address: &str, tls: Option<&Tls>) -> Result<Self, BadGrpcTarget> {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let target = Target::parse(&format!("{scheme}://{address}")).map_err(|cause| {
            let address = address.to_owned();
            BadGrpcTarget::Address { address, cause }
        })?;
        if address.contains(['/', '?', '#']) {
            return Err(BadGrpcTarget::NotBare(address.to_owned()));
        }
        Ok(Self {
            target,
            tls: tls.map(client).transpose()?,
            connections: Connections::Shared(NonZeroUsize::MIN),
            max_message: MAX_MESSAGE,
        })
    }
}

fn client(tls: &Tls) -> Result<Arc<ClientConfig>, BadGrpcTarget> {
    let mut config = trust::client(&tls.trust, true)?;
    if let Some(identity) = &tls.identity {
        let key = certified(identity)?;
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(key));
    }
    Ok(Arc::new(config))
}

fn certified(identity: &Identity) -> Result<CertifiedKey, BadGrpcTarget> {
    let in_file = |path: &Path| {
        let path = path.to_path_buf();
        move |cause| BadGrpcTarget::File(path.clone(), cause)
    };
    let path = &identity.certificate;
    let chain = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(in_file(path))?;
    if chain.is_empty() {
        return Err(BadGrpcTarget::Empty(path.clone()));
    }
    let key = PrivateKeyDer::from_pem_file(&identity.key).map_err(in_file(&identity.key))?;
    CertifiedKey::from_der(chain, key, &default_provider())
        .map_err(|cause| BadGrpcTarget::Identity(path.clone(), cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for address in ["127.0.0.1:50051", "[::1]:50051", "grpc.example:443"] {
            assert!(GrpcTarget::new(address, None).is_ok(), "{address}");
        }
        for address in [
            "",
            ":1",
            "http://x:1",
            "x:1/path",
            "x:1?q",
            "u:p@x:1",
            "x:99999",
        ] {
            assert!(GrpcTarget::new(address, None).is_err(), "{address:?}");
        }
    }

    #[test]
    fn a_certificate_and_the_key_of_another_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let made = || rcgen::generate_simple_self_signed(vec!["x".to_owned()]).unwrap();
        let (one, other) = (made(), made());
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let certificate = write("certificate", one.cert.pem());
        let with_key = |key: PathBuf| Tls {
            trust: Trust::Anybody,
            identity: Some(Identity {
                certificate: certificate.clone(),
                key,
            }),
        };
        let try_key = |key| GrpcTarget::new("x:1", Some(&with_key(key)));
        assert!(try_key(write("own", one.signing_key.serialize_pem())).is_ok());
        let others = try_key(write("other", other.signing_key.serialize_pem()));
        assert!(matches!(others, Err(BadGrpcTarget::Identity(..))));
        assert!(matches!(
            try_key(folder.path().join("nowhere")),
            Err(BadGrpcTarget::File(..))
        ));
        assert!(try_key(certificate.clone()).is_err(), "no key in the file");
    }
}
