//! `signet user list` and `search`: pages of users as rows, or as JSON.

use serde_json::{Value, json};

use super::USERS;
use crate::cli::args::UserPageArgs;
use crate::cli::client::Session;
use crate::cli::error::CliError;
use crate::cli::table::{Table, cell, text};

/// Users on one page when all are wanted.
const PAGE: u16 = 1000;

/// Which users are searched: a field and what it begins with.
type Search<'a> = Option<(&'static str, &'a str)>;

pub(super) async fn run(
    session: &mut Session<'_, '_>,
    search: Search<'_>,
    args: &UserPageArgs,
) -> Result<(), CliError> {
    let mut table = Table::new(&["ID", "USERNAME", "NAME", "EMAIL", "ROLES", "LOCKED"]);
    let mut all = Vec::new();
    let mut after = args.after.clone();
    loop {
        let mut page = session
            .admin
            .get(&query(args, search, after.as_deref()))
            .await?;
        let next = page.get("next").and_then(Value::as_str).map(str::to_owned);
        if session.json && !args.all {
            return session.console.json(&page);
        }
        let users = page.get_mut("users").and_then(Value::as_array_mut);
        let users = users.map(std::mem::take).unwrap_or_default();
        if session.json {
            all.extend(users);
        } else {
            for line in table.lines(users.iter().map(row).collect()) {
                session.console.say(line)?;
            }
        }
        match next {
            Some(next) if args.all => after = Some(next),
            Some(next) => {
                let hint = format!("There may be more: --after {}, or --all", text(&next));
                session.console.hint(hint);
                return Ok(());
            }
            None if session.json => return session.console.json(&json!({ "users": all })),
            None => return Ok(()),
        }
    }
}

fn query(args: &UserPageArgs, search: Search<'_>, after: Option<&str>) -> String {
    let limit = if args.all { Some(PAGE) } else { args.limit };
    let limit = limit.map(|limit| limit.to_string());
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some((field, prefix)) = search {
        query.append_pair(field, prefix);
    }
    for (name, value) in [("after", after), ("limit", limit.as_deref())] {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() {
        USERS.to_owned()
    } else {
        format!("{USERS}?{query}")
    }
}

fn row(user: &Value) -> Vec<String> {
    let locked = match user.get("locked") {
        Some(Value::Bool(true)) => "yes",
        _ => "no",
    };
    let cells = ["sub", "username", "name", "email", "roles"];
    let mut row: Vec<_> = cells.iter().map(|name| cell(user, name)).collect();
    row.push(locked.to_owned());
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_searched_becomes_a_query() {
        let args = UserPageArgs {
            limit: Some(10),
            ..UserPageArgs::default()
        };
        assert_eq!(
            query(&args, Some(("email", "a&b@")), Some("x_y")),
            "/admin/users?email=a%26b%40&after=x_y&limit=10"
        );
        assert_eq!(query(&UserPageArgs::default(), None, None), "/admin/users");
    }
}
