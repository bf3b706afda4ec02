//! `POST /oauth2/token`: who gets a token, who does not, and what is in it.

mod assertions;
mod authentication;
mod codes;
mod key_urls;
mod passwords;
mod policies;
mod refresh;
mod requests;
mod reuse;
mod secrets;

use serde_json::{Value, json};

use crate::support::http::{Answer, Call};
use crate::support::jwt::Key;
use crate::support::{ISSUER, Server, unique};

/// What `client_assertion_type` must be (RFC 7523 §2.2).
const BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The kinds of tokens there are, as fields of a client.
pub(crate) fn kinds() -> [(&'static str, Value); 3] {
    [
        (
            "stateless-jwt",
            json!({"access_token": "jwt", "persistence": "stateless"}),
        ),
        (
            "persisted-jwt",
            json!({"access_token": "jwt", "persistence": "persisted"}),
        ),
        ("opaque", json!({"access_token": "opaque"})),
    ]
}

/// A token request with these parameters.
fn request(server: &Server, form: &[(&str, &str)]) -> Call {
    let grant = [("grant_type", "client_credentials")];
    let form: Vec<_> = grant.iter().chain(form).copied().collect();
    server.public("POST", "/oauth2/token").form(&form)
}

/// A token request with an assertion.
fn asserting(server: &Server, assertion: &str) -> Call {
    request(
        server,
        &[
            ("client_assertion_type", BEARER),
            ("client_assertion", assertion),
        ],
    )
}

/// The claims of a good assertion.
fn claims(server: &Server, client: &str) -> Value {
    let now = server.clock.now().0;
    json!({"iss": client, "sub": client, "aud": ISSUER, "iat": now, "exp": now + 60,
           "jti": unique()})
}

/// A client that signs assertions with this key, named `k`.
async fn signing_client(server: &Server, id: &str, key: &Key, more: Value) {
    let mut fields = json!({"client_id": id, "token_endpoint_auth_method": "private_key_jwt",
                            "jwks": key.set("k")});
    fields
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    server.create(fields).await;
}

/// What every failed client authentication looks like; the body tells nothing of the cause
/// (RFC 6749 §5.2).
fn assert_invalid_client(case: &str, answer: &Answer) {
    assert_eq!(
        answer.refusal(),
        (401, "invalid_client".to_owned()),
        "{case}: {}",
        answer.text()
    );
    assert!(
        answer.header("www-authenticate").starts_with("Basic "),
        "{case}"
    );
    assert_eq!(answer.header("cache-control"), "no-store", "{case}");
    assert_eq!(answer.header("content-type"), "application/json", "{case}");
    let description = "client authentication failed: check the client id, its credentials and \
                       the method that it is registered for";
    let expected = json!({"error": "invalid_client", "error_description": description});
    assert_eq!(answer.json(), expected, "{case}");
}
