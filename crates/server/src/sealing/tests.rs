//! What is sealed opens for the same purpose, context and key, and for nothing else.

use super::*;
use base64::{Engine, engine::general_purpose::URL_SAFE};
use proptest::{prop_assert, prop_assert_eq, proptest};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn key(first: u8) -> ClusterKey {
    ClusterKey::new(&std::array::from_fn(|i| {
        first.wrapping_add(u8::try_from(i).unwrap())
    }))
}

#[test]
fn purposes_index_their_own_subkeys() {
    for (index, purpose) in Purpose::ALL.into_iter().enumerate() {
        assert_eq!(purpose as usize, index);
    }
    let macs: std::collections::BTreeSet<_> =
        Purpose::ALL.map(|purpose| key(0).mac(purpose, b"x")).into();
    assert_eq!(macs.len(), Purpose::ALL.len());
}

#[test]
fn sealed_bytes_open_only_as_what_they_were_sealed_for() {
    let sealed = key(0).seal(Purpose::SigningKey, b"kid-1", b"private", &Rng::seeded(1));
    assert_eq!(sealed.len(), OVERHEAD + 7);
    let open = |key: ClusterKey, purpose, context: &[u8]| {
        key.open(purpose, context, &sealed)
            .map(|text| text.to_vec())
    };
    assert_eq!(
        open(key(0), Purpose::SigningKey, b"kid-1"),
        Ok(b"private".to_vec())
    );
    assert_eq!(
        open(key(0), Purpose::SigningKey, b"kid-2"),
        Err(OpenError::Broken)
    );
    assert_eq!(
        open(key(0), Purpose::ClientSecret, b"kid-1"),
        Err(OpenError::Broken)
    );
    assert_eq!(
        open(key(1), Purpose::SigningKey, b"kid-1"),
        Err(OpenError::OtherKey)
    );
}

#[test]
fn every_changed_bit_breaks_the_seal() {
    let sealed = key(0).seal(Purpose::ClientSecret, b"c", b"secret", &Rng::seeded(1));
    for at in 0..sealed.len() * 8 {
        let mut changed = sealed.clone();
        changed[at / 8] ^= 1 << (at % 8);
        assert!(
            key(0).open(Purpose::ClientSecret, b"c", &changed).is_err(),
            "bit {at}"
        );
    }
    for length in 0..sealed.len() {
        assert!(
            key(0)
                .open(Purpose::ClientSecret, b"c", &sealed[..length])
                .is_err()
        );
    }
}

/// Written by the first version. It must open for ever, or every deployment loses its keys.
#[test]
fn what_the_first_version_sealed_still_opens() {
    let sealed = key(0).seal(Purpose::SigningKey, b"context", b"frozen", &Rng::seeded(1));
    assert_eq!(
        hex(&sealed),
        "019854e223783825822a6f9e62da2190e85f775983da59cdbaa8bd1189bf898b02208d4d166bc9"
    );
    assert_eq!(
        hex(&key(0).check_value()),
        "31a44c4d211bb6e0d3dd79be6503ca49ae367d4da638c7372c2a0a23e9a3b2c4"
    );
    assert_eq!(
        hex(&key(0).mac(Purpose::VerifiedSecret, b"x")),
        "708232c3d21172efec94dfa2211a05db9a780eae79cec33dadceb44f252c963b"
    );
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    digits.concat()
}

#[test]
fn a_cluster_key_never_prints_itself() {
    assert_eq!(format!("{:?}", key(0)), "ClusterKey(…)");
}

proptest! {
    #[test]
    fn anything_survives_sealing(text: Vec<u8>, context: Vec<u8>, seed: u64) {
        let sealed = key(3).seal(Purpose::BrowserState, &context, &text, &Rng::seeded(seed));
        let opened = key(3).open(Purpose::BrowserState, &context, &sealed).unwrap();
        prop_assert_eq!(&*opened, &text);
    }

    #[test]
    fn opening_garbage_never_panics(garbage: Vec<u8>) {
        prop_assert!(key(3).open(Purpose::PageToken, b"", &garbage).is_err());
    }
}

fn write(path: &Path, content: &[u8], mode: u32) {
    std::fs::write(path, content).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_key_file_is_made_once_and_belongs_to_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cluster.key");
    let first = ClusterKey::load_or_create(&path, &Rng::seeded(1)).unwrap();
    let again = ClusterKey::load_or_create(&path, &Rng::seeded(2)).unwrap();
    assert_eq!(first.check_value(), again.check_value());
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn processes_that_start_at_once_use_one_key() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cluster.key");
    let start = |seed| {
        let path = path.clone();
        std::thread::spawn(move || {
            let key = ClusterKey::load_or_create(&path, &Rng::seeded(seed)).unwrap();
            key.check_value()
        })
    };
    let started: Vec<_> = (0..8).map(start).collect();
    let values: std::collections::BTreeSet<_> = started
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert_eq!(values.len(), 1);
}

#[test]
fn a_key_file_that_is_wrong_is_named_with_its_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cluster.key");
    let refused = || ClusterKey::load(&path).unwrap_err().to_string();

    assert!(refused().contains("does not exist"));
    let good = URL_SAFE.encode([7; 32]);
    for mode in [0o640, 0o604, 0o660, 0o644] {
        write(&path, good.as_bytes(), mode);
        assert!(refused().contains(&format!("run `chmod 600 {}`", path.display())));
    }
    write(&path, b"AAAA", 0o600);
    assert!(refused().contains("it holds 3 bytes"));
    write(&path, b"", 0o600);
    assert!(refused().contains("it holds 0 bytes"));
    write(&path, b"a key!", 0o600);
    assert!(refused().contains("not base64url"));
    write(&path, &[0xff; 43], 0o600);
    assert!(refused().contains("it is not text"));
    write(&path, &[b'A'; 5_000], 0o600);
    assert!(refused().contains("does not hold 32 bytes"));
    assert!(ClusterKey::load_or_create(&path, &Rng::seeded(1)).is_err());
    write(&path, format!("{good}\n").as_bytes(), 0o600);
    ClusterKey::load(&path).unwrap();
    assert!(ClusterKey::load(dir.path()).is_err());
}
