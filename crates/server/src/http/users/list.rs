//! Pages of users, and the search by the beginning of a name or an e-mail address.

#![expect(unused_qualifications, reason = "in what the macros expand to")]

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use signet_oauth::Error;
use signet_oauth::user::UserId;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

use super::body::UserResponse;
use crate::app::App;
use crate::flow::users::{self, UserCursor, UserField, UserPage};
use crate::http::reply::{self, Refusal, Refusals};

/// Users on one page where the caller does not say, and at most.
const PAGE: u32 = 100;
const MAX_PAGE: u32 = 1000;

/// Which users. At most one of `username`, `email` and `name`: it is what they are sorted by, too.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct UsersQuery {
    /// The username begins so; case does not count.
    username: Option<String>,
    /// The claim `email` begins so; users without one are left out.
    email: Option<String>,
    /// The claim `name` begins so; users without one are left out.
    name: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
    /// How many, 1 to 1000; 100 where it is absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// A page of users.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UsersResponse {
    /// The users, in the order of their usernames, or of what was searched by.
    users: Vec<UserResponse>,
    /// What to send as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// List users, or search them.
#[utoipa::path(
    get, path = "/admin/users", tag = "Users", params(UsersQuery),
    responses((status = 200, description = "A page of users", body = UsersResponse), Refusals),
    security(("admin" = []))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<UsersQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(query) = query.map_err(|error| bad(error.body_text()))?;
    let found = users::list(&app, query.page()?).await?;
    let body = UsersResponse {
        users: found.users.iter().map(UserResponse::of).collect(),
        next: found.next.as_ref().map(cursor),
    };
    Ok(reply::value(StatusCode::OK, &body))
}

fn bad(description: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::request(description, "query")
}

impl UsersQuery {
    fn page(self) -> Result<UserPage, Error> {
        let limit = self.limit.unwrap_or(PAGE);
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(bad("limit is 1 to 1000"));
        }
        let (field, prefix) = match (self.username, self.email, self.name) {
            (None, None, None) => (UserField::Username, String::new()),
            (Some(prefix), None, None) => (UserField::Username, prefix),
            (None, Some(prefix), None) => (UserField::Email, prefix),
            (None, None, Some(prefix)) => (UserField::Name, prefix),
            _ => return Err(bad("search by one of username, email and name")),
        };
        let after = self.after.as_deref().map(|text| {
            parse_cursor(text).ok_or_else(|| bad("after is what the page before said as next"))
        });
        Ok(UserPage {
            field,
            prefix,
            after: after.transpose()?,
            limit,
        })
    }
}

/// A place in the list as text: an id has no space in it.
fn cursor(place: &UserCursor) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {}", place.id, place.value))
}

fn parse_cursor(text: &str) -> Option<UserCursor> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (id, value) = text.split_once(' ')?;
    Some(UserCursor {
        id: UserId::parse(id)?,
        // PostgreSQL holds no such text.
        value: Some(value)
            .filter(|value| !value.contains('\0'))?
            .to_owned(),
    })
}
