//! JWTs made and read by tests, with their own hands.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaKeyPair,
};
use aws_lc_rs::{hmac, signature};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// A key pair of a test's own.
pub(crate) enum Key {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(&'static RsaKeyPair),
}

/// RSA keys take long to make, and one is as good as the other.
static RSA: LazyLock<RsaKeyPair> =
    LazyLock::new(|| RsaKeyPair::generate(KeySize::Rsa2048).unwrap());

impl Key {
    /// A key of P-256.
    pub(crate) fn new() -> Self {
        Self::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    /// A key for this algorithm; that of RSA is always the same.
    pub(crate) fn of(alg: &str) -> Self {
        match alg {
            "EdDSA" => Self::Ed25519(Ed25519KeyPair::generate().unwrap()),
            "RS256" | "PS256" => Self::Rsa(&RSA),
            _ => Self::new(),
        }
    }

    /// The public half as a JWK.
    pub(crate) fn jwk(&self, kid: &str) -> Value {
        let mut jwk = match self {
            Self::P256(pair) => {
                let point = pair.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..])})
            }
            Self::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref())})
            }
            Self::Rsa(pair) => {
                let (n, e) = rsa_numbers(pair.public_key().as_ref());
                json!({"kty": "RSA", "n": encode(n), "e": encode(e)})
            }
        };
        jwk["kid"] = kid.into();
        jwk["use"] = "sig".into();
        jwk
    }

    /// A set of this one key.
    pub(crate) fn set(&self, kid: &str) -> Value {
        json!({"keys": [self.jwk(kid)]})
    }

    /// A signed JWT; of the two ways of RSA the header says which.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(header, &claims.to_string())
    }

    /// The same, with claims that need not be JSON.
    pub(crate) fn sign_text(&self, header: &Value, claims: &str) -> String {
        let input = format!("{}.{}", encode(header.to_string()), encode(claims));
        let alg = header["alg"].as_str().unwrap_or_default();
        format!("{input}.{}", encode(self.sign_bytes(alg, input.as_bytes())))
    }

    /// The signature of these bytes (RFC 7518 §3).
    pub(crate) fn sign_bytes(&self, alg: &str, input: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::P256(pair) => pair.sign(&random, input).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(input).as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signed = vec![0; pair.public_modulus_len()];
                let padding: &dyn signature::RsaEncoding = match alg {
                    "PS256" => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                pair.sign(padding, &random, input, &mut signed).unwrap();
                signed
            }
        }
    }
}

/// Modulus and exponent of a DER `RSAPublicKey` (RFC 8017 appendix A.1.1) with a long modulus.
fn rsa_numbers(der: &[u8]) -> (&[u8], &[u8]) {
    // 30 82 LL LL | 02 82 LL LL 00 modulus | 02 03 exponent
    let length = usize::from(u16::from_be_bytes([der[6], der[7]]));
    let (modulus, exponent) = der[8..].split_at(length);
    (&modulus[1..], &exponent[2..])
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

pub(crate) fn hs256(secret: impl AsRef<[u8]>, header: &Value, claims: &Value) -> String {
    let input = format!(
        "{}.{}",
        encode(header.to_string()),
        encode(claims.to_string())
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref());
    format!("{input}.{}", encode(hmac::sign(&key, input.as_bytes())))
}

/// Header and claims of a JWT, unverified.
pub(crate) fn read(text: &str) -> (Value, Value) {
    let part = |text: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
    let mut parts = text.split('.');
    (part(parts.next().unwrap()), part(parts.next().unwrap()))
}

/// The JWT with other claims under the old signature.
pub(crate) fn with_claims(text: &str, change: impl FnOnce(&mut Value)) -> String {
    let parts: Vec<&str> = text.split('.').collect();
    let (_, mut claims) = read(text);
    change(&mut claims);
    [parts[0], &encode(claims.to_string()), parts[2]].join(".")
}

/// The other signature (r, n − s) that ECDSA has for the same message.
pub(crate) fn twin(text: &str) -> String {
    const ORDER: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let (input, tag) = text.rsplit_once('.').unwrap();
    let mut tag = URL_SAFE_NO_PAD.decode(tag).unwrap();
    let mut borrow = 0;
    for at in (0..32).rev() {
        let digit = i16::from_str_radix(&ORDER[at * 2..at * 2 + 2], 16).unwrap();
        let difference = digit - i16::from(tag[32 + at]) - borrow;
        borrow = i16::from(difference < 0);
        tag[32 + at] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    format!("{input}.{}", encode(tag))
}

/// Whether the JWT was signed by a key of the set.
pub(crate) fn verifies(text: &str, jwks: &Value) -> bool {
    let (header, _) = read(text);
    let Some((input, tag)) = text.rsplit_once('.') else {
        return false;
    };
    let tag = URL_SAFE_NO_PAD.decode(tag).unwrap();
    let keys = jwks["keys"].as_array().unwrap();
    let Some(key) = keys.iter().find(|key| key["kid"] == header["kid"]) else {
        return false;
    };
    let member = |name: &str| {
        URL_SAFE_NO_PAD
            .decode(key[name].as_str().unwrap_or(""))
            .unwrap()
    };
    let check = |algorithm: &'static dyn signature::VerificationAlgorithm, public: &[u8]| {
        signature::UnparsedPublicKey::new(algorithm, public)
            .verify(input.as_bytes(), &tag)
            .is_ok()
    };
    match header["alg"].as_str() {
        Some("ES256") => {
            let point = [&[4], &*member("x"), &*member("y")].concat();
            check(&signature::ECDSA_P256_SHA256_FIXED, &point)
        }
        Some("EdDSA") => check(&signature::ED25519, &member("x")),
        Some("RS256" | "PS256") => {
            let public = signature::RsaPublicKeyComponents {
                n: member("n"),
                e: member("e"),
            };
            let algorithm = if header["alg"] == "RS256" {
                &signature::RSA_PKCS1_2048_8192_SHA256
            } else {
                &signature::RSA_PSS_2048_8192_SHA256
            };
            public.verify(algorithm, input.as_bytes(), &tag).is_ok()
        }
        _ => false,
    }
}
