//! An answer while it is looked at: its body is read as text, JSON or HTML once, however many checks
//! and extractions want it. It must not know what they look for.

use std::borrow::Cow;
use std::cell::OnceCell;

use serde_json::Value;

use crate::call::Reply;
use crate::page::form::{self, Forms};

pub(super) struct Seen<'a> {
    pub(super) reply: &'a Reply,
    text: OnceCell<Cow<'a, str>>,
    json: OnceCell<Option<Value>>,
    forms: OnceCell<Forms>,
}

impl<'a> Seen<'a> {
    pub(super) fn new(reply: &'a Reply) -> Self {
        Self {
            reply,
            text: OnceCell::new(),
            json: OnceCell::new(),
            forms: OnceCell::new(),
        }
    }

    pub(super) fn text(&self) -> &str {
        self.text
            .get_or_init(|| String::from_utf8_lossy(&self.reply.body))
    }

    /// The value at a JSON pointer (RFC 6901); `None` as well when the body is not JSON.
    pub(super) fn json(&self, pointer: &str) -> Option<&Value> {
        let read = || serde_json::from_slice(&self.reply.body).ok();
        self.json.get_or_init(read).as_ref()?.pointer(pointer)
    }

    pub(super) fn forms(&self) -> &Forms {
        self.forms.get_or_init(|| form::forms(self.text()))
    }
}
