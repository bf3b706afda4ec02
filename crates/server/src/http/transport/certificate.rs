//! The certificate that a door shows: read from two files and checked at the start, and read again
//! when they change or somebody asks. A file that is no good later leaves the certificate before it in place.

use arc_swap::ArcSwap;
use rustls::client::verify_server_cert_signed_by_trust_anchor as verify;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError as Flaw, InconsistentKeys, RootCertStore, ServerConfig, version};
use signet_oauth::time::Timestamp;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::sync::Notify;

use crate::app::App;
use crate::telemetry::metrics::Metrics;

/// Between two looks at the files.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// So long before its end a certificate is complained about.
const SOON: u64 = 7 * 86_400;
/// Certificates and keys are smaller.
const MAX_BYTES: u64 = 1 << 20;

/// Why a certificate cannot be served. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateError(String);

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CertificateError {}

/// Where a certificate is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The certificate of the server, then those of its issuers, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// A certificate that can be replaced while it is served.
#[derive(Debug)]
pub struct Certificate {
    files: Files,
    gauge: &'static str,
    current: ArcSwap<Loaded>,
    asked: Notify,
}

#[derive(Debug)]
struct Loaded {
    config: Arc<ServerConfig>,
    leaf: CertificateDer<'static>,
    expires_at: Timestamp,
}

/// What changes when a file does. A link that is turned to another file is a change, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp([(u64, u64, i64, i64); 2]);

impl Certificate {
    /// Reads and checks the files. The gauge says in the metrics when the certificate ends.
    pub fn load(
        files: Files,
        gauge: &'static str,
        now: Timestamp,
    ) -> Result<Self, CertificateError> {
        let loaded = load(&files, now)?;
        Ok(Self {
            files,
            gauge,
            current: ArcSwap::from_pointee(loaded),
            asked: Notify::new(),
        })
    }

    /// What handshakes are made with from now on.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.load().config)
    }

    /// When it is good no longer.
    pub fn expires_at(&self) -> Timestamp {
        self.current.load().expires_at
    }

    /// Whether it was made out to this name or address.
    pub fn is_for(&self, host: &str) -> bool {
        let loaded = self.current.load();
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let parsed = ParsedCertificate::try_from(&loaded.leaf);
        match (name, parsed) {
            (Ok(name), Ok(parsed)) => rustls::client::verify_server_name(&parsed, &name).is_ok(),
            _ => false,
        }
    }

    /// Has the files read again, whether or not they look changed.
    pub fn ask_for_reload(&self) {
        self.asked.notify_one();
    }

    /// Reads the files again. Connections keep what they were made with; handshakes that begin
    /// from now on get the new certificate, or the old one where the new one is no good.
    fn reload(&self, now: Timestamp, metrics: &Metrics) {
        let file = self.files.certificate.display();
        match load(&self.files, now) {
            Ok(loaded) => {
                let until = instant(loaded.expires_at);
                self.current.store(Arc::new(loaded));
                metrics.tls("certificates_loaded");
                tracing::info!(%file, until, "a new certificate is served");
            }
            Err(error) => {
                metrics.tls("certificates_refused");
                tracing::error!(%file, %error, "the new certificate is no good: the one before stays");
            }
        }
        self.tell_the_end(now, metrics);
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "an instant in seconds has 34 bits"
    )]
    fn tell_the_end(&self, now: Timestamp, metrics: &Metrics) {
        let until = self.expires_at();
        metrics.set(self.gauge, until.0 as f64);
        if until < now.plus(SOON) {
            let file = self.files.certificate.display();
            tracing::warn!(%file, until = instant(until), "the certificate ends soon");
        }
    }

    /// Looks at the files until it is dropped. A change counts once it has stood still for one look:
    /// of two files, one is always written first.
    pub async fn watch(self: Arc<Self>, app: Arc<App>) {
        self.tell_the_end(app.clock.now(), &app.metrics);
        let mut served = stamp(&self.files);
        let mut seen = served;
        loop {
            let asked = tokio::time::timeout(LOOK_EVERY, self.asked.notified()).await;
            let found = stamp(&self.files);
            if asked.is_ok() || (found != served && found == seen) {
                served = found;
                self.reload(app.clock.now(), &app.metrics);
            }
            seen = found;
        }
    }
}

fn stamp(files: &Files) -> Option<Stamp> {
    let of = |path: &Path| {
        let about = fs::metadata(path).ok()?;
        Some((about.ino(), about.len(), about.mtime(), about.mtime_nsec()))
    };
    Some(Stamp([of(&files.certificate)?, of(&files.key)?]))
}

