//! What is sent beside the messages of a call: credentials and other fields. It must not know who asks
//! for them.

use std::fmt;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, TE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadMetadata {
    #[error("metadata {0:?}: a name is lower-case letters, digits, '.', '_' and '-'")]
    Name(String),
    #[error("metadata {0}: the value may hold printable ASCII only")]
    Value(String),
    #[error("metadata {0}: binary values (names ending in -bin) are not supported")]
    Binary(String),
    #[error("metadata {0}: the lab sets this field itself; take it out")]
    Reserved(String),
}

/// The fields of one call, checked. Printing them shows the names alone.
#[derive(Clone, Default)]
pub(crate) struct Metadata(HeaderMap);

impl Metadata {
    /// Sets a field, in place of an earlier one.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), BadMetadata> {
        self.0.remove(name);
        self.add(name, value)
    }

    /// Adds a field; one that is there already is sent, too.
    pub(super) fn add(&mut self, name: &str, value: &str) -> Result<(), BadMetadata> {
        let name = checked(name)?;
        let printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let value = HeaderValue::from_str(value).ok().filter(|_| printable);
        // Not marked as sensitive: clients let tokens into the table of known fields, from which the
        // next call repeats them in a byte, and the lab is to cost a server what clients cost it.
        let value = value.ok_or_else(|| BadMetadata::Value(name.to_string()))?;
        self.0.append(name, value);
        Ok(())
    }

    /// Sets the bearer token, in place of an earlier one.
    pub(crate) fn set_bearer(&mut self, token: &str) -> Result<(), BadMetadata> {
        self.set(AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    pub(super) fn fields(&self) -> &HeaderMap {
        &self.0
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
}

fn checked(name: &str) -> Result<HeaderName, BadMetadata> {
    let legal = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .ok()
        .filter(|_| name.bytes().all(legal))
        .ok_or_else(|| BadMetadata::Name(name.to_owned()))?;
    let ours = [CONTENT_TYPE, HOST, TE, USER_AGENT].contains(&parsed);
    // HTTP/2 has no place for the last four (RFC 9113 section 8.2.2); a length is the framing's.
    let framing = [
        "content-length",
        "connection",
        "keep-alive",
        "transfer-encoding",
        "upgrade",
    ];
    match name {
        _ if name.ends_with("-bin") => Err(BadMetadata::Binary(name.to_owned())),
        _ if ours || name.starts_with("grpc-") || framing.contains(&name) => {
            Err(BadMetadata::Reserved(name.to_owned()))
        }
        _ => Ok(parsed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_sent_is_refused_with_its_reason() {
        let name = |name: &str| BadMetadata::Name(name.to_owned());
        let cases = [
            ("Authorization", "x", name("Authorization")),
            ("", "x", name("")),
            (":path", "x", name(":path")),
            ("a b", "x", name("a b")),
            ("a", "x\n", BadMetadata::Value("a".to_owned())),
            ("a", "é", BadMetadata::Value("a".to_owned())),
            (
                "trace-bin",
                "x",
                BadMetadata::Binary("trace-bin".to_owned()),
            ),
            ("te", "x", BadMetadata::Reserved("te".to_owned())),
            (
                "grpc-timeout",
                "1S",
                BadMetadata::Reserved("grpc-timeout".to_owned()),
            ),
            (
                "connection",
                "close",
                BadMetadata::Reserved("connection".to_owned()),
            ),
        ];
        for (name, value, expected) in cases {
            let refused = Metadata::default().add(name, value);
            assert_eq!(refused, Err(expected), "{name:?}");
        }
    }

    #[test]
    fn the_last_bearer_token_is_the_only_one_and_is_never_printed() {
        let mut metadata = Metadata::default();
        metadata.set_bearer("first").unwrap();
        metadata.set_bearer("second").unwrap();
        metadata.add("x-request-id", "7").unwrap();
        let sent: Vec<_> = metadata.fields().get_all(AUTHORIZATION).iter().collect();
        assert_eq!(sent, ["Bearer second"]);
        let printed = format!("{metadata:?}");
        assert!(
            printed.contains("authorization") && !printed.contains("second"),
            "{printed}"
        );
        let refused = metadata.set_bearer("se\ncret").unwrap_err().to_string();
        assert!(!refused.contains("cret"), "{refused}");
    }
}
