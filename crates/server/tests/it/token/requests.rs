//! What a token request may say: grants, scopes, resources; and what the server says to the rest.

use serde_json::{Value, json};

use super::request;
use crate::support::http::escape;
use crate::support::{ISSUER, Server, jwt};

const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn malformed_forms_are_invalid_requests() {
    let server = Server::start();
    let secret = server.quick("app", json!({"scope": "a b"})).await;
    let many: Vec<String> = (0..64).map(|number| format!("p{number}=x")).collect();
    for body in [
        "",
        "grant_type",
        "grant_type=",
        "scope=a",
        "grant_type=client_credentials&grant_type=client_credentials",
        "grant_type=client_credentials&%67rant_type=password",
        "grant_type=client_credentials&scope=a&scope=b",
        "grant_type=client_credentials&scope=a&scope=a",
        "grant_type=client_credentials&unknown=1&unknown=2",
        "grant_type=client_credentials&scope=%",
        "grant_type=client_credentials&scope=%4",
        "grant_type=client_credentials&scope=%zz",
        "grant_type=client_credentials&scope=%ff",
        "grant_type=client_credentials&scope=%c3",
        "grant_type=client_credentials&scope=%00",
        "grant_type=client_credentials&%ff=a",
        "grant_type=client_credentials&x%00=a",
        &format!("grant_type=client_credentials&{}", many.join("&")),
        r#"{"grant_type":"client_credentials"}"#,
        "grant_type: client_credentials",
    ] {
        let call = server.public("POST", "/oauth2/token").basic("app", &secret);
        let answer = call.raw(FORM, body.to_owned()).await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_request".to_owned()),
            "{body}: {}",
            answer.text()
        );
        assert_eq!(answer.header("cache-control"), "no-store", "{body}");
        assert!(answer.json()["error_description"].is_string(), "{body}");
    }
    let raw = [
        b"grant_type=client_credentials&scope=".as_slice(),
        &[0xff, 0xfe],
    ]
    .concat();
    let answer = server
        .public("POST", "/oauth2/token")
        .basic("app", &secret)
        .raw(FORM, raw)
        .await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_request".to_owned()),
        "bare bytes that are not UTF-8"
    );
    let answer = server.token("app", &secret, &[]).await;
    assert_eq!(answer.status, 200, "the server lives: {}", answer.text());
}

#[tokio::test]
async fn what_clients_may_do_is_accepted() {
    let server = Server::start();
    let secret = server.quick("app", json!({"scope": "a b"})).await;
    for (kind, body) in [
        (FORM, "grant_type=client_credentials"),
        (
            "application/x-www-form-urlencoded; charset=UTF-8",
            "grant_type=client_credentials",
        ),
        (
            "Application/X-WWW-Form-Urlencoded",
            "grant_type=client_credentials",
        ),
        (FORM, "&&grant_type=client_credentials&"),
        (FORM, "grant%5Ftype=client%5fcredentials"),
        (FORM, "grant_type=client_credentials&scope=&resource="),
        (FORM, "grant_type=client_credentials&scope=a+b"),
        (FORM, "grant_type=client_credentials&scope=a%20b"),
        (FORM, "grant_type=client_credentials&unknown=x&more"),
    ] {
        let call = server.public("POST", "/oauth2/token").basic("app", &secret);
        let answer = call.raw(kind, body.to_owned()).await;
        assert_eq!(answer.status, 200, "{kind} {body}: {}", answer.text());
    }
}

