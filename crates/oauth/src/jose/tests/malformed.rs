//! Text that is not quite a token.

use super::*;
use proptest::prelude::*;

#[test]
fn truncated_or_extended_token_never_verifies() {
    for algorithm in Algorithm::ALL {
        let (token, key) = (token(algorithm), key(algorithm));
        assert_eq!(verify(&token, &key), Ok(()));
        for end in 0..token.len() {
            assert!(verify(&token[..end], &key).is_err(), "{algorithm:?} {end}");
        }
        for tail in ["A", "AA", "AAAA", "=", "==", ".", ".AAAA", "\n", " "] {
            let longer = format!("{token}{tail}");
            assert!(verify(&longer, &key).is_err(), "{algorithm:?} {tail:?}");
        }
    }
}

#[test]
fn segments_are_three_and_canonical() {
    let good = token(Algorithm::EdDsa);
    let (head, last) = good.split_at(good.len() - 1);
    // The last of 86 characters carries 2 bits of 64 bytes; the other 4 must be zero.
    assert!(["A", "Q", "g", "w"].contains(&last));
    let stray = match last {
        "A" => "B",
        "Q" => "R",
        "g" => "h",
        _ => "x",
    };
    for bad in [
        format!("{head}{stray}"),
        good.replacen('.', "", 1),
        good.replace('.', ""),
        good.replacen('.', "..", 1),
        format!("AA.{good}"),
        good.replacen('.', "=.", 1),
        good.replacen('.', "\n.", 1),
        good.replacen('e', "+", 1),
        String::new(),
        "...".to_owned(),
    ] {
        assert_eq!(
            Compact::parse(&bad).map(drop),
            Err(Error::Segments),
            "{bad}"
        );
    }
}

#[test]
fn headers_are_refused_for_what_they_say() {
    for (header, error) in [
        (r#"{"alg":"EdDSA","alg":"ES256"}"#, Error::DuplicateMember),
        (
            r#"{"alg":"EdDSA","x":{"a":1,"a":2}}"#,
            Error::DuplicateMember,
        ),
        (
            r#"{"alg":"EdDSA","\u0061lg":"ES256"}"#,
            Error::DuplicateMember,
        ),
        (r#"{"alg":"EdDSA","crit":["exp"]}"#, Error::Critical),
        (r#"{"alg":"EdDSA","crit":[]}"#, Error::Critical),
        (r#"{"alg":"EdDSA","b64":true}"#, Error::Critical),
        (r#"{"typ":"JWT"}"#, Error::Header),
        (r#"{"alg":1}"#, Error::Header),
        (r#"{"alg":"EdDSA","kid":7}"#, Error::Header),
        (r#"{"alg":"EdDSA","typ":null}"#, Error::Header),
        (r#"["alg"]"#, Error::Json),
        (r#"{"alg":"EdDSA"} x"#, Error::Json),
        ("", Error::Json),
    ] {
        let token = format!("{}.e30.AAAA", base64url::encode(header.as_bytes()));
        assert_eq!(Compact::parse(&token).map(drop), Err(error), "{header}");
    }
    let deep = format!(r#"{{"alg":"EdDSA","x":{}"#, "[".repeat(5000));
    let token = format!("{}.e30.AAAA", base64url::encode(deep.as_bytes()));
    assert_eq!(Compact::parse(&token).map(drop), Err(Error::Json));
    let long = "A".repeat(jws::MAX_LEN + 1);
    assert_eq!(Compact::parse(&long).map(drop), Err(Error::TooLarge));
}

#[test]
fn types_compare_as_media_types_do() {
    let typ = |typ| Header::new(Algorithm::Es256).with_typ(typ).is_typ("at+jwt");
    for same in [
        "at+jwt",
        "AT+JWT",
        "application/at+jwt",
        "Application/At+Jwt",
    ] {
        assert!(typ(same), "{same}");
    }
    for other in [
        "",
        "jwt",
        "application/",
        "text/at+jwt",
        "at+jwt ",
        "éapplication/at+jwt",
    ] {
        assert!(!typ(other), "{other}");
    }
    assert!(!Header::new(Algorithm::Es256).is_typ("at+jwt"));
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = Compact::parse(&text).map(drop);
    }

    #[test]
    fn arbitrary_segments_never_panic(header: Vec<u8>, payload: Vec<u8>, signature: Vec<u8>) {
        let text = [&header, &payload, &signature].map(|part| base64url::encode(part)).join(".");
        let _ = Compact::parse(&text).map(drop);
        drop(Claims::parse(&payload));
        drop(JwkSet::parse(&payload));
        drop(VerificationKey::parse(&payload));
    }

    #[test]
    fn changed_character_never_verifies(at: usize, to in "[A-Za-z0-9_-]", which in 0..5usize) {
        let algorithm = Algorithm::ALL[which];
        let good = token(algorithm);
        let at = at % good.len();
        let bad = format!("{}{to}{}", &good[..at], &good[at + 1..]);
        prop_assume!(bad != good);
        prop_assert!(verify(&bad, &key(algorithm)).is_err());
    }
}
