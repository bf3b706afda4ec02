//! Many users at once: one JSON object per line.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use signet_oauth::Error;
use std::sync::Arc;
use utoipa::ToSchema;

use super::body::UserRequest;
use crate::app::App;
use crate::flow::users::draw_id;
use crate::flow::users::import::{self, Newcomer};
use crate::http::body::Lines;
use crate::http::reply::{self, Refusal, Refusals};

/// What came of an import.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ImportResponse {
    /// Users that are there now because of it.
    created: u64,
    /// Users whose id or username was there before; they are as they were.
    skipped: u64,
    /// Users that are not acceptable; the others are imported.
    refused: Vec<RefusedLine>,
}

/// A line that was not imported.
#[derive(Debug, Serialize, ToSchema)]
struct RefusedLine {
    /// Its number, from 1 on.
    line: usize,
    /// Why.
    error_description: String,
}

/// Import users: one JSON object per line, as for the creation of one. Existing users are left as
/// they are, so that an import can be run again.
#[utoipa::path(
    post, path = "/admin/users/import", tag = "Users",
    request_body(content = String, content_type = "application/x-ndjson"),
    responses((status = 200, description = "What came of it", body = ImportResponse), Refusals),
    security(("admin" = []))
)]
pub(super) async fn import(
    State(app): State<Arc<App>>,
    Lines(text): Lines,
) -> Result<Response, Refusal> {
    let mut newcomers = Vec::new();
    let mut refused = Vec::new();
    for (index, text) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = index + 1;
        let text = text.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match read(&app, line, text) {
            Ok(newcomer) => newcomers.push(newcomer),
            Err(error) => refused.push((line, error)),
        }
    }
    let done = import::run(&app, newcomers).await?;
    tracing::info!(target: "audit", created = done.created, skipped = done.skipped, "users imported");
    refused.extend(done.refused);
    refused.sort_by_key(|(line, _)| *line);
    let refused = refused.into_iter().map(|(line, error)| RefusedLine {
        line,
        error_description: error.description.into_owned(),
    });
    let body = ImportResponse {
        created: done.created,
        skipped: done.skipped,
        refused: refused.collect(),
    };
    Ok(reply::value(StatusCode::OK, &body))
}

fn read(app: &App, line: usize, text: &[u8]) -> Result<Newcomer, Error> {
    if text.first() != Some(&b'{') {
        return Err(Error::request("a line is a JSON object", "json"));
    }
    let request: UserRequest = serde_json::from_slice(text)
        .map_err(|error| Error::request(format!("not a user: {error}"), "json"))?;
    request.check_members()?;
    Ok(Newcomer {
        line,
        id: request.id()?.unwrap_or_else(|| draw_id(app)),
        password: request.password()?,
        draft: request.draft()?,
    })
}
