//! A token answer with a JWT signed for every request (claims as in RFC 9068 section 2.2). It must not
//! know how it is sent, nor who may have a token: anybody may.

use std::borrow::Cow;

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::{self, SystemRandom};
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use crate::clock::since_epoch;

pub(crate) const ISSUER: &str = "http://echo.invalid";
const LIFETIME: u64 = 3600;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Algorithm {
    Es256,
    Rs256,
}

/// A key made at start, and the header of every token it signs.
#[derive(Debug)]
pub(crate) struct Signer {
    key: Key,
    random: SystemRandom,
    header: String,
}

#[derive(Debug)]
enum Key {
    Es256(EcdsaKeyPair),
    Rs256(RsaKeyPair),
}

impl Signer {
    pub(crate) fn new(algorithm: Algorithm) -> Result<Self, Unspecified> {
        let (key, name) = match algorithm {
            Algorithm::Es256 => {
                let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)?;
                (Key::Es256(key), "ES256")
            }
            Algorithm::Rs256 => {
                let key = RsaKeyPair::generate(KeySize::Rsa2048)?;
                (Key::Rs256(key), "RS256")
            }
        };
        let header = format!(r#"{{"alg":"{name}","typ":"at+jwt","kid":"echo"}}"#);
        Ok(Self {
            key,
            random: SystemRandom::new(),
            header: URL_SAFE_NO_PAD.encode(header),
        })
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Unspecified> {
        match &self.key {
            Key::Es256(key) => Ok(key.sign(&self.random, message)?.as_ref().to_vec()),
            Key::Rs256(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &self.random, message, &mut signature)?;
                Ok(signature)
            }
        }
    }
}

/// What a token says; the client and the scope are believed as asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Claims<'a> {
    iss: &'static str,
    sub: &'a str,
    aud: &'a str,
    client_id: &'a str,
    scope: &'a str,
    iat: u64,
    exp: u64,
    jti: String,
}

impl<'a> Claims<'a> {
    pub(crate) fn of(form: &'a [(Cow<'a, str>, Cow<'a, str>)]) -> Self {
        let find = |name: &str, otherwise: &'static str| {
            let pair = form.iter().find(|(key, _)| key == name);
            pair.map_or(otherwise, |(_, value)| value.as_ref())
        };
        let client_id = find("client_id", "client");
        let now = since_epoch().as_secs();
        Self {
            iss: ISSUER,
            sub: client_id,
            aud: find("audience", "http://api.invalid"),
            client_id,
            scope: find("scope", ""),
            iat: now,
            exp: now + LIFETIME,
            jti: String::new(),
        }
    }
}

#[derive(Serialize)]
struct TokenResponse<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: u64,
    scope: &'a str,
}

/// Signs the claims under a fresh `jti` and renders the token answer (RFC 6749 section 5.1).
pub(crate) fn grant(signer: &Signer, claims: &Claims<'_>) -> Result<Vec<u8>, Ungranted> {
    let mut jti = [0; 16];
    rand::fill(&mut jti)?;
    let claims = Claims {
        jti: URL_SAFE_NO_PAD.encode(jti),
        ..*claims
    };
    let mut token = signer.header.clone();
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(serde_json::to_vec(&claims)?, &mut token);
    let signature = signer.sign(token.as_bytes())?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(serde_json::to_vec(&TokenResponse {
        access_token: &token,
        token_type: "Bearer",
        expires_in: LIFETIME,
        scope: claims.scope,
    })?)
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Ungranted {
    #[error("the token cannot be signed: {0}")]
    Crypto(#[from] Unspecified),
    #[error("the answer cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED, KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    };

    use super::*;

    #[test]
    fn signatures_verify() {
        let signer = Signer::new(Algorithm::Es256).unwrap();
        let Key::Es256(key) = &signer.key else {
            panic!("the key is of another kind")
        };
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.public_key());
        assert!(public.verify(b"m", &signer.sign(b"m").unwrap()).is_ok());

        let signer = Signer::new(Algorithm::Rs256).unwrap();
        let Key::Rs256(key) = &signer.key else {
            panic!("the key is of another kind")
        };
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key());
        assert!(public.verify(b"m", &signer.sign(b"m").unwrap()).is_ok());
    }
}
