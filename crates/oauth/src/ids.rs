//! Names of things: clients, tokens, signing keys; and the locator that token ids begin with.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use std::fmt;
use std::sync::Arc;

use crate::time::Timestamp;

/// A client identifier: 1 to 255 visible ASCII characters (RFC 6749 appendix A.1).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(Arc<str>);

impl ClientId {
    /// Accepts what RFC 6749 appendix A.1 allows, but for the space: it would not survive forms.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        fits.then(|| Self(text.into()))
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientId({})", self.0)
    }
}

impl std::borrow::Borrow<str> for ClientId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The name of a signing key (`kid`): 1 to 128 visible ASCII characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(Arc<str>);

impl KeyId {
    /// Accepts 1 to 128 visible ASCII characters.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        fits.then(|| Self(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Seconds that one expiry bucket covers. Rows that expire together lie together.
pub const BUCKET_SECONDS: u64 = 300;

/// Where a row lies: expiry bucket (24 bits), node (12 bits), sequence (27 bits); 63 bits in all,
/// so that it serves as a row id and rows are written in the order in which they will expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator(i64);

impl Locator {
    /// Bits of the sequence; it wraps within its node and bucket.
    pub const SEQUENCE_BITS: u32 = 27;
    /// Bits of the node number.
    pub const NODE_BITS: u32 = 12;

    /// The locator of the `sequence`-th row that `node` writes for this expiry.
    pub fn new(expires_at: Timestamp, node: u16, sequence: u32) -> Self {
        let bucket = Self::bucket_of(expires_at) << (Self::NODE_BITS + Self::SEQUENCE_BITS);
        let node = (i64::from(node) & ((1 << Self::NODE_BITS) - 1)) << Self::SEQUENCE_BITS;
        Self(bucket | node | (i64::from(sequence) & ((1 << Self::SEQUENCE_BITS) - 1)))
    }

    /// The bucket that holds what expires at this instant.
    pub fn bucket_of(expires_at: Timestamp) -> i64 {
        i64::try_from(expires_at.0 / BUCKET_SECONDS).unwrap_or(i64::MAX) & ((1 << 24) - 1)
    }

    /// The lowest locator of a bucket: everything below it belongs to earlier buckets.
    pub fn floor_of(bucket: i64) -> i64 {
        bucket << (Self::NODE_BITS + Self::SEQUENCE_BITS)
    }

    /// The expiry bucket of this locator.
    pub fn bucket(self) -> i64 {
        self.0 >> (Self::NODE_BITS + Self::SEQUENCE_BITS)
    }

    /// The locator that a row id is.
    pub fn from_row_id(row_id: i64) -> Self {
        Self(row_id)
    }

    /// As a row id: never negative.
    pub fn row_id(self) -> i64 {
        self.0
    }
}

/// The id of an access token (`jti`): a locator, then 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenId {
    locator: i64,
    random: [u8; 16],
}

impl TokenId {
    /// Bytes of an id.
    pub const LEN: usize = 24;

    /// Puts an id together.
    pub fn new(locator: Locator, random: [u8; 16]) -> Self {
        Self {
            locator: locator.0,
            random,
        }
    }

    /// Reads what [`TokenId::to_bytes`] wrote; `None` where the locator would be negative.
    pub fn from_bytes(bytes: &[u8; 24]) -> Option<Self> {
        let (locator, random) = bytes.split_at(8);
        let locator = i64::from_be_bytes(locator.try_into().ok()?);
        (locator >= 0).then_some(Self {
            locator,
            random: random.try_into().ok()?,
        })
    }

    /// Locator, big endian, then the random bits.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut out = [0; 24];
        out[..8].copy_from_slice(&self.locator.to_be_bytes());
        out[8..].copy_from_slice(&self.random);
        out
    }

    /// Reads the 32 characters of base64url that [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 {
            return None;
        }
        let mut bytes = [0; 24];
        URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        Self::from_bytes(&bytes)
    }

    /// Where its row lies.
    pub fn locator(&self) -> Locator {
        Locator(self.locator)
    }

    /// The random bits.
    pub fn random(&self) -> [u8; 16] {
        self.random
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 32];
        URL_SAFE_NO_PAD
            .encode_slice(self.to_bytes(), &mut text)
            .map_err(|_| fmt::Error)?;
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_that_expire_later_lie_later() {
        let early = Locator::new(Timestamp(1_800_000_000), 4095, u32::MAX);
        let late = Locator::new(Timestamp(1_800_000_300), 0, 0);
        assert!(early.row_id() < late.row_id());
        assert_eq!(Locator::floor_of(late.bucket()), late.row_id());
    }

    #[test]
    fn client_ids_are_visible_ascii() {
        for bad in ["", "a b", "é", "a\n", &"x".repeat(256)] {
            assert_eq!(ClientId::parse(bad), None, "{bad:?}");
        }
        assert!(ClientId::parse("https://client.example/id?x=1").is_some());
    }

    proptest! {
        #[test]
        fn token_ids_survive_text(exp in 0u64..4_000_000_000, node: u16, seq: u32, random: [u8; 16]) {
            let id = TokenId::new(Locator::new(Timestamp(exp), node, seq), random);
            prop_assert_eq!(TokenId::parse(&id.to_string()), Some(id));
            prop_assert!(id.locator().row_id() >= 0);
        }

        #[test]
        fn token_id_parser_never_panics(text in ".{0,40}") {
            drop(TokenId::parse(&text).map(|id| id.to_string()));
        }
    }
}
