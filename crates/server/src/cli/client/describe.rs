//! The description of a client: what a file says, and the arguments over it.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::cli::args::{FieldArgs, LoginArgs, SecretArgs, TokenArgs, WriteArgs};
use crate::cli::console::Console;
use crate::cli::error::CliError;

/// Members of a JWK that only its owner may know (RFC 7518 §6).
const PRIVATE: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];

/// The body of a request that creates, replaces or changes a client; `unset` takes fields away.
pub(super) fn description(
    write: &WriteArgs,
    unset: &[String],
    console: &mut Console<'_>,
) -> Result<Map<String, Value>, CliError> {
    let takes_input = write.fields.from.as_deref() == Some(Path::new("-"));
    if takes_input && write.secret.secret_stdin {
        let both = "--from - and --secret-stdin both read the standard input: choose one";
        return Err(CliError::Usage(both.to_owned()));
    }
    let mut body = match &write.fields.from {
        Some(path) => object(path, console)?,
        None => Map::new(),
    };
    add_fields(&write.fields, &mut body)?;
    add_login(&write.fields.login, &mut body);
    add_tokens(&write.fields.tokens, &mut body);
    add_secret(&write.secret, &mut body, console)?;
    for field in unset {
        if body
            .insert(field.clone(), Value::Null)
            .is_some_and(|value| !value.is_null())
        {
            let both = format!("{field} is given a value and taken away: choose one");
            return Err(CliError::Usage(both));
        }
    }
    if body.contains_key("secret_hash") && !body.contains_key("client_secret") {
        let alone = "--secret-hash says how a secret of your choice is hashed: add --secret or \
                     --secret-stdin (a secret that the server makes needs no slow hash)";
        return Err(CliError::Usage(alone.to_owned()));
    }
    Ok(body)
}

fn add_fields(fields: &FieldArgs, body: &mut Map<String, Value>) -> Result<(), CliError> {
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    let text = |text: &Option<String>| text.clone().map(Value::from);
    let list = |list: &[String]| (!list.is_empty()).then(|| Value::from(list.to_vec()));
    put("client_name", text(&fields.name));
    put(
        "scope",
        (!fields.scope.is_empty()).then(|| fields.scope.join(" ").into()),
    );
    put("audience", list(&fields.audience));
    put("grant_types", list(&fields.grant_type));
    put("token_endpoint_auth_method", text(&fields.auth_method));
    put("jwks", fields.jwks.as_deref().map(key_set).transpose()?);
    put("jwks_uri", text(&fields.jwks_uri));
    put("redirect_uris", list(&fields.redirect_uri));
    put("owner", text(&fields.owner));
    Ok(())
}

fn add_login(login: &LoginArgs, body: &mut Map<String, Value>) {
    let text = |text: &Option<String>| text.clone().map(Value::from);
    let list = |list: &[String]| (!list.is_empty()).then(|| Value::from(list.to_vec()));
    let members = [
        ("response_types", list(&login.response_type)),
        (
            "post_logout_redirect_uris",
            list(&login.post_logout_redirect_uri),
        ),
        (
            "backchannel_logout_uri",
            text(&login.backchannel_logout_uri),
        ),
        ("skip_consent", login.skip_consent.map(Value::from)),
        ("id_token_signed_response_alg", text(&login.id_token_alg)),
        ("refresh_token_policy", text(&login.refresh_token_policy)),
        (
            "refresh_token_lifetime",
            login.refresh_token_lifetime.map(Value::from),
        ),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    }
}

fn add_tokens(tokens: &TokenArgs, body: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    put("access_token", tokens.access_token.clone().map(Value::from));
    put("persistence", tokens.persistence.clone().map(Value::from));
    put("access_token_lifetime", tokens.lifetime.map(Value::from));
    put(
        "access_token_signed_response_alg",
        tokens.alg.clone().map(Value::from),
    );
    put("reuse_live_token", tokens.reuse_live_token.map(Value::from));
}

fn add_secret(
    args: &SecretArgs,
    body: &mut Map<String, Value>,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    let given = if args.secret_stdin {
        Some(console.read_secret("secret")?)
    } else {
        args.secret.clone()
    };
    if given.is_some() || args.import_hash.is_some() {
        body.remove("client_secret");
        body.remove("client_secret_hash");
    }
    let members = [
        ("client_secret", given),
        ("client_secret_hash", args.import_hash.clone()),
        ("secret_hash", args.secret_hash.clone()),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            body.insert(name.to_owned(), value.into());
        }
    }
    Ok(())
}

pub(in crate::cli) fn object(
    path: &Path,
    console: &mut Console<'_>,
) -> Result<Map<String, Value>, CliError> {
    let text = if path == Path::new("-") {
        console.read_all()?
    } else {
        fs::read_to_string(path).map_err(|fault| CliError::file(path, fault))?
    };
    serde_json::from_str(&text)
        .map_err(|fault| CliError::file(path, format!("it is not one JSON object: {fault}")))
}

