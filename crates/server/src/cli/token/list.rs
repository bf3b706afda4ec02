//! `signet token list`: pages of the rows of a client's tokens, or all of them as one JSON document.

use serde_json::{Value, json};

use crate::cli::admin::{Admin, Lookup, path};
use crate::cli::args::TokensArgs;
use crate::cli::console::Console;
use crate::cli::error::CliError;
use crate::cli::table::{Table, cell};

/// Tokens on one page when all are wanted.
const PAGE: u16 = 1000;

/// Where the tokens of a client are.
pub(super) fn tokens_of(client: &str) -> String {
    path("/admin/clients/", client, "/tokens")
}

pub(super) async fn run(
    args: &TokensArgs,
    env: Lookup<'_>,
    console: &mut Console<'_>,
) -> Result<(), CliError> {
    let mut admin = Admin::open(&args.server, env, console)?;
    let is_json = args.server.output.json;
    let mut table = Table::new(&["HANDLE", "SUBJECT", "SCOPE", "FORM", "EXPIRES", "ACTIVE"]);
    let mut all = Vec::new();
    let mut after = args.after.clone();
    loop {
        let page = admin.get(&query(args, after.as_deref())).await?;
        if is_json && !args.all {
            return console.json(&page);
        }
        let tokens = page.get("tokens").and_then(Value::as_array);
        let tokens = tokens.map(Vec::as_slice).unwrap_or_default();
        if is_json {
            all.extend_from_slice(tokens);
        } else {
            for line in table.lines(tokens.iter().map(row).collect()) {
                console.say(line)?;
            }
        }
        match page.get("next").and_then(Value::as_str) {
            Some(next) if args.all => after = Some(next.to_owned()),
            Some(next) => {
                let next = crate::cli::table::text(next);
                console.hint(format!("There may be more: --after={next}, or --all"));
                return Ok(());
            }
            None if is_json => return console.json(&json!({ "tokens": all })),
            None => return Ok(()),
        }
    }
}

fn query(args: &TokensArgs, after: Option<&str>) -> String {
    let limit = if args.all { Some(PAGE) } else { args.limit };
    let limit = limit.map(|limit| limit.to_string());
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in [("after", after), ("limit", limit.as_deref())] {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    let tokens = tokens_of(&args.client);
    if query.is_empty() {
        tokens
    } else {
        format!("{tokens}?{query}")
    }
}

fn row(token: &Value) -> Vec<String> {
    ["handle", "sub", "scope", "form", "exp", "active"]
        .map(|name| cell(token, name))
        .into()
}
