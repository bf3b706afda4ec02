//! Signing keys, and what the nodes agree on.

use signet::store::{CheckedKey, KeyInserted, KeyMaterial, KeyRecord, KeyUpdated};
use signet_oauth::ids::KeyId;
use signet_oauth::jose::Algorithm;
use signet_oauth::log::{Event, Position};

use super::place::{NOW, Place};

fn record(kid: &str) -> KeyRecord {
    KeyRecord {
        kid: KeyId::parse(kid).unwrap(),
        algorithm: Algorithm::Es256,
        public_jwk: "{\"kty\":\"EC\"}".to_owned(),
        material: KeyMaterial::Sealed(vec![0, 1, 2]),
        purpose: "tokens".to_owned(),
        created_at: NOW,
        publish_at: None,
        active_from: NOW,
        retires_at: None,
        gone_at: None,
        version: 1,
    }
}

pub(super) async fn keys_survive_and_announce_themselves(place: Place) {
    let store = place.open();
    let local = record("a");
    let remote = KeyRecord {
        algorithm: Algorithm::Rs256,
        material: KeyMaterial::Remote("https://kms/1".to_owned()),
        publish_at: Some(NOW),
        retires_at: Some(NOW.plus(1)),
        gone_at: Some(NOW.plus(2)),
        ..record("b")
    };
    for key in [&local, &remote] {
        let inserted = store.insert_key(key.clone(), None).await.unwrap();
        assert!(matches!(inserted, KeyInserted::Done { row } if row.event == Event::KeysChanged));
    }
    let again = store.insert_key(local.clone(), None).await.unwrap();
    assert_eq!(again, KeyInserted::Exists);
    let store = place.reopen(store).await;
    let listed = store.list_keys().await.unwrap();
    assert_eq!(listed.value, [local.clone(), remote]);
    assert_eq!(listed.head, Position(2));

    let retired = KeyRecord {
        retires_at: Some(NOW.plus(9)),
        ..local
    };
    let updated = store.update_key(retired.clone()).await.unwrap();
    assert!(matches!(updated, KeyUpdated::Done { row } if row.event == Event::KeysChanged));
    let stale = store.update_key(retired.clone()).await.unwrap();
    assert_eq!(stale, KeyUpdated::Stale);
    let missing = store.update_key(record("nobody")).await.unwrap();
    assert_eq!(missing, KeyUpdated::Missing);
    let listed = store.list_keys().await.unwrap().value;
    assert_eq!(
        listed[0],
        KeyRecord {
            version: 2,
            ..retired
        }
    );
}

pub(super) async fn a_slot_is_filled_once(place: Place) {
    let store = place.open();
    let slot = || Some("tokens/ES256/1".to_owned());
    let first = store.insert_key(record("a"), slot()).await.unwrap();
    assert!(matches!(first, KeyInserted::Done { .. }));
    let second = store.insert_key(record("b"), slot()).await.unwrap();
    assert_eq!(second, KeyInserted::SlotTaken);
    let other = Some("tokens/ES256/2".to_owned());
    let other = store.insert_key(record("b"), other).await.unwrap();
    assert!(matches!(other, KeyInserted::Done { .. }));
}

pub(super) async fn the_cluster_key_is_remembered(place: Place) {
    let store = place.open();
    for (mac, expected) in [
        ([1; 32], CheckedKey::Stored),
        ([1; 32], CheckedKey::Matches),
        ([2; 32], CheckedKey::Differs),
    ] {
        assert_eq!(store.check_cluster_key(mac).await.unwrap(), expected);
    }
}

pub(super) async fn node_numbers_differ(place: Place) {
    let store = place.open();
    let first = store.next_node().await.unwrap();
    let store = place.reopen(store).await;
    assert_eq!(store.next_node().await.unwrap(), first + 1);
}

pub(super) async fn a_lease_has_one_holder(place: Place) {
    let store = place.open();
    for (case, name, holder, seconds, taken) in [
        ("free", "rotate", "a", 60, true),
        ("renewed", "rotate", "a", 60, true),
        ("held", "rotate", "b", 60, false),
        ("another", "other", "b", 60, true),
        ("given back", "rotate", "a", 0, true),
        ("free again", "rotate", "b", 60, true),
    ] {
        let result = store.take_lease(name, holder, seconds).await.unwrap();
        assert_eq!(result, taken, "{case}");
    }
}

pub(super) async fn settings_are_overwritten(place: Place) {
    let store = place.open();
    assert_eq!(store.find_setting("x").await.unwrap(), None);
    store.put_setting("x", "1").await.unwrap();
    store.put_setting("x", "2").await.unwrap();
    let found = store.find_setting("x").await.unwrap();
    assert_eq!(found.as_deref(), Some("2"));
}

pub(super) async fn the_database_has_a_clock(place: Place) {
    let store = place.open();
    let first = store.database_time().await.unwrap();
    assert!(first > 1_700_000_000_000);
    assert!(store.database_time().await.unwrap() >= first);
}
