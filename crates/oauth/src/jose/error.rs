//! Why a key, a signature or a set of claims was refused. Nothing here repeats what was presented.

use std::fmt;

/// A refusal. Every variant has a stable label for logs and metrics: [`Error::reason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Longer, or more of them, than is read at all.
    TooLarge,
    /// Not three segments of canonical base64url (RFC 7515 §7.1).
    Segments,
    /// Not a JSON object, or trailing text after it.
    Json,
    /// An object names a member twice (RFC 7515 §4, RFC 7519 §4).
    DuplicateMember,
    /// A header member is missing or has the wrong type.
    Header,
    /// `alg` is `none` or unknown.
    UnknownAlgorithm,
    /// The header asks for an extension that is not implemented: `crit` or `b64`.
    Critical,
    /// The header names an algorithm that the key does not allow.
    AlgorithmMismatch,
    /// The signature is not that of this key over this text.
    Signature,
    /// A key lacks a member, or a member is not what its type asks for.
    MalformedKey,
    /// The type, curve, algorithm or use of a key is not one that Signet verifies with.
    UnsupportedKey,
    /// An RSA modulus below 2048 bits or a shared secret below 256.
    WeakKey,
    /// A private member where only public keys belong; it must be considered leaked.
    PrivateMember,
    /// A claim has the wrong type. The name is one of ours, never the token's.
    Claim(&'static str),
}

impl Error {
    /// A label for logs and metrics.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::TooLarge => "jose_too_large",
            Self::Segments => "jose_segments",
            Self::Json => "jose_json",
            Self::DuplicateMember => "jose_duplicate_member",
            Self::Header => "jose_header",
            Self::UnknownAlgorithm => "jose_unknown_algorithm",
            Self::Critical => "jose_critical",
            Self::AlgorithmMismatch => "jose_algorithm_mismatch",
            Self::Signature => "jose_signature",
            Self::MalformedKey => "jose_malformed_key",
            Self::UnsupportedKey => "jose_unsupported_key",
            Self::WeakKey => "jose_weak_key",
            Self::PrivateMember => "jose_private_member",
            Self::Claim(_) => "jose_claim",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::TooLarge => "too large",
            Self::Segments => "not three segments of base64url without padding",
            Self::Json => "not a JSON object",
            Self::DuplicateMember => "a member occurs twice",
            Self::Header => "a header member is missing or has the wrong type",
            Self::UnknownAlgorithm => "the algorithm is not supported",
            Self::Critical => "a critical extension is not supported",
            Self::AlgorithmMismatch => "the key does not allow this algorithm",
            Self::Signature => "the signature does not verify",
            Self::MalformedKey => "the key is malformed",
            Self::UnsupportedKey => "the key is of a kind that is not supported",
            Self::WeakKey => "the key is too short",
            Self::PrivateMember => "a private key where a public one belongs: replace that key",
            Self::Claim(name) => return write!(f, "the claim {name} has the wrong type"),
        };
        f.write_str(text)
    }
}

impl std::error::Error for Error {}
