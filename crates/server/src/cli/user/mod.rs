//! `signet user …`: one function per verb.

mod access;
mod list;

use http::Method;
use serde_json::{Map, Value, json};
use std::path::Path;

use super::admin::{Body, path};
use super::args::{CreateUserArgs, UserCommand, UserGroup};
use super::client::{Session, object};
use super::error::CliError;
use super::{import, table};

/// Where users are.
pub(super) const USERS: &str = "/admin/users";

/// What is shown first, in this order; the rest follows by name.
const ORDER: [&str; 7] = [
    "sub",
    "username",
    "name",
    "email",
    "locked",
    "roles",
    "password_kind",
];

/// Carries out a command about users.
pub(super) async fn run(group: UserGroup, mut session: Session<'_, '_>) -> Result<(), CliError> {
    let session = &mut session;
    match group.command {
        UserCommand::Create(args) => create(session, &args).await,
        UserCommand::Get { user } => get(session, &user).await,
        UserCommand::List(page) => list::run(session, None, &page).await,
        UserCommand::Search { text, by, page } => {
            list::run(session, Some((by.parameter(), text.as_str())), &page).await
        }
        UserCommand::Import(args) => import::users::run(session, &args).await,
        UserCommand::Lock { users } => {
            let done = "is locked; the tokens and sessions from before are dead";
            switch(session, &users, ("/lock", done)).await
        }
        UserCommand::Unlock { users } => {
            let done = "is unlocked; the tokens and sessions from before stay dead";
            switch(session, &users, ("/unlock", done)).await
        }
        UserCommand::Password { user, hash } => password(session, &user, hash).await,
        UserCommand::Roles { user, roles } => set_roles(session, &user, &roles).await,
        UserCommand::Delete { users, yes } => delete(session, &users, yes).await,
        UserCommand::Sessions { user } => access::sessions(session, &user).await,
        UserCommand::EndSessions {
            user,
            session: only,
        } => access::end_sessions(session, &user, only.as_deref()).await,
        UserCommand::Consents { user } => access::consents(session, &user).await,
        UserCommand::Withdraw { user, client } => access::withdraw(session, &user, &client).await,
    }
}

async fn create(session: &mut Session<'_, '_>, args: &CreateUserArgs) -> Result<(), CliError> {
    if args.password_stdin && args.from.as_deref() == Some(Path::new("-")) {
        let both = "--from - and --password-stdin both read the standard input: choose one";
        return Err(CliError::Usage(both.to_owned()));
    }
    let mut body = match &args.from {
        Some(path) => object(path, session.console)?,
        None => Map::new(),
    };
    let password = if args.password_stdin {
        Some(session.console.read_secret("password")?)
    } else {
        None
    };
    let roles = (!args.role.is_empty()).then(|| Value::from(args.role.clone()));
    let fields = [
        ("username", args.username.clone().map(Value::from)),
        ("sub", args.id.clone().map(Value::from)),
        ("name", args.name.clone().map(Value::from)),
        ("email", args.email.clone().map(Value::from)),
        ("email_verified", args.email_verified.then(|| true.into())),
        ("roles", roles),
        ("password", password.map(Value::from)),
        ("password_hash", args.password_hash.clone().map(Value::from)),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    }
    let body = Value::Object(body);
    let created = session.admin.post(USERS, Body::Json(&body)).await?;
    tell(session, &created)
}

async fn get(session: &mut Session<'_, '_>, name: &str) -> Result<(), CliError> {
    let user = find(session, name).await?;
    tell(session, &user)
}

/// The user of this id, or else of this username.
async fn find(session: &mut Session<'_, '_>, name: &str) -> Result<Value, CliError> {
    match session.admin.get(&path("/admin/users/", name, "")).await {
        Err(CliError::Refused { status: 404, .. }) => {}
        other => return other,
    }
    let query: String = form_urlencoded::Serializer::new(String::new())
        .append_pair("username", name.trim())
        .append_pair("limit", "1")
        .finish();
    let page = session.admin.get(&format!("{USERS}?{query}")).await?;
    // Of those that begin so, the name itself comes first.
    let first = page.pointer("/users/0").filter(|user| {
        user.get("username").and_then(Value::as_str) == Some(name.trim().to_lowercase().as_str())
    });
    first.cloned().ok_or_else(|| {
        CliError::Failed(format!(
            "there is no user {name:?}: see `signet user search`"
        ))
    })
}

/// The path of a user, below which `after` is.
async fn below(session: &mut Session<'_, '_>, name: &str, after: &str) -> Result<String, CliError> {
    let user = find(session, name).await?;
    let id = user.get("sub").and_then(Value::as_str).unwrap_or_default();
    Ok(path("/admin/users/", id, after))
}

async fn switch(
    session: &mut Session<'_, '_>,
    users: &[String],
    (verb, done): (&str, &str),
) -> Result<(), CliError> {
    let mut switched = Vec::new();
    for name in users {
        let path = below(session, name, verb).await?;
        switched.push(session.admin.post(&path, Body::None).await?);
        if !session.json {
            let name = table::text(name);
            session.console.say(format!("{name} {done}"))?;
        }
    }
    match (session.json, switched.as_slice()) {
        (true, [one]) => session.console.json(one),
        (true, all) => session.console.json(&json!({ "users": all })),
        (false, _) => Ok(()),
    }
}

async fn password(
    session: &mut Session<'_, '_>,
    name: &str,
    hash: Option<String>,
) -> Result<(), CliError> {
    let path = below(session, name, "/password").await?;
    let body = match hash {
        Some(hash) => json!({ "password_hash": hash }),
        None => json!({ "password": session.console.read_secret("password")? }),
    };
    let user = session.admin.post(&path, Body::Json(&body)).await?;
    if session.json {
        return session.console.json(&user);
    }
    let name = table::text(name);
    let done = "has a new password; the tokens and sessions from before are dead";
    session.console.say(format!("{name} {done}"))
}

async fn set_roles(
    session: &mut Session<'_, '_>,
    name: &str,
    roles: &[String],
) -> Result<(), CliError> {
    let path = below(session, name, "/roles").await?;
    let body = json!({ "roles": roles });
    let user = session
        .admin
        .call(Method::PUT, &path, Body::Json(&body))
        .await?;
    tell(session, &user)
}

async fn delete(
    session: &mut Session<'_, '_>,
    users: &[String],
    yes: bool,
) -> Result<(), CliError> {
    let what = match users {
        [one] => format!("the user {one:?}"),
        all => format!("{} users", all.len()),
    };
    let question = format!("Delete {what}? Tokens, sessions and consents go, too.");
    if !yes && !session.console.confirm(&question)? {
        session.console.hint("Nothing was deleted.");
        return Err(CliError::Told);
    }
    for name in users {
        let path = below(session, name, "").await?;
        session
            .admin
            .call(Method::DELETE, &path, Body::None)
            .await?;
        if !session.json {
            let name = table::text(name);
            session.console.say(format!("{name} is deleted"))?;
        }
    }
    if session.json {
        session.console.json(&json!({ "deleted": users }))?;
    }
    Ok(())
}

fn tell(session: &mut Session<'_, '_>, user: &Value) -> Result<(), CliError> {
    if session.json {
        return session.console.json(user);
    }
    let empty = Map::new();
    for line in table::record(user.as_object().unwrap_or(&empty), &ORDER) {
        session.console.say(line)?;
    }
    Ok(())
}
