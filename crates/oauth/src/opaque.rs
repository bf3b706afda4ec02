//! Opaque tokens: `sgt_` then base64url of the id (locator and 128 random bits) and a checksum.
//!
//! The prefix lets secret scanners recognise a leaked token, the checksum lets them, and us,
//! tell a token from a typing error without asking anybody. Exactly one text stands for a token:
//! one character more or less is another text, not another spelling of the same token.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::ids::TokenId;
use crate::secret::{Digest, Secret};

/// What every opaque access token begins with.
pub const PREFIX: &str = "sgt_";

const CHECKSUM: usize = 6;
const BODY: usize = TokenId::LEN + CHECKSUM;
const BODY_TEXT: usize = BODY / 3 * 4;

/// Writes the token of this id.
pub fn render(id: TokenId) -> Secret {
    let mut body = [0; BODY];
    body[..TokenId::LEN].copy_from_slice(&id.to_bytes());
    body[TokenId::LEN..].copy_from_slice(&checksum(id));
    let mut text = String::with_capacity(PREFIX.len() + BODY_TEXT);
    text.push_str(PREFIX);
    URL_SAFE_NO_PAD.encode_string(body, &mut text);
    Secret::new(text)
}

/// Reads a token; `None` where it is not exactly what [`render`] writes.
pub fn parse(text: &str) -> Option<TokenId> {
    let encoded = text.strip_prefix(PREFIX)?;
    if encoded.len() != BODY_TEXT {
        return None;
    }
    let mut body = [0; BODY];
    URL_SAFE_NO_PAD.decode_slice(encoded, &mut body).ok()?;
    let id = TokenId::from_bytes(body[..TokenId::LEN].try_into().ok()?)?;
    (checksum(id) == body[TokenId::LEN..]).then_some(id)
}

fn checksum(id: TokenId) -> [u8; CHECKSUM] {
    let digest = Digest::labelled("opaque token", &id.to_bytes());
    let mut out = [0; CHECKSUM];
    out.copy_from_slice(&digest.0[..CHECKSUM]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Locator;
    use crate::time::Timestamp;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_what_it_writes_and_nothing_near_it(exp in 0u64..4_000_000_000, random: [u8; 16], at in 0usize..44, flip in 1u8..128) {
            let id = TokenId::new(Locator::new(Timestamp(exp), 7, 9), random);
            let text = render(id).expose().to_owned();
            prop_assert_eq!(text.len(), 44);
            prop_assert_eq!(parse(&text), Some(id));
            prop_assert_eq!(parse(&text[..text.len() - 1]), None);
            let longer = format!("{text}A");
            prop_assert_eq!(parse(&longer), None);
            let mut bytes = text.into_bytes();
            bytes[at] ^= flip;
            if let Ok(changed) = String::from_utf8(bytes) {
                prop_assert_eq!(parse(&changed), None);
            }
        }
    }
}
