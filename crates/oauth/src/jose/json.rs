//! JSON objects read strictly: no member twice at any depth, nothing after the object.
//!
//! A parser that keeps the first of two members and one that keeps the last read two different
//! tokens from one signature (RFC 7515 §4 and RFC 7519 §4 allow to refuse; Signet does).

use super::Error;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// The text of the error by which a second member of one name leaves serde.
const DUPLICATE: &str = "duplicate member";

/// Reads an object. The depth is bounded by `serde_json` (128).
///
/// # Errors
/// [`Error::DuplicateMember`], or [`Error::Json`] where it is not an object and nothing else.
pub(crate) fn parse_object(text: &[u8]) -> Result<Map<String, Value>, Error> {
    let Strict(value) = serde_json::from_slice(text).map_err(|error| {
        if error.is_data() && error.to_string().starts_with(DUPLICATE) {
            Error::DuplicateMember
        } else {
            Error::Json
        }
    })?;
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(Error::Json),
    }
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("not a number"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(de::Error::custom(DUPLICATE));
            }
            let Strict(value) = members.next_value()?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}
