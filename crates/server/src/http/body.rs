//! Request bodies: bounded in size and time, of the type that the endpoint reads, parsed once.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::header;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use signet_oauth::{Error, ErrorCode};
use std::sync::Arc;

use super::reply::Refusal;
use crate::app::App;

/// A body of `application/x-www-form-urlencoded`, not parsed yet.
#[derive(Debug)]
pub struct Form(pub Bytes);

impl FromRequest<Arc<App>> for Form {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refusal> {
        if !is_type(&request, |kind| kind == "application/x-www-form-urlencoded") {
            return Err(Error::request(
                "send the parameters as application/x-www-form-urlencoded",
                "content_type",
            )
            .into());
        }
        Ok(Self(read(request, app, app.limits.body_bytes).await?))
    }
}

/// A body of JSON, read into `T`.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Refusal> {
        if !is_type(&request, |kind| {
            kind == "application/json" || kind.ends_with("+json")
        }) {
            return Err(Error::new(
                ErrorCode::UnsupportedMediaType,
                "send the body as application/json",
                "content_type",
            )
            .into());
        }
        let bytes = read(request, app, app.limits.admin_body_bytes).await?;
        let value = serde_json::from_slice(&bytes).map_err(|error| {
            Error::request(
                format!("the body is not what this endpoint reads: {error}"),
                "json",
            )
        })?;
        Ok(Self(value))
    }
}

fn is_type(request: &Request, accept: impl Fn(&str) -> bool) -> bool {
    let kind = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    essence.is_some_and(|kind| accept(&kind.to_ascii_lowercase()))
}

async fn read(request: Request, app: &App, limit: usize) -> Result<Bytes, Error> {
    let too_large = || {
        Error::new(
            ErrorCode::PayloadTooLarge,
            format!("the body is larger than {limit} bytes"),
            "body_too_large",
        )
    };
    let body = Limited::new(request.into_body(), limit);
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
