//! Public keys as JSON (RFC 7517, RFC 7518 §6, RFC 8037 §2) and their thumbprints (RFC 7638).
//!
//! Only public keys: a private member is an error, so that nobody publishes one by accident.

use super::{Algorithm, Error, base64url, json};
use aws_lc_rs::digest;
use serde::Serialize;
use serde_json::{Map, Value};

/// Bytes of text that a key or a set of keys may have.
pub const MAX_LEN: usize = 64 * 1024;

/// Members that exist in private keys only (RFC 7518 §6.2.2, §6.3.2, §6.4; RFC 8037 §2).
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// A public key: its numbers and what it is called. [`super::VerificationKey`] verifies with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwk {
    kid: Option<String>,
    algorithm: Option<Algorithm>,
    numbers: Numbers,
}

/// The numbers of a public key, big endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// A point of P-256.
    P256 {
        x: [u8; 32],
        y: [u8; 32],
    },
    Ed25519 {
        x: [u8; 32],
    },
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

impl Jwk {
    /// A key of P-256 for ES256, from its uncompressed point: 65 bytes, the first 4 (SEC 1 §2.3.3).
    ///
    /// # Errors
    /// `MalformedKey`.
    pub fn es256(kid: &str, point: &[u8]) -> Result<Self, Error> {
        let (Some((4, xy)), 65) = (point.split_first().map(|(t, p)| (*t, p)), point.len()) else {
            return Err(Error::MalformedKey);
        };
        let (x, y) = xy.split_at(32);
        let numbers = Numbers::P256 {
            x: fixed(x)?,
            y: fixed(y)?,
        };
        Ok(Self::named(kid, Algorithm::Es256, numbers))
    }

    /// A key of Ed25519 for `EdDSA`: 32 bytes.
    ///
    /// # Errors
    /// `MalformedKey`.
    pub fn ed25519(kid: &str, public: &[u8]) -> Result<Self, Error> {
        let numbers = Numbers::Ed25519 { x: fixed(public)? };
        Ok(Self::named(kid, Algorithm::EdDsa, numbers))
    }

    /// A key of RSA for RS256 or PS256: modulus and exponent, big endian.
    ///
    /// # Errors
    /// `MalformedKey`; `WeakKey` below 2048 bits; `UnsupportedKey` for any other algorithm.
    pub fn rsa(kid: &str, algorithm: Algorithm, n: &[u8], e: &[u8]) -> Result<Self, Error> {
        if !matches!(algorithm, Algorithm::Rs256 | Algorithm::Ps256) {
            return Err(Error::UnsupportedKey);
        }
        let numbers = rsa_numbers(n.to_vec(), e.to_vec())?;
        Ok(Self::named(kid, algorithm, numbers))
    }

    fn named(kid: &str, algorithm: Algorithm, numbers: Numbers) -> Self {
        Self {
            kid: Some(kid.to_owned()),
            algorithm: Some(algorithm),
            numbers,
        }
    }

    /// Reads one public key, at most [`MAX_LEN`] bytes.
    ///
    /// # Errors
    /// `TooLarge`, `Json`, `DuplicateMember`, `PrivateMember`, `UnsupportedKey` (type, curve,
    /// algorithm or use), `WeakKey`, `MalformedKey`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        if text.len() > MAX_LEN {
            return Err(Error::TooLarge);
        }
        Self::from_members(&json::parse_object(text)?)
    }

    pub(super) fn from_members(members: &Map<String, Value>) -> Result<Self, Error> {
        if has_private_member(members) {
            return Err(Error::PrivateMember);
        }
        check_use(members)?;
        let numbers = match text(members, "kty")?.ok_or(Error::MalformedKey)? {
            "EC" => p256_numbers(members)?,
            "OKP" => ed25519_numbers(members)?,
            "RSA" => rsa_numbers(bytes(members, "n")?, bytes(members, "e")?)?,
            _ => return Err(Error::UnsupportedKey),
        };
        let algorithm = match text(members, "alg")? {
            None => None,
            Some(name) => Some(Algorithm::parse(name).ok_or(Error::UnsupportedKey)?),
        };
        let jwk = Self {
            kid: text(members, "kid")?.map(str::to_owned),
            algorithm,
            numbers,
        };
        // An `alg` that the type cannot do leaves nothing that the key allows.
        let usable = Algorithm::ALL.into_iter().any(|alg| jwk.allows(alg));
        usable.then_some(jwk).ok_or(Error::UnsupportedKey)
    }

    /// The name of the key, where it has one.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// Whether signatures of this algorithm may be verified with this key. Its own `alg` decides;
    /// without one, its type does, and only RSA leaves a choice: RS256 or PS256.
    pub fn allows(&self, algorithm: Algorithm) -> bool {
        let by_type = match self.numbers {
            Numbers::P256 { .. } => algorithm == Algorithm::Es256,
            Numbers::Ed25519 { .. } => algorithm == Algorithm::EdDsa,
            Numbers::Rsa { .. } => matches!(algorithm, Algorithm::Rs256 | Algorithm::Ps256),
        };
        by_type && self.algorithm.is_none_or(|own| own == algorithm)
    }

    pub(super) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// The key as JSON, ready for a key set: `use` is `sig`.
    pub fn render(&self) -> String {
        to_json(&self.body(true))
    }

    /// The SHA-256 thumbprint in base64url (RFC 7638 §3): 43 characters, the same for one key
    /// whatever it is called.
    pub fn thumbprint(&self) -> String {
        // Members in lexicographic order: `KeyBody` declares them so.
        let canonical = to_json(&self.body(false));
        base64url::encode(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref())
    }

    fn body(&self, described: bool) -> KeyBody<'_> {
        let text = |bytes: &[u8]| Some(base64url::encode(bytes));
        let empty = KeyBody {
            alg: self.algorithm.filter(|_| described).map(Algorithm::name),
            kid: self.kid().filter(|_| described),
            key_use: described.then_some("sig"),
            ..KeyBody::default()
        };
        match &self.numbers {
            Numbers::P256 { x, y } => KeyBody {
                crv: Some("P-256"),
                kty: "EC",
                x: text(x),
                y: text(y),
                ..empty
            },
            Numbers::Ed25519 { x } => KeyBody {
                crv: Some("Ed25519"),
                kty: "OKP",
                x: text(x),
                ..empty
            },
            Numbers::Rsa { n, e } => KeyBody {
                kty: "RSA",
                e: text(e),
                n: text(n),
                ..empty
            },
        }
    }
}

