//! The ring at every instant of its keys' lives.

use super::*;
use crate::signer::key::KeyParts;
use crate::signer::key::tests::{parts, sealing};
use crate::signer::rotation::KeyTimes;
use signet_oauth::jose::JwkSet;

fn living(publish_at: u64, active_from: u64, end: Option<(u64, u64)>) -> Arc<SigningKey> {
    let times = KeyTimes {
        publish_at: Timestamp(publish_at),
        active_from: Timestamp(active_from),
        retires_at: end.map(|(retires, _)| Timestamp(retires)),
        gone_at: end.map(|(_, gone)| Timestamp(gone)),
    };
    let parts = KeyParts {
        times,
        ..parts(Algorithm::EdDsa)
    };
    Arc::new(SigningKey::load(&parts, &sealing()).unwrap())
}

#[test]
fn the_newest_active_key_signs_and_all_published_ones_are_listed() {
    let (old, new) = (living(0, 0, Some((100, 150))), living(80, 100, None));
    let ring = KeyRing::default();
    ring.replace(vec![Arc::clone(&old), Arc::clone(&new)]);
    for (now, signs, listed) in [
        (0, &old, 1),
        (79, &old, 1),
        (80, &old, 2),
        (99, &old, 2),
        (100, &new, 2),
        (149, &new, 2),
        (150, &new, 1),
        (u64::MAX - 1, &new, 1),
    ] {
        let now = Timestamp(now);
        let keys = ring.keys();
        assert_eq!(
            keys.signing(Algorithm::EdDsa, now).unwrap().kid(),
            signs.kid(),
            "{now}"
        );
        assert!(keys.signing(Algorithm::Es256, now).is_none());
        let set = JwkSet::parse(&ring.jwks(now)).unwrap();
        assert_eq!(set.keys().len(), listed, "{now}");
        assert_eq!(ring.find(old.kid(), now).is_some(), now.0 < 150);
        assert_eq!(ring.find(new.kid(), now).is_some(), now.0 >= 80);
        assert_eq!(ring.algorithms(now), [Algorithm::EdDsa]);
    }
}

#[test]
fn the_key_set_is_rendered_once_for_as_long_as_it_holds() {
    let ring = KeyRing::default();
    ring.replace(vec![living(0, 0, None), living(80, 100, None)]);
    let first = ring.jwks(Timestamp(10));
    assert_eq!(first.as_ptr(), ring.jwks(Timestamp(79)).as_ptr());
    let second = ring.jwks(Timestamp(80));
    assert_ne!(first, second);
    assert_eq!(second.as_ptr(), ring.jwks(Timestamp(1_000_000)).as_ptr());
    assert_eq!(ring.jwks(Timestamp(10)), first, "clocks may go back");
    ring.replace(Vec::new());
    assert_eq!(ring.jwks(Timestamp(10)), "{\"keys\":[]}");
}

#[test]
fn readers_see_one_set_or_the_other_while_keys_are_replaced() {
    let ring = KeyRing::default();
    let key = living(0, 0, None);
    ring.replace(vec![Arc::clone(&key)]);
    let reader = || {
        for now in 0..500 {
            let now = Timestamp(now);
            assert!(ring.keys().signing(Algorithm::EdDsa, now).is_some());
            assert_eq!(JwkSet::parse(&ring.jwks(now)).unwrap().keys().len(), 1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(reader);
        }
        for _ in 0..2000 {
            ring.replace(vec![Arc::clone(&key)]);
        }
    });
}
