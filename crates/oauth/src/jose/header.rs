//! The header of a signed token (RFC 7515 §4).

use super::{Algorithm, Error, Jwk, json};
use serde::Serialize;
use serde_json::{Map, Value};

/// What a header says, as far as Signet listens. `jku`, `x5u` and `x5c` are not read: a token
/// does not choose where its key comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    algorithm: Algorithm,
    kid: Option<String>,
    typ: Option<String>,
    cty: Option<String>,
    jwk: Option<Value>,
}

impl Header {
    /// A header to sign under.
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            kid: None,
            typ: None,
            cty: None,
            jwk: None,
        }
    }

    /// The same, naming the key.
    #[must_use]
    pub fn with_kid(self, kid: &str) -> Self {
        Self {
            kid: Some(kid.to_owned()),
            ..self
        }
    }

    /// The same, with a type, such as `at+jwt` (RFC 9068 §2.1).
    #[must_use]
    pub fn with_typ(self, typ: &str) -> Self {
        Self {
            typ: Some(typ.to_owned()),
            ..self
        }
    }

    /// The algorithm that the token claims. The key decides, not this: see [`super::Compact`].
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The name of the key, where given.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// The type as written. [`Header::is_typ`] compares it.
    pub fn typ(&self) -> Option<&str> {
        self.typ.as_deref()
    }

    /// The type of the payload, where given.
    pub fn cty(&self) -> Option<&str> {
        self.cty.as_deref()
    }

    /// Whether the type is this one: case-insensitive, `application/` optional (RFC 7515 §4.1.9).
    pub fn is_typ(&self, expected: &str) -> bool {
        let Some(typ) = self.typ() else { return false };
        let prefix = "application/";
        let bare = match typ.get(..prefix.len()) {
            Some(start) if start.eq_ignore_ascii_case(prefix) => &typ[prefix.len()..],
            _ => typ,
        };
        bare.eq_ignore_ascii_case(expected)
    }

    /// The public key that the token brings along, as proofs of possession do (RFC 9449 §4.2).
    /// It proves possession of itself and nothing else: never verify any other token with it.
    ///
    /// # Errors
    /// Those of [`Jwk::parse`].
    pub fn jwk(&self) -> Result<Option<Jwk>, Error> {
        match &self.jwk {
            None => Ok(None),
            Some(Value::Object(members)) => Jwk::from_members(members).map(Some),
            Some(_) => Err(Error::MalformedKey),
        }
    }

    /// Reads a decoded header.
    pub(super) fn parse(text: &[u8]) -> Result<Self, Error> {
        let mut members = json::parse_object(text)?;
        if members.contains_key("crit") || members.contains_key("b64") {
            return Err(Error::Critical);
        }
        let name = take_text(&mut members, "alg")?.ok_or(Error::Header)?;
        Ok(Self {
            algorithm: Algorithm::parse(&name).ok_or(Error::UnknownAlgorithm)?,
            kid: take_text(&mut members, "kid")?,
            typ: take_text(&mut members, "typ")?,
            cty: take_text(&mut members, "cty")?,
            jwk: members.remove("jwk"),
        })
    }

    /// The header as JSON.
    pub(super) fn render(&self) -> Vec<u8> {
        let body = HeaderBody {
            alg: self.algorithm.name(),
            typ: self.typ(),
            cty: self.cty(),
            kid: self.kid(),
            jwk: self.jwk.as_ref(),
        };
        let mut out = Vec::with_capacity(96);
        // Writing text into a Vec cannot fail.
        let _infallible = serde_json::to_writer(&mut out, &body);
        out
    }
}

fn take_text(members: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Error> {
    match members.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Error::Header),
    }
}

#[derive(Serialize)]
struct HeaderBody<'a> {
    alg: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    typ: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cty: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwk: Option<&'a Value>,
}
