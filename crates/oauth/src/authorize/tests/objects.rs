//! Request objects and pushed requests.

use super::*;
use crate::ids::ClientId;
use crate::jose::{Algorithm, Claims, Header};
use crate::par::{self, Pushed};
use crate::request_object::{self, Source};
use crate::time::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

fn app() -> ClientId {
    ClientId::parse("app").unwrap()
}

fn object() -> Value {
    json!({
        "iss": "app", "aud": ISSUER, "exp": 2100, "iat": 1990, "jti": "1",
        "client_id": "app", "redirect_uri": CALLBACK, "response_type": "code", "scope": "openid",
        "max_age": 60, "state": "inside", "resource": ["https://api.example"],
        "claims": {"userinfo": {"email": null}},
    })
}

fn open(object: &Value) -> Result<Params<'static>, &'static str> {
    let claims = Claims::parse(object.to_string().as_bytes()).unwrap();
    request_object::open(&claims, &app(), ISSUER, Timestamp(2000)).map_err(|error| error.reason)
}

#[test]
fn what_is_inside_is_read_like_a_query() {
    let params = open(&object()).unwrap();
    let origin = Origin {
        signed: true,
        pushed: false,
    };
    let request = parse(&params, &client(), &settings(), origin).unwrap();
    assert_eq!(request.target.state.as_deref(), Some("inside"));
    assert_eq!(request.max_age, Some(60));
    assert!(request.claims.userinfo.contains(Claim::Email));
    assert_eq!(request.audience, ["https://api.example", ISSUER]);
    // Nothing about the JWT itself becomes a parameter.
    assert!(
        ["iss", "aud", "exp", "iat", "jti"]
            .iter()
            .all(|name| params.get(name).is_none())
    );
}

#[test]
fn an_object_that_says_the_wrong_thing_is_refused() {
    for (name, value, reason) in [
        ("client_id", json!("other"), "request_object_client"),
        ("client_id", Value::Null, "request_object_claim"),
        ("iss", json!("other"), "request_object_iss"),
        ("aud", json!("https://other.example"), "request_object_aud"),
        ("aud", json!([]), "request_object_aud"),
        ("sub", json!("app"), "request_object_sub"),
        ("exp", json!(2000), "request_object_expired"),
        ("exp", json!(9000), "request_object_exp_far"),
        ("nbf", json!(2031), "request_object_not_yet"),
        ("iat", json!(2031), "request_object_not_yet"),
        ("request", json!("e.y.s"), "request_object_nested"),
        ("request_uri", json!("https://a"), "request_object_nested"),
        ("exp", json!("soon"), "request_object_claim"),
        ("scope", json!(["openid", "email"]), "parameter_repeated"),
        ("state", json!([1]), "request_object_list"),
        ("state", json!("a\u{0}"), "parameter_nul"),
    ] {
        let mut object = object();
        object[name] = value.clone();
        assert_eq!(open(&object).err(), Some(reason), "{name} {value}");
    }
    let mut several = object();
    several["aud"] = json!(["https://other.example", ISSUER]);
    assert!(open(&several).is_ok());
}

#[test]
fn no_jwt_of_another_kind_passes_for_a_request() {
    let header = |typ: Option<&str>, alg| match typ {
        None => Header::new(alg),
        Some(typ) => Header::new(alg).with_typ(typ),
    };
    let check = |client: &Client, typ, alg| {
        request_object::check_header(client, &header(typ, alg)).map_err(|error| error.reason)
    };
    let mut only = client();
    only.metadata.request_object_signing_alg = Some("PS256".into());
    for (client, typ, alg, expected) in [
        (&client(), None, Algorithm::Rs256, Ok(())),
        (
            &client(),
            Some("oauth-authz-req+jwt"),
            Algorithm::Es256,
            Ok(()),
        ),
        (&client(), Some("JWT"), Algorithm::EdDsa, Ok(())),
        (
            &client(),
            Some("at+jwt"),
            Algorithm::Es256,
            Err("request_object_typ"),
        ),
        (
            &client(),
            Some("logout+jwt"),
            Algorithm::Es256,
            Err("request_object_typ"),
        ),
        (&client(), None, Algorithm::Hs256, Err("request_object_alg")),
        (&only, None, Algorithm::Ps256, Ok(())),
        (&only, None, Algorithm::Rs256, Err("request_object_alg")),
    ] {
        assert_eq!(check(client, typ, alg), expected, "{typ:?} {alg:?}");
    }
    let none = crate::jose::Compact::parse("eyJhbGciOiJub25lIn0.e30.").unwrap_err();
    let unsigned = request_object::unreadable(none);
    assert_eq!(unsigned.code, ErrorCode::RequestNotSupported);
    let text = crate::jose::Compact::parse("x").unwrap_err();
    assert_eq!(
        request_object::unreadable(text).code,
        ErrorCode::InvalidRequestObject
    );
}

