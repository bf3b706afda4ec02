//! One signing key: made, read from what the store keeps, and used (RFC 7515 §5.1, RFC 7518 §3).
//!
//! Private parts come sealed and are parsed once. It knows neither where keys are kept nor which
//! of them is to sign.

use super::public::{ed25519_jwk, es256_jwk, rsa_jwk};
use super::rotation::KeyTimes;
use crate::rng::Rng;
use crate::sealing::{ClusterKey, OpenError, Purpose};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use signet_oauth::ids::KeyId;
use signet_oauth::jose::{self, Algorithm, Header, Jwk, VerificationKey};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The `typ` of what is signed most. Their headers are made once per key; any other works too.
const USUAL_TYPES: [&str; 3] = ["at+jwt", "JWT", "token-introspection+jwt"];
/// Room for the longest usual signature, RS256 with 4096 bits, and the dot before it.
const SIGNATURE_ROOM: usize = 1 + 683;

/// A key as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyParts {
    /// Its name.
    pub kid: KeyId,
    /// The one algorithm that it signs with.
    pub algorithm: Algorithm,
    /// The public half: a JWK as JSON.
    pub public_jwk: String,
    /// What signs.
    pub material: KeyMaterial,
    /// Its life.
    pub times: KeyTimes,
}

/// What signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyMaterial {
    /// The private half (PKCS #8), sealed with the cluster key for the name of the key.
    Sealed(Vec<u8>),
    /// A key that a signing service holds: [`RemoteReference`] as text.
    Remote(String),
}

/// Where a remote key is: `<name of the configured signer>/<name of the key there>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteReference {
    /// The signing service.
    pub signer: String,
    /// The key's name there.
    pub kid: KeyId,
}

impl RemoteReference {
    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (signer, kid) = text.split_once('/')?;
        Some(Self {
            signer: signer.to_owned(),
            kid: KeyId::parse(kid)?,
        })
    }
}

impl fmt::Display for RemoteReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.signer, self.kid)
    }
}

/// Why a key was not made or not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The sealed private half cannot be opened.
    #[error("its private half: {0}")]
    Seal(#[from] OpenError),
    /// The private half is not a key of this algorithm.
    #[error("its private half is not a private key of its algorithm")]
    Private,
    /// The public half is not a key.
    #[error("its public half: {0}")]
    Public(#[from] jose::Error),
    /// The halves belong to different keys.
    #[error("its public half belongs to another private key")]
    Mismatch,
    /// The reference does not name a signer and a key.
    #[error("its remote reference is not SIGNER/KID")]
    Reference,
    /// A shared secret signs nothing that others verify.
    #[error("HS256 is not for signing keys")]
    Symmetric,
    /// The cryptographic library refused to make a key.
    #[error("no key was generated")]
    Generation,
}

/// A key that has just been made.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Its name: the thumbprint of its public half (RFC 7638).
    pub kid: KeyId,
    /// The public half: a JWK as JSON.
    pub public_jwk: String,
    /// The private half, sealed.
    pub sealed: Vec<u8>,
}

/// Makes a key. RSA takes a tenth of a second: not on a thread that serves. The key itself comes
/// from the cryptographic library's own randomness; `rng` only seals it.
pub fn generate(algorithm: Algorithm, sealing: &ClusterKey, rng: &Rng) -> Result<NewKey, KeyError> {
    let private = private_key(algorithm)?;
    let pair = Pair::parse(algorithm, &private)?;
    let kid = pair.jwk("unnamed")?.thumbprint();
    let kid = KeyId::parse(&kid).ok_or(KeyError::Generation)?;
    Ok(NewKey {
        public_jwk: pair.jwk(kid.as_str())?.render(),
        sealed: sealing.seal(Purpose::SigningKey, kid.as_str().as_bytes(), &private, rng),
        kid,
    })
}

