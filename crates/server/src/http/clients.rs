//! `/admin/clients` and, for those who come from Hydra, `/clients`.

#![expect(unused_qualifications, reason = "in what the macros expand to")]

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signet_oauth::client::Client;
use signet_oauth::ids::ClientId;
use signet_oauth::{Error, ErrorCode};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

use super::body::Json;
use super::client_body::{AllFields, ClientRequest, ClientResponse};
use super::reply::{self, ErrorResponse, Refusal, Refusals};
use crate::app::App;
use crate::flow::Failure;
use crate::flow::clients::{self, Draft, Expected, Page, Registered};

/// Clients on one page where the caller does not say, and at most.
const PAGE: u32 = 100;
const MAX_PAGE: u32 = 1000;

/// Which page of the clients.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClientsQuery {
    /// The last id of the page before.
    after: Option<String>,
    /// How many, 1 to 1000; 100 where it is absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// How many to leave out first; `after` is faster.
    offset: Option<u32>,
    /// Only clients of this name.
    client_name: Option<String>,
    /// Only clients of this owner.
    owner: Option<String>,
}

/// A page of clients.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClientsResponse {
    /// The clients, in the order of their ids.
    clients: Vec<ClientResponse>,
    /// What to send as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

fn client_id(text: &str) -> Result<ClientId, Failure> {
    // A name that no client can have is the name of no client.
    ClientId::parse(text).ok_or_else(|| crate::flow::not_found("client"))
}

fn answer(status: StatusCode, registered: &Registered) -> Response {
    let body = ClientResponse::of(&registered.client, registered.secret.as_ref());
    tagged(reply::value(status, &body), registered.client.version)
}

/// An answer with the `ETag` of what it tells.
pub(super) fn tagged(mut response: Response, version: u64) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// What `If-Match` admits. Tags that no client was ever answered with, weak ones among them, admit
/// no version: comparison is strong (RFC 9110 §13.1.1).
pub(super) fn if_match(headers: &HeaderMap) -> Expected {
    let lists = headers.get_all(header::IF_MATCH).iter();
    let tags: Vec<&[u8]> = lists
        .flat_map(|list| list.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .collect();
    if tags.is_empty() || tags.contains(&b"*".as_slice()) {
        return Expected::Any;
    }
    let version = |tag: &[u8]| {
        let tag = std::str::from_utf8(tag).ok()?;
        tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
    };
    Expected::Versions(tags.into_iter().filter_map(version).collect())
}

/// Create a client.
#[utoipa::path(
    post, path = "/admin/clients", tag = "Clients",
    request_body = ClientRequest,
    responses(
        (status = 201, description = "The client, with its secret where one was generated", body = ClientResponse),
        (status = 409, description = "A client of this id exists", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn create(
    State(app): State<Arc<App>>,
    Json(request): Json<ClientRequest>,
) -> Result<Response, Refusal> {
    known_fields(&request)?;
    register(&app, request).await
}

/// The same for Hydra's users: members that this server does not know are passed over.
pub async fn create_alias(
    State(app): State<Arc<App>>,
    Json(request): Json<ClientRequest>,
) -> Result<Response, Refusal> {
    register(&app, request).await
}

fn known_fields(request: &ClientRequest) -> Result<(), Error> {
    match request.unknown() {
        None => Ok(()),
        Some(name) => Err(Error::new(
            ErrorCode::InvalidClientMetadata,
            format!("there is no field {name:?}: check its spelling, or put it under metadata"),
            "client_field_unknown",
        )),
    }
}

async fn register(app: &App, request: ClientRequest) -> Result<Response, Refusal> {
    let id = match &request.fields.client_id {
        Some(text) => ClientId::parse(text).ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidClientMetadata,
                "client_id is 1 to 255 visible ASCII characters",
                "client_id",
            )
        })?,
        None => clients::draw_id(app)?,
    };
    let draft = request.draft(id, app.policy.client_defaults)?;
    let registered = clients::create(app, draft).await?;
    tracing::info!(target: "audit", client = %registered.client.id, "client created");
    Ok(answer(StatusCode::CREATED, &registered))
}