#[test]
fn a_request_comes_in_one_way() {
    let find = |query: &str| {
        let params = Params::parse(query.as_bytes()).unwrap();
        request_object::find(&params)
            .map(|source| format!("{source:?}"))
            .map_err(|e| e.reason)
    };
    assert_eq!(find("a=b").as_deref(), Ok("Plain"));
    assert_eq!(find("request=x").as_deref(), Ok("Object(\"x\")"));
    assert_eq!(find("request_uri=x").as_deref(), Ok("Reference(\"x\")"));
    assert_eq!(find("request=x&request_uri=y"), Err("request_twice"));
}

#[test]
fn a_pushed_request_keeps_what_was_asked_and_forgets_the_secrets() {
    let form = "client_id=app&client_secret=geheim&client_assertion=x&client_assertion_type=y\
                &scope=openid&state=%26%3D&resource=a:b&resource=c:d";
    let params = Params::parse(form.as_bytes()).unwrap();
    assert_eq!(par::check(&params, &app()), Ok(Source::Plain));
    let kept = par::keep(&params, &app());
    assert!(!kept.contains("geheim") && !kept.contains("assertion"));
    let again = Params::parse(kept.as_bytes()).unwrap();
    assert_eq!(
        (again.get("client_id"), again.get("state")),
        (Some("app"), Some("&="))
    );
    assert_eq!(again.all("resource").count(), 2);
}

#[test]
fn a_push_is_the_clients_own_and_no_reference() {
    let check = |form: &str| {
        let params = Params::parse(form.as_bytes()).unwrap();
        par::check(&params, &app())
            .map(|_| ())
            .map_err(|error| error.reason)
    };
    assert_eq!(check("request_uri=urn:x"), Err("par_request_uri"));
    assert_eq!(check("client_id=other"), Err("client_id_mismatch"));
    assert_eq!(check("scope=openid"), Ok(()));
}

fn pushed() -> Pushed {
    Pushed {
        id: [4; 16],
        client: app(),
        signed: true,
        form: "client_id=app&scope=openid".into(),
        expires_at: Timestamp(2060),
    }
}

#[test]
fn a_pushed_request_is_for_its_client_and_for_a_minute() {
    let other = ClientId::parse("other").unwrap();
    let check =
        |client: &ClientId, now| pushed().check(client, Timestamp(now)).map_err(|e| e.reason);
    assert_eq!(check(&app(), 2059), Ok(()));
    assert_eq!(check(&app(), 2060), Err("par_expired"));
    assert_eq!(check(&other, 2000), Err("par_other_client"));
}

proptest! {
    #[test]
    fn pushed_requests_survive_their_bytes(id: [u8; 16], signed: bool, form in "[ -~]{0,60}", at in 0usize..90, flip: u8) {
        let pushed = Pushed { id, signed, form, ..pushed() };
        let bytes = pushed.to_bytes();
        prop_assert_eq!(Pushed::from_bytes(&bytes), Some(pushed));
        let mut changed = bytes;
        if let Some(byte) = changed.get_mut(at) { *byte ^= flip; }
        if let Some(read) = Pushed::from_bytes(&changed) {
            prop_assert_eq!(read.to_bytes(), changed);
        }
    }
}