/// A JWK set from a file that holds one, or one JWK.
fn key_set(path: &Path) -> Result<Value, CliError> {
    let text = fs::read_to_string(path).map_err(|fault| CliError::file(path, fault))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|fault| CliError::file(path, format!("it is not JSON: {fault}")))?;
    let set = if value.get("kty").is_some() {
        json!({ "keys": [value] })
    } else {
        value
    };
    let Some(keys) = set.get("keys").and_then(Value::as_array) else {
        return Err(CliError::file(path, "it is neither a JWK set nor a JWK"));
    };
    if keys
        .iter()
        .any(|key| PRIVATE.iter().any(|name| key.get(name).is_some()))
    {
        let private = "it holds a private or a secret key; only the public half is registered";
        return Err(CliError::file(path, private));
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, ClientCommand, Command};
    use clap::Parser;

    /// What the arguments after `signet client` would send.
    fn sent(arguments: &[&str], input: &str) -> Result<Value, CliError> {
        let line = ["signet", "client"].iter().chain(arguments);
        let Command::Client(group) = Cli::try_parse_from(line).unwrap().command else {
            panic!("not about clients");
        };
        let (write, unset) = match group.command {
            ClientCommand::Create { write, .. } => (write, Vec::new()),
            ClientCommand::Update { write, unset, .. } => (write, unset),
            other => panic!("{other:?}"),
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console {
            out: &mut out,
            err: &mut err,
            input: &mut input.as_bytes(),
            is_interactive: false,
        };
        description(&write, &unset, &mut console).map(Value::Object)
    }

    #[test]
    fn arguments_become_fields() {
        let every = [
            "create",
            "--name",
            "Shop",
            "--scope",
            "read",
            "--scope",
            "device_* write",
            "--audience",
            "https://api.example",
            "--audience",
            "https://b.example",
            "--grant-type",
            "client_credentials",
            "--auth-method",
            "client_secret_post",
            "--jwks-uri",
            "https://shop.example/jwks",
            "--access-token",
            "opaque",
            "--persistence",
            "persisted",
            "--lifetime",
            "10m",
            "--alg",
            "EdDSA",
            "--reuse-live-token",
            "--owner",
            "sales",
            "--redirect-uri",
            "https://shop.example/cb",
            "--secret",
            "s3cret",
            "--secret-hash",
            "bcrypt:8",
        ];
        assert_eq!(
            sent(&every, "").unwrap(),
            json!({
                "client_name": "Shop", "scope": "read device_* write",
                "audience": ["https://api.example", "https://b.example"],
                "grant_types": ["client_credentials"],
                "token_endpoint_auth_method": "client_secret_post",
                "jwks_uri": "https://shop.example/jwks", "access_token": "opaque",
                "persistence": "persisted", "access_token_lifetime": 600,
                "access_token_signed_response_alg": "EdDSA", "reuse_live_token": true,
                "owner": "sales", "redirect_uris": ["https://shop.example/cb"],
                "client_secret": "s3cret", "secret_hash": "bcrypt:8",
            })
        );
    }

    #[test]
    fn arguments_about_logins_become_fields() {
        let every = [
            "create",
            "--response-type",
            "code id_token",
            "--post-logout-redirect-uri",
            "https://shop.example/out",
            "--backchannel-logout-uri",
            "https://shop.example/back",
            "--skip-consent",
            "--id-token-alg",
            "ES256",
            "--refresh-token-policy",
            "stateless",
            "--refresh-token-lifetime",
            "1h",
        ];
        assert_eq!(
            sent(&every, "").unwrap(),
            json!({
                "response_types": ["code id_token"],
                "post_logout_redirect_uris": ["https://shop.example/out"],
                "backchannel_logout_uri": "https://shop.example/back", "skip_consent": true,
                "id_token_signed_response_alg": "ES256", "refresh_token_policy": "stateless",
                "refresh_token_lifetime": 3600,
            })
        );
    }

    #[test]
    fn arguments_go_over_the_file_and_a_secret_over_a_hash() {
        let file = r#"{"client_name": "Old", "owner": "sales", "client_secret_hash": "$2b$…"}"#;
        let body = sent(
            &["create", "--from", "-", "--name", "New", "--secret", "s"],
            file,
        );
        assert_eq!(
            body.unwrap(),
            json!({"client_name": "New", "owner": "sales", "client_secret": "s"})
        );
    }

    #[test]
    fn an_update_takes_fields_away_with_null() {
        let body = sent(
            &[
                "update",
                "shop",
                "--unset",
                "jwks_uri",
                "--reuse-live-token=false",
            ],
            "",
        );
        assert_eq!(
            body.unwrap(),
            json!({"jwks_uri": null, "reuse_live_token": false})
        );
        let both = sent(&["update", "shop", "--unset", "owner", "--owner", "x"], "");
        assert_eq!(both.unwrap_err().status(), 2);
    }

    #[test]
    fn a_secret_comes_from_the_standard_input_without_its_line_end() {
        let body = sent(&["create", "--secret-stdin"], "s3cret\r\n").unwrap();
        assert_eq!(body, json!({"client_secret": "s3cret"}));
        assert!(sent(&["create", "--secret-stdin"], "\n").is_err());
        let twice = sent(&["create", "--secret-stdin", "--from", "-"], "{}").unwrap_err();
        assert_eq!(twice.status(), 2);
    }

    #[test]
    fn a_hash_form_without_a_secret_is_a_mistake() {
        assert_eq!(
            sent(&["create", "--secret-hash", "bcrypt:8"], "")
                .unwrap_err()
                .status(),
            2
        );
    }

    #[test]
    fn private_keys_stay_at_home() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let public = file("public", r#"{"kty":"EC","crv":"P-256","x":"…","y":"…"}"#);
        assert_eq!(key_set(&public).unwrap()["keys"][0]["kty"], "EC");
        let set = file("set", r#"{"keys":[{"kty":"EC"}]}"#);
        assert_eq!(key_set(&set).unwrap(), json!({"keys": [{"kty": "EC"}]}));
        for bad in [
            r#"{"kty":"EC","d":"…"}"#,
            r#"{"keys":[{"kty":"oct","k":"…"}]}"#,
            "[]",
            "x",
        ] {
            assert!(key_set(&file("bad", bad)).is_err(), "{bad}");
        }
    }
}
