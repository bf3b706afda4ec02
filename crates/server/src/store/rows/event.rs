//! Events of the log as columns. Numbers are part of the schema: never change one, never use one
//! again.

use signet_oauth::ids::ClientId;
use signet_oauth::log::Event;

use super::{count, key16, number};
use crate::store::error::Error;
use crate::store::log::EndingKind;

/// The columns of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct EventColumns {
    pub(in crate::store) kind: i16,
    pub(in crate::store) key: Option<[u8; 16]>,
    pub(in crate::store) name: Option<String>,
    pub(in crate::store) generation: Option<i64>,
}

pub(in crate::store) fn columns_of(event: &Event) -> Result<EventColumns, Error> {
    let keyed = |kind, key: &[u8; 16]| EventColumns {
        kind,
        key: Some(*key),
        ..EventColumns::default()
    };
    let bare = |kind| EventColumns {
        kind,
        ..EventColumns::default()
    };
    Ok(match event {
        Event::ClientChanged { id, generation } => EventColumns {
            kind: 1,
            key: None,
            name: Some(id.as_str().to_owned()),
            generation: Some(number(*generation)?),
        },
        Event::UserChanged { key, generation } => EventColumns {
            generation: Some(number(*generation)?),
            ..keyed(2, key)
        },
        Event::KeysChanged => bare(3),
        Event::ConsentChanged { key } => keyed(4, key),
        Event::TokenRevoked { key } => keyed(5, key),
        Event::FamilyEnded { key } => keyed(6, key),
        Event::SessionEnded { key } => keyed(7, key),
        Event::ClearAll => bare(8),
    })
}

/// The event of these columns. What a newer program wrote is [`Event::ClearAll`] to this one:
/// whoever follows the log loads the state again instead of skipping it.
pub(in crate::store) fn event_from(
    kind: i16,
    key: Option<&[u8]>,
    name: Option<&str>,
    generation: Option<i64>,
) -> Result<Event, Error> {
    let key = || key16(key.ok_or_else(|| Error::unreadable("an event without its key"))?);
    let generation = count(generation.unwrap_or(0));
    Ok(match kind {
        1 => Event::ClientChanged {
            id: name
                .and_then(ClientId::parse)
                .ok_or_else(|| Error::unreadable("an event without its client"))?,
            generation,
        },
        2 => Event::UserChanged {
            key: key()?,
            generation,
        },
        3 => Event::KeysChanged,
        4 => Event::ConsentChanged { key: key()? },
        5 => Event::TokenRevoked { key: key()? },
        6 => Event::FamilyEnded { key: key()? },
        7 => Event::SessionEnded { key: key()? },
        _ => Event::ClearAll,
    })
}

/// The kind of an ending, numbered like its event.
pub(in crate::store) fn ending_number(kind: EndingKind) -> i16 {
    match kind {
        EndingKind::Token => 5,
        EndingKind::Family => 6,
        EndingKind::Session => 7,
    }
}

/// The kind of this number; `None` for what a newer program wrote.
pub(in crate::store) fn ending_kind(number: i16) -> Option<EndingKind> {
    [EndingKind::Token, EndingKind::Family, EndingKind::Session]
        .into_iter()
        .find(|kind| ending_number(*kind) == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_their_columns_and_unknown_ones_clear_all() {
        let key = [7; 16];
        for event in [
            Event::ClientChanged {
                id: ClientId::parse("app").unwrap(),
                generation: 9,
            },
            Event::UserChanged { key, generation: 2 },
            Event::KeysChanged,
            Event::ConsentChanged { key },
            Event::TokenRevoked { key },
            Event::FamilyEnded { key },
            Event::SessionEnded { key },
            Event::ClearAll,
        ] {
            let columns = columns_of(&event).unwrap();
            let key = columns.key.as_ref().map(<[u8; 16]>::as_slice);
            let name = columns.name.as_deref();
            let read = event_from(columns.kind, key, name, columns.generation).unwrap();
            assert_eq!(read, event);
        }
        assert_eq!(event_from(99, None, None, None).unwrap(), Event::ClearAll);
    }
}
