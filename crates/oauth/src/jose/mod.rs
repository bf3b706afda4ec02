//! JOSE (RFC 7515, 7517, 7518): keys and signatures, the algorithm chosen by the key.

/// The signature algorithms that the server knows (RFC 7518 §3.1, RFC 8037 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PSS with SHA-256.
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

    /// The algorithm of this name; `none` is not one.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|alg| alg.name() == text)
    }
}
