//! An answer while it is looked at: its body is read as text, JSON or HTML once, however many checks
//! and extractions want it. It must not know what they look for.

use std::borrow::Cow;
use std::cell::OnceCell;

use serde_json::Value;

use crate::call::Reply;
use crate::page::form::{self, Forms};

pub(crate) struct Seen<'a> {
    pub(crate) reply: &'a Reply,
    text: OnceCell<Cow<'a, str>>,
    json: OnceCell<Option<Value>>,
    forms: OnceCell<Forms>,
}

impl<'a> Seen<'a> {
    pub(crate) fn new(reply: &'a Reply) -> Self {
        Self {
            reply,
            text: OnceCell::new(),
            json: OnceCell::new(),
            forms: OnceCell::new(),
        }
    }

    /// The body; of a call in gRPC, the last message in JSON.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| match &self.reply.ending {
            None => String::from_utf8_lossy(&self.reply.body),
            Some(ending) => {
                let message = ending.message.as_ref();
                message.map(Value::to_string).unwrap_or_default().into()
            }
        })
    }

    /// The value at a JSON pointer (RFC 6901); `None` as well when the body is not JSON.
    pub(crate) fn json(&self, pointer: &str) -> Option<&Value> {
        let read = || serde_json::from_slice(&self.reply.body).ok();
        let whole = match &self.reply.ending {
            None => self.json.get_or_init(read).as_ref(),
            Some(ending) => ending.message.as_ref(),
        };
        whole?.pointer(pointer)
    }

    pub(crate) fn forms(&self) -> &Forms {
        self.forms.get_or_init(|| form::forms(self.text()))
    }
}