pub(super) fn has_private_member(members: &Map<String, Value>) -> bool {
    PRIVATE_MEMBERS
        .iter()
        .any(|name| members.contains_key(*name))
}

/// Keys for encryption are not for us (RFC 7517 §4.2, §4.3).
pub(super) fn check_use(members: &Map<String, Value>) -> Result<(), Error> {
    if text(members, "use")?.is_some_and(|key_use| key_use != "sig") {
        return Err(Error::UnsupportedKey);
    }
    match members.get("key_ops") {
        None => Ok(()),
        Some(Value::Array(operations)) => operations
            .iter()
            .any(|operation| operation == "verify")
            .then_some(())
            .ok_or(Error::UnsupportedKey),
        Some(_) => Err(Error::MalformedKey),
    }
}

fn p256_numbers(members: &Map<String, Value>) -> Result<Numbers, Error> {
    if text(members, "crv")? != Some("P-256") {
        return Err(Error::UnsupportedKey);
    }
    Ok(Numbers::P256 {
        x: fixed(&bytes(members, "x")?)?,
        y: fixed(&bytes(members, "y")?)?,
    })
}

fn ed25519_numbers(members: &Map<String, Value>) -> Result<Numbers, Error> {
    if text(members, "crv")? != Some("Ed25519") {
        return Err(Error::UnsupportedKey);
    }
    Ok(Numbers::Ed25519 {
        x: fixed(&bytes(members, "x")?)?,
    })
}

/// 2048 to 8192 bits, odd, no leading zero (RFC 7518 §6.3.1.1); an exponent of at most 32 bits,
/// for a larger one only buys the owner our time.
fn rsa_numbers(n: Vec<u8>, e: Vec<u8>) -> Result<Numbers, Error> {
    let leading = n.first().copied().ok_or(Error::MalformedKey)?;
    let bits = n.len() * 8 - leading.leading_zeros() as usize;
    let odd = |number: &[u8]| number.last().is_some_and(|last| last % 2 == 1);
    let exponent_fits = (1..=4).contains(&e.len()) && e[0] != 0 && e != [1];
    if leading == 0 || !odd(&n) || !odd(&e) || !exponent_fits || bits > 8192 {
        return Err(Error::MalformedKey);
    }
    if bits < 2048 {
        return Err(Error::WeakKey);
    }
    Ok(Numbers::Rsa { n, e })
}

fn fixed(bytes: &[u8]) -> Result<[u8; 32], Error> {
    bytes.try_into().map_err(|_| Error::MalformedKey)
}

pub(super) fn text<'a>(
    members: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a str>, Error> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Error::MalformedKey),
    }
}

pub(super) fn bytes(members: &Map<String, Value>, name: &str) -> Result<Vec<u8>, Error> {
    let text = text(members, name)?.ok_or(Error::MalformedKey)?;
    base64url::decode(text).ok_or(Error::MalformedKey)
}

fn to_json(body: &KeyBody<'_>) -> String {
    // Writing text into a String cannot fail.
    serde_json::to_string(body).unwrap_or_default()
}

/// Members in the order that RFC 7638 §3.3 hashes them in; those of one type are a subset.
#[derive(Default, Serialize)]
struct KeyBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    alg: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crv: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    kty: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<String>,
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    key_use: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<String>,
}
