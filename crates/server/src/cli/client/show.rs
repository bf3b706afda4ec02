//! A client as people read it.

use serde_json::{Map, Value};

use crate::cli::console::Console;
use crate::cli::error::CliError;
use crate::cli::table;

/// What is shown first, in this order; the rest follows by name.
const ORDER: [&str; 12] = [
    "client_id",
    "client_secret",
    "client_name",
    "owner",
    "enabled",
    "grant_types",
    "scope",
    "audience",
    "token_endpoint_auth_method",
    "access_token",
    "persistence",
    "access_token_lifetime",
];

const ONCE: &str = "The secret is told this once: keep it now.";

/// Every field of a client; where its secret is among them, a warning beside it.
pub(super) fn client(client: &Value, console: &mut Console<'_>) -> Result<(), CliError> {
    let empty = Map::new();
    let fields = client.as_object().unwrap_or(&empty);
    for line in table::record(fields, &ORDER) {
        console.say(line)?;
    }
    if fields.contains_key("client_secret") {
        console.hint(ONCE);
    }
    Ok(())
}

/// The id of a client and its new secret.
pub(super) fn secret(client: &Value, console: &mut Console<'_>) -> Result<(), CliError> {
    let kept = |name: &&str| client.get(name).is_some();
    let fields = ["client_id", "client_secret"].into_iter().filter(kept);
    let fields = fields
        .map(|name| (name.to_owned(), client[name].clone()))
        .collect();
    for line in table::record(&fields, &ORDER) {
        console.say(line)?;
    }
    console.hint(ONCE);
    Ok(())
}
