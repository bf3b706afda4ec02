//! The signature algorithms (RFC 7518 §3.1, RFC 8037 §3.1), a closed list.

/// The signature algorithms that Signet knows. `none` is not one, and cannot be written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519 (RFC 8037).
    EdDsa,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PSS with SHA-256, salt as long as the digest.
    Ps256,
    /// HMAC with SHA-256.
    Hs256,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Es256,
        Self::EdDsa,
        Self::Rs256,
        Self::Ps256,
        Self::Hs256,
    ];

    /// The registered name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Hs256 => "HS256",
        }
    }

    /// The algorithm of this name, compared case-sensitively (RFC 7515 §4.1.1).
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|alg| alg.name() == text)
    }
}
