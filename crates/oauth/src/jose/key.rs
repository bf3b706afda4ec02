//! Keys parsed once, each bound to what it may verify (RFC 7518 §3, RFC 8725 §3.1).

use super::jwk::{self, Jwk, Numbers};
use super::{Algorithm, Error, json};
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents,
};
use serde_json::{Map, Value};
use std::fmt;

/// A shared secret shorter than the digest is refused (RFC 7518 §3.2).
const MIN_SECRET: usize = 32;

/// A key to verify with. The algorithm is a property of the key: there is no way to use the bytes
/// of a public key as a shared secret, nor an RSA key under an algorithm that it was not given.
pub struct VerificationKey {
    kid: Option<String>,
    material: Material,
}

enum Material {
    /// A public key and, beside it, each way in which its `Jwk` allows it to be used.
    Public {
        jwk: Jwk,
        parsed: Vec<(Algorithm, ParsedPublicKey)>,
    },
    Shared(Box<hmac::Key>),
}

impl VerificationKey {
    /// Parses a public key.
    ///
    /// # Errors
    /// `MalformedKey` where the numbers are not a key: a point that is not on the curve.
    pub fn new(jwk: Jwk) -> Result<Self, Error> {
        let mut parsed = Vec::with_capacity(1);
        for algorithm in Algorithm::ALL {
            if jwk.allows(algorithm) {
                parsed.push((algorithm, parse_public(&jwk, algorithm)?));
            }
        }
        Ok(Self {
            kid: jwk.kid().map(str::to_owned),
            material: Material::Public { jwk, parsed },
        })
    }

    /// A shared secret for HS256, as `client_secret_jwt` uses (`OpenID` Connect Core §9).
    ///
    /// # Errors
    /// `WeakKey` below 32 bytes (RFC 7518 §3.2).
    pub fn hs256(kid: Option<&str>, secret: &[u8]) -> Result<Self, Error> {
        if secret.len() < MIN_SECRET {
            return Err(Error::WeakKey);
        }
        Ok(Self {
            kid: kid.map(str::to_owned),
            material: Material::Shared(Box::new(hmac::Key::new(hmac::HMAC_SHA256, secret))),
        })
    }

    /// Reads one key as JSON: a public key, or (only here, never in a [`super::JwkSet`]) a shared
    /// secret of type `oct`.
    ///
    /// # Errors
    /// Those of [`Jwk::parse`] and of the constructors.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        if text.len() > jwk::MAX_LEN {
            return Err(Error::TooLarge);
        }
        let members = json::parse_object(text)?;
        if jwk::text(&members, "kty")? == Some("oct") {
            return Self::from_shared(&members);
        }
        Self::new(Jwk::from_members(&members)?)
    }

    fn from_shared(members: &Map<String, Value>) -> Result<Self, Error> {
        jwk::check_use(members)?;
        let alg = jwk::text(members, "alg")?;
        if alg.is_some_and(|alg| alg != Algorithm::Hs256.name()) {
            return Err(Error::UnsupportedKey);
        }
        let secret = zeroize::Zeroizing::new(jwk::bytes(members, "k")?);
        Self::hs256(jwk::text(members, "kid")?, &secret)
    }

    /// The name of the key, where it has one.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// The public key; `None` for a shared secret.
    pub fn jwk(&self) -> Option<&Jwk> {
        match &self.material {
            Material::Public { jwk, .. } => Some(jwk),
            Material::Shared(_) => None,
        }
    }

    /// Whether this key verifies signatures of this algorithm.
    pub fn allows(&self, algorithm: Algorithm) -> bool {
        match &self.material {
            Material::Public { jwk, .. } => jwk.allows(algorithm),
            Material::Shared(_) => algorithm == Algorithm::Hs256,
        }
    }

    /// Checks a signature over a message. One message has one HS256, RS256 or Ed25519 signature
    /// but many of ES256 and PS256: never take the text of a token for its identity.
    ///
    /// # Errors
    /// `AlgorithmMismatch` where the key does not allow the algorithm; `Signature`.
    pub fn verify(
        &self,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let verdict = match &self.material {
            Material::Public { parsed, .. } => {
                let key = parsed.iter().find(|(allowed, _)| *allowed == algorithm);
                let (_, key) = key.ok_or(Error::AlgorithmMismatch)?;
                key.verify_sig(message, signature)
            }
            Material::Shared(key) if algorithm == Algorithm::Hs256 => {
                hmac::verify(key, message, signature)
            }
            Material::Shared(_) => return Err(Error::AlgorithmMismatch),
        };
        verdict.map_err(|_| Error::Signature)
    }
}

impl fmt::Debug for VerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kid = self.kid.as_deref().unwrap_or_default();
        match self.jwk() {
            Some(jwk) => write!(f, "VerificationKey({kid:?}, {})", jwk.thumbprint()),
            None => write!(f, "VerificationKey({kid:?}, [redacted])"),
        }
    }
}

fn parse_public(jwk: &Jwk, algorithm: Algorithm) -> Result<ParsedPublicKey, Error> {
    let parsed = match jwk.numbers() {
        Numbers::P256 { x, y } => {
            let point = [&[4][..], x, y].concat();
            ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
        }
        Numbers::Ed25519 { x } => ParsedPublicKey::new(&ED25519, x),
        Numbers::Rsa { n, e } => {
            let padding = match algorithm {
                Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                _ => &RSA_PKCS1_2048_8192_SHA256,
            };
            RsaPublicKeyComponents { n, e }.to_parsed_public_key(padding)
        }
    };
    parsed.map_err(|_| Error::MalformedKey)
}
