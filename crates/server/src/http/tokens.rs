//! `/admin/clients/{id}/tokens`: the rows of a client's persisted tokens.

#![expect(unused_qualifications, reason = "in what the macros expand to")]

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use signet_oauth::Error;
use signet_oauth::ids::ClientId;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

use super::reply::{self, ErrorResponse, Refusal, Refusals};
use crate::app::App;
use crate::flow::tokens::{self, Handle, Listed};
use crate::flow::{Failure, not_found};

/// Tokens on one page where the caller does not say, and at most.
const PAGE: u32 = 100;
const MAX_PAGE: u32 = 1000;

/// Which page of the tokens.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TokensQuery {
    /// `next` of the page before.
    after: Option<String>,
    /// How many, 1 to 1000; 100 where it is absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// A token, without the token.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenRowResponse {
    /// By this it can be revoked.
    handle: String,
    /// Whether it is still good: not expired, not revoked, and its client and user are as they were.
    active: bool,
    /// `jwt` or `opaque`
    form: &'static str,
    /// Whom it speaks for.
    sub: String,
    /// What it allows.
    scope: String,
    /// For whom it is meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aud: Vec<String>,
    /// When it was issued, in seconds since 1970.
    iat: u64,
    /// When it expires, in seconds since 1970.
    exp: u64,
}

impl From<Listed> for TokenRowResponse {
    fn from(listed: Listed) -> Self {
        let token = listed.token;
        Self {
            handle: listed.handle.render(),
            active: listed.is_active,
            form: listed.form.as_str(),
            sub: token.subject.into(),
            scope: token.scope.to_string(),
            aud: token.audience,
            iat: token.issued_at.0,
            exp: token.expires_at.0,
        }
    }
}

/// A page of tokens.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokensResponse {
    /// The tokens, the soonest to expire first. There may be none, and still a `next`.
    tokens: Vec<TokenRowResponse>,
    /// What to send as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

fn client_id(text: &str) -> Result<ClientId, Failure> {
    // A name that no client can have is the name of no client.
    ClientId::parse(text).ok_or_else(|| not_found("client"))
}

/// List the persisted tokens of a client that have not expired.
#[utoipa::path(
    get, path = "/admin/clients/{id}/tokens", tag = "Tokens",
    params(("id" = String, Path,), TokensQuery),
    responses(
        (status = 200, description = "A page of tokens", body = TokensResponse),
        (status = 404, description = "There is no such client", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    query: Result<Query<TokensQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let bad = |description: String| Error::request(description, "query");
    let Query(query) = query.map_err(|error| bad(error.body_text()))?;
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(bad("limit is 1 to 1000".to_owned()).into());
    }
    let after = query.after.as_deref().map(|text| {
        Handle::parse(text).ok_or_else(|| bad("after is `next` of the page before".to_owned()))
    });
    let page = tokens::list(&app, &client_id(&id)?, after.transpose()?, limit).await?;
    let body = TokensResponse {
        tokens: page.tokens.into_iter().map(Into::into).collect(),
        next: page.next.map(Handle::render),
    };
    Ok(reply::value(StatusCode::OK, &body))
}

/// Revoke one of the persisted tokens of a client.
#[utoipa::path(
    delete, path = "/admin/clients/{id}/tokens/{handle}", tag = "Tokens",
    params(("id" = String, Path,), ("handle" = String, Path,)),
    responses(
        (status = 204, description = "The token is dead"),
        (status = 404, description = "There is no such token", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn end(
    State(app): State<Arc<App>>,
    Path((id, handle)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let client = client_id(&id)?;
    let known = Handle::parse(&handle).ok_or_else(|| not_found("token"))?;
    tokens::end(&app, &client, known).await?;
    tracing::info!(target: "audit", client = %id, handle, "token revoked");
    Ok(reply::nothing())
}
