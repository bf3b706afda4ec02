//! The writer of what browsers show: pages, redirections after forms, static files; and the headers
//! that go with each. It knows no page by name.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};

use super::policy::{self, Needs};
use crate::flow::Fault;
use crate::http::reply::Refusal;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");
/// For a static file that somebody opens by itself: an SVG could run scripts.
const INERT: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

/// What a page is sent with.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) status: StatusCode,
    pub(super) needs: Needs<'a>,
    /// Seconds after which trying again makes sense.
    pub(super) retry_after: Option<u64>,
    /// Whether no other window may hold on to this one. Not in a login, which applications open in
    /// windows of their own and watch.
    pub(super) alone: bool,
}

/// A page.
pub(super) fn page(html: String, language: Option<&HeaderValue>, head: &Head<'_>) -> Response {
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = head.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HTML);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    headers.insert(header::REFERRER_POLICY, NO_REFERRER);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    insert(headers, "cross-origin-resource-policy", SAME_ORIGIN);
    if let Some(language) = language {
        headers.insert(header::CONTENT_LANGUAGE, language.clone());
    }
    if head.alone {
        insert(headers, "cross-origin-opener-policy", SAME_ORIGIN);
    }
    if let Some(seconds) = head.retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    let policy = policy::render(&head.needs);
    // The policy has plain characters only; one that had others would be none, so this is a must.
    match HeaderValue::from_str(&policy) {
        Ok(policy) => {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
            response
        }
        Err(_) => Refusal(Fault::lasting("a policy that is no header").into()).into_response(),
    }
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: HeaderValue) {
    headers.insert(HeaderName::from_static(name), value);
}

/// `303 See Other`: the browser goes on with GET, so that what was posted is posted to nobody else
/// and is not posted again by going back (RFC 9700 §4.12).
pub fn see_other(location: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(location) else {
        return Refusal(Fault::lasting("a location that is no header").into()).into_response();
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, location);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    headers.insert(header::REFERRER_POLICY, NO_REFERRER);
    response
}

/// A static file: kept for ever under the name that belongs to its content, else asked for again.
pub(super) fn file(content: Bytes, kind: &'static str, current: bool) -> Response {
    let mut response = Response::new(Body::from(content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let kept = if current { IMMUTABLE } else { ASK_AGAIN };
    headers.insert(header::CACHE_CONTROL, kept);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
    headers.insert(header::CONTENT_SECURITY_POLICY, INERT);
    insert(headers, "cross-origin-resource-policy", SAME_ORIGIN);
    response
}
