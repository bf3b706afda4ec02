//! Where a user is logged in, and what the user allowed.

use http::Method;
use serde_json::{Value, json};

use super::below;
use crate::cli::admin::{Body, path};
use crate::cli::client::Session;
use crate::cli::error::CliError;
use crate::cli::table::{Table, cell, text};

pub(super) async fn sessions(session: &mut Session<'_, '_>, name: &str) -> Result<(), CliError> {
    let columns = ["sid", "auth_time", "expires_at", "amr", "clients"];
    let heading = ["SESSION", "LOGGED IN", "EXPIRES", "BY", "CLIENTS"];
    let path = below(session, name, "/sessions").await?;
    show(session, &path, "sessions", (&heading, &columns)).await
}

pub(super) async fn consents(session: &mut Session<'_, '_>, name: &str) -> Result<(), CliError> {
    let columns = ["client_id", "scope", "granted_at", "expires_at"];
    let heading = ["CLIENT ID", "SCOPE", "ALLOWED", "EXPIRES"];
    let path = below(session, name, "/consents").await?;
    show(session, &path, "consents", (&heading, &columns)).await
}

async fn show(
    session: &mut Session<'_, '_>,
    path: &str,
    member: &str,
    (heading, columns): (&[&str], &[&str]),
) -> Result<(), CliError> {
    let answer = session.admin.get(path).await?;
    if session.json {
        return session.console.json(&answer);
    }
    let found = answer.get(member).and_then(Value::as_array);
    let row = |one: &Value| columns.iter().map(|name| cell(one, name)).collect();
    let rows = found.into_iter().flatten().map(row).collect();
    for line in Table::new(heading).lines(rows) {
        session.console.say(line)?;
    }
    Ok(())
}

pub(super) async fn end_sessions(
    session: &mut Session<'_, '_>,
    name: &str,
    only: Option<&str>,
) -> Result<(), CliError> {
    let all = below(session, name, "/sessions").await?;
    let one = only.map(|sid| path(&format!("{all}/"), sid, ""));
    let target = one.as_deref().unwrap_or(&all);
    let answer = session
        .admin
        .call(Method::DELETE, target, Body::None)
        .await?;
    let ended = answer.get("ended").and_then(Value::as_u64).unwrap_or(1);
    if session.json {
        return session.console.json(&json!({ "ended": ended }));
    }
    let noun = if ended == 1 { "session" } else { "sessions" };
    let name = text(name);
    session
        .console
        .say(format!("{ended} {noun} of {name} ended"))
}

pub(super) async fn withdraw(
    session: &mut Session<'_, '_>,
    name: &str,
    client: &str,
) -> Result<(), CliError> {
    let consents = below(session, name, "/consents/").await?;
    let target = path(&consents, client, "");
    session
        .admin
        .call(Method::DELETE, &target, Body::None)
        .await?;
    if session.json {
        let done = json!({ "client_id": client, "withdrawn": true });
        return session.console.json(&done);
    }
    let (name, client) = (text(name), text(client));
    session
        .console
        .say(format!("{client} must ask {name} again"))
}
