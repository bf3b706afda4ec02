//! Hashes made by other programs verify, hashes made here verify, and nothing else does.

use super::*;
use proptest::{prop_assert, proptest};
use std::num::NonZeroU32;

/// Made by the reference implementation of Argon2, by passlib, Python's hashlib, Apache's htpasswd
/// and jBCrypt.
const FOREIGN: [(&str, &str); 14] = [
    (
        "correct horse",
        "$2y$04$QiW0dv76.639vwkXMcfj2OL4L0bKTlIo/JAuM3Y4nlAqcDYVeubYe",
    ),
    (
        "pässword",
        "$2a$04$kQL7PHeulz4ZWpqcJdVHuuqSf4j5wTpMT5lCmL2pnEHPUz66aMScC",
    ),
    (
        "",
        "$2a$04$ivV.7wmghCiFew.w6ZS6m.wZorIgI4sJt004lnV9Ze0IUAiXEfDOK",
    ),
    (
        "a",
        "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
    ),
    (
        "correct horse",
        "$argon2id$v=19$m=256,t=3,p=2$MDEyMzQ1Njc4OWFiY2RlZg$\
         r8r4yRUZjBl1Gchi9vVMjZcIVeeq/dweXYcWCGgv58A",
    ),
    (
        "correct horse",
        "$argon2i$v=16$m=64,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$UGs+JGgokdtNKpT2/A0A5bTlcxKajAN2",
    ),
    (
        "correct horse",
        "$argon2i$m=64,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$UGs+JGgokdtNKpT2/A0A5bTlcxKajAN2",
    ),
    (
        "password",
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    ),
    // Keycloak: its members written as docs/hashes.md says, with their padding.
    (
        "correct horse",
        "$argon2id$v=19$m=7168,t=5,p=1$MDEyMzQ1Njc4OWFiY2RlZg==$\
         2Ek5zMZVGrFVTlHZZgywf+fd0fS6/y+DB3Z5fAX1+zM=",
    ),
    (
        "correct horse",
        "$pbkdf2-sha256$27500$MDEyMzQ1Njc4OWFiY2RlZg==$\
         H5R9LZ0QvKxHLm1Lg0IeQXdtUAa+9gf2NeOZns+WHBTpnlaWE/+JwnJ/2OXEjNPW5EusP1xxGLqEqjWDbIcGlg==",
    ),
    // Ory's form and passlib's of one hash: their alphabets differ.
    (
        "correct horse",
        "$pbkdf2-sha256$i=25000,l=32$++++++++++++++++++++AQ$\
         +HMpxG048ZGZe/KVzur2c74Jz0SQu7EopF7EHvyUaM8",
    ),
    (
        "correct horse",
        "$pbkdf2-sha256$25000$....................AQ$.HMpxG048ZGZe/KVzur2c74Jz0SQu7EopF7EHvyUaM8",
    ),
    (
        "correct horse",
        "$pbkdf2-sha512$1000$MDEyMzQ1Njc4OWFiY2RlZg$\
         OM0FAoIqCVK1sWtxDiffVlBejtLa.ks4TP71JiecwuSZCG8iLbnlIEPOMoVX.i2B2wkSxjQ8CRGR9OkNGuIPMQ",
    ),
    (
        "correct horse",
        "$pbkdf2-sha512$i=1000$MDEyMzQ1Njc4OWFiY2RlZg$\
         OM0FAoIqCVK1sWtxDiffVlBejtLa+ks4TP71JiecwuSZCG8iLbnlIEPOMoVX+i2B2wkSxjQ8CRGR9OkNGuIPMQ",
    ),
];

#[test]
fn hashes_of_other_programs_verify() {
    for (secret, text) in FOREIGN {
        assert_eq!(check(text), Ok(()), "{text}");
        assert_eq!(verify(text, secret), Ok(true), "{text}");
        assert_eq!(verify(text, "wrong"), Ok(false), "{text}");
        assert_eq!(verify(text, &format!("{secret} ")), Ok(false), "{text}");
    }
}

