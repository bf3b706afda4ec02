//! The only writer of responses: JSON, tokens, errors, and the headers that go with them.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{self, HeaderValue};
use http::{HeaderMap, HeaderName, StatusCode};
use serde::Serialize;
use signet_oauth::{Error, ErrorCode};
use utoipa::{IntoResponses, ToSchema};

use crate::flow::{Failure, Fault};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// A JSON answer that must not be kept by anybody (RFC 6749 §5.1).
pub fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    typed(status, JSON, body)
}

/// An answer of another media type that must not be kept by anybody.
pub fn typed(status: StatusCode, kind: HeaderValue, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    response
}

/// A serialisable value as JSON.
pub fn value(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(text) => json(status, text),
        Err(error) => Refusal(Fault::lasting(format!("rendering: {error}")).into()).into_response(),
    }
}

/// A document that browser applications read from other origins, too, and that may be kept.
pub fn document(body: bytes::Bytes, kept: &HeaderValue) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::CACHE_CONTROL, kept.clone());
    let anybody = HeaderValue::from_static("*");
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, anybody);
    response
}

/// An answer that scripts of any origin may read. Only for endpoints that take no cookies: what a
/// script must bring along to be answered, it could use anywhere.
pub fn open_to_scripts(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let anybody = HeaderValue::from_static("*");
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, anybody);
    let exposed = HeaderValue::from_static("WWW-Authenticate");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    response
}

/// What a browser asks before a script of another origin may send a token along.
pub fn preflight(methods: &'static str) -> Response {
    let mut response = open_to_scripts(nothing());
    let headers = response.headers_mut();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, methods),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "3600"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The refusal of an endpoint that takes a bearer token (RFC 6750 §3).
pub fn bearer_refusal(refusal: Refusal) -> Response {
    let challenge = match &refusal.0 {
        Failure::Denied(error) => challenge(error),
        Failure::Fault(_) => None,
    };
    let mut response = refusal.into_response();
    let headers = response.headers_mut();
    headers.remove(header::WWW_AUTHENTICATE);
    if let Some(challenge) = challenge {
        let challenge = HeaderValue::from_static(challenge);
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// Who sent no token at all is told no error code (RFC 6750 §3.1).
fn challenge(error: &Error) -> Option<&'static str> {
    match (error.code, error.reason) {
        (ErrorCode::InvalidToken, "bearer_absent") => Some(r#"Bearer realm="signet""#),
        (ErrorCode::InvalidToken, _) => Some(r#"Bearer realm="signet", error="invalid_token""#),
        (ErrorCode::InvalidRequest, _) => Some(r#"Bearer realm="signet", error="invalid_request""#),
        (ErrorCode::InsufficientScope, _) => {
            Some(r#"Bearer realm="signet", error="insufficient_scope", scope="openid""#)
        }
        _ => None,
    }
}

/// `204 No Content`.
pub fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// The body of every refusal (RFC 6749 §5.2).
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorResponse {
    /// The code.
    error: &'static str,
    /// What went wrong and what to do about it, for the developer of the client.
    error_description: String,
}

/// The refusals that any endpoint may answer with.
#[derive(Debug, IntoResponses)]
pub enum Refusals {
    /// The request is malformed, or asks for what it may not have.
    #[response(status = 400)]
    BadRequest(ErrorResponse),
    /// Authentication is missing or failed.
    #[response(status = 401)]
    Unauthorized(ErrorResponse),
    /// The token lacks the scope.
    #[response(status = 403)]
    Forbidden(ErrorResponse),
    /// The request did not arrive in time.
    #[response(status = 408)]
    RequestTimeout(ErrorResponse),
    /// The body is too large.
    #[response(status = 413)]
    PayloadTooLarge(ErrorResponse),
    /// The body is of a type that this endpoint does not read.
    #[response(status = 415)]
    UnsupportedMediaType(ErrorResponse),
    /// The server cannot answer now; `Retry-After` says when to try again.
    #[response(status = 503)]
    Unavailable(ErrorResponse),
}

/// What went wrong, kept beside the response for the access log and the metrics.
#[derive(Clone, Debug)]
pub struct Reason {
    /// A short fixed label.
    pub label: &'static str,
    /// What was attempted, for faults: goes to the log with the request's id.
    pub fault: Option<String>,
}

/// A failure on its way out.
#[derive(Debug)]
pub struct Refusal(pub Failure);

impl<T: Into<Failure>> From<T> for Refusal {
    fn from(failure: T) -> Self {
        Self(failure.into())
    }
}

/// What the client is told of a failure, and what the log is told.
pub(super) fn explain(failure: Failure) -> (ErrorCode, String, Reason) {
    let Fault { passing, context } = match failure {
        Failure::Denied(error) => {
            let reason = Reason {
                label: error.reason,
                fault: None,
            };
            return (error.code, error.description.into_owned(), reason);
        }
        Failure::Fault(fault) => fault,
    };
    let (code, description, label) = if passing {
        (
            ErrorCode::TemporarilyUnavailable,
            "the server cannot answer now: try again in a moment",
            "unavailable",
        )
    } else {
        (
            ErrorCode::ServerError,
            "the server met something unexpected; its log says what, under the request id",
            "fault",
        )
    };
    let reason = Reason {
        label,
        fault: Some(context),
    };
    (code, description.to_owned(), reason)
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (code, description, reason) = explain(self.0);
        let status =
            StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = ErrorResponse {
            error: code.as_str(),
            error_description: description,
        };
        let mut response = json(status, serde_json::to_vec(&body).unwrap_or_default());
        if let Some((name, value)) = companion(code) {
            response
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
        }
        response.extensions_mut().insert(reason);
        response
    }
}

/// The header that must or should come with an error.
fn companion(code: ErrorCode) -> Option<(HeaderName, &'static str)> {
    match code {
        ErrorCode::InvalidClient => Some((
            header::WWW_AUTHENTICATE,
            r#"Basic realm="signet", charset="UTF-8""#,
        )),
        ErrorCode::InvalidToken => Some((
            header::WWW_AUTHENTICATE,
            r#"Bearer realm="signet", error="invalid_token""#,
        )),
        ErrorCode::InsufficientScope => Some((
            header::WWW_AUTHENTICATE,
            r#"Bearer realm="signet", error="insufficient_scope", scope="signet:admin""#,
        )),
        ErrorCode::TemporarilyUnavailable => Some((header::RETRY_AFTER, "1")),
        ErrorCode::RequestTimeout => Some((header::CONNECTION, "close")),
        _ => None,
    }
}

/// The `Authorization` header. Two of them are ambiguous: this server and whatever stands before
/// it might each believe another one.
pub fn authorization(headers: &HeaderMap) -> Result<Option<&[u8]>, Error> {
    let mut found = headers.get_all(header::AUTHORIZATION).iter();
    let first = found.next().map(HeaderValue::as_bytes);
    match found.next() {
        None => Ok(first),
        Some(_) => Err(Error::request(
            "send one Authorization header",
            "authorization_twice",
        )),
    }
}

/// The answer to a path that does not exist.
pub async fn no_such_path() -> Refusal {
    Error::new(ErrorCode::NotFound, "there is no such path", "path_unknown").into()
}

/// The answer to a method that the path does not have.
pub async fn no_such_method() -> Refusal {
    let description = "the path exists, but not with this method: see the Allow header";
    Error::new(ErrorCode::MethodNotAllowed, description, "method_unknown").into()
}