fn private_key(algorithm: Algorithm) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let random = SystemRandom::new();
    let generated = match algorithm {
        Algorithm::Es256 => EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map(|document| document.as_ref().to_vec()),
        Algorithm::EdDsa => {
            Ed25519KeyPair::generate_pkcs8(&random).map(|document| document.as_ref().to_vec())
        }
        Algorithm::Rs256 | Algorithm::Ps256 => {
            let pair = RsaKeyPair::generate(KeySize::Rsa2048);
            pair.and_then(|pair| AsDer::<Pkcs8V1Der<'_>>::as_der(&pair))
                .map(|der| der.as_ref().to_vec())
        }
        Algorithm::Hs256 => return Err(KeyError::Symmetric),
    };
    generated
        .map(Zeroizing::new)
        .map_err(|_| KeyError::Generation)
}

/// A private key, parsed.
enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rsa(RsaKeyPair, &'static dyn RsaEncoding, Algorithm),
}

impl Pair {
    fn parse(algorithm: Algorithm, private: &[u8]) -> Result<Self, KeyError> {
        let rsa = |padding| {
            RsaKeyPair::from_pkcs8(private).map(|pair| Self::Rsa(pair, padding, algorithm))
        };
        let parsed = match algorithm {
            Algorithm::Es256 => {
                EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, private).map(Self::Es256)
            }
            Algorithm::EdDsa => Ed25519KeyPair::from_pkcs8(private).map(Self::EdDsa),
            Algorithm::Rs256 => rsa(&RSA_PKCS1_SHA256),
            Algorithm::Ps256 => rsa(&RSA_PSS_SHA256),
            Algorithm::Hs256 => return Err(KeyError::Symmetric),
        };
        parsed.map_err(|_| KeyError::Private)
    }

    fn jwk(&self, kid: &str) -> Result<Jwk, KeyError> {
        match self {
            Self::Es256(pair) => es256_jwk(kid, pair.public_key()),
            Self::EdDsa(pair) => ed25519_jwk(kid, pair.public_key()),
            Self::Rsa(pair, _, algorithm) => rsa_jwk(kid, *algorithm, pair.public_key()),
        }
    }

    /// Appends a dot and the signature of what is in `out`.
    fn attach(&self, out: &mut Vec<u8>) -> Option<()> {
        // The library draws from its own generator and ignores this one.
        let random = SystemRandom::new();
        match self {
            Self::Es256(pair) => {
                let signature = pair.sign(&random, out).ok()?;
                append(out, signature.as_ref())
            }
            Self::EdDsa(pair) => {
                let signature = pair.try_sign(out).ok()?;
                append(out, signature.as_ref())
            }
            Self::Rsa(pair, padding, _) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(*padding, &random, out, &mut signature).ok()?;
                append(out, &signature)
            }
        }
    }
}

fn append(out: &mut Vec<u8>, signature: &[u8]) -> Option<()> {
    out.push(b'.');
    append_base64url(out, signature)
}

/// Encodes straight into the buffer: a third of the time that appending to a `String` takes.
fn append_base64url(out: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    let start = out.len();
    out.resize(start + (bytes.len() * 4).div_ceil(3), 0);
    URL_SAFE_NO_PAD
        .encode_slice(bytes, &mut out[start..])
        .ok()?;
    Some(())
}

