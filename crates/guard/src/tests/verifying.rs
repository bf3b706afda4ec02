//! The verifier: what is read, and every way to be refused.

use super::*;
use signet_oauth::jose;

#[test]
fn verified_token_says_what_the_issuer_wrote() {
    let issuer = Issuer::new("k1", 1);
    for token in [
        token(),
        AccessToken {
            subject: "app".into(),
            audience: vec!["a".into(), "b".into()],
            scope: Scope::default(),
            user_generation: None,
            family: None,
            session: None,
            claims: ClaimSet::EMPTY,
            ..token()
        },
    ] {
        let text = issuer.sign(&token.render_claims(ISSUER));
        let verified = verifier(&issuer).verify(&text, NOW).unwrap();
        assert_eq!(verified.token(), &token);
    }
}

#[test]
fn claims_are_required_and_typed() {
    let issuer = Issuer::new("k1", 1);
    let verifier = verifier(&issuer);
    for name in ["sub", "aud", "client_id", "jti", "iat", "exp", "cgn"] {
        for value in [Value::Null, json!({}), json!([1]), json!(true)] {
            let text = issuer.sign(&claims_with(name, value.clone()));
            let refused = verifier.verify(&text, NOW).unwrap_err();
            assert_eq!(refused, Refusal::Claim(name), "{value}");
        }
    }
    for (name, value) in [
        ("jti", json!("short")),
        ("client_id", json!("")),
        ("aud", json!([])),
        ("scope", json!("a  b\u{7}")),
        ("scope", json!(["a"])),
        ("cgn", json!(-1)),
        ("cgn", json!("3")),
        ("ugn", json!(1.5)),
        ("fam", json!("01")),
        ("fam", json!("+1010101010101010101010101010101")),
        ("fam", json!("0101010101010101010101010101010A")),
        ("sid", json!(7)),
        ("nbf", json!("1")),
    ] {
        let text = issuer.sign(&claims_with(name, value.clone()));
        let refused = verifier.verify(&text, NOW).unwrap_err();
        assert_eq!(refused, Refusal::Claim(name), "{value}");
    }
}

#[test]
fn tokens_of_others_are_refused() {
    let issuer = Issuer::new("k1", 1);
    let verifier = verifier(&issuer);
    let claims = token().render_claims(ISSUER);
    let refused = |text: &str| verifier.verify(text, NOW).unwrap_err();
    let eddsa = Header::new(Algorithm::EdDsa);

    for typ in ["JWT", "dpop+jwt", "logout+jwt", ""] {
        let id_token = issuer.sign_as(&eddsa.clone().with_kid("k1").with_typ(typ), &claims);
        assert_eq!(refused(&id_token), Refusal::NotAnAccessToken, "{typ}");
    }
    let untyped = issuer.sign_as(&eddsa.clone().with_kid("k1"), &claims);
    assert_eq!(refused(&untyped), Refusal::NotAnAccessToken);

    let unknown = Issuer::new("k2", 1).sign(&claims);
    assert_eq!(refused(&unknown), Refusal::UnknownKey);
    let forged = Issuer::new("k1", 2).sign(&claims);
    assert_eq!(refused(&forged), Refusal::Jose(jose::Error::Signature));
    let swapped = Header::new(Algorithm::Es256)
        .with_kid("k1")
        .with_typ("at+jwt");
    assert_eq!(
        refused(&issuer.sign_as(&swapped, &claims)),
        Refusal::UnknownKey
    );

    for iss in [
        Value::Null,
        json!("https://issuer.example/"),
        json!("https://ISSUER.example"),
        json!(""),
    ] {
        let foreign = issuer.sign(&claims_with("iss", iss));
        assert_eq!(refused(&foreign), Refusal::Issuer);
    }
    let bound = issuer.sign(&claims_with("cnf", json!({"jkt": "x"})));
    assert_eq!(refused(&bound), Refusal::Bound);
    let twice = [&b"{\"iss\":\"x\","[..], &claims[1..]].concat();
    let twice = issuer.sign(&twice);
    assert_eq!(refused(&twice), Refusal::Jose(jose::Error::DuplicateMember));
}

#[test]
fn full_type_name_is_accepted() {
    let issuer = Issuer::new("k1", 1);
    let header = Header::new(Algorithm::EdDsa).with_kid("k1");
    let header = header.with_typ("application/at+jwt");
    let text = issuer.sign_as(&header, &token().render_claims(ISSUER));
    assert!(verifier(&issuer).verify(&text, NOW).is_ok());
}

#[test]
fn times_are_compared_with_leeway() {
    let issuer = Issuer::new("k1", 1);
    let verifier = verifier(&issuer);
    for (name, at, expected) in [
        ("exp", NOW.plus(1), Ok(())),
        ("exp", NOW.minus(4), Ok(())),
        ("exp", NOW.minus(5), Err(Refusal::Expired)),
        ("exp", Timestamp(u64::MAX), Ok(())),
        ("exp", Timestamp(0), Err(Refusal::Expired)),
        ("nbf", NOW.plus(5), Ok(())),
        ("nbf", NOW.plus(6), Err(Refusal::NotYetValid)),
        ("iat", NOW.plus(5), Ok(())),
        ("iat", NOW.plus(6), Err(Refusal::NotYetValid)),
        ("iat", Timestamp(0), Ok(())),
    ] {
        let text = issuer.sign(&claims_with(name, json!(at.0)));
        let verdict = verifier.verify(&text, NOW).map(drop);
        assert_eq!(verdict, expected, "{name} {at}");
    }
}
