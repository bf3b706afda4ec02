//! Clients of Hydra: what its API answers at `/clients`, or rows of its table `hydra_client`,
//! which alone has the hashes of the secrets. Most fields have the same names here (RFC 7591).

use serde_json::{Map, Value, json};
use signet_oauth::client::{AuthMethod, GrantType};

use super::prepare::{Draft, is_empty, is_hash};

/// Lists. In tables of old versions they are one text, with `|` between two items.
const LISTS: [&str; 8] = [
    "allowed_cors_origins",
    "audience",
    "contacts",
    "grant_types",
    "post_logout_redirect_uris",
    "redirect_uris",
    "request_uris",
    "response_types",
];

/// Fields of the same name and meaning; our own ones, too.
const SAME: [&str; 38] = [
    "access_token",
    "access_token_lifetime",
    "access_token_signed_response_alg",
    "allow_plain_pkce",
    "backchannel_logout_session_required",
    "backchannel_logout_uri",
    "client_name",
    "client_secret_expires_at",
    "client_secret_hash",
    "client_uri",
    "enabled",
    "default_max_age",
    "grant_tokens",
    "id_token_signed_response_alg",
    "introspection_signed_response_alg",
    "jwks",
    "jwks_uri",
    "logo_uri",
    "metadata",
    "owner",
    "persistence",
    "policy_uri",
    "refresh_token_lifetime",
    "refresh_token_policy",
    "request_object_signing_alg",
    "require_auth_time",
    "require_pkce",
    "require_pushed_authorization_requests",
    "require_signed_request_object",
    "reuse_live_token",
    "scope",
    "secret_hash",
    "sector_identifier_uri",
    "skip_consent",
    "subject_type",
    "token_endpoint_auth_method",
    "token_endpoint_auth_signing_alg",
    "tos_uri",
];

/// What belongs to Hydra's own book-keeping, or is told here by other means.
const OWN: [&str; 15] = [
    "client_id",
    "client_id_issued_at",
    "created_at",
    "generation",
    "id",
    "nid",
    "pk",
    "pk_deprecated",
    "public",
    "registration_access_token",
    "registration_access_token_signature",
    "registration_client_uri",
    "updated_at",
    "userinfo_signed_response_alg",
    "version",
];

/// The end of the names of the lifetimes of access tokens; before it stands the grant.
const LIFESPAN: &str = "_grant_access_token_lifespan";

/// Maps a client.
pub(super) fn map(client: Map<String, Value>) -> Result<Draft, String> {
    let mut draft = Draft::default();
    let has_no_grants = client.get("grant_types").is_some_and(is_empty);
    if client.get("public") == Some(&Value::Bool(true)) {
        draft.put("token_endpoint_auth_method", "none");
    }
    for (name, value) in client.into_iter().filter(|(_, value)| !is_empty(value)) {
        field(&name, value, &mut draft)?;
    }
    if has_no_grants {
        // What Hydra takes for granted where nothing is registered.
        draft.put("grant_types", json!(["authorization_code"]));
    }
    leave_needless_secret(&mut draft);
    draft.keep_under("hydra");
    Ok(draft)
}

fn field(name: &str, value: Value, draft: &mut Draft) -> Result<(), String> {
    let text = value.as_str();
    match name {
        "grant_types" => {
            let grants = list(value)
                .into_iter()
                .filter(|grant| is_known(grant, draft))
                .collect();
            draft.put(name, Value::Array(grants));
        }
        "client_secret" => {
            let is_hash = text.is_some_and(is_hash);
            draft.put(if is_hash { "client_secret_hash" } else { name }, value);
        }
        "access_token_strategy" => draft.put("access_token", value),
        "userinfo_signed_response_alg" if text != Some("none") => draft.put(name, value),
        "jwks" | "metadata" => {
            let value = opened(value);
            let has_no_keys = value.get("keys").is_some_and(is_empty);
            if !is_empty(&value) && !has_no_keys {
                draft.put(name, value);
            }
        }
        _ if LISTS.contains(&name) => draft.put(name, Value::Array(list(value))),
        _ if SAME.contains(&name) => draft.put(name, value),
        _ if OWN.contains(&name) => {}
        _ => match name.strip_suffix(LIFESPAN).and_then(GrantType::parse) {
            Some(grant) => {
                lifetime(grant, &value, draft).map_err(|why| format!("{name}: {why}"))?;
            }
            // A switch that is off says nothing.
            None if value == Value::Bool(false) => {}
            None => drop(draft.kept.insert(name.to_owned(), value)),
        },
    }
    Ok(())
}

/// Hydra keeps a secret for clients that never use it; here that would be a contradiction.
fn leave_needless_secret(draft: &mut Draft) {
    let method = draft
        .body
        .get("token_endpoint_auth_method")
        .and_then(Value::as_str);
    let method = method.and_then(AuthMethod::parse);
    if method.is_some_and(|method| !method.has_secret()) {
        draft.body.remove("client_secret");
        draft.body.remove("client_secret_hash");
    }
}

fn is_known(grant: &Value, draft: &mut Draft) -> bool {
    let name = grant.as_str().unwrap_or_default();
    let is_known = GrantType::parse(name).is_some();
    if !is_known {
        draft.note(format!(
            "the grant {name:?} is not supported, and was left out"
        ));
    }
    is_known
}

fn list(value: Value) -> Vec<Value> {
    let text = match opened(value) {
        Value::Array(items) => return items,
        Value::String(text) => text,
        other => return vec![other],
    };
    text.split('|')
        .filter(|item| !item.is_empty())
        .map(Value::from)
        .collect()
}

