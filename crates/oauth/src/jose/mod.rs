//! JOSE: keys, signatures and claims as JSON writes them (RFC 7515, 7517, 7518, 7519, 7638, 8037).
//!
//! The algorithm belongs to the key, never to the header; what is malformed is refused, not
//! repaired; nothing is read that was not bounded before. Signing happens elsewhere: this module
//! builds what is to be signed and checks what was. It knows no clock, no randomness and no
//! network, and no private key but the shared secret that HS256 needs.

mod algorithm;
pub mod base64url;
mod claims;
mod error;
mod header;
mod json;
pub mod jwk;
pub mod jws;
mod key;
mod set;
#[cfg(test)]
mod tests;

pub use algorithm::Algorithm;
pub use claims::Claims;
pub use error::Error;
pub use header::Header;
pub(crate) use json::parse_object;
pub use jwk::Jwk;
pub use jws::{Compact, Payload, attach, signing_input};
pub use key::VerificationKey;
pub use set::{Ignored, JwkSet};
