//! `signet keys …`.

use serde_json::{Map, Value};

use super::admin::{Body, path};
use super::args::{KeyArgs, KeysCommand};
use super::client::Session;
use super::error::CliError;
use super::table::{Table, cell, record};

const KEYS: &str = "/admin/keys";

/// Carries out a command about keys.
pub(super) async fn run(
    command: KeysCommand,
    mut session: Session<'_, '_>,
) -> Result<(), CliError> {
    let session = &mut session;
    match command {
        KeysCommand::List => list(session).await,
        KeysCommand::Create(args) => make(session, KEYS, &args).await,
        KeysCommand::Rotate(args) => make(session, "/admin/keys/rotate", &args).await,
        KeysCommand::Retire { kid } => {
            let retired = session
                .admin
                .post(&path("/admin/keys/", &kid, "/retire"), Body::None)
                .await;
            let key = retired.map_err(|error| match error {
                CliError::Refused { status: 404, .. } => {
                    CliError::Failed(format!("there is no key {kid:?}: see `signet keys list`"))
                }
                other => other,
            })?;
            tell(session, &key)
        }
    }
}

async fn list(session: &mut Session<'_, '_>) -> Result<(), CliError> {
    let answer = session.admin.get(KEYS).await?;
    if session.json {
        return session.console.json(&answer);
    }
    let keys = answer.get("keys").and_then(Value::as_array);
    for line in rows(keys.map(Vec::as_slice).unwrap_or_default()) {
        session.console.say(line)?;
    }
    Ok(())
}

fn rows(keys: &[Value]) -> Vec<String> {
    let heading = [
        "KID",
        "ALG",
        "SOURCE",
        "STATE",
        "ACTIVE FROM",
        "RETIRES",
        "GONE",
    ];
    let fields = [
        "kid",
        "alg",
        "source",
        "state",
        "active_from",
        "retires_at",
        "gone_at",
    ];
    let row = |key: &Value| fields.iter().map(|name| cell(key, name)).collect();
    Table::new(&heading).lines(keys.iter().map(row).collect())
}

async fn make(session: &mut Session<'_, '_>, path: &str, args: &KeyArgs) -> Result<(), CliError> {
    let members = [
        ("alg", &args.alg),
        ("remote", &args.remote),
        ("kid", &args.kid),
    ];
    let members = members.into_iter().filter_map(|(name, value)| {
        let value = value.clone()?;
        Some((name.to_owned(), Value::from(value)))
    });
    let body = Value::Object(members.collect());
    let key = session.admin.post(path, Body::Json(&body)).await?;
    tell(session, &key)
}

fn tell(session: &mut Session<'_, '_>, key: &Value) -> Result<(), CliError> {
    if session.json {
        return session.console.json(key);
    }
    let empty = Map::new();
    let order = [
        "kid",
        "alg",
        "source",
        "state",
        "active_from",
        "retires_at",
        "gone_at",
    ];
    for line in record(key.as_object().unwrap_or(&empty), &order) {
        session.console.say(line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_rows() {
        let keys = [
            json!({"kid": "k1", "alg": "ES256", "source": "local", "state": "retired",
                   "active_from": 1_700_000_000, "retires_at": 1_700_003_600, "jwk": {}}),
            json!({"kid": "key-2", "alg": "RS256", "source": "kms", "state": "active",
                   "active_from": 1_700_003_600, "jwk": {}}),
        ];
        let expected = [
            "KID    ALG    SOURCE  STATE    ACTIVE FROM           RETIRES               GONE",
            "k1     ES256  local   retired  2023-11-14T22:13:20Z  2023-11-14T23:13:20Z",
            "key-2  RS256  kms     active   2023-11-14T23:13:20Z",
        ];
        assert_eq!(rows(&keys), expected);
    }
}
