//! `signet client …`: one function per verb.

mod describe;
mod list;
mod show;

pub(super) use self::describe::object;

use http::Method;
use serde_json::{Value, json};

use super::admin::{Admin, Body, path};
use super::args::{ClientCommand, ClientGroup, WriteArgs};
use super::console::Console;
use super::error::CliError;
use super::import;

/// Where clients are.
pub(super) const CLIENTS: &str = "/admin/clients";

/// A command that is under way: the server, and how to answer.
pub(super) struct Session<'a, 'b> {
    pub(super) admin: Admin,
    pub(super) console: &'a mut Console<'b>,
    pub(super) json: bool,
}

/// Carries out a command about clients.
pub(super) async fn run(group: ClientGroup, mut session: Session<'_, '_>) -> Result<(), CliError> {
    let session = &mut session;
    match group.command {
        ClientCommand::Create { id, write } => create(session, id, &write).await,
        ClientCommand::Get { id } => get(session, &id).await,
        ClientCommand::List(args) => list::run(session, &args).await,
        ClientCommand::Replace {
            id,
            write,
            if_version,
        } => {
            let client = describe::description(&write, &[], session.console)?;
            change(session, (&id, if_version), Method::PUT, client).await
        }
        ClientCommand::Update {
            id,
            write,
            unset,
            if_version,
        } => {
            let patch = describe::description(&write, &unset, session.console)?;
            change(session, (&id, if_version), Method::PATCH, patch).await
        }
        ClientCommand::Delete { ids, yes } => delete(session, &ids, yes).await,
        ClientCommand::RotateSecret { id } => rotate_secret(session, &id).await,
        ClientCommand::Disable { id } => {
            let done = "is disabled; the tokens that it had are dead";
            switch(session, &id, "/disable", done).await
        }
        ClientCommand::Enable { id } => {
            let done = "is enabled; its tokens from before stay dead";
            switch(session, &id, "/enable", done).await
        }
        ClientCommand::RevokeTokens { id } => revoke_tokens(session, &id).await,
        ClientCommand::Import(args) => import::run(session, &args).await,
    }
}

async fn create(
    session: &mut Session<'_, '_>,
    id: Option<String>,
    write: &WriteArgs,
) -> Result<(), CliError> {
    let mut client = describe::description(write, &[], session.console)?;
    if let Some(id) = id {
        client.insert("client_id".to_owned(), id.into());
    }
    let client = Value::Object(client);
    let created = session.admin.post(CLIENTS, Body::Json(&client)).await?;
    tell(session, &created)
}

async fn get(session: &mut Session<'_, '_>, id: &str) -> Result<(), CliError> {
    let client = session
        .admin
        .get(&one(id))
        .await
        .map_err(|error| naming(id, error))?;
    tell(session, &client)
}

/// Replaces or changes the client, if it still has the version.
async fn change(
    session: &mut Session<'_, '_>,
    (id, version): (&str, Option<u64>),
    method: Method,
    body: serde_json::Map<String, Value>,
) -> Result<(), CliError> {
    if body.is_empty() {
        return Err(CliError::Usage(
            "say what the client is to be: see --help".to_owned(),
        ));
    }
    let body = Value::Object(body);
    let changed = session
        .admin
        .call_if(version, method, &one(id), Body::Json(&body))
        .await;
    tell(session, &changed.map_err(|error| naming(id, error))?)
}

async fn delete(session: &mut Session<'_, '_>, ids: &[String], yes: bool) -> Result<(), CliError> {
    let what = match ids {
        [id] => format!("the client {id:?}"),
        ids => format!("{} clients", ids.len()),
    };
    if !yes
        && !session
            .console
            .confirm(&format!("Delete {what}? The tokens die, too."))?
    {
        session.console.hint("Nothing was deleted.");
        return Err(CliError::Told);
    }
    let mut deleted = Vec::new();
    let mut outcome = Ok(());
    for id in ids {
        match session
            .admin
            .call(Method::DELETE, &one(id), Body::None)
            .await
        {
            Ok(_) => deleted.push(id.as_str()),
            Err(error) if error.is_lasting() => {
                outcome = Err(error);
                break;
            }
            Err(error) => {
                session
                    .console
                    .hint(format!("signet: {}", naming(id, error)));
                outcome = Err(CliError::Told);
            }
        }
        if !session.json && deleted.last() == Some(&id.as_str()) {
            session
                .console
                .say(format!("{} is deleted", super::table::text(id)))?;
        }
    }
    if session.json {
        session.console.json(&json!({ "deleted": deleted }))?;
    }
    outcome
}

async fn rotate_secret(session: &mut Session<'_, '_>, id: &str) -> Result<(), CliError> {
    let rotated = session
        .admin
        .post(&path("/admin/clients/", id, "/secret"), Body::None)
        .await;
    let client = rotated.map_err(|error| naming(id, error))?;
    if session.json {
        return session.console.json(&client);
    }
    show::secret(&client, session.console)?;
    session.console.hint("The tokens that it had are dead.");
    Ok(())
}

async fn switch(
    session: &mut Session<'_, '_>,
    id: &str,
    verb: &str,
    done: &str,
) -> Result<(), CliError> {
    let switched = session
        .admin
        .post(&path("/admin/clients/", id, verb), Body::None)
        .await;
    let client = switched.map_err(|error| naming(id, error))?;
    if session.json {
        return session.console.json(&client);
    }
    session
        .console
        .say(format!("{} {done}", super::table::text(id)))
}

async fn revoke_tokens(session: &mut Session<'_, '_>, id: &str) -> Result<(), CliError> {
    let tokens = path("/admin/clients/", id, "/tokens");
    let done = session
        .admin
        .call(Method::DELETE, &tokens, Body::None)
        .await;
    done.map_err(|error| naming(id, error))?;
    if session.json {
        return session
            .console
            .json(&json!({ "client_id": id, "revoked": true }));
    }
    let id = super::table::text(id);
    session
        .console
        .say(format!("every token that was issued to {id} is dead"))
}

fn tell(session: &mut Session<'_, '_>, client: &Value) -> Result<(), CliError> {
    if session.json {
        session.console.json(client)
    } else {
        show::client(client, session.console)
    }
}

fn one(id: &str) -> String {
    path("/admin/clients/", id, "")
}

/// Says which client the server does not know.
fn naming(id: &str, error: CliError) -> CliError {
    match error {
        CliError::Refused { status: 404, .. } => CliError::Failed(format!(
            "there is no client {id:?}: see `signet client list`"
        )),
        other => other,
    }
}
