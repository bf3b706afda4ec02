//! Base64url without padding, one text for one sequence of bytes (RFC 7515 §2, RFC 4648 §3.5).
//!
//! The decoder refuses padding, line breaks and stray trailing bits: two texts that decode to the
//! same bytes would be two names of one signature.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

/// The text of these bytes.
pub fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Appends the text of these bytes.
pub fn encode_into(bytes: &[u8], out: &mut String) {
    URL_SAFE_NO_PAD.encode_string(bytes, out);
}

/// The bytes of this text; `None` where it is not the canonical text of any.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