#[test]
fn bcrypt_reads_72_bytes_of_what_others_hashed_and_refuses_to_hash_more() {
    let of_80_bytes = "$2b$04$MgB51H/LQunJxwnygN29reNVJ8A62nwDWVWm.ae7RDMaJNJFCQ1Yu";
    assert_eq!(verify(of_80_bytes, &"x".repeat(80)), Ok(true));
    assert_eq!(verify(of_80_bytes, &"x".repeat(71)), Ok(false));
    let hash_it = |secret: &str| hash(HashSpec::Bcrypt { cost: 4 }, secret, &Rng::seeded(1));
    assert_eq!(hash_it(&"x".repeat(73)), Err(HashError::TooLong(73)));
    let whole = hash_it(&"x".repeat(72)).unwrap();
    assert_eq!(verify(&whole, &"x".repeat(72)), Ok(true));
    assert_eq!(hash_it("a\0a"), Err(HashError::ZeroByte));
    let short = hash_it("a").unwrap();
    assert_eq!(
        verify(&short, "a\0a"),
        Ok(false),
        "the key would repeat itself"
    );
}

#[test]
fn what_is_hashed_here_verifies_and_names_its_making() {
    for text in [
        "bcrypt:4",
        "argon2id:m=64,t=2,p=2",
        "pbkdf2-sha256:10",
        "pbkdf2-sha512:10",
    ] {
        let spec = HashSpec::parse(text).unwrap();
        assert_eq!(spec.to_string(), text);
        let made = hash(spec, "secret", &Rng::seeded(1)).unwrap();
        assert_eq!(verify(&made, "secret"), Ok(true), "{made}");
        assert_eq!(verify(&made, "Secret"), Ok(false), "{made}");
        assert!(is_made_by(&made, spec));
        assert!(!is_made_by(&made, HashSpec::default()));
        let salted_anew = hash(spec, "secret", &Rng::seeded(2)).unwrap();
        assert_ne!(made, salted_anew);
    }
    let old_argon2 = FOREIGN[5].1;
    assert!(!is_made_by(
        old_argon2,
        HashSpec::parse("argon2id:m=64,t=2,p=1").unwrap()
    ));
}

