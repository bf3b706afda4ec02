//! Claims by type.

use super::*;
use crate::time::Timestamp;

fn claims(text: &str) -> Claims {
    Claims::parse(text.as_bytes()).unwrap()
}

#[test]
fn present_claims_are_read() {
    let claims =
        claims(r#"{"iss":"i","sub":"s","aud":"a","exp":3,"nbf":2.9,"iat":1e0,"jti":"j","cgn":7}"#);
    assert_eq!(claims.iss(), Ok(Some("i")));
    assert_eq!(claims.sub(), Ok(Some("s")));
    assert_eq!(claims.aud(), Ok(vec!["a"]));
    assert_eq!(claims.exp(), Ok(Some(Timestamp(3))));
    assert_eq!(claims.nbf(), Ok(Some(Timestamp(2))));
    assert_eq!(claims.iat(), Ok(Some(Timestamp(1))));
    assert_eq!(claims.jti(), Ok(Some("j")));
    assert_eq!(claims.whole("cgn"), Ok(Some(7)));
    assert!(claims.has("cgn") && !claims.has("ugn"));
}

#[test]
fn absent_claims_are_none() {
    let claims = claims("{}");
    assert_eq!(claims.iss(), Ok(None));
    assert_eq!(claims.aud(), Ok(Vec::new()));
    assert_eq!(claims.exp(), Ok(None));
    assert_eq!(claims.whole("cgn"), Ok(None));
}

#[test]
fn claims_of_the_wrong_type_are_errors() {
    for bad in ["null", "1", "[]", "{}", "true"] {
        let claims = claims(&format!(r#"{{"iss":{bad}}}"#));
        assert_eq!(claims.iss(), Err(Error::Claim("iss")), "{bad}");
    }
    for bad in ["null", "1", "[1]", r#"["a",null]"#, "{}"] {
        let claims = claims(&format!(r#"{{"aud":{bad}}}"#));
        assert_eq!(claims.aud(), Err(Error::Claim("aud")), "{bad}");
    }
    for bad in ["null", r#""1""#, "-1", "-0.5", "1e300", "[1]"] {
        let claims = claims(&format!(r#"{{"exp":{bad}}}"#));
        assert_eq!(claims.exp(), Err(Error::Claim("exp")), "{bad}");
    }
    for bad in ["1.5", "-1", r#""1""#] {
        let claims = claims(&format!(r#"{{"cgn":{bad}}}"#));
        assert_eq!(claims.whole("cgn"), Err(Error::Claim("cgn")), "{bad}");
    }
}

#[test]
fn duplicate_claims_are_refused_at_any_depth() {
    for bad in [
        r#"{"aud":"a","aud":"b"}"#,
        r#"{"act":{"sub":"a","sub":"b"}}"#,
        r#"{"list":[{"a":1,"a":1}]}"#,
        r#"{"exp":1,"\u0065xp":2}"#,
    ] {
        let refused = Claims::parse(bad.as_bytes());
        assert_eq!(refused, Err(Error::DuplicateMember), "{bad}");
    }
    assert_eq!(Claims::parse(b"[]"), Err(Error::Json));
    assert_eq!(Claims::parse(b"{} {}"), Err(Error::Json));
    assert_eq!(Claims::parse(b"\xff"), Err(Error::Json));
}
