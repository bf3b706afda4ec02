//! Families and the codes that they come from.

use signet::store::{
    EndingKind, Opened, Opening, Redeemed, Redemption, Rotated, Rotation, SessionClient, Store,
};
use signet_oauth::claims::ClaimSet;
use signet_oauth::family::{Family, Terms};
use signet_oauth::ids::TokenId;
use signet_oauth::scope::Scope;
use signet_oauth::time::Timestamp;

use super::super::endings::ending;
use super::super::place::{Place, client_id, key};
use super::{family, later, token_of};

pub(in super::super) async fn open(store: &Store, family: Family) {
    let opening = Opening {
        family: Some(family),
        ..Opening::default()
    };
    assert_eq!(store.open_family(opening).await.unwrap(), Opened::Done);
}

pub(in super::super) fn rotation(number: u64, from: u32, attempt: u64) -> Rotation {
    Rotation {
        id: key(number),
        from,
        now: later(u64::from(from) + 1),
        token: None,
        attempt: key(attempt),
    }
}

pub(in super::super) async fn every_field_of_a_family_survives(place: Place) {
    let store = place.open();
    let full = Family {
        terms: Terms {
            session: Some(key(9)),
            claims: ClaimSet::from_bits(0b101),
            ..family("jane", "app", 1).terms
        },
        generation: u32::MAX,
        rotated_at: later(7),
        ..family("jane", "app", 1)
    };
    let bare = Family {
        terms: Terms {
            user: None,
            scope: Scope::default(),
            audience: Vec::new(),
            user_generation: None,
            auth_time: None,
            acr: None,
            amr: Vec::new(),
            ..family("jane", "app", 2).terms
        },
        ..family("jane", "app", 2)
    };
    let written = [full, bare, family("jane", "app", 3)];
    for family in &written {
        open(&store, family.clone()).await;
        open(&store, family.clone()).await;
    }
    let store = place.reopen(store).await;
    for family in written {
        let found = store.find_family(family.id).await.unwrap();
        assert_eq!(found, Some(family));
    }
    assert_eq!(store.find_family(key(9)).await.unwrap(), None);
}

pub(in super::super) fn redemption(number: u64, attempt: u64) -> Redemption {
    let family = family("jane", "app", number);
    let sequence = u32::try_from(number).unwrap();
    Redemption {
        code_id: family.id,
        expires_at: later(60),
        attempt: key(attempt),
        opening: Opening {
            token: Some(token_of(&family, sequence)),
            session_client: Some(SessionClient {
                session: key(77),
                client: client_id("app"),
                until: later(3600),
            }),
            family: Some(family),
        },
    }
}

pub(in super::super) async fn a_code_is_redeemed_once_with_all_that_comes_of_it(place: Place) {
    let store = place.open();
    let before = store.statistics();
    let first = redemption(1, 1);
    let token = first.opening.token.clone().unwrap();
    assert_eq!(
        store.redeem_code(first.clone()).await.unwrap(),
        Redeemed::Won
    );
    let after = store.statistics();
    assert_eq!(after.commits.count(), before.commits.count() + 1);

    let replayed = Redeemed::Replayed { family: key(1) };
    let mut other = redemption(2, 2);
    other.code_id = key(1);
    for (case, redemption, expected) in [
        ("another attempt", redemption(1, 2), replayed),
        ("the same attempt", first, Redeemed::Won),
        ("another family", other, replayed),
    ] {
        let redeemed = store.redeem_code(redemption).await.unwrap();
        assert_eq!(redeemed, expected, "{case}");
    }
    let store = place.reopen(store).await;
    let replay = store.redeem_code(redemption(1, 3)).await.unwrap();
    assert_eq!(replay, replayed);
    let found = store.find_family(key(1)).await.unwrap();
    assert_eq!(found, Some(family("jane", "app", 1)));
    assert_eq!(store.find_family(key(2)).await.unwrap(), None);
    let found = store.find_token(token.token.id).await.unwrap();
    assert_eq!(found, Some((token.token, token.form)));
    let clients = store.session_clients(key(77)).await.unwrap();
    assert_eq!(clients, [client_id("app")]);
}

pub(in super::super) async fn a_burned_code_leaves_nothing(place: Place) {
    let store = place.open();
    let burned = Redemption {
        opening: Opening::default(),
        ..redemption(1, 1)
    };
    assert_eq!(store.redeem_code(burned).await.unwrap(), Redeemed::Won);
    let late = store.redeem_code(redemption(1, 2)).await.unwrap();
    assert_eq!(late, Redeemed::Replayed { family: key(1) });
    assert_eq!(store.find_family(key(1)).await.unwrap(), None);
}

pub(in super::super) async fn an_expired_code_is_refused_by_database_time(place: Place) {
    let store = place.open();
    let now = Timestamp(store.database_time().await.unwrap() / 1000);
    for (number, expires_at, expected) in [
        (1, now.minus(1), Redeemed::Expired),
        (2, now.plus(60), Redeemed::Won),
    ] {
        let redemption = Redemption {
            expires_at,
            ..redemption(number, 1)
        };
        let redeemed = store.redeem_code(redemption).await.unwrap();
        assert_eq!(redeemed, expected);
        let opened = store.find_family(key(number)).await.unwrap();
        assert_eq!(opened.is_some(), expected == Redeemed::Won);
    }
}

