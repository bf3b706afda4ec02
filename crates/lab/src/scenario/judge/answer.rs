//! What every answer has: a status, a type, and an error code where it refuses. It must not know what
//! was asked.

use http::header;
use serde::Deserialize;
use serde_json::Value;

use crate::call::{Reply, Wrong};

/// What of a server's text is shown in a message, at most.
const SHOWN: usize = 120;

pub(crate) fn wrong(check: &'static str, detail: impl Into<String>) -> Wrong {
    Wrong {
        check,
        detail: detail.into(),
    }
}

/// A server's text that is safe to show: short, and without control characters.
pub(crate) fn shown(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(SHOWN)
        .collect()
}

pub(crate) fn status(reply: &Reply, expected: &[u16]) -> Result<(), Wrong> {
    let status = reply.status.as_u16();
    if expected.contains(&status) {
        return Ok(());
    }
    Err(unexpected(reply, &list(expected)))
}

pub(crate) fn unexpected(reply: &Reply, expected: &str) -> Wrong {
    let status = reply.status.as_u16();
    let said = error_code(reply).map_or(String::new(), |code| format!(" ({code})"));
    wrong(
        "status",
        format!("{expected} expected, {status}{said} came"),
    )
}

fn list(statuses: &[u16]) -> String {
    let texts: Vec<String> = statuses.iter().map(u16::to_string).collect();
    texts.join(" or ")
}

/// The `error` member of a JSON answer (RFC 6749 section 5.2), as far as it has the form of one.
pub(crate) fn error_code(reply: &Reply) -> Option<String> {
    #[derive(Deserialize)]
    struct ErrorResponse {
        error: String,
    }
    // Pages and documents are not searched for it.
    if reply.body.first() != Some(&b'{') {
        return None;
    }
    let ErrorResponse { error } = serde_json::from_slice(&reply.body).ok()?;
    is_code(&error).then_some(error)
}

/// Error codes are words; anything else might be somebody's secret.
pub(crate) fn is_code(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    !text.is_empty() && text.len() <= 50 && text.bytes().all(is_letter)
}

/// The body as JSON, which the answer must say it is.
pub(crate) fn json<'a, T: Deserialize<'a>>(reply: &'a Reply) -> Result<T, Wrong> {
    let kind = reply.headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let media = kind.split(';').next().unwrap_or_default().trim();
    let is_json = media.eq_ignore_ascii_case("application/json")
        || media.to_ascii_lowercase().ends_with("+json");
    if !is_json {
        let detail = format!("JSON expected, {:?} came", shown(media));
        return Err(wrong("content-type", detail));
    }
    // serde's message quotes values, which may be tokens: only the place is told.
    serde_json::from_slice(&reply.body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let kind = match error.classify() {
            serde_json::error::Category::Data => "a member is missing or of another type",
            _ => "no JSON",
        };
        wrong("json", format!("{kind}, at line {line} column {column}"))
    })
}

/// Whether it was refused with this error code (RFC 6749 section 5.2, RFC 6750 section 3.1).
pub(crate) fn refused(reply: &Reply, code: &str) -> Result<(), Wrong> {
    status(reply, &[400, 401])?;
    match error_code(reply) {
        Some(came) if came == code => Ok(()),
        came => {
            let came = came.as_deref().unwrap_or("none");
            Err(wrong(
                "error",
                format!("the error {code} expected, {came} came"),
            ))
        }
    }
}

/// The text at a JSON pointer, or a number there.
pub(crate) fn pointed(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
