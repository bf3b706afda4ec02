//! `signet token …`.

mod list;

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderValue, Method, header};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use crate::cli::admin::{self, Admin, Body, FLUSH, Lookup, PUBLIC_URL, warn_where_exposed};
use crate::cli::args::{GetTokenArgs, PresentedArgs, RevokeArgs, TokenCommand};
use crate::cli::console::Console;
use crate::cli::error::CliError;
use crate::cli::table::record;
use crate::cli::wire::Wire;

/// What is shown first of a token.
const ORDER: [&str; 11] = [
    "active",
    "client_id",
    "sub",
    "scope",
    "aud",
    "iss",
    "token_type",
    "iat",
    "nbf",
    "exp",
    "jti",
];

/// Carries out a command about tokens.
pub(super) async fn run(
    command: TokenCommand,
    env: Lookup<'_>,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    match command {
        TokenCommand::Introspect(args) => introspect(&args, env, console).await,
        TokenCommand::Revoke(args) => revoke(&args, env, console).await,
        TokenCommand::List(args) => list::run(&args, env, console).await,
        TokenCommand::Get(args) => get(&args, env, console).await,
        TokenCommand::Flush(args) => {
            let mut admin = Admin::open(&args, env, console)?;
            admin.post(FLUSH, Body::Json(&json!({}))).await?;
            if args.output.json {
                return console.json(&json!({ "flushed": true }));
            }
            console.say("what has expired is gone")
        }
    }
}

async fn introspect(
    args: &PresentedArgs,
    env: Lookup<'_>,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    let mut admin = Admin::open(&args.server, env, console)?;
    let form = token_form(&args.token, console)?;
    let answer = admin
        .post("/admin/oauth2/introspect", Body::Form(form))
        .await?;
    if args.server.output.json {
        return console.json(&answer);
    }
    let empty = Map::new();
    for line in record(answer.as_object().unwrap_or(&empty), &ORDER) {
        console.say(line)?;
    }
    Ok(())
}

async fn revoke(
    args: &RevokeArgs,
    env: Lookup<'_>,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    let mut admin = Admin::open(&args.server, env, console)?;
    if let Some(client) = &args.client {
        let tokens = list::tokens_of(client) + "/";
        let place = admin::path(&tokens, &args.token, "");
        admin.call(Method::DELETE, &place, Body::None).await?;
        if args.server.output.json {
            return console.json(&json!({ "revoked": true }));
        }
        return console.say("the token is dead");
    }
    let form = token_form(&args.token, console)?;
    admin.post("/admin/oauth2/revoke", Body::Form(form)).await?;
    if args.server.output.json {
        return console.json(&json!({ "revoked": true }));
    }
    // RFC 7009 §2.2: the server does not say whether there was such a token.
    console.say("the token is dead, or never was one")
}

fn token_form(token: &str, console: &mut Console<'_>) -> Result<String, CliError> {
    let read = match token {
        "-" => console.read_secret("token")?,
        token => token.to_owned(),
    };
    Ok(form(&[("token", read.trim())]))
}

fn form(parameters: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish()
}

async fn get(
    args: &GetTokenArgs,
    env: Lookup<'_>,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    let endpoint = admin::endpoint(args.server.as_ref(), env, PUBLIC_URL)?;
    warn_where_exposed(&endpoint, "client's secret", console);
    let secret = if args.client_secret_stdin {
        Some(console.read_secret("secret")?)
    } else {
        args.client_secret.clone()
    };
    let Some(secret) = secret.map(Zeroizing::new) else {
        let missing = "client_credentials needs the client's secret: --client-secret or \
                       --client-secret-stdin";
        return Err(CliError::Usage(missing.to_owned()));
    };
    let body = Body::Form(request_form(args));
    let mut request = admin::request(Method::POST, &endpoint.path("/oauth2/token"), body)?;
    request
        .headers_mut()
        .insert(header::AUTHORIZATION, basic(&args.client_id, &secret)?);
    let mut wire = Wire::new(endpoint, "--server", args.output.cacert.as_ref())?;
    let answer = wire.send(request, Duration::from_mins(1)).await?;
    let answer = admin::read(wire.endpoint(), "public", &answer)?;
    if args.output.json {
        return console.json(&answer);
    }
    match answer.get("access_token").and_then(Value::as_str) {
        Some(token) => console.say(token),
        None => Err(CliError::Failed(
            "the answer holds no access_token".to_owned(),
        )),
    }
}

fn request_form(args: &GetTokenArgs) -> String {
    let scope = args.scope.join(" ");
    let mut parameters = vec![("grant_type", "client_credentials")];
    if !scope.is_empty() {
        parameters.push(("scope", &scope));
    }
    parameters.extend(args.resource.iter().map(|uri| ("resource", uri.as_str())));
    form(&parameters)
}

/// RFC 6749 §2.3.1: both halves are encoded as in a form before they are joined.
fn basic(id: &str, secret: &str) -> Result<HeaderValue, CliError> {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = Zeroizing::new(format!("{}:{}", encode(id), encode(secret)));
    let value = Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
    let value = HeaderValue::from_str(&value);
    let mut value = value.map_err(|fault| CliError::Failed(fault.to_string()))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command};
    use clap::Parser;

    #[test]
    fn id_and_secret_are_encoded_before_they_are_joined() {
        let header = basic("a:b", "p%d é").unwrap();
        let encoded = header
            .to_str()
            .unwrap()
            .strip_prefix("Basic ")
            .unwrap()
            .to_owned();
        assert_eq!(STANDARD.decode(encoded).unwrap(), b"a%3Ab:p%25d+%C3%A9");
        assert!(header.is_sensitive());
    }

    #[test]
    fn a_token_request_repeats_its_resources() {
        let line = "signet token get --client-id shop --scope read --scope write \
                    --resource https://a --resource https://b";
        let Command::Token(TokenCommand::Get(args)) = Cli::try_parse_from(line.split_whitespace())
            .unwrap()
            .command
        else {
            panic!("not token get");
        };
        assert_eq!(
            request_form(&args),
            "grant_type=client_credentials&scope=read+write&resource=https%3A%2F%2Fa&resource=https%3A%2F%2Fb"
        );
    }
}
