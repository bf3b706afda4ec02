//! From the text of a client in a file to the request that creates it here. Whose field means what
//! is said in `hydra` and `keycloak`; here is what holds for all.

use serde_json::{Map, Value};

use super::{hydra, keycloak};
use crate::cli::args::{Format, ImportArgs};

/// What becomes of a client of the file.
#[derive(Debug, PartialEq)]
pub(super) enum Prepared {
    /// It is created.
    Create {
        /// Its id.
        id: String,
        /// The body of the request.
        body: Map<String, Value>,
        /// What did not come along, for the user to know.
        notes: Vec<String>,
    },
    /// It has no business here.
    LeaveOut {
        /// Its id.
        id: String,
        /// Why.
        why: String,
    },
}

/// Why a client of the file cannot be created.
#[derive(Debug, PartialEq)]
pub(super) struct Unfit {
    /// Its id, where it has one.
    pub(super) id: Option<String>,
    /// Why.
    pub(super) why: String,
}

/// A client while its fields are mapped.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Fields under the names that they have here.
    pub(super) body: Map<String, Value>,
    /// What has no field here, and is kept under `metadata`.
    pub(super) kept: Map<String, Value>,
    /// What did not come along.
    pub(super) notes: Vec<String>,
}

impl Draft {
    pub(super) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.body.insert(name.to_owned(), value.into());
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Puts what was kept under `metadata`, in an object named after where it came from.
    pub(super) fn keep_under(&mut self, origin: &str) {
        let kept = std::mem::take(&mut self.kept);
        if kept.is_empty() {
            return;
        }
        let metadata = self
            .body
            .entry("metadata")
            .or_insert_with(|| Map::new().into());
        if let Value::Object(metadata) = metadata {
            metadata.insert(origin.to_owned(), kept.into());
        }
    }
}

/// Prepares the client that a text describes.
pub(super) fn prepare(text: &str, args: &ImportArgs) -> Result<Prepared, Unfit> {
    let anonymous = |why: String| Unfit { id: None, why };
    let client: Map<String, Value> = serde_json::from_str(text)
        .map_err(|fault| anonymous(format!("it is not a JSON object: {fault}")))?;
    let from_keycloak = match args.format {
        Format::Auto => client.contains_key("clientId"),
        format => format == Format::Keycloak,
    };
    let id_of = |name: &str| client.get(name).and_then(Value::as_str).map(str::to_owned);
    let id = if from_keycloak {
        id_of("clientId")
    } else {
        // In Hydra's table the column is `id`, or `client_id` in its first versions.
        id_of("client_id").or_else(|| id_of("id"))
    };
    let id = id.filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| anonymous("it has no client_id".to_owned()))?;
    let unfit = |why: String| Unfit {
        id: Some(id.clone()),
        why,
    };
    // What this server lists, and nobody else.
    let is_ours = args.format == Format::Auto && client.contains_key("generation");
    let mut draft = match args.format {
        _ if is_ours => Draft {
            body: client,
            ..Draft::default()
        },
        Format::Signet => Draft {
            body: client,
            ..Draft::default()
        },
        _ if from_keycloak => match keycloak::map(&client) {
            Ok(keycloak::Mapped::Client(draft)) => draft,
            Ok(keycloak::Mapped::LeaveOut(why)) => {
                return Ok(Prepared::LeaveOut {
                    id,
                    why: why.to_owned(),
                });
            }
            Err(why) => return Err(unfit(why)),
        },
        _ => hydra::map(client).map_err(unfit)?,
    };
    draft.put("client_id", id.as_str());
    complete(&mut draft.body, args).map_err(|why| Unfit {
        id: Some(id.clone()),
        why,
    })?;
    Ok(Prepared::Create {
        id,
        body: draft.body,
        notes: draft.notes,
    })
}

/// What the arguments say, where the file does not; and the question of the secret.
fn complete(body: &mut Map<String, Value>, args: &ImportArgs) -> Result<(), String> {
    let defaults = [
        ("access_token", &args.access_token),
        ("persistence", &args.persistence),
    ];
    for (name, value) in defaults {
        if let Some(value) = value {
            body.entry(name).or_insert_with(|| value.as_str().into());
        }
    }
    let method = body
        .get("token_endpoint_auth_method")
        .and_then(Value::as_str);
    let is_hashed = matches!(
        method,
        None | Some("client_secret_basic" | "client_secret_post")
    );
    let has_secret = is_hashed || method == Some("client_secret_jwt");
    let in_clear = body.contains_key("client_secret");
    if let Some(spec) = args
        .secret_hash
        .as_deref()
        .filter(|_| in_clear && is_hashed)
    {
        body.entry("secret_hash").or_insert_with(|| spec.into());
    }
    let missing = has_secret && !in_clear && !body.contains_key("client_secret_hash");
    if missing && args.secrets.is_none() {
        return Err(
            "it comes without its secret: export it with the secret, or have new secrets \
                    made with --secrets FILE"
                .to_owned(),
        );
    }
    Ok(())
}

