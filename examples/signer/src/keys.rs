//! The keys: PKCS #8 files named `<algorithm>.pk8`, made when there is none.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
};
use signet_oauth::jose::{Algorithm, Jwk};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const ALGORITHMS: [Algorithm; 4] = [
    Algorithm::Rs256,
    Algorithm::Ps256,
    Algorithm::Es256,
    Algorithm::EdDsa,
];

/// A key and the name under which it is asked for.
pub(crate) struct Key {
    pub(crate) kid: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) jwk: String,
    pair: Pair,
}

enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rsa(RsaKeyPair, &'static dyn RsaEncoding),
}

/// The keys of the directory; one of the named algorithm is made where it is missing.
pub(crate) fn load_or_create(directory: &Path, name: &str) -> Result<Vec<Key>, String> {
    let wanted = ALGORITHMS
        .into_iter()
        .find(|algorithm| algorithm.name() == name);
    let wanted = wanted.ok_or_else(|| format!("--alg {name}: RS256, PS256, ES256 or EdDSA"))?;
    let fault = |error: std::io::Error| format!("{}: {error}", directory.display());
    fs::create_dir_all(directory).map_err(fault)?;
    let mut keys = Vec::new();
    for algorithm in ALGORITHMS {
        let path = directory.join(format!("{}.pk8", algorithm.name()));
        if algorithm == wanted && !path.exists() {
            let made = make(algorithm).ok_or("no key was generated")?;
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            file.and_then(|mut file| file.write_all(&made))
                .map_err(fault)?;
        }
        if path.exists() {
            let private = fs::read(&path).map_err(fault)?;
            let key = Key::parse(algorithm, &private);
            keys.push(key.ok_or_else(|| format!("{} is no key", path.display()))?);
        }
    }
    Ok(keys)
}

fn make(algorithm: Algorithm) -> Option<Vec<u8>> {
    let random = SystemRandom::new();
    Some(match algorithm {
        Algorithm::Es256 => {
            let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
            made.ok()?.as_ref().to_vec()
        }
        Algorithm::EdDsa => Ed25519KeyPair::generate_pkcs8(&random)
            .ok()?
            .as_ref()
            .to_vec(),
        _ => {
            let pair = RsaKeyPair::generate(KeySize::Rsa2048).ok()?;
            let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).ok()?;
            der.as_ref().to_vec()
        }
    })
}

impl Key {
    fn parse(algorithm: Algorithm, private: &[u8]) -> Option<Self> {
        let rsa = || RsaKeyPair::from_pkcs8(private).ok();
        let pair = match algorithm {
            Algorithm::Es256 => {
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, private);
                Pair::Es256(pair.ok()?)
            }
            Algorithm::EdDsa => Pair::EdDsa(Ed25519KeyPair::from_pkcs8(private).ok()?),
            Algorithm::Ps256 => Pair::Rsa(rsa()?, &RSA_PSS_SHA256),
            _ => Pair::Rsa(rsa()?, &RSA_PKCS1_SHA256),
        };
        let kid = pair.jwk("unnamed", algorithm)?.thumbprint();
        Some(Self {
            jwk: pair.jwk(&kid, algorithm)?.render(),
            kid,
            algorithm,
            pair,
        })
    }

    pub(crate) fn sign(&self, input: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Es256(pair) => Some(pair.sign(&random, input).ok()?.as_ref().to_vec()),
            Pair::EdDsa(pair) => Some(pair.try_sign(input).ok()?.as_ref().to_vec()),
            Pair::Rsa(pair, padding) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(*padding, &random, input, &mut signature).ok()?;
                Some(signature)
            }
        }
    }
}

impl Pair {
    fn jwk(&self, kid: &str, algorithm: Algorithm) -> Option<Jwk> {
        let jwk = match self {
            Self::Es256(pair) => Jwk::es256(kid, pair.public_key().as_ref()),
            Self::EdDsa(pair) => Jwk::ed25519(kid, pair.public_key().as_ref()),
            Self::Rsa(pair, _) => {
                // PKCS #1 of the only kind that is made here, 2048 bits with the exponent 65537:
                // nine bytes of header, the modulus, two bytes of header, the exponent.
                let der = pair.public_key().as_ref();
                let (modulus, exponent) = (der.get(9..265)?, der.get(267..)?);
                Jwk::rsa(kid, algorithm, modulus, exponent)
            }
        };
        jwk.ok()
    }
}
