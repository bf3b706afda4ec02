//! The compact form of a signed token (RFC 7515 section 7.1): its parts, and a symmetric signature. It
//! must not know where keys come from.

use aws_lc_rs::{digest, hmac};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{decode, encode};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Algorithm {
    #[serde(rename = "RS256")]
    Rs256,
    #[serde(rename = "PS256")]
    Ps256,
    #[serde(rename = "ES256")]
    Es256,
    #[serde(rename = "EdDSA")]
    EdDsa,
    #[serde(rename = "HS256")]
    Hs256,
}

impl Algorithm {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "PS256" => Self::Ps256,
            "ES256" => Self::Es256,
            // RFC 9864 gives the one curve that is in use a name of its own.
            "EdDSA" | "Ed25519" => Self::EdDsa,
            "HS256" => Self::Hs256,
            _ => return None,
        })
    }

    /// `at_hash` or `c_hash` of a token or code (OIDC Core, section 3.1.3.6): half of the
    /// hash that the algorithm signs; Ed25519 hashes with SHA-512.
    pub(crate) fn half_hash(self, text: &str) -> String {
        let hash = match self {
            Self::EdDsa => &digest::SHA512,
            Self::Rs256 | Self::Ps256 | Self::Es256 | Self::Hs256 => &digest::SHA256,
        };
        let whole = digest::digest(hash, text.as_bytes());
        let whole = whole.as_ref();
        encode(&whole[..whole.len() / 2])
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadToken {
    #[error("not three parts of base64url with a JSON header")]
    Form,
    #[error("the header has `crit`, and there is no extension to understand")]
    Critical,
    #[error("the algorithm {0:?} is not one to believe")]
    Algorithm(String),
    #[error("no published key has the id {0:?}")]
    UnknownKey(String),
    #[error("no published key is one for {0:?}")]
    NoKey(Algorithm),
    #[error("the signature is not one of the key's")]
    Signature,
    #[error("the claims are no JSON object of the right types: {0}")]
    Claims(String),
}

/// A token taken apart. Nothing of it is to be believed before a signature was checked.
#[derive(Clone, Debug)]
pub(crate) struct Compact<'a> {
    pub(super) signed: &'a [u8],
    pub(super) signature: Vec<u8>,
    pub(super) kid: Option<String>,
    alg: String,
    payload: Vec<u8>,
}

#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<IgnoredAny>,
}

/// Whether a token has the form of a signed one: else it is opaque.
pub(crate) fn is_compact(token: &str) -> bool {
    token.starts_with("ey") && token.bytes().filter(|byte| *byte == b'.').count() == 2
}

impl<'a> Compact<'a> {
    pub(crate) fn parse(token: &'a str) -> Result<Self, BadToken> {
        let (signed, signature) = token.rsplit_once('.').ok_or(BadToken::Form)?;
        let (header, payload) = signed.split_once('.').ok_or(BadToken::Form)?;
        let part = |text: &str| decode(text).ok_or(BadToken::Form);
        let (header, payload, signature) = (part(header)?, part(payload)?, part(signature)?);
        let header: Header = serde_json::from_slice(&header).map_err(|_| BadToken::Form)?;
        if header.crit.is_some() {
            return Err(BadToken::Critical);
        }
        Ok(Self {
            signed: signed.as_bytes(),
            signature,
            kid: header.kid,
            alg: header.alg,
            payload,
        })
    }

    /// What the header says; the key decides whether it is believed.
    pub(crate) fn algorithm(&self) -> Result<Algorithm, BadToken> {
        Algorithm::parse(&self.alg).ok_or_else(|| {
            BadToken::Algorithm(self.alg.chars().filter(char::is_ascii).take(20).collect())
        })
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Only for those who expect a signature by a shared secret: whoever takes it beside public keys
    /// takes signatures made with the public key.
    pub(crate) fn verify_shared(&self, secret: &[u8]) -> Result<Algorithm, BadToken> {
        let algorithm = self.algorithm()?;
        if algorithm != Algorithm::Hs256 {
            return Err(BadToken::Algorithm(self.alg.clone()));
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        hmac::verify(&key, self.signed, &self.signature).map_err(|_| BadToken::Signature)?;
        Ok(algorithm)
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors;
    use super::*;

    #[test]
    fn the_example_of_hs256_verifies_and_not_with_another_secret() {
        let token = Compact::parse(vectors::A1_TOKEN).unwrap();
        let secret = decode(vectors::A1_SECRET).unwrap();
        assert_eq!(token.verify_shared(&secret), Ok(Algorithm::Hs256));
        assert_eq!(token.verify_shared(b"guess"), Err(BadToken::Signature));
        assert!(token.payload().starts_with(b"{\"iss\":\"joe\""));
    }

    #[test]
    fn what_is_not_the_compact_form_is_refused() {
        let (head, body) = ("eyJhbGciOiJFUzI1NiJ9", "e30");
        for token in [
            String::new(),
            "a".to_owned(),
            "a.b".to_owned(),
            format!("{head}.{body}"),
            format!("{head}.{body}.AA.AA"),
            format!("{head}=.{body}.AA"),
            format!("{head}.{body}.A"),
            format!("{head}.{body}.AB"), // bits left over
            format!("{head}.{body}.A+AA"),
            format!("{head} .{body}.AA"),
            format!("e30.{body}.AA"),
            format!("{}.{body}.AA", encode("[]")),
            format!("{}.{body}.AA", encode(r#"{"alg":"ES256","alg":"none"}"#)),
        ] {
            assert_eq!(
                Compact::parse(&token).unwrap_err(),
                BadToken::Form,
                "{token}"
            );
        }
        let critical = format!("{}.{body}.AA", encode(r#"{"alg":"ES256","crit":["b64"]}"#));
        assert_eq!(Compact::parse(&critical).unwrap_err(), BadToken::Critical);
    }

    #[test]
    fn an_algorithm_that_is_none_is_none_to_believe() {
        for alg in ["none", "None", "", "HS512", "RS1"] {
            let token = format!("{}.e30.", encode(format!(r#"{{"alg":"{alg}"}}"#)));
            let token = Compact::parse(&token).unwrap();
            assert!(
                matches!(token.algorithm(), Err(BadToken::Algorithm(_))),
                "{alg}"
            );
            assert!(token.verify_shared(b"").is_err());
        }
    }

    #[test]
    fn half_hashes_are_those_of_the_specification() {
        // OIDC Core, appendix A.3 (at_hash) and A.6 (c_hash)
        let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
        assert_eq!(Algorithm::Rs256.half_hash(token), "77QmUPtjPfzWtF2AnpK9RQ");
        let code = "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk";
        assert_eq!(Algorithm::Es256.half_hash(code), "LDktKdoQak3Pk0cnXxCltA");
        assert_eq!(Algorithm::EdDsa.half_hash(code).len(), 43);
    }

    #[test]
    fn opaque_tokens_do_not_look_like_signed_ones() {
        assert!(is_compact("eyJ.e30.AA") && is_compact(vectors::A1_TOKEN));
        for token in ["", "opaque", "a.b.c", "eyJ.e30", "ey.a.b.c.d"] {
            assert!(!is_compact(token), "{token}");
        }
    }
}
