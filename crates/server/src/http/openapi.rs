//! The `OpenAPI` 3.1 descriptions, generated from the handlers and served beside them.

use axum::Router;
use axum::routing::get;
use http::HeaderValue;
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use super::reply;
use crate::app::App;

const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=300");

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Signet",
        description = "OAuth 2.0 and OpenID Connect.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    modifiers(&Schemes)
)]
struct Public;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Signet administration",
        description = "Clients, users, keys and tokens. Every path but health, version and the public \
                       documents wants the admin token.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    modifiers(&Schemes)
)]
struct Admin;

struct Schemes;

impl utoipa::Modify for Schemes {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = |kind| SecurityScheme::Http(HttpBuilder::new().scheme(kind).build());
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("client", scheme(HttpAuthScheme::Basic));
        components.add_security_scheme("user", scheme(HttpAuthScheme::Bearer));
        components.add_security_scheme("admin", scheme(HttpAuthScheme::Bearer));
    }
}

/// What the public description begins with.
pub fn public() -> utoipa::openapi::OpenApi {
    Public::openapi()
}

/// What the admin description begins with.
pub fn admin() -> utoipa::openapi::OpenApi {
    Admin::openapi()
}

/// Serves a description at `/openapi.json`.
pub fn route(document: &utoipa::openapi::OpenApi) -> Router<Arc<App>> {
    let text = bytes::Bytes::from(document.to_json().unwrap_or_default());
    Router::new().route(
        "/openapi.json",
        get(async move || reply::document(text.clone(), &KEPT)),
    )
}
