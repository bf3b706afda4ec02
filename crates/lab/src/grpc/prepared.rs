//! The messages of a call, encoded before it is made. It must not know connections or time.

use std::num::NonZeroU64;
use std::sync::Arc;

use bytes::Bytes;
use http::uri::PathAndQuery;
use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;
use serde_json::value::RawValue;

use super::frame::frame;
use super::schema::{Method, list};

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadMessage {
    /// Without the values, which may be secrets.
    #[error("the payload is no {name}: {cause}")]
    Json { name: String, cause: String },
    #[error("{message} has no field `{name}`; it has {}", list(.known))]
    Field {
        message: String,
        name: String,
        known: Vec<String>,
    },
    #[error("{0} takes one message; only a method that takes a stream can be sent {1}")]
    NoStream(String, u64),
    #[error("{0} messages are asked for, and the payload is an empty list")]
    Nothing(u64),
    #[error("the payload is above 4 GiB, which no gRPC message can be")]
    Length,
}

#[derive(Debug, thiserror::Error)]
#[error("the answer is no {name}: {cause}")]
pub(crate) struct BadAnswer {
    name: String,
    cause: String,
}

/// How the messages of a stream are sent. The default sends every message of the payload once, and
/// does not wait for answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    /// How many messages are sent; the payload is gone through again and again.
    pub(crate) messages: Option<u64>,
    /// How many messages may be unanswered before the next one is held back: one is ping-pong. Only
    /// for a method that answers each message with one.
    pub(crate) outstanding: Option<NonZeroU64>,
}

/// A call with its messages, to be made any number of times. Cheap to clone; can be sent between
/// threads.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(super) path: PathAndQuery,
    frames: Arc<[Bytes]>,
    /// How many messages are sent, in all.
    pub(super) messages: u64,
    pub(super) outstanding: u64,
    /// Whether there is a time between each message and the one that answers it.
    pub(super) paired: bool,
    pub(super) answer: Answer,
}

/// What is expected back.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    One(MessageDescriptor),
    Many(MessageDescriptor),
    /// Many again; the caller decodes them himself.
    Raw,
}

impl Prepared {
    /// Encodes the payload. For a method that takes a stream it may be a list of messages.
    pub(crate) fn new(method: &Method, json: &str, traffic: Traffic) -> Result<Self, BadMessage> {
        let input = method.descriptor.input();
        let listed = method.takes_stream() && json.trim_start().starts_with('[');
        let frames = if listed {
            let parts: Vec<Box<RawValue>> =
                serde_json::from_str(json).map_err(|cause| bad(&input, &cause))?;
            let frames = parts.iter().map(|part| encode(&input, part.get()));
            frames.collect::<Result<Vec<_>, _>>()?
        } else {
            vec![encode(&input, json)?]
        };
        let messages = traffic.messages.unwrap_or(frames.len() as u64);
        if messages != 1 && !method.takes_stream() {
            let name = method.descriptor.full_name().to_owned();
            return Err(BadMessage::NoStream(name, messages));
        }
        if messages > 0 && frames.is_empty() {
            return Err(BadMessage::Nothing(messages));
        }
        let output = method.descriptor.output();
        Ok(Self {
            path: method.path.clone(),
            frames: frames.into(),
            messages,
            outstanding: traffic.outstanding.map_or(u64::MAX, NonZeroU64::get),
            paired: method.takes_stream() && method.gives_stream(),
            answer: if method.gives_stream() {
                Answer::Many(output)
            } else {
                Answer::One(output)
            },
        })
    }

    /// One message to a method without a descriptor.
    pub(super) fn raw(
        path: &'static str,
        message: &impl prost::Message,
    ) -> Result<Self, BadMessage> {
        Ok(Self {
            path: PathAndQuery::from_static(path),
            frames: [frame(&message.encode_to_vec()).ok_or(BadMessage::Length)?].into(),
            messages: 1,
            outstanding: u64::MAX,
            paired: false,
            answer: Answer::Raw,
        })
    }

    /// Message `index` in its frame; there is one for every index below `messages`.
    pub(super) fn frame(&self, index: u64) -> Option<&Bytes> {
        let index = index.checked_rem(self.frames.len() as u64)?;
        self.frames.get(usize::try_from(index).ok()?)
    }

    /// A message of the answer as JSON, fields with default values included. Integers of 64 bits are
    /// strings, as everywhere in the JSON of protobuf.
    pub(crate) fn json(&self, message: &Bytes) -> Result<Value, BadAnswer> {
        let (Answer::One(output) | Answer::Many(output)) = &self.answer else {
            return Ok(Value::Null);
        };
        let bad = |cause: String| BadAnswer {
            name: output.full_name().to_owned(),
            cause,
        };
        let decoded = DynamicMessage::decode(output.clone(), message.clone())
            .map_err(|error| bad(error.to_string()))?;
        let options = SerializeOptions::new().skip_default_fields(false);
        decoded
            .serialize_with_options(serde_json::value::Serializer, &options)
            .map_err(|error| bad(error.to_string()))
    }
}

fn encode(input: &MessageDescriptor, json: &str) -> Result<Bytes, BadMessage> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let message = DynamicMessage::deserialize(input.clone(), &mut reader)
        .and_then(|message| reader.end().map(|()| message))
        .map_err(|cause| bad(input, &cause))?;
    frame(&message.encode_to_vec()).ok_or(BadMessage::Length)
}

fn bad(input: &MessageDescriptor, cause: &serde_json::Error) -> BadMessage {
    BadMessage::Json {
        name: input.full_name().to_owned(),
        cause: outline(&cause.to_string()),
    }
}

/// What is wrong, without the text that is: it may be a secret.
fn outline(cause: &str) -> String {
    let expected = cause.rsplit_once(", expected ");
    if let (Some((kind, _)), Some((_, expected))) = (cause.split_once(": string \""), expected) {
        return format!("{kind}: a text, expected {expected}");
    }
    match cause.split_once(" enum value '") {
        Some((what, rest)) => {
            let place = rest.rsplit_once("' at ").map(|(_, place)| place);
            format!("{what} value of an enum at {}", place.unwrap_or("its end"))
        }
        None => cause.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_without_texts() {
        let cases = [
            (
                "invalid type: string \"a, expected b\", expected a boolean at line 1 column 9",
                "invalid type: a text, expected a boolean at line 1 column 9",
            ),
            (
                "unrecognized enum value 'x' at ' at line 2 column 3",
                "unrecognized value of an enum at line 2 column 3",
            ),
            (
                "expected value at line 1 column 1",
                "expected value at line 1 column 1",
            ),
        ];
        for (cause, shown) in cases {
            assert_eq!(outline(cause), shown);
        }
    }
}