/// A column of JSON may come as text.
fn opened(value: Value) -> Value {
    let text = value.as_str().filter(|text| text.starts_with(['{', '[']));
    match text.and_then(|text| serde_json::from_str(text).ok()) {
        Some(inner) => inner,
        None => value,
    }
}

fn lifetime(grant: GrantType, value: &Value, draft: &mut Draft) -> Result<(), String> {
    let seconds = match value {
        Value::String(text) => {
            let time = humantime::parse_duration(text).map_err(|fault| fault.to_string())?;
            time.as_secs()
        }
        // In the table: nanoseconds.
        other => other.as_u64().ok_or("it is not a time")? / 1_000_000_000,
    };
    let grants = draft
        .body
        .entry("grant_tokens")
        .or_insert_with(|| json!({}));
    if let Value::Object(grants) = grants {
        grants.insert(
            grant.as_str().to_owned(),
            json!({ "access_token_lifetime": seconds }),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::client_body::ClientRequest;

    fn mapped(client: &Value) -> (Value, Vec<String>) {
        let draft = map(client.as_object().unwrap().clone()).unwrap();
        (draft.body.into(), draft.notes)
    }

    #[test]
    fn what_the_api_answers_is_mapped() {
        let answer = json!({
            "client_id": "9b3c", "client_name": "Shop", "redirect_uris": ["https://shop.example/cb"],
            "grant_types": ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
            "response_types": ["code"], "scope": "openid offline", "audience": [], "owner": "",
            "policy_uri": "", "allowed_cors_origins": [], "tos_uri": "", "client_uri": "",
            "logo_uri": "", "contacts": null, "client_secret_expires_at": 0,
            "subject_type": "public", "jwks": {}, "token_endpoint_auth_method": "client_secret_post",
            "userinfo_signed_response_alg": "none", "created_at": "2024-01-01T00:00:00Z",
            "updated_at": "2024-01-01T00:00:00Z", "metadata": {"team": "web"},
            "skip_consent": true, "skip_logout_consent": null,
            "post_logout_redirect_uris": ["https://shop.example/"],
            "backchannel_logout_session_required": false, "access_token_strategy": "jwt",
            "client_credentials_grant_access_token_lifespan": "1h30m0s",
            "authorization_code_grant_access_token_lifespan": null,
            "authorization_code_grant_id_token_lifespan": "1h0m0s",
            "registration_client_uri": "https://hydra/…"
        });
        let (body, notes) = mapped(&answer);
        assert_eq!(
            body,
            json!({
                "client_name": "Shop", "redirect_uris": ["https://shop.example/cb"],
                "grant_types": ["authorization_code"], "response_types": ["code"],
                "scope": "openid offline", "client_secret_expires_at": 0,
                "subject_type": "public", "token_endpoint_auth_method": "client_secret_post",
                "access_token": "jwt", "skip_consent": true,
                "post_logout_redirect_uris": ["https://shop.example/"],
                "backchannel_logout_session_required": false,
                "grant_tokens": {"client_credentials": {"access_token_lifetime": 5400}},
                "metadata": {"team": "web", "hydra": {
                    "authorization_code_grant_id_token_lifespan": "1h0m0s"
                }}
            })
        );
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("device_code"), "{notes:?}");
    }

    #[test]
    fn rows_of_the_table_are_mapped() {
        let row = json!({
            "id": "cli", "nid": "…", "pk": 7, "client_secret": "$pbkdf2-sha256$i=25000,l=32$c$h",
            "redirect_uris": "https://a/cb|https://b/cb", "grant_types": "[\"client_credentials\"]",
            "audience": "[]", "jwks": "{\"keys\":[]}", "metadata": "{\"a\":1}",
            "client_credentials_grant_access_token_lifespan": 300_000_000_000_u64
        });
        let (body, notes) = mapped(&row);
        assert_eq!(
            body,
            json!({
                "client_secret_hash": "$pbkdf2-sha256$i=25000,l=32$c$h",
                "redirect_uris": ["https://a/cb", "https://b/cb"],
                "grant_types": ["client_credentials"], "audience": [],
                "metadata": {"a": 1},
                "grant_tokens": {"client_credentials": {"access_token_lifetime": 300}}
            })
        );
        assert!(notes.is_empty());
    }

    #[test]
    fn clients_without_a_use_for_their_secret_come_without_it() {
        let key = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://k",
                         "client_secret": "$2a$10$x", "grant_types": ["client_credentials"]});
        assert!(mapped(&key).0.get("client_secret_hash").is_none());
        let old = json!({"public": true, "client_secret": "x", "grant_types": null});
        let (public, _) = mapped(&old);
        let expected = json!({"token_endpoint_auth_method": "none",
                              "grant_types": ["authorization_code"]});
        assert_eq!(public, expected);
    }

    #[test]
    fn a_lifetime_that_is_none_stops_the_client() {
        let odd = json!({"client_credentials_grant_access_token_lifespan": "soon"});
        let refused = map(odd.as_object().unwrap().clone()).unwrap_err();
        assert!(
            refused.starts_with("client_credentials_grant_access_token_lifespan"),
            "{refused}"
        );
    }

    #[test]
    fn every_field_that_is_sent_is_one_that_the_server_reads() {
        let more = ["client_secret", "userinfo_signed_response_alg"];
        for name in SAME.iter().chain(&LISTS).chain(&more) {
            let body = json!({ *name: null });
            // A field that is known may not like to be null.
            if let Ok(request) = serde_json::from_value::<ClientRequest>(body) {
                assert_eq!(request.unknown(), None, "{name}");
            }
        }
        let unknown: ClientRequest =
            serde_json::from_value(json!({"skip_logout_consent": 1})).unwrap();
        assert_eq!(unknown.unknown(), Some("skip_logout_consent"));
    }
}
