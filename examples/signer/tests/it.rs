//! The server's client against this service: the binary itself, late and dead.
#![cfg(test)]

use signet::clock::Clock;
use signet::fetch::Roots;
use signet::sealing::ClusterKey;
use signet::signer::rotation::KeyTimes;
use signet::signer::{KeyMaterial, KeyParts, RemoteReference, RemoteSettings, SignError, Signer};
use signet_oauth::jose::{Algorithm, Compact, JwkSet};
use signet_oauth::secret::Secret;
use signet_oauth::time::Timestamp;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const NOW: Timestamp = Timestamp(1_800_000_000);

struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let token = directory.join("token");
        std::fs::write(&token, "secret-token\n").unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_signet-signer"))
            .args(["--listen", "127.0.0.1:0", "--threads", "2", "--token-file"])
            .arg(&token)
            .arg("--keys")
            .arg(directory.join("keys"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        let url = lines.find_map(|line| Some(line.strip_prefix("listening on ")?.to_owned()));
        Self {
            child,
            url: url.unwrap(),
        }
    }

    async fn signer(&self, token: &str, timeout: Duration) -> Result<Signer, SignError> {
        let settings = RemoteSettings {
            name: "kms".to_owned(),
            url: self.url.clone(),
            token: Some(Secret::new(token)),
            roots: Roots::system(),
            timeout,
            connections: 4,
            queue: 256,
        };
        let signer = Signer::new(Algorithm::Es256, vec![settings], &Clock::system()).unwrap();
        let keys = signer.remote_keys("kms").await?;
        let parts: Vec<_> = keys
            .into_iter()
            .map(|key| KeyParts {
                material: KeyMaterial::Remote(
                    RemoteReference {
                        signer: "kms".to_owned(),
                        kid: key.kid.clone(),
                    }
                    .to_string(),
                ),
                kid: key.kid,
                algorithm: key.algorithm,
                public_jwk: key.public_jwk,
                times: KeyTimes::beginning(NOW, NOW),
            })
            .collect();
        signer
            .load(&parts, &ClusterKey::new(&[0; 32]), NOW)
            .unwrap();
        Ok(signer)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have died already, as one test wants it to.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const PATIENT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn every_algorithm_signs_and_keys_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut kids = Vec::new();
    for name in ["ES256", "EdDSA", "RS256", "PS256", "ES256"] {
        let service = Service::start(directory.path(), &["--alg", name]);
        let signer = service.signer("secret-token", PATIENT).await.unwrap();
        let published = JwkSet::parse(&signer.jwks(NOW)).unwrap();
        for algorithm in signer.ring().algorithms(NOW) {
            let token = signer
                .sign(Some(algorithm), "JWT", b"{}", NOW)
                .await
                .unwrap();
            let compact = Compact::parse(&token).unwrap();
            let key = published.find(compact.header().kid(), algorithm).unwrap();
            assert!(compact.verify(key).is_ok());
        }
        let key = published
            .keys()
            .iter()
            .find(|key| Algorithm::parse(name).is_some_and(|algorithm| key.allows(algorithm)));
        kids.push(key.unwrap().kid().unwrap().to_owned());
    }
    assert_eq!(kids.first(), kids.last(), "the key is made once");
}

#[tokio::test]
async fn a_wrong_token_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let service = Service::start(directory.path(), &["--alg", "ES256"]);
    let refused = service.signer("wrong", PATIENT).await.unwrap_err();
    assert!(matches!(refused, SignError::Refused { .. }), "{refused}");
}

#[tokio::test]
async fn a_late_service_is_given_up_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--alg", "ES256", "--delay-ms", "500"];
    let service = Service::start(directory.path(), &arguments);
    assert!(service.signer("secret-token", PATIENT).await.is_ok());
    let late = service
        .signer("secret-token", Duration::from_millis(50))
        .await
        .unwrap_err();
    assert!(late.is_passing(), "{late}");
}

#[tokio::test]
async fn a_killed_service_is_missed_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut service = Service::start(directory.path(), &["--alg", "ES256"]);
    let signer = service.signer("secret-token", PATIENT).await.unwrap();
    assert!(signer.sign(None, "JWT", b"{}", NOW).await.is_ok());
    service.child.kill().unwrap();
    service.child.wait().unwrap();
    for _ in 0..20 {
        let missed = signer.sign(None, "JWT", b"{}", NOW);
        let missed = tokio::time::timeout(PATIENT / 2, missed).await.unwrap();
        assert!(missed.unwrap_err().is_passing());
    }
}