pub(in super::super) async fn a_family_rotates_from_its_generation_only(place: Place) {
    let store = place.open();
    let first = family("jane", "app", 1);
    open(&store, first.clone()).await;
    let at = |generation: u32| Family {
        generation,
        rotated_at: later(u64::from(generation)),
        ..first.clone()
    };
    let done = |generation| Rotated::Done(Box::new(at(generation)));
    let lost = |generation| Rotated::Lost(Some(Box::new(at(generation))));
    for (case, rotation, expected) in [
        (
            "a generation to come",
            rotation(1, 1, 1),
            Rotated::Lost(Some(Box::new(first.clone()))),
        ),
        ("the first", rotation(1, 0, 2), done(1)),
        ("the same attempt", rotation(1, 0, 2), done(1)),
        ("another attempt", rotation(1, 0, 3), lost(1)),
        ("the second", rotation(1, 1, 3), done(2)),
        ("an attempt that is over", rotation(1, 0, 2), lost(2)),
        ("no such family", rotation(9, 0, 1), Rotated::Lost(None)),
    ] {
        let rotated = store.rotate_family(rotation).await.unwrap();
        assert_eq!(rotated, expected, "{case}");
    }
    let store = place.reopen(store).await;
    assert_eq!(store.find_family(key(1)).await.unwrap(), Some(at(2)));
}

pub(in super::super) async fn a_rotation_writes_its_token_where_it_wins(place: Place) {
    let store = place.open();
    let family = family("jane", "app", 1);
    open(&store, family.clone()).await;
    let with = |from, attempt, sequence| Rotation {
        token: Some(token_of(&family, sequence)),
        ..rotation(1, from, attempt)
    };
    let before = store.statistics();
    let won = store.rotate_family(with(0, 1, 1)).await.unwrap();
    assert!(matches!(won, Rotated::Done(_)), "{won:?}");
    let after = store.statistics();
    assert_eq!(after.commits.count(), before.commits.count() + 1);
    let lost = store.rotate_family(with(0, 2, 2)).await.unwrap();
    assert!(matches!(lost, Rotated::Lost(Some(_))), "{lost:?}");
    for (sequence, there) in [(1, true), (2, false)] {
        let found = store.find_token(token_of(&family, sequence).token.id).await;
        assert_eq!(found.unwrap().is_some(), there, "{sequence}");
    }
}

pub(in super::super) async fn a_token_whose_place_is_taken_gets_another_one(place: Place) {
    let store = place.open();
    let family = family("jane", "app", 1);
    let mut elsewhere = token_of(&family, 5);
    elsewhere.token.id = TokenId::new(elsewhere.token.id.locator(), [9; 16]);
    store.insert_token(elsewhere).await.unwrap();
    let taken = Some(token_of(&family, 5));

    let mut first = redemption(1, 1);
    first.opening.token.clone_from(&taken);
    let redeemed = store.redeem_code(first.clone()).await.unwrap();
    assert_eq!(redeemed, Redeemed::TokenTaken);
    first.opening.token = Some(token_of(&family, 6));
    assert_eq!(store.redeem_code(first).await.unwrap(), Redeemed::Won);

    let mut second = rotation(1, 0, 2);
    second.token.clone_from(&taken);
    let rotated = store.rotate_family(second.clone()).await.unwrap();
    assert_eq!(rotated, Rotated::TokenTaken);
    second.token = Some(token_of(&family, 7));
    let rotated = store.rotate_family(second).await.unwrap();
    assert!(matches!(rotated, Rotated::Done(_)), "{rotated:?}");

    let opening = |token| Opening {
        family: Some(super::family("jane", "app", 2)),
        token,
        session_client: None,
    };
    let opened = store.open_family(opening(taken)).await.unwrap();
    assert_eq!(opened, Opened::TokenTaken);
    let opened = store.open_family(opening(Some(token_of(&family, 8)))).await;
    assert_eq!(opened.unwrap(), Opened::Done);
    for sequence in 6..=8 {
        let found = store.find_token(token_of(&family, sequence).token.id).await;
        assert!(found.unwrap().is_some(), "{sequence}");
    }
}

pub(in super::super) async fn an_ended_family_neither_rotates_nor_comes_back(place: Place) {
    let store = place.open();
    assert_eq!(
        store.redeem_code(redemption(1, 1)).await.unwrap(),
        Redeemed::Won
    );
    open(&store, family("jane", "app", 2)).await;
    let ended = store.end(vec![ending(EndingKind::Family, 1, later(90_000))]);
    assert_eq!(ended.await.unwrap().rows.len(), 1);
    assert_eq!(store.find_family(key(1)).await.unwrap(), None);
    let rotated = store.rotate_family(rotation(1, 0, 1)).await.unwrap();
    assert_eq!(rotated, Rotated::Lost(None));
    let replay = store.redeem_code(redemption(1, 2)).await.unwrap();
    assert_eq!(replay, Redeemed::Replayed { family: key(1) });
    assert_eq!(store.find_family(key(1)).await.unwrap(), None);
    let other = store.rotate_family(rotation(2, 0, 1)).await.unwrap();
    assert!(matches!(other, Rotated::Done(_)), "{other:?}");
}
