//! Whether a call ended as expected. It must not know how it was made.

use serde_json::Value;

use super::call::CallResult;
use super::prepared::Prepared;
use super::status::Code;
use crate::call::Wrong;

/// What is expected of a call. The default is the code OK and nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Expect {
    pub(crate) code: Code,
    /// How many messages the answer has.
    pub(crate) messages: Option<u64>,
    /// JSON pointers into the last message of the answer, each with the value to be found there.
    pub(crate) fields: Vec<(String, Value)>,
}

impl Default for Expect {
    fn default() -> Self {
        Self {
            code: Code::OK,
            messages: None,
            fields: Vec::new(),
        }
    }
}

impl Expect {
    /// Judges a call, one without a proper end included: a refused handshake is right where
    /// UNAVAILABLE is expected. A `Wrong` about such a call says less than its fault does.
    pub(crate) fn judge(&self, prepared: &Prepared, result: &CallResult) -> Result<(), Wrong> {
        let code = result.code();
        if code != self.code {
            return Err(wrong(
                "code",
                format!("{} expected, {code} came", self.code),
            ));
        }
        if let Some(expected) = self.messages
            && expected != result.received
        {
            let detail = format!("{expected} expected, {} came", result.received);
            return Err(wrong("messages", detail));
        }
        if self.fields.is_empty() {
            return Ok(());
        }
        let message = result.message.as_ref();
        let message = message.ok_or_else(|| wrong("message", "no message came".to_owned()))?;
        let message = prepared
            .json(message)
            .map_err(|error| wrong("message", error.to_string()))?;
        self.fields
            .iter()
            .try_for_each(|(pointer, expected)| field(&message, pointer, expected))
    }
}

fn field(message: &Value, pointer: &str, expected: &Value) -> Result<(), Wrong> {
    match message.pointer(pointer) {
        Some(found) if found == expected => Ok(()),
        Some(found) => {
            let detail = format!("{pointer}: {} came", outline(found));
            Err(wrong("field", detail))
        }
        None => Err(wrong("field", format!("{pointer}: there is none"))),
    }
}

/// Says what a value is without showing texts, which may be secrets.
fn outline(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("another text of {} bytes", text.len()),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(fields) => format!("an object of {} fields", fields.len()),
    }
}

fn wrong(check: &'static str, detail: String) -> Wrong {
    Wrong { check, detail }
}
