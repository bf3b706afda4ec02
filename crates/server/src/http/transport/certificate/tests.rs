//! Files that are right, wrong, mixed up and late.

use super::*;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair, date_time_ymd};
use std::collections::HashSet;

/// 2026-01-01, in the life of the certificates here.
const NOW: Timestamp = Timestamp(1_767_225_600);

struct Place {
    dir: tempfile::TempDir,
    files: Files,
}

fn made(change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut about = CertificateParams::new(["login.example".to_owned()]).unwrap();
    about.not_before = date_time_ymd(2025, 1, 1);
    about.not_after = date_time_ymd(2027, 1, 1);
    change(&mut about);
    let certificate = about.self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

impl Place {
    fn with(certificate: &str, key: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let files = Files {
            certificate: dir.path().join("chain.pem"),
            key: dir.path().join("key.pem"),
        };
        fs::write(&files.certificate, certificate).unwrap();
        fs::write(&files.key, key).unwrap();
        Self { dir, files }
    }

    fn load(&self) -> Result<Certificate, String> {
        let loaded = Certificate::load(self.files.clone(), "test", NOW);
        loaded.map_err(|error| error.to_string())
    }
}

#[test]
fn a_certificate_with_its_key_is_served() {
    let (certificate, key) = made(|_| {});
    let (issuer, _) = made(|_| {});
    for key in [key.clone(), format!("a comment\n{key}")] {
        let place = Place::with(&format!("{certificate}{issuer}"), &key);
        let loaded = place.load().unwrap();
        assert_eq!(instant(loaded.expires_at()), "2027-01-01T00:00:00Z");
        assert!(loaded.is_for("login.example") && !loaded.is_for("example"));
        assert!(!loaded.is_for("127.0.0.1") && !loaded.is_for("[::1]") && !loaded.is_for(""));
    }
    // OpenSSL's own self-signed ones call themselves authorities.
    let (certificate, key) = made(|about| {
        about.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    });
    let place = Place::with(&certificate, &key);
    assert_eq!(
        instant(place.load().unwrap().expires_at()),
        "2027-01-01T00:00:00Z"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_is_wrong_with_the_files_is_said() {
    let (certificate, key) = made(|_| {});
    let (other, other_key) = made(|_| {});
    let (expired, expired_key) = made(|about| about.not_after = date_time_ymd(2025, 6, 1));
    let (early, early_key) = made(|about| about.not_before = date_time_ymd(2026, 6, 1));
    let (client, client_key) = made(|about| {
        about.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let cut = &certificate[..certificate.len() / 2];
    let garbled = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let no_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for (certificate, key, file, said) in [
        (
            &*certificate,
            &*other_key,
            "key.pem",
            "is not that of the first certificate",
        ),
        (
            &format!("{other}{certificate}"),
            &key,
            "chain.pem",
            "is not that of the first",
        ),
        (
            &expired,
            &expired_key,
            "chain.pem",
            "expired at 2025-06-01T00:00:00Z: renew it",
        ),
        (
            &early,
            &early_key,
            "chain.pem",
            "is good from 2026-06-01T00:00:00Z on",
        ),
        (
            &client,
            &client_key,
            "chain.pem",
            "is not meant for servers",
        ),
        ("", &key, "chain.pem", "it holds no certificate"),
        (&key, &certificate, "chain.pem", "it holds no certificate"),
        (cut, &key, "chain.pem", "it is damaged"),
        (garbled, &key, "chain.pem", "cannot be read"),
        (&certificate, "", "key.pem", "it holds no private key"),
        (
            &certificate,
            &certificate,
            "key.pem",
            "it holds no private key",
        ),
        (&certificate, encrypted, "key.pem", "the key is encrypted"),
        (&certificate, no_key, "key.pem", "it cannot be used"),
    ] {
        let error = Place::with(certificate, key).load().unwrap_err();
        assert!(
            error.contains(file) && error.contains(said),
            "{said}: {error}"
        );
        assert!(!error.contains(key) || key.is_empty(), "{error}");
    }
    let place = Place::with(&certificate, &key);
    fs::remove_file(&place.files.key).unwrap();
    let error = place.load().unwrap_err();
    assert!(error.contains("key.pem: it cannot be read"), "{error}");
    fs::remove_file(&place.files.certificate).unwrap();
    fs::create_dir(&place.files.certificate).unwrap();
    let error = place.load().unwrap_err();
    assert!(error.contains("chain.pem: it cannot be read"), "{error}");
    drop(place.dir);
}

#[test]
fn only_ephemeral_keys_and_authenticated_encryption_are_offered() {
    let (certificate, key) = made(|_| {});
    let config = Place::with(&certificate, &key).load().unwrap().config();
    let names: HashSet<_> = config
        .crypto_provider()
        .cipher_suites
        .iter()
        .map(|suite| format!("{:?}", suite.suite()))
        .collect();
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        let is_13 = name.starts_with("TLS13_");
        let is_ephemeral = name.starts_with("TLS_ECDHE_");
        let is_aead = name.contains("_GCM_") || name.contains("_CHACHA20_POLY1305_");
        assert!((is_13 || is_ephemeral) && is_aead, "{name}");
    }
    assert_eq!(
        config.alpn_protocols,
        [b"h2".to_vec(), b"http/1.1".to_vec()]
    );
    assert_eq!(
        config.max_early_data_size, 0,
        "what is sent early can be replayed"
    );
}

#[test]
fn what_is_no_good_later_leaves_what_was_there() {
    let metrics = Metrics::new();
    let (certificate, key) = made(|_| {});
    let place = Place::with(&certificate, &key);
    let served = place.load().unwrap();
    let first = served.config();
    fs::write(&place.files.key, "damaged").unwrap();
    served.reload(NOW, &metrics);
    assert!(Arc::ptr_eq(&first, &served.config()));
    let (certificate, key) = made(|about| about.not_after = date_time_ymd(2026, 3, 1));
    fs::write(&place.files.certificate, certificate).unwrap();
    served.reload(NOW, &metrics);
    assert!(
        Arc::ptr_eq(&first, &served.config()),
        "the key is still another one"
    );
    fs::write(&place.files.key, key).unwrap();
    served.reload(NOW, &metrics);
    assert!(!Arc::ptr_eq(&first, &served.config()));
    let text = metrics.render().unwrap();
    for line in [
        r#"signet_tls_total{name="certificates_refused"} 2"#,
        r#"signet_tls_total{name="certificates_loaded"} 1"#,
        r#"signet_state{name="test"} 1772323200"#,
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_change_of_either_file_or_of_a_link_is_seen() {
    let (certificate, key) = made(|_| {});
    let place = Place::with(&certificate, &key);
    let first = stamp(&place.files);
    assert_eq!(stamp(&place.files), first);
    fs::write(&place.files.key, format!("{key}\n")).unwrap();
    let second = stamp(&place.files);
    assert_ne!(second, first);
    let elsewhere = place.dir.path().join("elsewhere.pem");
    fs::write(&elsewhere, &certificate).unwrap();
    fs::remove_file(&place.files.certificate).unwrap();
    assert_eq!(stamp(&place.files), None);
    std::os::unix::fs::symlink(&elsewhere, &place.files.certificate).unwrap();
    assert_ne!(stamp(&place.files), second);
}
