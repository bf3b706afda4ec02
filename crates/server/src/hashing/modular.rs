//! The text of hashes: fields between dollars, parameters between commas, base64 in its variants.

use super::HashError;
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use std::ops::RangeInclusive;

/// What follows `$scheme$`, taken apart at the dollars.
pub(super) fn fields(text: &str) -> Vec<&str> {
    text.split('$').skip(2).collect()
}

/// The value of each named parameter in `m=1,t=2`; `None` where anything else is in the text.
pub(super) fn parameters<const N: usize>(text: &str, names: [&str; N]) -> Option<[Option<u32>; N]> {
    let mut values = [None; N];
    for part in text.split(',') {
        let (name, value) = part.split_once('=')?;
        let at = names.iter().position(|known| *known == name)?;
        if values[at].replace(decimal(value)?).is_some() {
            return None;
        }
    }
    Some(values)
}

/// A number as hashes write it: digits, no sign, no leading zero.
pub(super) fn decimal(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

/// Standard base64. Padding may be there (Keycloak) or not, `.` may stand for `+` (passlib).
pub(super) fn decode(text: &str, length: &RangeInclusive<usize>) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').replace('.', "+");
    let bytes = STANDARD_NO_PAD.decode(text).ok()?;
    length.contains(&bytes.len()).then_some(bytes)
}

/// Standard base64 without padding.
pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD_NO_PAD.encode(bytes)
}

/// Refuses what lies outside the bounds.
pub(super) fn bounded(
    what: &'static str,
    value: u64,
    bounds: &RangeInclusive<u64>,
) -> Result<(), HashError> {
    if value < *bounds.start() {
        return Err(HashError::TooLittle(what, value, *bounds.start()));
    }
    if value > *bounds.end() {
        return Err(HashError::TooCostly(what, value, *bounds.end()));
    }
    Ok(())
}
