//! Races: one winner, no gaps, and nobody fails with somebody else.

use std::collections::BTreeSet;

use signet::store::{
    Created, EndingKind, Error, Inserted, LiveSlot, SingleUse, Store, StoreOptions, Updated,
};
use signet_oauth::log::{Event, Position};

use super::clients::create;
use super::endings::ending;
use super::place::{NOW, Place, client, key, token};

/// Runs them all at once, half of them through another handle.
pub(super) async fn at_once<T: Send + 'static, F>(
    stores: [&Store; 2],
    count: u64,
    work: impl Fn(Store, u64) -> F,
) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..count)
        .map(|number| tokio::spawn(work(stores[usize::from(number % 2 == 1)].clone(), number)))
        .collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}

pub(super) async fn one_of_a_hundred_uses_wins(place: Place) {
    let first = place.open();
    let second = place.open_second(&first);
    for assertion in 0..5 {
        let used = at_once([&first, &second], 100, |store, number| async move {
            store.use_assertion(key(assertion), NOW, key(number)).await
        });
        let used = used.await;
        let won = used
            .iter()
            .filter(|used| matches!(used, Ok(SingleUse::Won)))
            .count();
        let lost = used
            .iter()
            .filter(|used| matches!(used, Ok(SingleUse::Used)))
            .count();
        assert_eq!((won, lost), (1, 99));
    }
}

pub(super) async fn one_update_of_each_version_is_done(place: Place) {
    let first = place.open();
    let second = place.open_second(&first);
    create(&first, client("app")).await;
    for version in 1..6 {
        let updates = at_once([&first, &second], 20, |store, _| async move {
            store.update_client(client("app"), version, true, NOW).await
        });
        let done: Vec<_> = updates
            .await
            .into_iter()
            .filter_map(|updated| match updated.unwrap() {
                Updated::Done { client, .. } => Some((client.version, client.generation)),
                Updated::Stale => None,
                Updated::Missing => panic!("the client is there"),
            })
            .collect();
        assert_eq!(done, [(version + 1, version + 1)]);
    }
}

pub(super) async fn one_live_token_of_many_is_stored(place: Place) {
    let first = place.open();
    let second = place.open_second(&first);
    let inserted = at_once([&first, &second], 50, |store, number| async move {
        let mut stored = token(u32::try_from(number).unwrap(), NOW.plus(300));
        stored.live = Some(LiveSlot {
            key: key(1),
            replace: None,
            now: NOW,
        });
        store.insert_token(stored).await.unwrap()
    });
    let inserted = inserted.await;
    let done = inserted.iter().filter(|i| **i == Inserted::Done).count();
    assert_eq!(done, 1);
    let live = first.find_live(key(1)).await.unwrap().unwrap();
    let others = inserted.iter().filter(|i| **i != Inserted::Done);
    assert!(others.copied().all(|i| i == Inserted::LiveExists(live)));
}

pub(super) async fn positions_have_no_gaps(place: Place) {
    let first = place.open();
    let second = place.open_second(&first);
    let rows = at_once([&first, &second], 400, |store, number| async move {
        match number % 4 {
            0 => {
                let event = Event::ConsentChanged { key: key(number) };
                vec![store.append(event, NOW).await.unwrap()]
            }
            1 => {
                let endings = [EndingKind::Token, EndingKind::Session]
                    .map(|kind| ending(kind, number / 8, NOW))
                    .to_vec();
                store.end(endings).await.unwrap().rows
            }
            2 => {
                let stored = token(u32::try_from(number).unwrap(), NOW);
                assert_eq!(store.insert_token(stored).await.unwrap(), Inserted::Done);
                Vec::new()
            }
            _ => {
                let created = store.create_client(client(&format!("c{number}")), key(number));
                match created.await.unwrap() {
                    Created::Done { row, .. } => vec![row],
                    Created::Exists => panic!("nobody else has this id"),
                }
            }
        }
    });
    let rows: Vec<_> = rows.await.into_iter().flatten().collect();
    let positions: BTreeSet<Position> = rows.iter().map(|row| row.position).collect();
    assert_eq!(positions.len(), rows.len(), "a position was given twice");
    let last = u64::try_from(rows.len()).unwrap();
    let expected: BTreeSet<Position> = (1..=last).map(Position).collect();
    assert_eq!(positions, expected);
    let mut written = rows;
    written.sort_by_key(|row| row.position);
    let read = first.read_log(Position(1), 1000).await.unwrap();
    assert_eq!(read, written);
    assert_eq!(first.head().await.unwrap().position, Position(last));
}

pub(super) async fn one_that_fails_does_not_fail_the_others(place: Place) {
    let store = place.open();
    let results = at_once([&store, &store], 60, |store, number| async move {
        let mut stored = token(u32::try_from(number).unwrap(), NOW);
        if number == 30 {
            stored.token.client_generation = u64::MAX; // no column holds it
        }
        store.insert_token(stored).await
    });
    for (number, result) in results.await.into_iter().enumerate() {
        if number == 30 {
            assert!(matches!(result, Err(Error::Fault(_))), "{result:?}");
        } else {
            assert_eq!(result.unwrap(), Inserted::Done, "{number}");
        }
    }
}

pub(super) async fn a_full_queue_is_busy_at_once(place: Place) {
    let options = StoreOptions {
        queue: 4,
        ..StoreOptions::default()
    };
    let store = Store::open(&place.url, options).unwrap();
    let results = at_once([&store, &store], 500, |store, number| async move {
        let stored = token(u32::try_from(number).unwrap(), NOW);
        store.insert_token(stored).await
    });
    let results = results.await;
    let done = results.iter().filter(|r| r.is_ok()).count();
    let busy = results.iter().filter(|r| matches!(r, Err(Error::Busy)));
    assert_eq!(done + busy.count(), 500);
    assert!(done > 0);
}
