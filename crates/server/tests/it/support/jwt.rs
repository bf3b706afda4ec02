//! JWTs made and read by tests, with their own hands.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use aws_lc_rs::{hmac, signature};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// A P-256 key pair.
pub struct Key(EcdsaKeyPair);

impl Key {
    pub fn new() -> Self {
        Self(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    /// The public half as a JWK.
    pub fn jwk(&self, kid: &str) -> Value {
        let point = self.0.public_key().as_ref();
        let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({"kty": "EC", "crv": "P-256", "kid": kid, "alg": "ES256", "use": "sig",
               "x": part(&point[1..33]), "y": part(&point[33..65])})
    }

    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let input = input(header, claims);
        let signed = self.0.sign(&SystemRandom::new(), input.as_bytes()).unwrap();
        format!("{input}.{}", URL_SAFE_NO_PAD.encode(signed.as_ref()))
    }
}

pub fn hs256(secret: &str, header: &Value, claims: &Value) -> String {
    let input = input(header, claims);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, input.as_bytes());
    format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
}

fn input(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// Header and claims of a JWT, unverified.
pub fn read(text: &str) -> (Value, Value) {
    let part = |text: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
    let mut parts = text.split('.');
    (part(parts.next().unwrap()), part(parts.next().unwrap()))
}

/// Whether the JWT was signed by a key of the set; by another library's rules than the server's.
pub fn verifies(text: &str, jwks: &Value) -> bool {
    let (header, _) = read(text);
    let Some((input, tag)) = text.rsplit_once('.') else { return false };
    let tag = URL_SAFE_NO_PAD.decode(tag).unwrap();
    let keys = jwks["keys"].as_array().unwrap();
    let Some(key) = keys.iter().find(|key| key["kid"] == header["kid"]) else { return false };
    let member = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap_or("")).unwrap();
    let check = |algorithm: &'static dyn signature::VerificationAlgorithm, public: &[u8]| {
        signature::UnparsedPublicKey::new(algorithm, public).verify(input.as_bytes(), &tag).is_ok()
    };
    match header["alg"].as_str() {
        Some("ES256") => {
            let point = [&[4], &*member("x"), &*member("y")].concat();
            check(&signature::ECDSA_P256_SHA256_FIXED, &point)
        }
        Some("EdDSA") => check(&signature::ED25519, &member("x")),
        Some("RS256" | "PS256") => {
            let public =
                signature::RsaPublicKeyComponents { n: member("n"), e: member("e") };
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