/// Whether a text is a hash of a secret and not the secret itself: bcrypt, PBKDF2 or Argon2 in
/// their textual forms.
pub(super) fn is_hash(text: &str) -> bool {
    let parts: Vec<&str> = text.split('$').collect();
    let is_name = |name: &str| {
        matches!(name, "2a" | "2b" | "2x" | "2y")
            || name.starts_with("pbkdf2")
            || name.starts_with("argon2")
    };
    parts.len() >= 4 && parts[0].is_empty() && is_name(parts[1])
}

/// What an export writes for a field that is not set.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::PathBuf;

    fn arguments() -> ImportArgs {
        ImportArgs {
            file: PathBuf::from("-"),
            format: Format::Auto,
            skip_existing: false,
            secrets: None,
            secret_hash: None,
            access_token: None,
            persistence: None,
            dry_run: false,
            jobs: 1,
        }
    }

    fn body(text: &Value, args: &ImportArgs) -> Value {
        match prepare(&text.to_string(), args) {
            Ok(Prepared::Create { body, .. }) => body.into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn whose_file_it_is_is_seen_by_the_name_of_the_id() {
        let keycloak = json!({"clientId": "shop", "secret": "s", "serviceAccountsEnabled": true});
        assert_eq!(
            body(&keycloak, &arguments())["grant_types"],
            json!(["client_credentials"])
        );
        let hydra =
            json!({"id": "shop", "client_secret": "$2a$10$abc", "grant_types": ["implicit"]});
        let mapped = body(&hydra, &arguments());
        assert_eq!(mapped["client_id"], "shop");
        assert_eq!(mapped["client_secret_hash"], "$2a$10$abc");
        let args = ImportArgs {
            format: Format::Signet,
            ..arguments()
        };
        let plain = json!({"client_id": "shop", "client_secret": "$2a$10$abc", "unknown": 1});
        assert_eq!(body(&plain, &args), plain);
        let listed = json!({"client_id": "a", "client_secret": "s", "grant_types": [],
                            "generation": 0, "version": 1});
        assert_eq!(body(&listed, &arguments()), listed);
    }

    #[test]
    fn arguments_say_what_the_file_does_not() {
        let args = ImportArgs {
            access_token: Some("jwt".to_owned()),
            persistence: Some("persisted".to_owned()),
            secret_hash: Some("bcrypt:8".to_owned()),
            ..arguments()
        };
        let said = json!({"client_id": "a", "client_secret": "s", "access_token_strategy": "opaque",
                          "grant_types": ["client_credentials"]});
        assert_eq!(
            body(&said, &args),
            json!({"client_id": "a", "client_secret": "s", "access_token": "opaque",
                   "persistence": "persisted", "secret_hash": "bcrypt:8",
                   "grant_types": ["client_credentials"]})
        );
        let hashed = json!({"client_id": "a", "client_secret": "$2b$08$x"});
        assert!(body(&hashed, &args).get("secret_hash").is_none());
    }

    #[test]
    fn a_client_without_its_secret_gets_a_new_one_only_when_that_is_wanted() {
        let text = r#"{"client_id": "a"}"#;
        let refused = prepare(text, &arguments()).unwrap_err();
        assert_eq!(refused.id.as_deref(), Some("a"));
        assert!(refused.why.contains("--secrets"));
        let wanted = ImportArgs {
            secrets: Some(PathBuf::from("s")),
            ..arguments()
        };
        assert!(prepare(text, &wanted).is_ok());
        let public = r#"{"client_id": "a", "token_endpoint_auth_method": "none"}"#;
        assert!(prepare(public, &arguments()).is_ok());
    }

    #[test]
    fn what_is_no_client_says_why() {
        for (text, why) in [
            ("[1]", "not a JSON object"),
            ("{", "not a JSON object"),
            (r#"{"name": "x"}"#, "no client_id"),
            (r#"{"client_id": ""}"#, "no client_id"),
        ] {
            let refused = prepare(text, &arguments()).unwrap_err();
            assert!(refused.why.contains(why), "{text}: {}", refused.why);
        }
    }

    #[test]
    fn hashes_are_told_from_secrets() {
        for hash in [
            "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
            "$pbkdf2-sha256$i=25000,l=32$c2FsdA$aGFzaA",
            "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA",
        ] {
            assert!(is_hash(hash), "{hash}");
        }
        for secret in ["s3cret", "$ecret$with$dollars", "$2a", "", "2a$10$x$y"] {
            assert!(!is_hash(secret), "{secret}");
        }
    }
}
