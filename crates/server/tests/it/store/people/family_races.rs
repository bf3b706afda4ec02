//! Races for codes and families: one winner, whatever happens, through two handles on one
//! database.

use std::sync::Arc;

use signet::store::{EndingKind, Opening, Redeemed, Redemption, Rotated, Rotation, Store};
use tokio::sync::Barrier;

use super::super::endings::ending;
use super::super::place::{Place, key};
use super::super::races::at_once;
use super::families::{open, rotation};
use super::{family, later, token_of};

pub(in super::super) async fn one_of_a_thousand_rotations_wins(place: Place) {
    let first = place.open();
    let second = place.open_second(&first);
    open(&first, family("jane", "app", 1)).await;
    for generation in 0..2 {
        let start = Arc::new(Barrier::new(1000));
        let rotated = at_once([&first, &second], 1000, |store, number| {
            let start = Arc::clone(&start);
            async move {
                let sequence = u32::try_from(number).unwrap() + generation * 1000;
                let rotation = Rotation {
                    token: Some(token_of(&family("jane", "app", 1), sequence)),
                    ..rotation(1, generation, number + 1)
                };
                start.wait().await;
                store.rotate_family(rotation).await.unwrap()
            }
        });
        let (mut done, mut lost) = (0, 0);
        for rotated in rotated.await {
            match rotated {
                Rotated::Done(family) => {
                    done += 1;
                    assert_eq!(family.generation, generation + 1);
                }
                Rotated::Lost(Some(family)) => {
                    lost += 1;
                    assert_eq!(family.generation, generation + 1);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((done, lost), (1, 999));
    }
    let mut tokens = 0;
    for sequence in 0..2000 {
        let id = token_of(&family("jane", "app", 1), sequence).token.id;
        tokens += u32::from(first.find_token(id).await.unwrap().is_some());
    }
    assert_eq!(tokens, 2, "one token for each generation");
}

pub(in super::super) async fn one_of_a_hundred_redemptions_wins(place: Place) {
    let first = place.open();
    let second = place.open_second(&first);
    for code in 0..5 {
        let redeemed = at_once([&first, &second], 100, |store, number| async move {
            let family = family("jane", "app", code);
            let redemption = Redemption {
                code_id: family.id,
                expires_at: later(60),
                attempt: key(number),
                opening: Opening {
                    family: Some(family),
                    ..Opening::default()
                },
            };
            store.redeem_code(redemption).await.unwrap()
        });
        let redeemed = redeemed.await;
        let won = redeemed.iter().filter(|one| **one == Redeemed::Won).count();
        let replayed = Redeemed::Replayed { family: key(code) };
        let lost = redeemed.iter().filter(|one| **one == replayed).count();
        assert_eq!((won, lost), (1, 99));
    }
}

pub(in super::super) async fn many_families_rotate_at_once(place: Place) {
    let first = place.open();
    let second = place.open_second(&first);
    let families = 40;
    for number in 0..families {
        open(&first, family("jane", "app", number)).await;
    }
    // Everybody goes through all families in another order, each from the generation it finds.
    let rotated = at_once([&first, &second], 16, |store, worker| async move {
        let mut done = 0_u32;
        for step in 0..families {
            let number = (step * (worker * 2 + 1) + worker) % families;
            done += u32::from(rotate_once(&store, number, worker * 1000 + step).await);
        }
        done
    });
    let done: u32 = rotated.await.into_iter().sum();
    let mut generations = 0;
    for number in 0..families {
        let family = first.find_family(key(number)).await.unwrap().unwrap();
        generations += family.generation;
    }
    assert_eq!(
        generations, done,
        "each rotation that won is there, and no other"
    );
}

async fn rotate_once(store: &Store, number: u64, attempt: u64) -> bool {
    let found = store.find_family(key(number)).await.unwrap().unwrap();
    let rotation = rotation(number, found.generation, attempt);
    match store.rotate_family(rotation).await.unwrap() {
        Rotated::Done(_) => true,
        Rotated::Lost(Some(_)) => false,
        other => panic!("{other:?}"),
    }
}

pub(in super::super) async fn families_that_end_while_they_rotate_stay_ended(place: Place) {
    let first = place.open();
    let second = place.open_second(&first);
    let families = 30;
    for number in 0..families {
        open(&first, family("jane", "app", number)).await;
    }
    at_once([&first, &second], families * 2, |store, task| async move {
        let number = task / 2;
        if task % 2 == 0 {
            let end = ending(EndingKind::Family, number, later(90_000));
            assert_eq!(store.end(vec![end]).await.unwrap().rows.len(), 1);
        } else {
            let _won_or_lost = store
                .rotate_family(rotation(number, 0, task))
                .await
                .unwrap();
        }
    })
    .await;
    for number in 0..families {
        assert_eq!(first.find_family(key(number)).await.unwrap(), None);
        let rotated = first.rotate_family(rotation(number, 1, 999)).await.unwrap();
        assert_eq!(rotated, Rotated::Lost(None));
    }
}
