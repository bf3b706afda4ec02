//! The lock of the admin listener, and its small endpoints: flush and metrics.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

use super::body::Json;
use super::direct;
use super::reply::{self, ErrorResponse, Refusal, Refusals};
use crate::app::App;
use crate::flow;

/// Lets a request through that carries the bootstrap token or a token with the admin scope.
pub async fn authorize(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    direct::authorize(&app, request.headers()).await?;
    Ok(next.run(request).await)
}

/// What to flush.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct FlushRequest {
    /// Accepted for those who send it; what has expired goes, whatever it says, and nothing else.
    #[serde(rename = "notAfter")]
    pub not_after: Option<String>,
}

/// Remove what has expired now. It goes by itself in time; nothing that is alive is touched.
#[utoipa::path(
    post, path = "/admin/oauth2/flush", tag = "Tokens", request_body = FlushRequest,
    responses((status = 204, description = "Done"), Refusals),
    security(("admin" = []))
)]
pub async fn flush(
    State(app): State<Arc<App>>,
    Json(_): Json<FlushRequest>,
) -> Result<Response, Refusal> {
    flow::revoke::flush(&app).await?;
    Ok(reply::nothing())
}

/// Prometheus metrics.
#[utoipa::path(
    get, path = "/admin/metrics", tag = "Operations",
    responses(
        (status = 200, description = "The metrics", body = String, content_type = "application/openmetrics-text"),
        (status = 404, description = "Metrics are switched off", body = ErrorResponse),
        Refusals
    ),
    security(("admin" = []))
)]
pub async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    if !app.policy.metrics {
        return Err(flow::not_found("path: metrics are switched off").into());
    }
    let text = flow::operate::metrics(&app)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(reply::typed(
        StatusCode::OK,
        HeaderValue::from_static(kind),
        text,
    ))
}
