//! Signed tokens in compact form (RFC 7515 §3.1, §7.1): read strictly, verified by a key that
//! knows its own algorithm; and the text that signers sign.

use super::{Claims, Error, Header, VerificationKey, base64url};

/// Characters that a token may have; a longer one is not looked at.
pub const MAX_LEN: usize = 16 * 1024;

/// A token taken apart. Nothing in it may be believed before [`Compact::verify`].
#[derive(Clone, Debug)]
pub struct Compact<'a> {
    header: Header,
    signing_input: &'a str,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

impl<'a> Compact<'a> {
    /// Takes a token apart: exactly three segments of canonical base64url, the first a header
    /// with a known `alg`, without `crit` and `b64`. At most [`MAX_LEN`] characters.
    ///
    /// # Errors
    /// `TooLarge`, `Segments`, `Json`, `DuplicateMember`, `Header`, `UnknownAlgorithm`,
    /// `Critical`.
    pub fn parse(text: &'a str) -> Result<Self, Error> {
        if text.len() > MAX_LEN {
            return Err(Error::TooLarge);
        }
        let (signing_input, signature) = text.rsplit_once('.').ok_or(Error::Segments)?;
        let (header, payload) = signing_input.split_once('.').ok_or(Error::Segments)?;
        // A fourth segment would leave a dot in the payload, which the decoder refuses.
        let decode = |segment| base64url::decode(segment).ok_or(Error::Segments);
        let (header, payload, signature) = (decode(header)?, decode(payload)?, decode(signature)?);
        Ok(Self {
            header: Header::parse(&header)?,
            signing_input,
            payload,
            signature,
        })
    }

    /// What the token says about itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The payload before anybody checked it: to find out whose key to ask, for nothing else.
    pub fn unverified_payload(&self) -> &[u8] {
        &self.payload
    }

    /// The claims before anybody checked them: to find out whose key to ask, for nothing else.
    ///
    /// # Errors
    /// `Json`, `DuplicateMember`.
    pub fn unverified_claims(&self) -> Result<Claims, Error> {
        Claims::parse(&self.payload)
    }

    /// Checks the signature. The key's algorithm decides; a header that differs is an error
    /// before any cryptography.
    ///
    /// # Errors
    /// `AlgorithmMismatch`, `Signature`.
    pub fn verify(&self, key: &VerificationKey) -> Result<Payload<'_>, Error> {
        key.verify(
            self.header.algorithm(),
            self.signing_input.as_bytes(),
            &self.signature,
        )?;
        Ok(Payload(&self.payload))
    }
}

/// A payload whose signature was verified.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a>(&'a [u8]);

impl<'a> Payload<'a> {
    /// The bytes that were signed.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// The claims that were signed (RFC 7519).
    ///
    /// # Errors
    /// `Json`, `DuplicateMember`.
    pub fn claims(self) -> Result<Claims, Error> {
        Claims::parse(self.0)
    }
}

/// The text to sign: header and claims (JSON) in base64url with a dot between (RFC 7515 §5.1).
pub fn signing_input(header: &Header, claims: &[u8]) -> String {
    let header = header.render();
    let characters = (header.len() + claims.len()) * 4 / 3 + 4;
    // Room for the longest usual signature (RS256 with 3072 bits), so that `attach` need not move.
    let mut out = String::with_capacity(characters + 1 + 512);
    base64url::encode_into(&header, &mut out);
    out.push('.');
    base64url::encode_into(claims, &mut out);
    out
}

/// The finished token: the text that was signed, a dot, the signature in base64url.
#[must_use]
pub fn attach(mut signing_input: String, signature: &[u8]) -> String {
    signing_input.push('.');
    base64url::encode_into(signature, &mut signing_input);
    signing_input
}
