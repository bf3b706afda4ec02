//! Access tokens, live tokens, used assertions.

use signet::store::{Inserted, LiveSlot, SingleUse, StoredToken};
use signet_oauth::client::TokenForm;
use signet_oauth::ids::TokenId;
use signet_oauth::log::token_key;
use signet_oauth::scope::Scope;
use signet_oauth::time::Timestamp;
use signet_oauth::token::AccessToken;

use super::place::{NOW, Place, client_id, key, token};

pub(super) async fn every_field_of_a_token_survives(place: Place) {
    let store = place.open();
    let plain = token(1, NOW);
    let full = StoredToken {
        token: AccessToken {
            subject: "üser".into(),
            scope: Scope::parse("a b").unwrap(),
            audience: vec!["x y".to_owned(), "z".to_owned()],
            user_generation: Some(4),
            family: Some([1; 16]),
            session: Some([2; 16]),
            ..token(2, NOW).token
        },
        form: TokenForm::Jwt,
        live: None,
    };
    let bare = StoredToken {
        token: AccessToken {
            scope: Scope::default(),
            audience: Vec::new(),
            ..token(3, NOW).token
        },
        ..plain.clone()
    };
    let written = [plain, full, bare];
    for stored in &written {
        let inserted = store.insert_token(stored.clone()).await.unwrap();
        assert_eq!(inserted, Inserted::Done);
    }
    let store = place.reopen(store).await;
    for stored in written {
        let found = store.find_token(stored.token.id).await.unwrap();
        assert_eq!(found, Some((stored.token, stored.form)));
    }
}

pub(super) async fn a_locator_is_taken_once(place: Place) {
    let store = place.open();
    let first = token(1, NOW);
    for _ in 0..2 {
        // The same token again is what a repeated attempt looks like: it is there.
        let inserted = store.insert_token(first.clone()).await.unwrap();
        assert_eq!(inserted, Inserted::Done);
    }
    let mut other = first.clone();
    other.token.id = TokenId::new(first.token.id.locator(), [9; 16]);
    let inserted = store.insert_token(other).await.unwrap();
    assert_eq!(inserted, Inserted::Taken);
    let found = store.find_token(first.token.id).await.unwrap();
    assert_eq!(found.map(|(token, _)| token), Some(first.token));
}

pub(super) async fn an_id_with_other_random_bits_finds_nothing(place: Place) {
    let store = place.open();
    let stored = token(1, NOW);
    store.insert_token(stored.clone()).await.unwrap();
    let forged = TokenId::new(stored.token.id.locator(), [9; 16]);
    assert_eq!(store.find_token(forged).await.unwrap(), None);
    let elsewhere = token(2, NOW).token.id;
    assert_eq!(store.find_token(elsewhere).await.unwrap(), None);
}

pub(super) async fn tokens_of_a_client_are_listed_in_pages(place: Place) {
    let store = place.open();
    for sequence in 0..10 {
        let mut stored = token(sequence, NOW);
        if sequence % 2 == 1 {
            stored.token.client = client_id("other");
        }
        store.insert_token(stored).await.unwrap();
    }
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = store.list_tokens(&client_id("app"), after, 2).await;
        let page = page.unwrap();
        assert!(page.tokens.len() <= 2);
        listed.extend(page.tokens);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let keys: Vec<_> = listed.iter().map(|token| token.key).collect();
    let expected: Vec<_> = (0..5)
        .map(|at| token_key(token(at * 2, NOW).token.id))
        .collect();
    assert_eq!(keys, expected);
    assert_eq!(&*listed[0].subject, "app");
}

pub(super) async fn one_token_is_live_for_a_kind_of_request(place: Place) {
    let store = place.open();
    let with = |sequence, generation, slot| {
        let mut stored = token(sequence, NOW.plus(300));
        stored.token.client_generation = generation;
        stored.live = Some(slot);
        stored
    };
    let slot = |now, replace| LiveSlot {
        key: key(1),
        replace,
        now,
    };
    let locator = |sequence| token(sequence, NOW.plus(300)).token.id.locator().row_id();
    assert_eq!(store.find_live(key(1)).await.unwrap(), None);
    for (case, stored, live) in [
        ("the first is live", with(1, 1, slot(NOW, None)), 1),
        ("its repetition too", with(1, 1, slot(NOW, None)), 1),
        ("a second is not", with(2, 1, slot(NOW, None)), 1),
        ("a newer generation", with(3, 2, slot(NOW, None)), 3),
        (
            "one known to be dead is replaced",
            with(4, 2, slot(NOW, Some(locator(3)))),
            4,
        ),
        (
            "another one is not",
            with(5, 2, slot(NOW, Some(locator(3)))),
            4,
        ),
        (
            "an expired one is replaced",
            with(6, 2, slot(NOW.plus(300), None)),
            6,
        ),
    ] {
        let (id, own) = (stored.token.id, stored.token.id.locator().row_id());
        let inserted = store.insert_token(stored).await.unwrap();
        let found = store.find_live(key(1)).await.unwrap().unwrap();
        assert_eq!(found.locator, locator(live), "{case}");
        if own == locator(live) {
            assert_eq!(inserted, Inserted::Done, "{case}");
        } else {
            assert_eq!(inserted, Inserted::LiveExists(found), "{case}");
            assert_eq!(store.find_token(id).await.unwrap(), None, "{case}");
        }
    }
}

pub(super) async fn an_assertion_is_used_once(place: Place) {
    let store = place.open();
    for (case, assertion, attempt, expected) in [
        ("first", 1, 1, SingleUse::Won),
        ("another attempt", 1, 2, SingleUse::Used),
        ("the same attempt", 1, 1, SingleUse::Won),
        ("another assertion", 2, 2, SingleUse::Won),
    ] {
        let used = store.use_assertion(key(assertion), NOW, key(attempt));
        assert_eq!(used.await.unwrap(), expected, "{case}");
    }
    let store = place.reopen(store).await;
    let used = store.use_assertion(key(1), NOW, key(3)).await.unwrap();
    assert_eq!(used, SingleUse::Used);
}

pub(super) async fn an_expired_assertion_is_refused_by_database_time(place: Place) {
    let store = place.open();
    let now = Timestamp(store.database_time().await.unwrap() / 1000);
    for (until, expected) in [
        (now.minus(1), SingleUse::Expired),
        (now.plus(60), SingleUse::Won),
    ] {
        let used = store.use_assertion(key(1), until, key(1)).await.unwrap();
        assert_eq!(used, expected);
    }
}
