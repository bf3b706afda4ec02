//! The ended set against a model; while others write, sweep and reload; and its size.

use super::*;
use proptest::prelude::*;
use signet_oauth::log::EventKey;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

/// Keys that differ little: the set must not rely on random ones.
fn key(n: u64) -> EventKey {
    u128::from(n).to_be_bytes()
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Kind, u64, u64),
    Drop(u64),
    /// Keeps every third key of the model, and these arrive before the swap.
    Reload(Vec<(Kind, u64, u64)>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = proptest::sample::select(&Kind::ALL[..]);
    let entry = (kind, 0u64..400, 1u64..1000);
    let insert = entry
        .clone()
        .prop_map(|(kind, n, until)| Step::Insert(kind, n, until));
    let sweep = (0u64..1000).prop_map(Step::Drop);
    let arriving = proptest::collection::vec(entry, 0..8);
    let reload = arriving.prop_map(Step::Reload);
    let step = prop_oneof![40 => insert, 2 => sweep, 1 => reload];
    proptest::collection::vec(step, 0..400)
}

type Model = BTreeMap<(u8, u64), u64>;

fn note(model: &mut Model, (kind, n, until): (Kind, u64, u64)) {
    let known = model.entry((kind as u8, n)).or_default();
    *known = until.max(*known);
}

proptest! {
    #[test]
    fn ended_set_behaves_as_its_model(steps in steps()) {
        let set = EndedSet::default();
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Insert(kind, n, until) => {
                    set.insert(kind, key(n), Timestamp(until));
                    note(&mut model, (kind, n, until));
                }
                Step::Drop(now) => {
                    let before = model.len();
                    model.retain(|_, until| *until > now);
                    prop_assert_eq!(set.drop_before(Timestamp(now)), before - model.len());
                }
                Step::Reload(arriving) => {
                    let reload = set.reload();
                    model.retain(|(_, n), _| n % 3 == 0);
                    for entry in arriving {
                        set.insert(entry.0, key(entry.1), Timestamp(entry.2));
                        note(&mut model, entry);
                    }
                    for ((kind, n), until) in &model {
                        reload.insert(Kind::ALL[usize::from(*kind)], key(*n), Timestamp(*until));
                    }
                    prop_assert!(reload.commit());
                }
            }
            prop_assert_eq!(set.len(), model.len());
        }
        for kind in Kind::ALL {
            for n in 0..400 {
                let expected = model.contains_key(&(kind as u8, n));
                prop_assert_eq!(set.contains(kind, &key(n)), expected);
            }
        }
    }
}

#[test]
fn many_entries_split_their_tables_and_join_them_again() {
    let set = EndedSet::default();
    let many = 200_000;
    for n in 0..many {
        set.insert(Kind::Token, key(n), Timestamp(1000 + n % 1000));
    }
    assert_eq!(set.len(), 200_000);
    assert!((0..many).all(|n| set.contains(Kind::Token, &key(n))));
    assert!(!(many..2 * many).any(|n| set.contains(Kind::Token, &key(n))));
    assert!(!(0..many).any(|n| set.contains(Kind::Family, &key(n))));
    let full = set.memory_bytes();

    assert_eq!(set.drop_before(Timestamp(1500)), 200 * 501);
    let alive = |n| 1000 + n % 1000 > 1500;
    assert!((0..many).all(|n| set.contains(Kind::Token, &key(n)) == alive(n)));
    assert_eq!(set.drop_before(Timestamp(1998)), 200 * 498);
    assert_eq!(set.len(), 200);
    assert!(set.memory_bytes() < full / 50, "{}", set.memory_bytes());
    assert_eq!(set.drop_before(Timestamp(1999)), 200);
    assert!(set.is_empty());
}

#[test]
fn entry_costs_at_most_40_bytes_from_100_000_on() {
    let set = EndedSet::default();
    for n in 1..=300_000_u64 {
        set.insert(Kind::Session, key(n), Timestamp(n));
        if n >= 100_000 && n % 2_000 == 0 {
            let bytes = set.memory_bytes() as u64;
            assert!(bytes <= 40 * n, "{bytes} bytes for {n} entries");
        }
    }
    for now in (0..=200_000).step_by(20_000) {
        set.drop_before(Timestamp(now));
        let (bytes, len) = (set.memory_bytes(), set.len());
        assert!(
            bytes <= 40 * len,
            "{bytes} bytes for {len} entries after drops"
        );
    }
}

#[test]
fn what_matters_for_ever_stays_and_what_never_mattered_is_not_kept() {
    let set = EndedSet::default();
    set.insert(Kind::Token, key(1), Timestamp(u64::MAX));
    set.insert(Kind::Token, key(2), Timestamp(0));
    set.drop_before(Timestamp(4_000_000_000));
    assert!(set.contains(Kind::Token, &key(1)));
    assert_eq!(set.len(), 1);
}

#[test]
fn later_reload_takes_over_and_an_abandoned_one_leaves_no_trace() {
    let set = EndedSet::default();
    let put = |reload: &EndedReload<'_>, n| reload.insert(Kind::Token, key(n), NOW);
    let first = set.reload();
    put(&first, 1);
    let second = set.reload();
    put(&second, 2);
    set.insert(Kind::Token, key(3), NOW);
    assert!(!first.commit());
    assert!(second.commit());
    let known = |n| set.contains(Kind::Token, &key(n));
    assert_eq!([known(1), known(2), known(3)], [false, true, true]);

    let abandoned = set.reload();
    put(&abandoned, 4);
    drop(abandoned);
    assert_eq!([known(2), known(3), known(4)], [true, true, false]);
    set.replace_all([(Kind::Token, key(5), NOW)]);
    assert_eq!([known(2), known(5)], [false, true]);
}

#[test]
fn what_is_in_both_states_is_never_missing_while_others_write_sweep_and_reload() {
    const KEPT: u64 = 20_000;
    const WRITTEN: u64 = 200_000;
    let set = EndedSet::default();
    let state = || (0..KEPT).map(|n| (Kind::Family, key(n), Timestamp(2000)));
    set.replace_all(state());
    let done = AtomicBool::new(false);
    let until_done = |work: &dyn Fn()| {
        while !done.load(SeqCst) {
            work();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            until_done(&|| {
                let missing = (0..KEPT).find(|n| !set.contains(Kind::Family, &key(*n)));
                assert_eq!(missing, None);
            });
        });
        scope.spawn(|| until_done(&|| assert_ne!(set.drop_before(Timestamp(1000)), usize::MAX)));
        // What arrived stays, although no state that is read knows it.
        let reload = set.reload();
        let writer = scope.spawn(|| {
            for n in 0..WRITTEN {
                set.insert(
                    Kind::Token,
                    key(n),
                    Timestamp([500, 2000][(n % 2) as usize]),
                );
            }
        });
        for (kind, key, until) in state() {
            reload.insert(kind, key, until);
        }
        writer.join().unwrap();
        assert!(reload.commit());
        done.store(true, SeqCst);
    });
    set.drop_before(Timestamp(1000));
    let written = |n| set.contains(Kind::Token, &key(n));
    assert!((0..WRITTEN).all(|n| written(n) == (n % 2 == 1)));
    assert_eq!(set.len() as u64, KEPT + WRITTEN / 2);
}