/// A key that signs.
pub struct SigningKey {
    kid: KeyId,
    algorithm: Algorithm,
    times: KeyTimes,
    public_jwk: String,
    verification: Arc<VerificationKey>,
    /// The header in base64url with the dot behind it, for each usual type.
    headers: Vec<(&'static str, String)>,
    signs: Signs,
}

enum Signs {
    Here(Pair),
    There(RemoteReference),
}

/// How long a key takes to sign, which decides where it does.
#[derive(Debug)]
pub(super) enum Pace<'a> {
    /// A few microseconds: where it is needed.
    Fast,
    /// A fifth of a millisecond: not on a thread that serves.
    Slow,
    /// A request to another process.
    Remote(&'a RemoteReference),
}

impl SigningKey {
    /// Reads a key. The halves of a local key are compared: to publish another key than the one
    /// that signs would break every token.
    pub fn load(parts: &KeyParts, sealing: &ClusterKey) -> Result<Self, KeyError> {
        let jwk = Jwk::parse(parts.public_jwk.as_bytes())?;
        let signs = match &parts.material {
            KeyMaterial::Sealed(sealed) => {
                let context = parts.kid.as_str().as_bytes();
                let private = sealing.open(Purpose::SigningKey, context, sealed)?;
                let pair = Pair::parse(parts.algorithm, &private)?;
                if pair.jwk(parts.kid.as_str())? != jwk {
                    return Err(KeyError::Mismatch);
                }
                Signs::Here(pair)
            }
            KeyMaterial::Remote(reference) => {
                Signs::There(RemoteReference::parse(reference).ok_or(KeyError::Reference)?)
            }
        };
        if jwk.kid() != Some(parts.kid.as_str()) || !jwk.allows(parts.algorithm) {
            return Err(KeyError::Mismatch);
        }
        let header = |typ| (typ, header(&parts.kid, parts.algorithm, typ));
        Ok(Self {
            kid: parts.kid.clone(),
            algorithm: parts.algorithm,
            times: parts.times,
            public_jwk: jwk.render(),
            verification: Arc::new(VerificationKey::new(jwk)?),
            headers: USUAL_TYPES.map(header).into(),
            signs,
        })
    }

    /// Its name.
    pub fn kid(&self) -> &KeyId {
        &self.kid
    }

    /// The one algorithm that it signs with.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Its life.
    pub fn times(&self) -> &KeyTimes {
        &self.times
    }

    /// The public half as JSON.
    pub fn public_jwk(&self) -> &str {
        &self.public_jwk
    }

    /// The public half, ready to verify with.
    pub fn verification(&self) -> &Arc<VerificationKey> {
        &self.verification
    }

    pub(super) fn pace(&self) -> Pace<'_> {
        match &self.signs {
            Signs::Here(Pair::Rsa(..)) => Pace::Slow,
            Signs::Here(_) => Pace::Fast,
            Signs::There(reference) => Pace::Remote(reference),
        }
    }

    /// The text to sign: header, dot, claims. There is room behind it for the signature.
    pub(super) fn signing_input(&self, typ: &str, claims: &[u8]) -> Vec<u8> {
        let usual = self.headers.iter().find(|(known, _)| *known == typ);
        let unusual = usual
            .is_none()
            .then(|| header(&self.kid, self.algorithm, typ));
        let header = usual.map_or(unusual.as_deref().unwrap_or_default(), |(_, header)| header);
        let claims_room = (claims.len() * 4).div_ceil(3);
        let mut out = Vec::with_capacity(header.len() + claims_room + SIGNATURE_ROOM);
        out.extend_from_slice(header.as_bytes());
        // The buffer has the exact length: there is nothing to fail.
        let _encoded = append_base64url(&mut out, claims);
        out
    }

    /// Signs with a local key; `None` where the library refuses, or where the key is remote.
    pub(super) fn sign_here(&self, mut input: Vec<u8>) -> Option<String> {
        let Signs::Here(pair) = &self.signs else {
            return None;
        };
        pair.attach(&mut input)?;
        String::from_utf8(input).ok()
    }

    /// Puts a signature from elsewhere behind the text, if it is this key's.
    pub(super) fn attach(&self, mut input: Vec<u8>, signature: &[u8]) -> Option<String> {
        self.verification
            .verify(self.algorithm, &input, signature)
            .ok()?;
        append(&mut input, signature)?;
        String::from_utf8(input).ok()
    }
}

fn header(kid: &KeyId, algorithm: Algorithm, typ: &str) -> String {
    let header = Header::new(algorithm).with_kid(kid.as_str()).with_typ(typ);
    jose::signing_input(&header, b"")
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("kid", &self.kid.as_str())
            .field("algorithm", &self.algorithm)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) mod tests;
