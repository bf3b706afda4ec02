//! Expiry, figures, the end.

use signet::store::{Ending, EndingKind, Error, LiveSlot, StateRow, Store, StoreUrl};
use signet_oauth::log::{Event, Position};
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
        let gone = create(&store, client(&until.to_string())).await.id;
        store.delete_client(&gone, None, until).await.unwrap();
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

pub(super) async fn the_log_keeps_its_tail_and_its_head(place: Place) {
    let store = place.open();
    for number in 0..10 {
        let event = Event::ConsentChanged { key: key(number) };
        store.append(event, NOW).await.unwrap();
    }
    expire(&store, NOW).await;
    assert_eq!(store.read_log(Position(0), 99).await.unwrap().len(), 10);
    if !place.execute("UPDATE log SET at = at - 7200").await {
        return; // In memory nobody can make the rows older.
    }
    let head = store.head().await.unwrap();
    expire(&store, NOW).await;
    let rows = store.read_log(Position(0), 99).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].position, Some(rows[0].mark)),
        (Position(10), head.mark)
    );
    let next = store.append(Event::KeysChanged, NOW).await.unwrap();
    assert_eq!(next.position, Position(11));
    expire(&store, NOW).await;
    let rows = store.read_log(Position(0), 99).await.unwrap();
    assert_eq!(rows, [next]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_stays_as_large_as_what_lives_in_it() {
    let place = Place::sqlite();
    let StoreUrl::Sqlite(path) = &place.url else {
        panic!("this is about SQLite");
    };
    let store = place.open();
    let mut sizes = Vec::new();
    for cycle in 0..8 {
        let now = NOW.plus(cycle * 300);
        let mut tasks = tokio::task::JoinSet::new();
        for worker in 0..50 {
            let store = store.clone();
            tasks.spawn(fill(store, worker * 100..(worker + 1) * 100, now));
        }
        tasks.join_all().await;
        // As if the log's tail were from yesterday.
        assert!(place.execute("UPDATE log SET at = at - 86400").await);
        expire(&store, now).await;
        sizes.push(std::fs::metadata(path).unwrap().len());
    }
    store.close().await;
    let after = std::fs::metadata(path).unwrap().len();
    assert!(after < sizes[3] * 11 / 10, "{sizes:?}, then {after}");
    assert!(after < 8_000_000, "{after}");
}

/// Tokens, assertions and ends that expire within a bucket.
async fn fill(store: Store, numbers: std::ops::Range<u32>, now: Timestamp) {
    for number in numbers {
        let until = now.plus(10);
        let random = key(u64::from(number) << 32 | now.0);
        store.insert_token(token(number, until)).await.unwrap();
        store.use_assertion(random, until, random).await.unwrap();
        let ending = Ending {
            kind: EndingKind::Token,
            key: random,
            until,
        };
        store.end(vec![ending]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_come_and_go() {
    let place = Place::postgres().await;
    let store = place.open();
    for hour in 0..20 {
        let now = NOW.plus(hour * 3600);
        expire(&store, now).await;
        store.insert_token(token(1, now.plus(300))).await.unwrap();
        // Far ahead of what is prepared.
        store
            .insert_token(token(2, now.plus(80_000)))
            .await
            .unwrap();
    }
    expire(&store, NOW.plus(30 * 86_400)).await;
    let id = token(2, NOW.plus(80_000)).token.id;
    assert_eq!(store.find_token(id).await.unwrap(), None);
    // Nothing but what is prepared for the time to come.
    let sql = "DO $$ BEGIN ASSERT (SELECT count(*) FROM pg_inherits \
        WHERE inhparent = 'tokens'::regclass) <= 6; END $$";
    assert!(place.execute(sql).await);
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
