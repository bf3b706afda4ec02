//! Parameters of a form or a query (`application/x-www-form-urlencoded`), read once and strictly:
//! a repeated parameter is an error (RFC 6749 §3.1 and §3.2), an empty one counts as absent, bad
//! escapes and bad UTF-8 are refused instead of repaired.

use crate::error::Error;
use std::borrow::Cow;

/// More pairs than any request of ours needs.
const MAX_PAIRS: usize = 64;

/// The only parameters that may come several times (RFC 8707 §2, RFC 8693 §2.1).
const REPEATABLE: [&str; 2] = ["resource", "audience"];

/// Decoded pairs, in the order of the request.
#[derive(Clone)]
pub struct Params<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl std::fmt::Debug for Params<'_> {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.pairs.iter().map(|(name, _)| name))
            .finish()
    }
}

impl<'a> Params<'a> {
    /// Takes pairs that were decoded elsewhere, by the same rules as [`Params::parse`].
    pub fn from_pairs(
        list: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Params<'static>, Error> {
        let mut pairs = Vec::with_capacity(8);
        for (name, value) in list {
            if name.contains('\0') || value.contains('\0') {
                return Err(nul());
            }
            push(&mut pairs, Cow::Owned(name), Cow::Owned(value))?;
        }
        Ok(Params { pairs })
    }

    /// Parses the whole text. Errors are `invalid_request` with what to mend.
    pub fn parse(text: &'a [u8]) -> Result<Self, Error> {
        let mut pairs: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::with_capacity(8);
        for part in text.split(|&b| b == b'&').filter(|part| !part.is_empty()) {
            let split = part.iter().position(|&b| b == b'=').unwrap_or(part.len());
            let name = decode(&part[..split])?;
            let value = decode(part.get(split + 1..).unwrap_or_default())?;
            push(&mut pairs, name, value)?;
        }
        Ok(Self { pairs })
    }

    /// The value of a parameter; absent and empty are the same (RFC 6749 §3.1).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| &**value)
    }

    /// All of them, in the order of the request.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (&**name, &**value))
    }

    /// All values of a parameter that may be repeated.
    pub fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        self.pairs
            .iter()
            .filter(move |(known, _)| known == name)
            .map(|(_, value)| &**value)
    }

    /// The value of a parameter that the request must have.
    pub fn require(&self, name: &'static str) -> Result<&str, Error> {
        self.get(name).ok_or_else(|| {
            Error::request(
                format!("the parameter {name} is missing"),
                "parameter_missing",
            )
        })
    }
}

fn push<'a>(
    pairs: &mut Vec<(Cow<'a, str>, Cow<'a, str>)>,
    name: Cow<'a, str>,
    value: Cow<'a, str>,
) -> Result<(), Error> {
    if value.is_empty() {
        return Ok(());
    }
    if pairs.iter().any(|(known, _)| *known == name) && !REPEATABLE.contains(&&*name) {
        return Err(Error::request(
            "a parameter is repeated: send each one once",
            "parameter_repeated",
        ));
    }
    if pairs.len() == MAX_PAIRS {
        return Err(Error::request("too many parameters", "parameters_too_many"));
    }
    pairs.push((name, value));
    Ok(())
}

fn nul() -> Error {
    Error::request("a parameter holds a NUL character", "parameter_nul")
}

/// Decodes `+` and `%XX`; borrows where there is nothing to decode.
pub fn decode(part: &[u8]) -> Result<Cow<'_, str>, Error> {
    let bytes = if part.iter().any(|&b| b == b'+' || b == b'%') {
        Cow::Owned(unescape(part)?)
    } else {
        Cow::Borrowed(part)
    };
    let utf8 = || Error::request("a parameter is not valid UTF-8", "parameter_utf8");
    let text = match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(std::str::from_utf8(bytes).map_err(|_| utf8())?),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).map_err(|_| utf8())?),
    };
    if text.contains('\0') {
        return Err(nul());
    }
    Ok(text)
}

fn unescape(part: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(part.len());
    let mut rest = part;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        match first {
            b'+' => out.push(b' '),
            b'%' => {
                let (Some(high), Some(low)) = (
                    tail.first().copied().and_then(hex),
                    tail.get(1).copied().and_then(hex),
                ) else {
                    return Err(Error::request(
                        "a parameter holds a broken % escape",
                        "parameter_escape",
                    ));
                };
                out.push(high << 4 | low);
                rest = &tail[2..];
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reason(text: &str) -> &'static str {
        Params::parse(text.as_bytes()).unwrap_err().reason
    }

    #[test]
    fn reads_what_browsers_and_libraries_send() {
        let params =
            Params::parse(b"grant_type=client_credentials&scope=a+b%20c&empty=&x").unwrap();
        assert_eq!(params.get("grant_type"), Some("client_credentials"));
        assert_eq!(params.get("scope"), Some("a b c"));
        assert_eq!(params.get("empty"), None);
        assert_eq!(params.get("x"), None);
    }

    #[test]
    fn refuses_what_is_ambiguous_or_broken() {
        assert_eq!(reason("scope=a&scope=b"), "parameter_repeated");
        assert_eq!(reason("scope=a&%73cope=b"), "parameter_repeated");
        assert_eq!(reason("a=%zz"), "parameter_escape");
        assert_eq!(reason("a=%4"), "parameter_escape");
        assert_eq!(reason("a=%ff"), "parameter_utf8");
        assert_eq!(reason("a=%00"), "parameter_nul");
        let many: Vec<String> = (0..65).map(|i| format!("p{i}=1")).collect();
        assert_eq!(reason(&many.join("&")), "parameters_too_many");
    }

    #[test]
    fn resource_may_come_several_times() {
        let params = Params::parse(b"resource=https://a&resource=https://b").unwrap();
        assert_eq!(
            params.all("resource").collect::<Vec<_>>(),
            ["https://a", "https://b"]
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(Params::parse(&text).map(|params| params.get("a").map(str::len)));
        }

        #[test]
        fn every_value_survives_encoding(value in "[^\0]{1,40}") {
            let escaped: Vec<String> = value.bytes().map(|b| format!("%{b:02X}")).collect();
            let text = format!("v={}", escaped.concat());
            let params = Params::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(params.get("v"), Some(&*value));
        }
    }
}