#[test]
fn ways_to_hash_are_read_with_their_defaults() {
    for (short, whole) in [
        ("bcrypt", "bcrypt:10"),
        ("argon2id", "argon2id:m=19456,t=2,p=1"),
        ("argon2id:t=3,m=64,p=1", "argon2id:m=64,t=3,p=1"),
        ("pbkdf2-sha256", "pbkdf2-sha256:600000"),
        ("pbkdf2-sha512", "pbkdf2-sha512:210000"),
    ] {
        assert_eq!(HashSpec::parse(short).unwrap().to_string(), whole);
    }
    for bad in [
        "",
        "md5",
        "bcrypt:",
        "bcrypt:x",
        "bcrypt:08",
        "bcrypt:+8",
        "bcrypt:3",
        "bcrypt:16",
        "argon2id:",
        "argon2id:m=1",
        "argon2id:m=64,t=1",
        "argon2id:m=64,t=1,p=1,p=1",
        "argon2id:m=64,t=0,p=1",
        "argon2id:m=8,t=1,p=2",
        "argon2i:m=64,t=1,p=1",
        "argon2id:m=4000000,t=1,p=1",
        "pbkdf2-sha256:0",
        "pbkdf2-sha256:99999999999",
        "pbkdf2-sha1:1000",
        "plain",
    ] {
        assert!(HashSpec::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn hashes_that_would_cost_minutes_or_gigabytes_are_refused() {
    let (salt, out) = (
        "MDEyMzQ1Njc4OWFiY2RlZg",
        "H5R9LZ0QvKxHLm1Lg0IeQXdtUAa+9gf2NeOZns+WHBQ",
    );
    let body = "N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy";
    for costly in [
        format!("$2b$31${body}"),
        format!("$2b$16${body}"),
        format!("$argon2id$v=19$m=4194304,t=1,p=1${salt}${out}"),
        format!("$argon2id$v=19$m=65536,t=4294967295,p=1${salt}${out}"),
        format!("$argon2id$v=19$m=65536,t=33,p=1${salt}${out}"),
        format!("$argon2id$v=19$m=65536,t=1,p=17${salt}${out}"),
        format!("$pbkdf2-sha256$i=4294967295,l=32${salt}${out}"),
        format!("$pbkdf2-sha512$4000001${salt}${out}"),
    ] {
        assert!(
            matches!(check(&costly), Err(HashError::TooCostly(..))),
            "{costly}"
        );
        assert!(verify(&costly, "x").is_err(), "not even tried");
    }
    let message = check(&format!("$2b$31${body}")).unwrap_err().to_string();
    assert!(
        message.contains("the cost of bcrypt is 31, and at most 15"),
        "{message}"
    );
    assert_eq!(check(&format!("$2b$15${body}")), Ok(()));
}

#[test]
fn malformed_hashes_are_refused() {
    let (salt, out) = (
        "MDEyMzQ1Njc4OWFiY2RlZg",
        "H5R9LZ0QvKxHLm1Lg0IeQXdtUAa+9gf2NeOZns+WHBQ",
    );
    for bad in [
        String::new(),
        "secret".to_owned(),
        "$1$salt$hash".to_owned(),
        "$2x$04$MgB51H/LQunJxwnygN29reNVJ8A62nwDWVWm.ae7RDMaJNJFCQ1Yu".to_owned(),
        "$2b$04$MgB51H/LQunJxwnygN29reNVJ8A62nwDWVWm.ae7RDMaJNJFCQ1Y".to_owned(),
        "$2b$xx$MgB51H/LQunJxwnygN29reNVJ8A62nwDWVWm.ae7RDMaJNJFCQ1Yu".to_owned(),
        "$2b$03$MgB51H/LQunJxwnygN29reNVJ8A62nwDWVWm.ae7RDMaJNJFCQ1Yu".to_owned(),
        format!("$argon2d$v=19$m=64,t=2,p=1${salt}${out}"),
        format!("$argon2id$v=20$m=64,t=2,p=1${salt}${out}"),
        format!("$argon2id$v=19$m=64,t=2${salt}${out}"),
        format!("$argon2id$v=19$m=64,t=2,p=1,x=1${salt}${out}"),
        format!("$argon2id$v=19$m=64,t=2,p=1$AAAA${out}"),
        format!("$argon2id$v=19$m=64,t=2,p=1${salt}$"),
        format!("$argon2id$v=19$m=64,t=2,p=1${salt}"),
        format!("$argon2id$v=19$m=15,t=2,p=2${salt}${out}"),
        format!("$pbkdf2-sha1$1000${salt}${out}"),
        format!("$pbkdf2-sha256$0${salt}${out}"),
        format!("$pbkdf2-sha256$l=32${salt}${out}"),
        format!("$pbkdf2-sha256$i=1000,l=64${salt}${out}"),
        format!("$pbkdf2-sha256$1000${salt}$AAAA"),
        format!("$pbkdf2-sha256$1000${salt}$"),
        format!("$pbkdf2-sha256$1000$${out}"),
        format!("$pbkdf2-sha256$1000$!!${out}"),
        format!("$pbkdf2-sha256$1000${}${out}", "A".repeat(1000)),
    ] {
        assert!(check(&bad).is_err(), "{bad:?}");
    }
}

#[test]
fn the_default_hash_is_argon2id_of_19_mebibytes() {
    let made = hash(HashSpec::default(), "secret", &Rng::seeded(1)).unwrap();
    assert!(
        made.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
        "{made}"
    );
    assert_eq!(verify(&made, "secret"), Ok(true));
}

proptest! {
    #[test]
    fn reading_hashes_never_panics(text in r"\$?(2b|2a|argon2id|argon2i|pbkdf2-sha256)?\$?[\$a-z0-9=,./+é-]{0,80}") {
        drop(check(&text));
        drop(HashSpec::parse(&text));
    }

    #[test]
    fn pbkdf2_hashes_survive_their_text(secret in ".{0,40}", count in 1u32..50, seed: u64) {
        let iterations = NonZeroU32::new(count).unwrap();
        let spec = HashSpec::Pbkdf2 { digest: Pbkdf2Digest::Sha512, iterations };
        let made = hash(spec, &secret, &Rng::seeded(seed)).unwrap();
        prop_assert!(verify(&made, &secret).unwrap());
        prop_assert!(is_made_by(&made, spec));
    }
}
