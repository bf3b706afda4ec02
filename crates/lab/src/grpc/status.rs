//! How a call ended in the words of gRPC: its codes, and the headers or trailers that carry them. It
//! must not know connections or messages.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use http::{HeaderMap, HeaderValue, StatusCode};

/// One of the 17 codes of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Code(u8);

const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

impl Code {
    pub(crate) const OK: Self = Self(0);
    pub(crate) const CANCELLED: Self = Self(1);
    pub(crate) const UNKNOWN: Self = Self(2);
    pub(crate) const DEADLINE_EXCEEDED: Self = Self(4);
    pub(crate) const NOT_FOUND: Self = Self(5);
    pub(crate) const PERMISSION_DENIED: Self = Self(7);
    pub(crate) const RESOURCE_EXHAUSTED: Self = Self(8);
    pub(crate) const UNIMPLEMENTED: Self = Self(12);
    pub(crate) const INTERNAL: Self = Self(13);
    pub(crate) const UNAVAILABLE: Self = Self(14);
    pub(crate) const DATA_LOSS: Self = Self(15);
    pub(crate) const UNAUTHENTICATED: Self = Self(16);

    pub(crate) fn number(self) -> u16 {
        self.0.into()
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }

    /// The code that a sample has in place of a status; those of HTTP are all above the codes.
    pub(crate) fn of_sample(status: u16) -> Option<Self> {
        let number = u8::try_from(status).ok()?;
        (usize::from(number) < NAMES.len()).then_some(Self(number))
    }

    /// The first digit of the status that gateways to HTTP translate the code to.
    pub(crate) fn class(self) -> u16 {
        match self {
            Self::OK => 2,
            Self::UNKNOWN
            | Self::DEADLINE_EXCEEDED
            | Self::UNIMPLEMENTED
            | Self::INTERNAL
            | Self::UNAVAILABLE
            | Self::DATA_LOSS => 5,
            _ => 4,
        }
    }

    /// What an answer counts as that is HTTP and not gRPC (the mapping of the gRPC specification).
    pub(super) fn of_http(status: StatusCode) -> Self {
        match status.as_u16() {
            400 => Self::INTERNAL,
            401 => Self::UNAUTHENTICATED,
            403 => Self::PERMISSION_DENIED,
            404 => Self::UNIMPLEMENTED,
            429 | 502..=504 => Self::UNAVAILABLE,
            _ => Self::UNKNOWN,
        }
    }

    /// What a reset of the stream counts as (the same specification).
    pub(super) fn of_reset(reason: h2::Reason) -> Self {
        match reason {
            h2::Reason::REFUSED_STREAM => Self::UNAVAILABLE,
            h2::Reason::CANCEL => Self::CANCELLED,
            h2::Reason::ENHANCE_YOUR_CALM => Self::RESOURCE_EXHAUSTED,
            h2::Reason::INADEQUATE_SECURITY => Self::PERMISSION_DENIED,
            _ => Self::INTERNAL,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no gRPC code: give a name such as NOT_FOUND or a number from 0 to 16")]
pub(crate) struct NoCode(String);

impl FromStr for Code {
    type Err = NoCode;

    fn from_str(text: &str) -> Result<Self, NoCode> {
        let number = match NAMES.iter().position(|name| *name == text) {
            Some(number) => u8::try_from(number).ok(),
            None => text.parse().ok(),
        };
        let known = number.filter(|number| usize::from(*number) < NAMES.len());
        known.map(Self).ok_or_else(|| NoCode(text.to_owned()))
    }
}

/// What the server said at the end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: Code,
    /// For people; it may repeat what was sent, secrets included, so reports leave it out.
    pub(crate) message: String,
}

impl Status {
    /// Finds a status in trailers, or in the headers of an answer that is nothing but trailers.
    pub(super) fn find(fields: &HeaderMap) -> Result<Option<Self>, NoCode> {
        let Some(code) = fields.get("grpc-status") else {
            return Ok(None);
        };
        let code = match code.as_bytes() {
            b"0" => Code::OK,
            other => String::from_utf8_lossy(other).parse::<Code>()?,
        };
        let message = fields.get("grpc-message").map(percent_decode);
        Ok(Some(Self {
            code,
            message: message.unwrap_or_default(),
        }))
    }
}

/// Decodes a `grpc-message`. What is no escape stands for itself, as the specification asks.
fn percent_decode(value: &HeaderValue) -> String {
    let bytes = value.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let escaped = match rest {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)),
            _ => None,
        };
        if let Some((high, low)) = escaped {
            decoded.push(high << 4 | low);
            rest = &rest[3..];
        } else {
            decoded.push(*first);
            rest = after;
        }
    }
    match String::from_utf8_lossy(&decoded) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fields(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_bytes(text.as_bytes()).unwrap();
        pairs
            .iter()
            .map(|(name, text)| (http::HeaderName::from_static(name), value(text)))
            .collect()
    }

    #[test]
    fn codes_are_read_by_name_and_by_number() {
        for (number, name) in NAMES.iter().enumerate() {
            let code: Code = name.parse().unwrap();
            assert_eq!(usize::from(code.number()), number);
            assert_eq!(number.to_string().parse(), Ok(code));
            assert_eq!(code.to_string(), *name);
        }
        assert_eq!("16".parse(), Ok(Code::UNAUTHENTICATED));
        for text in ["17", "-1", "", "ok", "999", "0x0"] {
            assert!(text.parse::<Code>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_code_counts_as_a_status_of_its_class_and_no_status_is_a_code() {
        let class = |status| Code::of_sample(status).map(Code::class);
        let classes: Vec<_> = (0..17).filter_map(class).collect();
        assert_eq!(classes, [2, 4, 5, 4, 5, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 4]);
        assert_eq!([17, 100, 200, 599, u16::MAX].map(class), [None; 5]);
    }

    #[test]
    fn a_status_is_found_with_its_message_decoded() {
        let found = Status::find(&fields(&[
            ("grpc-status", "5"),
            ("grpc-message", "no caf%C3%A9, 100%25 sure"),
        ]));
        let status = found.unwrap().unwrap();
        assert_eq!(status.code.name(), "NOT_FOUND");
        assert_eq!(status.message, "no café, 100% sure");
        assert_eq!(Status::find(&HeaderMap::new()), Ok(None));
        assert!(Status::find(&fields(&[("grpc-status", "OK?")])).is_err());
    }

    #[test]
    fn broken_escapes_stand_for_themselves() {
        for (text, expected) in [
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%41", "%zzA"),
            ("%%41", "%A"),
            ("%ff", "\u{fffd}"),
            ("", ""),
        ] {
            let value = HeaderValue::from_bytes(text.as_bytes()).unwrap();
            assert_eq!(percent_decode(&value), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn an_encoded_message_decodes_to_itself(text in any::<String>()) {
            use std::fmt::Write as _;
            let mut encoded = String::new();
            for byte in text.bytes() {
                if matches!(byte, b' '..=b'~') && byte != b'%' {
                    encoded.push(char::from(byte));
                } else {
                    write!(encoded, "%{byte:02X}").unwrap();
                }
            }
            let value = HeaderValue::from_bytes(encoded.as_bytes()).unwrap();
            prop_assert_eq!(percent_decode(&value), text);
        }
    }
}