fn load(files: &Files, now: Timestamp) -> Result<Loaded, CertificateError> {
    let chain = chain(&files.certificate)?;
    let leaf = chain[0].clone();
    let expires_at = check(&leaf, now).map_err(|flaw| at(&files.certificate, flaw))?;
    let key = private_key(&files.key)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = config(provider, chain, key).map_err(|error| match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            CertificateError(format!(
                "the key in {} is not that of the first certificate in {}: give the key that belongs \
                 to it; the certificate of the server comes first, those of its issuers after it",
                files.key.display(),
                files.certificate.display()
            ))
        }
        error => at(&files.key, format_args!("it cannot be used: {error}")),
    })?;
    Ok(Loaded {
        config: Arc::new(config),
        leaf,
        expires_at,
    })
}

/// TLS 1.3, and of TLS 1.2 what rustls has of it: ephemeral keys and authenticated encryption only.
fn config(
    provider: Arc<CryptoProvider>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Whoever comes again pays no signature; its keys change by themselves, and with the certificate.
    config.ticketer = aws_lc_rs::Ticketer::new()?;
    Ok(config)
}

fn at(path: &Path, what: impl fmt::Display) -> CertificateError {
    CertificateError(format!("{}: {what}", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    let about = fs::metadata(path).and_then(|about| match about.len() {
        0..=MAX_BYTES => Ok(()),
        _ => Err(io::Error::other("it is far too large")),
    });
    about
        .and_then(|()| fs::read(path))
        .map_err(|error| at(path, format_args!("it cannot be read: {error}")))
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let text = read(path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|error| at(path, format_args!("it is damaged: {error}")))?;
    if chain.is_empty() {
        let what = "it holds no certificate: give a PEM file with the server's certificate first, \
            then those of its issuers";
        return Err(at(path, what));
    }
    Ok(chain)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, CertificateError> {
    let text = zeroize::Zeroizing::new(read(path)?);
    let is_in = |needle: &[u8]| text.windows(needle.len()).any(|part| part == needle);
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        if is_in(b"ENCRYPTED") {
            return at(
                path,
                "the key is encrypted: nobody is there to type its password; decrypt it",
            );
        }
        match error {
            rustls::pki_types::pem::Error::NoItemsFound => at(
                path,
                "it holds no private key in PEM (PKCS #8, PKCS #1 or SEC1)",
            ),
            error => at(path, format_args!("it is damaged: {error}")),
        }
    })
}

/// Whether the certificate is one that clients could accept now, and when that ends. Who issued it is
/// the clients' business.
fn check(leaf: &CertificateDer<'_>, now: Timestamp) -> Result<Timestamp, String> {
    let parsed = ParsedCertificate::try_from(leaf)
        .map_err(|error| format!("its first certificate cannot be read: {error}"))?;
    match flaw(&parsed, now) {
        Some(Flaw::ExpiredContext { not_after, .. }) => {
            return Err(format!(
                "the certificate expired at {}: renew it",
                instant(Timestamp(not_after.as_secs()))
            ));
        }
        Some(Flaw::NotValidYetContext { not_before, .. }) => {
            return Err(format!(
                "the certificate is good from {} on: is the clock of this machine right?",
                instant(Timestamp(not_before.as_secs()))
            ));
        }
        Some(Flaw::InvalidPurpose | Flaw::InvalidPurposeContext { .. }) => {
            return Err("the certificate is not meant for servers".to_owned());
        }
        // Nobody has signed it whom we know, because we know nobody.
        _ => {}
    }
    // At the end of time every certificate has expired, and the flaw says when.
    match flaw(&parsed, Timestamp(u64::MAX >> 1)) {
        Some(Flaw::ExpiredContext { not_after, .. }) => Ok(Timestamp(not_after.as_secs())),
        _ => Err("the certificate never ends".to_owned()),
    }
}

fn flaw(certificate: &ParsedCertificate<'_>, at: Timestamp) -> Option<Flaw> {
    let nobody = RootCertStore::empty();
    let time = UnixTime::since_unix_epoch(Duration::from_secs(at.0));
    let known = aws_lc_rs::default_provider().signature_verification_algorithms;
    match verify(certificate, &nobody, &[], time, known.all) {
        Err(rustls::Error::InvalidCertificate(flaw)) => Some(flaw),
        _ => None,
    }
}

fn instant(at: Timestamp) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(at.0));
    time.map_or_else(String::new, |time| {
        humantime::format_rfc3339_seconds(time).to_string()
    })
}

#[cfg(test)]
mod tests;
