//! The log and the state beside it.

use std::sync::{Arc, Mutex};

use signet::store::{Ending, EndingKind, Head, StateRow, Store};
use signet_oauth::log::{Event, Position};
use signet_oauth::time::Timestamp;

use super::place::{NOW, Place, client_id, key};

/// The whole state and its position, in an order of its own.
pub(super) async fn state_of(store: &Store) -> (Position, Vec<StateRow>) {
    let rows = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&rows);
    let head = store
        .load_state(move |row| sink.lock().unwrap().push(row))
        .await
        .unwrap();
    let mut rows = std::mem::take(&mut *rows.lock().unwrap());
    rows.sort_by_key(|row| format!("{row:?}"));
    (head, rows)
}

pub(super) fn ending(kind: EndingKind, number: u64, until: Timestamp) -> Ending {
    Ending {
        kind,
        key: key(number),
        until,
    }
}

pub(super) async fn what_has_ended_is_logged_once(place: Place) {
    let store = place.open();
    let token = ending(EndingKind::Token, 1, NOW);
    let family = ending(EndingKind::Family, 1, NOW);
    let session = ending(EndingKind::Session, 1, NOW);
    let first = store.end(vec![token, family, token]).await.unwrap();
    let events: Vec<_> = first.rows.iter().map(|row| row.event.clone()).collect();
    assert_eq!(events, [token.event(), family.event()]);
    let second = store.end(vec![token, session, family]).await.unwrap();
    let events: Vec<_> = second.rows.iter().map(|row| row.event.clone()).collect();
    assert_eq!(events, [session.event()]);
    assert_eq!(second.rows[0].position, Position(3));
    assert_eq!(store.end(Vec::new()).await.unwrap().rows, []);
}

pub(super) async fn an_end_can_be_moved_only_outwards(place: Place) {
    let store = place.open();
    for (until, rows) in [(NOW, 1), (NOW.minus(1), 0), (NOW.plus(1000), 1), (NOW, 0)] {
        let ended = store
            .end(vec![ending(EndingKind::Family, 1, until)])
            .await
            .unwrap();
        assert_eq!(ended.rows.len(), rows, "{until}");
    }
    let (_, state) = state_of(&store).await;
    let expected = ending(EndingKind::Family, 1, NOW.plus(1000));
    assert_eq!(state, [StateRow::Ended(expected)]);
}

pub(super) async fn the_state_is_what_was_written(place: Place) {
    let store = place.open();
    let endings = vec![
        ending(EndingKind::Family, 2, NOW),
        ending(EndingKind::Token, 1, NOW.plus(5000)),
        ending(EndingKind::Token, 2, NOW),
    ];
    store.end(endings.clone()).await.unwrap();
    let user = |generation| Event::UserChanged {
        key: key(7),
        generation,
    };
    store.append(user(3), NOW).await.unwrap();
    store.append(user(2), NOW.minus(9)).await.unwrap();
    let session = Event::SessionEnded { key: key(5) };
    let client = Event::ClientChanged {
        id: client_id("app"),
        generation: 9,
    };
    store.append(session, NOW).await.unwrap();
    store.append(client, NOW).await.unwrap();
    let last = store.append(Event::ClearAll, NOW).await.unwrap();
    let store = place.reopen(store).await;
    let (head, state) = state_of(&store).await;
    assert_eq!((head, last.position), (Position(8), Position(8)));
    let mut expected: Vec<StateRow> = endings.into_iter().map(StateRow::Ended).collect();
    expected.extend([
        StateRow::Ended(ending(EndingKind::Session, 5, NOW)),
        StateRow::UserGeneration {
            key: key(7),
            generation: 3,
            until: NOW,
        },
        StateRow::ClientGeneration {
            id: client_id("app"),
            generation: 9,
            until: NOW,
        },
    ]);
    expected.sort_by_key(|row| format!("{row:?}"));
    assert_eq!(state, expected);
}

pub(super) async fn rows_of_the_log_carry_their_marks(place: Place) {
    let store = place.open();
    assert_eq!(store.head().await.unwrap(), Head::default());
    let mut written = Vec::new();
    for number in 0..5 {
        let event = Event::ConsentChanged { key: key(number) };
        written.push(store.append(event, NOW).await.unwrap());
    }
    let store = place.reopen(store).await;
    let head = store.head().await.unwrap();
    assert_eq!(head.position, Position(5));
    assert_eq!(head.mark, Some(written[4].mark));
    assert_ne!(written[3].mark, written[4].mark);
    let read = store.read_log(Position(3), 2).await.unwrap();
    assert_eq!(read, written[2..4]);
    let all = store.read_log(Position(0), 100).await.unwrap();
    assert_eq!(all, written);
    assert_eq!(store.read_log(Position(6), 9).await.unwrap(), []);
    let now = store.database_time().await.unwrap() / 1000;
    assert!(written[0].at.0.abs_diff(now) <= 60);
}

pub(super) async fn an_event_of_a_newer_program_reads_as_clear_all(place: Place) {
    let store = place.open();
    store.append(Event::KeysChanged, NOW).await.unwrap();
    if !place.execute("UPDATE log SET kind = 99").await {
        return; // In memory nobody else can have written.
    }
    let read = store.read_log(Position(1), 1).await.unwrap();
    assert_eq!(read[0].event, Event::ClearAll);
}
