//! Request bodies: bounded in size and time, of the type that the endpoint reads, parsed once.

use axum::BoxError;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;
use serde::de::DeserializeOwned;
use signet_oauth::{Error, ErrorCode};
use std::sync::Arc;

use super::reply::Refusal;
use crate::app::App;

/// A body of `application/x-www-form-urlencoded`, not parsed yet.
#[derive(Debug)]
pub struct Form(pub Bytes);

impl Form {
    /// Reads a form of the public door.
    pub async fn read<B>(app: &App, headers: &HeaderMap, body: B) -> Result<Self, Refusal>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        if !is_type(headers, is_form) {
            return Err(Error::request(
                "send the parameters as application/x-www-form-urlencoded",
                "content_type",
            )
            .into());
        }
        Ok(Self(read(body, app, app.limits.body_bytes).await?))
    }
}

impl FromRequest<Arc<App>> for Form {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        Self::read(app, &parts.headers, body).await
    }
}

/// A form where the body is one; whatever else it is stays unread.
#[derive(Debug)]
pub struct AnyForm(pub Option<Bytes>);

impl AnyForm {
    /// Reads a body of the public door, where it says that it is a form.
    pub async fn read<B>(app: &App, headers: &HeaderMap, body: B) -> Result<Self, Refusal>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        if !is_type(headers, is_form) {
            return Ok(Self(None));
        }
        Ok(Self(Some(read(body, app, app.limits.body_bytes).await?)))
    }
}

impl FromRequest<Arc<App>> for AnyForm {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        Self::read(app, &parts.headers, body).await
    }
}

/// A body of JSON, read into `T`.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refusal> {
        if !is_type(request.headers(), |kind| {
            kind == "application/json" || kind.ends_with("+json")
        }) {
            return Err(Error::new(
                ErrorCode::UnsupportedMediaType,
                "send the body as application/json",
                "content_type",
            )
            .into());
        }
        let bytes = read(request.into_body(), app, app.limits.admin_body_bytes).await?;
        // Structs would be read from lists, too, field by field in order: nobody means that.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Error::request("the body must be a JSON object", "json").into());
        }
        let value = serde_json::from_slice(&bytes).map_err(|error| {
            Error::request(
                format!("the body is not what this endpoint reads: {error}"),
                "json",
            )
        })?;
        Ok(Self(value))
    }
}

fn is_form(kind: &str) -> bool {
    kind == "application/x-www-form-urlencoded"
}

/// A body of lines, each of them a JSON object (NDJSON), not parsed yet.
#[derive(Debug)]
pub struct Lines(pub Bytes);

impl FromRequest<Arc<App>> for Lines {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refusal> {
        let is_lines = |kind: &str| matches!(kind, "application/x-ndjson" | "application/ndjson");
        if !is_type(request.headers(), is_lines) {
            return Err(Error::new(
                ErrorCode::UnsupportedMediaType,
                "send one JSON object per line as application/x-ndjson",
                "content_type",
            )
            .into());
        }
        let limit = app.limits.admin_body_bytes;
        Ok(Self(read(request.into_body(), app, limit).await?))
    }
}

fn is_type(headers: &HeaderMap, accept: impl Fn(&str) -> bool) -> bool {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    essence.is_some_and(|kind| accept(kind) || accept(&kind.to_ascii_lowercase()))
}

async fn read<B>(body: B, app: &App, limit: usize) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let too_large = || {
        Error::new(
            ErrorCode::PayloadTooLarge,
            format!("the body is larger than {limit} bytes"),
            "body_too_large",
        )
    };
    let body = Limited::new(body, limit);
    match tokio::time::timeout(app.limits.body_timeout, body.collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Error::request("the body broke off", "body_broken")),
        Err(_) => Err(Error::new(
            ErrorCode::RequestTimeout,
            "the body did not arrive in time",
            "body_slow",
        )),
    }
}
