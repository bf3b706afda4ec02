//! Tests of keys, signatures and claims; below: keys and signers that several of them use.

mod claims;
mod confusion;
mod malformed;
mod sets;
mod vectors;

use super::*;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaKeyPair,
};
use aws_lc_rs::{digest, hmac, rsa};
use std::sync::LazyLock;

const SECRET: &[u8] = b"a shared secret of at least 32 bytes";
const CLAIMS: &[u8] = br#"{"iss":"https://issuer.example","sub":"app"}"#;

static RSA: LazyLock<RsaKeyPair> =
    LazyLock::new(|| RsaKeyPair::generate(rsa::KeySize::Rsa2048).unwrap());
static P256: LazyLock<EcdsaKeyPair> =
    LazyLock::new(|| EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap());
static ED25519: LazyLock<Ed25519KeyPair> =
    LazyLock::new(|| Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap());

fn signature(algorithm: Algorithm, message: &[u8]) -> Vec<u8> {
    let digest = digest::digest(&digest::SHA256, message);
    let rsa = |padding| {
        let mut out = vec![0; RSA.public_modulus_len()];
        RSA.sign_digest(padding, &digest, &mut out).unwrap();
        out
    };
    match algorithm {
        Algorithm::Es256 => P256.sign_digest(&digest).unwrap().as_ref().to_vec(),
        Algorithm::EdDsa => ED25519.sign(message).as_ref().to_vec(),
        Algorithm::Rs256 => rsa(&RSA_PKCS1_SHA256),
        Algorithm::Ps256 => rsa(&RSA_PSS_SHA256),
        Algorithm::Hs256 => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET);
            hmac::sign(&key, message).as_ref().to_vec()
        }
    }
}

/// A token whose header says `header` and whose signature is truly made with `algorithm`.
fn signed(header: &Header, algorithm: Algorithm) -> String {
    let input = signing_input(header, CLAIMS);
    let signature = signature(algorithm, input.as_bytes());
    attach(input, &signature)
}

/// An honest token.
fn token(algorithm: Algorithm) -> String {
    signed(&Header::new(algorithm).with_kid("key"), algorithm)
}

fn rsa_jwk(algorithm: Algorithm) -> Jwk {
    let (n, e) = rsa_numbers();
    Jwk::rsa("key", algorithm, &n, &e).unwrap()
}

/// Modulus and exponent of the test key, out of its DER encoding (RFC 8017 §A.1.1).
fn rsa_numbers() -> (Vec<u8>, Vec<u8>) {
    let der = RSA.public_key().as_ref();
    // SEQUENCE (4 bytes of head), INTEGER 0x0101 (4 bytes of head, a zero), INTEGER 3.
    let n = der[9..9 + 256].to_vec();
    let e = der[9 + 256 + 2..].to_vec();
    (n, e)
}

fn key(algorithm: Algorithm) -> VerificationKey {
    let jwk = match algorithm {
        Algorithm::Es256 => Jwk::es256("key", P256.public_key().as_ref()),
        Algorithm::EdDsa => Jwk::ed25519("key", ED25519.public_key().as_ref()),
        Algorithm::Rs256 | Algorithm::Ps256 => Ok(rsa_jwk(algorithm)),
        Algorithm::Hs256 => return VerificationKey::hs256(Some("key"), SECRET).unwrap(),
    };
    VerificationKey::new(jwk.unwrap()).unwrap()
}

fn verify(token: &str, key: &VerificationKey) -> Result<(), Error> {
    Compact::parse(token)?.verify(key).map(drop)
}
