//! Expiry, figures, the end.

use signet::store::{EndingKind, Error, LiveSlot, StateRow, Store};
use signet_oauth::time::Timestamp;

use super::clients::create;
use super::endings::{ending, state_of};
use super::place::{NOW, Place, client, key, token};

/// Expires until nothing is left to do.
pub(super) async fn expire(store: &Store, now: Timestamp) -> u64 {
    let mut rows = 0;
    for _ in 0..100_000 {
        let expired = store.expire(now, 5).await.unwrap();
        rows += expired.rows;
        if !expired.more {
            return rows;
        }
    }
    panic!("expiry never ends");
}

pub(super) async fn expired_rows_vanish_and_the_rest_stays(place: Place) {
    let store = place.open();
    create(&store, client("app")).await;
    let (old, new) = (NOW.minus(3600), NOW.plus(3600));
    for sequence in 0..10 {
        for expires_at in [old, new] {
            let mut stored = token(sequence, expires_at);
            stored.live = Some(LiveSlot {
                key: key(u64::from(sequence) + expires_at.0),
                replace: None,
                now: old,
            });
            store.insert_token(stored).await.unwrap();
        }
    }
    for until in [old, new] {
        store
            .use_assertion(key(until.0), until, key(1))
            .await
            .unwrap();
        store
            .end(vec![
                ending(EndingKind::Token, until.0, until),
                ending(EndingKind::Family, until.0, until),
            ])
            .await
            .unwrap();
        store
            .delete_client(&create(&store, client(&until.to_string())).await.id, until)
            .await
            .unwrap();
    }
    expire(&store, NOW).await;

    for sequence in 0..10 {
        for (expires_at, there) in [(old, false), (new, true)] {
            let id = token(sequence, expires_at).token.id;
            let found = store.find_token(id).await.unwrap();
            assert_eq!(found.is_some(), there);
            let live = store.find_live(key(u64::from(sequence) + expires_at.0));
            assert_eq!(live.await.unwrap().is_some(), there);
        }
    }
    let (_, state) = state_of(&store).await;
    let untils: Vec<Timestamp> = state
        .iter()
        .map(|row| match row {
            StateRow::Ended(ending) => ending.until,
            StateRow::ClientGeneration { until, .. } | StateRow::UserGeneration { until, .. } => {
                *until
            }
        })
        .collect();
    assert_eq!(untils, [new; 3]);
    let app = store.find_client(&client("app").id).await.unwrap();
    assert!(app.value.is_some());
    assert_eq!(expire(&store, NOW).await, 0);
}

pub(super) async fn a_closed_store_is_unavailable(place: Place) {
    let store = place.open();
    let clone = store.clone();
    store.close().await;
    let read = clone.head().await;
    assert!(matches!(read, Err(Error::Unavailable(_))), "{read:?}");
    let written = clone.insert_token(token(1, NOW)).await;
    assert!(matches!(written, Err(Error::Unavailable(_))), "{written:?}");
    clone.close().await;
}

pub(super) async fn reading_counts_its_statements(place: Place) {
    let store = place.open();
    let before = store.statistics();
    store.find_token(token(1, NOW).token.id).await.unwrap();
    let after = store.statistics();
    assert_eq!(after.read_statements, before.read_statements + 1);
    assert_eq!(after.write_statements, before.write_statements);
    store.insert_token(token(1, NOW)).await.unwrap();
    let written = store.statistics();
    assert!(written.write_statements > after.write_statements);
    assert_eq!(written.operations, after.operations + 1);
    assert_eq!(written.commits.count(), after.commits.count() + 1);
    assert_eq!(written.queued, 0);
}
