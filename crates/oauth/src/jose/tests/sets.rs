//! Keys and sets of keys as others publish them.

use super::*;

const P256_KEY: &str = r#""kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0""#;

fn set(keys: &[&str]) -> Result<JwkSet, Error> {
    JwkSet::parse(format!(r#"{{"keys":[{}]}}"#, keys.join(",")).as_bytes())
}

fn rsa(bytes: usize) -> String {
    let n = base64url::encode(&vec![0xff; bytes]);
    format!(r#"{{"kty":"RSA","n":"{n}","e":"AQAB"}}"#)
}

#[test]
fn keys_that_cannot_be_used_are_ignored_with_a_reason() {
    let off_curve = P256_KEY.replace("a0\"", "aE\"");
    let own = |more: &str| format!("{{{P256_KEY},{more}}}");
    for (key, error) in [
        (r#"{"kty":"XX"}"#.to_owned(), Error::UnsupportedKey),
        (
            r#"{"kty":"EC","crv":"P-521"}"#.to_owned(),
            Error::UnsupportedKey,
        ),
        (
            r#"{"kty":"OKP","crv":"X25519","x":"AA"}"#.to_owned(),
            Error::UnsupportedKey,
        ),
        (own(r#""use":"enc""#), Error::UnsupportedKey),
        (own(r#""key_ops":["encrypt"]"#), Error::UnsupportedKey),
        (own(r#""alg":"ES384""#), Error::UnsupportedKey),
        (own(r#""alg":"RS256""#), Error::UnsupportedKey),
        (own(r#""kid":1"#), Error::MalformedKey),
        (format!("{{{off_curve}}}"), Error::MalformedKey),
        (
            r#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#.to_owned(),
            Error::MalformedKey,
        ),
        (
            r#"{"kty":"RSA","e":"AQAB"}"#.to_owned(),
            Error::MalformedKey,
        ),
        ("{}".to_owned(), Error::MalformedKey),
        (rsa(128), Error::WeakKey),
        (rsa(255), Error::WeakKey),
        (rsa(1025), Error::MalformedKey),
        (rsa(256).replace("AQAB", "AQAC"), Error::MalformedKey),
        (rsa(256).replace("AQAB", "AQ"), Error::MalformedKey),
        (rsa(256).replace("AQAB", "AAAB"), Error::MalformedKey),
    ] {
        let good = format!("{{{P256_KEY}}}");
        let set = set(&[&key, &good]).unwrap();
        assert_eq!(set.ignored(), [Ignored { index: 0, error }], "{key}");
        assert!(set.find(None, Algorithm::Es256).is_some());
        assert_eq!(VerificationKey::parse(key.as_bytes()).map(drop), Err(error));
    }
    assert_eq!(set(&[&rsa(256), &rsa(1024)]).unwrap().keys().len(), 2);
}

#[test]
fn private_member_refuses_the_whole_set() {
    let good = format!("{{{P256_KEY}}}");
    for bad in [
        format!(r#"{{{P256_KEY},"d":"AA"}}"#),
        r#"{"kty":"XX","d":"AA"}"#.to_owned(),
        r#"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T"}"#.to_owned(),
        rsa(256).replace("\"e\"", "\"qi\":\"AA\",\"e\""),
    ] {
        assert_eq!(
            set(&[&good, &bad]).map(drop),
            Err(Error::PrivateMember),
            "{bad}"
        );
        assert_eq!(
            Jwk::parse(bad.as_bytes()),
            Err(Error::PrivateMember),
            "{bad}"
        );
    }
}

#[test]
fn sets_are_bounded_and_strict() {
    let key = r#"{"kty":"XX"}"#;
    assert!(set(&[key; 100]).is_ok());
    assert_eq!(set(&[key; 101]).map(drop), Err(Error::TooLarge));
    let long = format!(r#"{{"keys":[],"x":"{}"}}"#, "x".repeat(jwk::MAX_LEN));
    assert_eq!(
        JwkSet::parse(long.as_bytes()).map(drop),
        Err(Error::TooLarge)
    );
    for (text, error) in [
        (r#"{"keys":{}}"#, Error::Json),
        (r#"{"keys":[1]}"#, Error::Json),
        ("{}", Error::Json),
        ("[]", Error::Json),
        (r#"{"keys":[],"keys":[]}"#, Error::DuplicateMember),
        (
            r#"{"keys":[{"kty":"EC","kty":"RSA"}]}"#,
            Error::DuplicateMember,
        ),
    ] {
        assert_eq!(
            JwkSet::parse(text.as_bytes()).map(drop),
            Err(error),
            "{text}"
        );
    }
}

#[test]
fn finding_is_exact() {
    let named = |kid: &str| format!(r#"{{{P256_KEY},"kid":"{kid}"}}"#);
    let found = |keys: &[&str], kid, alg| set(keys).unwrap().find(kid, alg).is_some();
    let (one, two, rsa) = (named("1"), named("2"), rsa(256));
    assert!(found(&[&one, &two], Some("1"), Algorithm::Es256));
    assert!(!found(&[&one, &two], Some("3"), Algorithm::Es256));
    assert!(!found(&[&one, &two], Some("1"), Algorithm::EdDsa));
    assert!(
        !found(&[&one, &two], None, Algorithm::Es256),
        "two would fit"
    );
    assert!(
        !found(&[&one, &one], Some("1"), Algorithm::Es256),
        "two would fit"
    );
    assert!(found(&[&one, &rsa], None, Algorithm::Es256));
    assert!(found(&[&one, &rsa], None, Algorithm::Rs256));
    assert!(
        !found(&[&rsa], Some("1"), Algorithm::Rs256),
        "it has no name"
    );
}

#[test]
fn rendered_set_reads_back() {
    let jwks = [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Ps256];
    let jwks = jwks.map(|algorithm| key(algorithm).jwk().unwrap().clone());
    let set = JwkSet::new(jwks.clone()).unwrap();
    let read = JwkSet::parse(set.render().as_bytes()).unwrap();
    let read: Vec<_> = read
        .keys()
        .iter()
        .map(|key| key.jwk().unwrap().clone())
        .collect();
    assert_eq!(read, jwks);
}

#[test]
fn short_secret_is_refused() {
    assert_eq!(
        VerificationKey::hs256(None, &[1; 31]).map(drop),
        Err(Error::WeakKey)
    );
    assert!(VerificationKey::hs256(None, &[1; 32]).is_ok());
}

#[test]
fn header_may_bring_a_public_key_along() {
    let parse = |jwk: &str| {
        let header = format!(r#"{{"alg":"ES256","typ":"dpop+jwt","jwk":{jwk}}}"#);
        let token = format!("{}.e30.AAAA", base64url::encode(header.as_bytes()));
        Compact::parse(&token).unwrap().header().jwk()
    };
    assert!(parse(&format!("{{{P256_KEY}}}")).unwrap().is_some());
    assert_eq!(
        parse(&format!(r#"{{{P256_KEY},"d":"AA"}}"#)),
        Err(Error::PrivateMember)
    );
    assert_eq!(parse("1"), Err(Error::MalformedKey));
}