#[tokio::test]
async fn bodies_of_another_type_and_parameters_in_the_url_are_not_read() {
    let server = Server::start();
    let secret = server.quick("app", json!({})).await;
    let good = "grant_type=client_credentials";
    let json = r#"{"grant_type":"client_credentials"}"#;
    for (kind, body) in [
        ("application/json", json),
        ("text/plain", good),
        ("multipart/form-data; boundary=x", good),
        ("application/x-www-form-urlencodedx", good),
        ("", good),
        ("application/octet-stream", good),
    ] {
        let call = server.public("POST", "/oauth2/token").basic("app", &secret);
        let answer = call.raw(kind, body.to_owned()).await;
        assert_eq!(
            answer.refusal(),
            (400, "invalid_request".to_owned()),
            "{kind}: {}",
            answer.text()
        );
    }
    let url =
        format!("/oauth2/token?grant_type=client_credentials&client_id=app&client_secret={secret}");
    let answer = server.public("POST", &url).raw(FORM, "x=y").await;
    assert_eq!(
        answer.status,
        401,
        "credentials in the URL: {}",
        answer.text()
    );
    let call = server.public("POST", "/oauth2/token?grant_type=client_credentials");
    let answer = call.basic("app", &secret).raw(FORM, "x=y").await;
    assert_eq!(
        answer.status,
        400,
        "the grant in the URL: {}",
        answer.text()
    );
    let call = server
        .public("POST", "/oauth2/token?grant_type=password")
        .basic("app", &secret);
    let answer = call.form(&[("grant_type", "client_credentials")]).await;
    assert_eq!(
        answer.status,
        200,
        "the URL says nothing: {}",
        answer.text()
    );
}

#[tokio::test]
async fn grants_that_are_not_there_are_unsupported() {
    let server = Server::start();
    let secret = server.quick("app", json!({})).await;
    for grant in [
        "implicit",
        "CLIENT_CREDENTIALS",
        "client_credentials ",
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "urn:ietf:params:oauth:grant-type:device_code",
        "ä",
    ] {
        let call = server.public("POST", "/oauth2/token").basic("app", &secret);
        let answer = call.form(&[("grant_type", grant)]).await;
        assert_eq!(
            answer.refusal(),
            (400, "unsupported_grant_type".to_owned()),
            "{grant}"
        );
    }
    for grant in ["password", "authorization_code", "refresh_token"] {
        let call = server.public("POST", "/oauth2/token").basic("app", &secret);
        let bare = call.form(&[("grant_type", grant)]).await;
        assert_eq!(
            bare.refusal(),
            (400, "invalid_request".to_owned()),
            "{grant} needs more"
        );
    }
    let secret = server
        .quick("logins", json!({"grant_types": ["refresh_token"]}))
        .await;
    let answer = server.token("logins", &secret, &[]).await;
    assert_eq!(
        answer.refusal(),
        (400, "unauthorized_client".to_owned()),
        "not registered for it"
    );
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn scopes_are_what_is_registered_and_asked_for() {
    let server = Server::start();
    let secret = server
        .quick("app", json!({"scope": "read write device_* signet:*"}))
        .await;
    let refused = Err((400, "invalid_scope"));
    for (asked, expected) in [
        (None, Ok("read write")),
        (Some(""), Ok("read write")),
        (Some("read"), Ok("read")),
        (Some("write read"), Ok("write read")),
        (Some("read read"), Ok("read")),
        (Some(" read  write "), Ok("read write")),
        (Some("device_1"), Ok("device_1")),
        (
            Some("device_living-room/7 read"),
            Ok("device_living-room/7 read"),
        ),
        (Some("device_"), refused),
        (Some("devic"), refused),
        (Some("READ"), refused),
        (Some("reader"), refused),
        (Some("read admin"), refused),
        (Some("signet:admin"), refused),
        (Some("read signet:admin"), refused),
        (Some("read\tadmin"), refused),
        (Some("device_\"1\""), refused),
        (Some("device_\\"), refused),
        (Some("device_é"), refused),
        (Some("device_\n"), refused),
    ] {
        let form: Vec<_> = asked.map(|scope| ("scope", scope)).into_iter().collect();
        let answer = server.token("app", &secret, &form).await;
        match expected {
            Ok(scope) => {
                assert_eq!(answer.status, 200, "{asked:?}: {}", answer.text());
                let body = answer.json();
                assert_eq!(body["scope"], scope, "{asked:?}");
                let token = body["access_token"].as_str().unwrap();
                assert_eq!(
                    jwt::read(token).1["scope"],
                    scope,
                    "the claim for {asked:?}"
                );
                assert_eq!(
                    server.introspect(token).await["scope"],
                    scope,
                    "introspection of {asked:?}"
                );
            }
            Err((status, error)) => {
                assert_eq!(answer.refusal(), (status, error.to_owned()), "{asked:?}");
            }
        }
    }
    let long: Vec<String> = (0..600).map(|number| format!("device_{number}")).collect();
    let answer = server
        .token("app", &secret, &[("scope", &long.join(" "))])
        .await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_scope".to_owned()),
        "thousands of characters"
    );
}