/// List clients.
#[utoipa::path(
    get, path = "/admin/clients", tag = "Clients", params(ClientsQuery),
    responses((status = 200, description = "A page of clients", body = ClientsResponse), Refusals),
    security(("admin" = []))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<ClientsQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Refusal> {
    let (found, next) = page(&app, query).await?;
    let clients = found
        .iter()
        .map(|client| ClientResponse::of(client, None))
        .collect();
    Ok(reply::value(
        StatusCode::OK,
        &ClientsResponse { clients, next },
    ))
}

/// The same for Hydra's users: a bare list.
pub async fn list_alias(
    State(app): State<Arc<App>>,
    query: Result<Query<ClientsQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Refusal> {
    let (found, _) = page(&app, query).await?;
    let clients: Vec<_> = found
        .iter()
        .map(|client| ClientResponse::of(client, None))
        .collect();
    Ok(reply::value(StatusCode::OK, &clients))
}

async fn page(
    app: &App,
    query: Result<Query<ClientsQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<(Vec<Client>, Option<String>), Failure> {
    let bad = |description: String| Error::request(description, "query");
    let Query(query) = query.map_err(|error| bad(error.body_text()))?;
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(bad("limit is 1 to 1000".to_owned()).into());
    }
    let after = query.after.as_deref().map(|text| {
        ClientId::parse(text).ok_or_else(|| bad("after is the id of a client".to_owned()))
    });
    let page = Page {
        after: after.transpose()?,
        offset: query.offset.unwrap_or(0).into(),
        limit,
        name: query.client_name,
        owner: query.owner,
    };
    let found = clients::list(app, page).await?;
    let full = found.len() >= limit as usize;
    let next = found
        .last()
        .filter(|_| full)
        .map(|client| client.id.to_string());
    Ok((found, next))
}

/// Get a client.
#[utoipa::path(
    get, path = "/admin/clients/{id}", tag = "Clients", params(("id" = String, Path,)),
    responses(
        (status = 200, description = "The client", body = ClientResponse),
        (status = 404, description = "There is no such client", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn get(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, Refusal> {
    let found = clients::get(&app, &client_id(&id)?).await?;
    let render =
        |client: &Client| serde_json::to_vec(&ClientResponse::of(client, None)).unwrap_or_default();
    Ok(tagged(
        reply::json(StatusCode::OK, found.rendered(render)),
        found.client.version,
    ))
}

/// Replace a client. Its secret stays, unless another one is sent.
#[utoipa::path(
    put, path = "/admin/clients/{id}", tag = "Clients",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag of the client that is to be replaced")),
    request_body = ClientRequest,
    responses(
        (status = 200, description = "The client", body = ClientResponse),
        (status = 404, description = "There is no such client", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn replace(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(request): Json<ClientRequest>,
) -> Result<Response, Refusal> {
    known_fields(&request)?;
    replace_with(&app, &id, &headers, request).await
}

/// The same for Hydra's users: members that this server does not know are passed over.
pub async fn replace_alias(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(request): Json<ClientRequest>,
) -> Result<Response, Refusal> {
    replace_with(&app, &id, &headers, request).await
}

async fn replace_with(
    app: &App,
    id: &str,
    headers: &HeaderMap,
    request: ClientRequest,
) -> Result<Response, Refusal> {
    let change = |present: &Client| described(app, present, request.clone());
    let registered = clients::update(app, &client_id(id)?, &if_match(headers), change).await?;
    tracing::info!(target: "audit", client = %registered.client.id, "client replaced");
    Ok(answer(StatusCode::OK, &registered))
}

/// Change some fields of a client (JSON Merge Patch, RFC 7396: `null` takes a field away).
#[utoipa::path(
    patch, path = "/admin/clients/{id}", tag = "Clients",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag of the client that is to be changed")),
    request_body(content = ClientRequest, content_type = "application/merge-patch+json"),
    responses(
        (status = 200, description = "The client", body = ClientResponse),
        (status = 404, description = "There is no such client", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn patch(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(patch): Json<Value>,
) -> Result<Response, Refusal> {
    let change = |present: &Client| {
        let mut merged = serde_json::to_value(AllFields::of(present)).unwrap_or_default();
        merge(&mut merged, &patch);
        let request: ClientRequest = serde_json::from_value(merged)
            .map_err(|error| Error::request(format!("the patch does not fit: {error}"), "json"))?;
        known_fields(&request)?;
        described(&app, present, request)
    };
    let registered = clients::update(&app, &client_id(&id)?, &if_match(&headers), change).await?;
    tracing::info!(target: "audit", client = %registered.client.id, "client changed");
    Ok(answer(StatusCode::OK, &registered))
}

fn described(app: &App, present: &Client, request: ClientRequest) -> Result<Draft, Error> {
    if request
        .fields
        .client_id
        .as_deref()
        .is_some_and(|id| id != present.id.as_str())
    {
        return Err(Error::request(
            "a client keeps its client_id",
            "client_id_changed",
        ));
    }
    request.draft(present.id.clone(), app.policy.client_defaults)
}

/// RFC 7396 §2.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name.as_str()).or_insert(Value::Null), value);
        }
    }
}

/// Delete a client. Its tokens are dead.
#[utoipa::path(
    delete, path = "/admin/clients/{id}", tag = "Clients",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag that the client must still have")),
    responses(
        (status = 204, description = "The client is gone"),
        (status = 404, description = "There is no such client", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    clients::delete(&app, &client_id(&id)?, &if_match(&headers)).await?;
    tracing::info!(target: "audit", client = %id, "client deleted");
    Ok(reply::nothing())
}

/// Give a client a new secret. Tokens issued before are dead.
#[utoipa::path(
    post, path = "/admin/clients/{id}/secret", tag = "Clients",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag that the client must still have")),
    responses(
        (status = 200, description = "The client with its new secret, told this once", body = ClientResponse),
        (status = 404, description = "There is no such client", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn rotate_secret(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let registered = clients::rotate_secret(&app, &client_id(&id)?, &if_match(&headers)).await?;
    tracing::info!(target: "audit", client = %id, "client secret rotated");
    Ok(answer(StatusCode::OK, &registered))
}

/// Disable a client. It gets no tokens, and those that it has are dead.
#[utoipa::path(
    post, path = "/admin/clients/{id}/disable", tag = "Clients",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag that the client must still have")),
    responses(
        (status = 200, description = "The client", body = ClientResponse),
        (status = 404, description = "There is no such client", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn disable(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    set_enabled(&app, &id, &if_match(&headers), false).await
}

/// Enable a client again. Tokens from before stay dead.
#[utoipa::path(
    post, path = "/admin/clients/{id}/enable", tag = "Clients",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag that the client must still have")),
    responses(
        (status = 200, description = "The client", body = ClientResponse),
        (status = 404, description = "There is no such client", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn enable(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    set_enabled(&app, &id, &if_match(&headers), true).await
}

async fn set_enabled(
    app: &App,
    id: &str,
    expected: &Expected,
    enabled: bool,
) -> Result<Response, Refusal> {
    let change = |present: &Client| {
        let client = Client {
            enabled,
            ..present.clone()
        };
        Ok(Draft {
            client,
            secret: clients::SecretChoice::Unsaid,
        })
    };
    let registered = clients::update(app, &client_id(id)?, expected, change).await?;
    tracing::info!(target: "audit", client = %id, enabled, "client switched");
    Ok(answer(StatusCode::OK, &registered))
}

/// Revoke every token that was issued to a client so far.
#[utoipa::path(
    delete, path = "/admin/clients/{id}/tokens", tag = "Tokens",
    params(("id" = String, Path,), ("If-Match" = Option<String>, Header, description = "The ETag that the client must still have")),
    responses(
        (status = 204, description = "Its tokens are dead"),
        (status = 404, description = "There is no such client", body = ErrorResponse),
        (status = 412, description = "It is no longer as `If-Match` says", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn end_tokens(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    clients::end_tokens(&app, &client_id(&id)?, &if_match(&headers)).await?;
    tracing::info!(target: "audit", client = %id, "client tokens revoked");
    Ok(reply::nothing().into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn merge_patch_does_what_rfc7396_says() {
        for (target, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ] {
            let mut merged = target;
            merge(&mut merged, &patch);
            assert_eq!(merged, expected);
        }
    }
}
