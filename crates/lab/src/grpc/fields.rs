//! Whether a payload names fields that there are: known before its values are. It must not know how
//! messages are encoded.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value;

use super::prepared::BadMessage;
use super::schema::Method;

/// Looks at the names alone, so values may be anything. For a method that takes a stream the payload
/// may be a list of messages.
pub(crate) fn check_names(method: &Method, payload: &Value) -> Result<(), BadMessage> {
    let input = method.descriptor.input();
    match payload {
        Value::Array(messages) if method.takes_stream() => {
            messages.iter().try_for_each(|one| message(&input, one))
        }
        one => message(&input, one),
    }
}

fn message(descriptor: &MessageDescriptor, value: &Value) -> Result<(), BadMessage> {
    // The well-known types have forms of their own, and whatever is no object is no message: encoding
    // it says so.
    let is_well_known = descriptor.package_name() == "google.protobuf";
    let Some(members) = value.as_object().filter(|_| !is_well_known) else {
        return Ok(());
    };
    members.iter().try_for_each(|(name, value)| {
        let is_named = |field: &FieldDescriptor| field.json_name() == name || field.name() == name;
        match descriptor.fields().find(is_named) {
            Some(found) => field(&found, value),
            None if name.starts_with('[') => Ok(()),
            None => Err(BadMessage::Field {
                message: descriptor.full_name().to_owned(),
                name: name.clone(),
                known: descriptor
                    .fields()
                    .map(|field| field.json_name().to_owned())
                    .collect(),
            }),
        }
    })
}

fn field(field: &FieldDescriptor, value: &Value) -> Result<(), BadMessage> {
    let Kind::Message(inner) = field.kind() else {
        return Ok(());
    };
    match value {
        Value::Object(entries) if field.is_map() => match inner.map_entry_value_field().kind() {
            Kind::Message(inner) => entries.values().try_for_each(|one| message(&inner, one)),
            _ => Ok(()),
        },
        Value::Array(items) if field.is_list() => {
            items.iter().try_for_each(|one| message(&inner, one))
        }
        one => message(&inner, one),
    }
}