#[tokio::test]
async fn a_client_without_scopes_gets_a_token_without_scope() {
    let server = Server::start();
    let secret = server.quick("app", json!({})).await;
    let answer = server.token("app", &secret, &[]).await.json();
    assert!(answer.get("scope").is_none(), "{answer}");
    let token = answer["access_token"].as_str().unwrap();
    assert!(jwt::read(token).1.get("scope").is_none());
    assert!(server.introspect(token).await.get("scope").is_none());
    let answer = server.token("app", &secret, &[("scope", "read")]).await;
    assert_eq!(answer.refusal(), (400, "invalid_scope".to_owned()));
}

#[tokio::test]
async fn a_token_is_for_the_resources_that_were_asked_for() {
    const A: &str = "https://a.example";
    const B: &str = "https://b.example/api?v=2";
    const C: &str = "urn:example:c";
    let server = Server::start();
    let secret = server.quick("app", json!({"audience": [A, B, C]})).await;
    let plain = server.quick("plain", json!({})).await;
    let both = json!([A, B]);
    let table: [(&[(&str, &str)], Value); 10] = [
        (&[], json!([A, B, C])),
        (&[("resource", A)], json!(A)),
        (&[("audience", A)], json!(A)),
        (&[("resource", A), ("resource", B)], both.clone()),
        (&[("audience", A), ("audience", B)], both.clone()),
        (&[("resource", A), ("audience", B)], both.clone()),
        (
            &[("resource", A), ("resource", A), ("audience", A)],
            json!(A),
        ),
        (&[("resource", C)], json!(C)),
        (&[("resource", ISSUER)], json!(ISSUER)),
        (&[("resource", ISSUER), ("resource", A)], json!([ISSUER, A])),
    ];
    for (form, expected) in table {
        let token = server.issued("app", &secret, form).await;
        assert_eq!(jwt::read(&token).1["aud"], expected, "{form:?}");
        assert_eq!(server.introspect(&token).await["aud"], expected, "{form:?}");
    }
    let token = server.issued("plain", &plain, &[]).await;
    assert_eq!(
        jwt::read(&token).1["aud"],
        ISSUER,
        "for the issuer, when for nobody else"
    );
}

#[tokio::test]
async fn resources_that_a_client_may_not_have_are_invalid_targets() {
    const A: &str = "https://a.example";
    let server = Server::start();
    let secret = server.quick("app", json!({"audience": [A]})).await;
    let plain = server.quick("plain", json!({})).await;
    for name in ["resource", "audience"] {
        for resource in [
            "https://other.example",
            "https://a.example/",
            "https://A.example",
            "http://a.example",
            "https://a.example#part",
            "https://a.example https://a.example",
            "a.example",
            "/a",
            "https:",
            "https://",
            "app",
            "é",
        ] {
            for form in [
                &[(name, resource)][..],
                &[("resource", A), (name, resource)],
            ] {
                let answer = server.token("app", &secret, form).await;
                assert_eq!(
                    answer.refusal(),
                    (400, "invalid_target".to_owned()),
                    "{form:?}"
                );
            }
        }
    }
    let answer = server.token("plain", &plain, &[("resource", A)]).await;
    assert_eq!(
        answer.refusal(),
        (400, "invalid_target".to_owned()),
        "registered for another client"
    );
}

#[tokio::test]
async fn refusals_do_not_repeat_what_was_sent() {
    let server = Server::start();
    let secret = server.quick("app", json!({})).await;
    let marker = "<script>alert(1)</script>";
    for form in [
        [("scope", marker)],
        [("resource", marker)],
        [("grant_type", marker)],
    ] {
        let answer = request(&server, &form).basic("app", &secret).await;
        assert!((400..500).contains(&answer.status), "{}", answer.text());
        assert!(!answer.text().contains("alert"), "{}", answer.text());
    }
    let path = format!("/oauth2/{}", escape(marker));
    assert!(!server.public("GET", &path).await.text().contains("alert"));
}
