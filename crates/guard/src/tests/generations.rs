//! Generations: a maximum, in whatever order.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn generation_is_forgotten_when_it_stops_mattering() {
    let known = Generations::default();
    known.raise([1; 16], 7, Timestamp(100));
    assert_eq!(known.drop_before(Timestamp(99)), 0);
    assert_eq!(known.known(&[1; 16]), Some(7));
    assert_eq!(known.drop_before(Timestamp(100)), 1);
    assert_eq!(known.known(&[1; 16]), None);
    assert!(known.is_empty());
}

#[test]
fn generation_falls_only_by_a_reload() {
    let known = Generations::default();
    known.raise([1; 16], 7, Timestamp(100));
    known.raise([1; 16], 5, Timestamp(100));
    assert_eq!(known.known(&[1; 16]), Some(7));
    let reload = known.reload();
    reload.raise([1; 16], 5, Timestamp(100));
    assert_eq!(known.known(&[1; 16]), Some(7));
    assert!(reload.commit());
    assert_eq!(known.known(&[1; 16]), Some(5));
}

proptest! {
    #[test]
    fn generations_are_a_maximum_in_any_order(
        raised in proptest::collection::vec((0u8..20, 0u64..100, 1u64..100), 0..200)
    ) {
        let known = Generations::default();
        let mut model: BTreeMap<u8, u64> = BTreeMap::new();
        for (key, generation, until) in raised {
            known.raise([key; 16], generation, Timestamp(until));
            let highest = model.entry(key).or_default();
            *highest = generation.max(*highest);
        }
        for key in 0..20 {
            prop_assert_eq!(known.known(&[key; 16]), model.get(&key).copied());
        }
        prop_assert_eq!(known.len(), model.len());
    }
}
