//! Signed tokens as one who relies on them reads them (RFC 7515, 7517, 7518, 7519, 8037), written
//! apart from any server, whose mistakes a shared reader would share. It must not know flows, or what a token is for.

pub(crate) mod claims;
pub(crate) mod jwk;
pub(crate) mod jws;

#[cfg(test)]
pub(crate) mod vectors;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Strict: no padding, no other alphabet, no bits left over (RFC 7515 section 2).
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
