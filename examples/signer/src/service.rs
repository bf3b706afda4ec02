//! The protocol: `GET /keys` and `POST /keys/{kid}/sign`, for who shows the token.

use crate::keys::Key;
use aws_lc_rs::constant_time;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a request; a token has at most 16 KiB.
const MAX_BODY: usize = 32 * 1024;

pub(crate) struct Service {
    keys: Vec<Key>,
    bearer: String,
    delay: Duration,
}

#[derive(Deserialize)]
struct SignRequest<'a> {
    alg: &'a str,
    input: &'a str,
}

#[derive(Serialize)]
struct SignResponse {
    signature: String,
}

/// Status and JSON.
type Reply = (StatusCode, String);

fn refuse(status: StatusCode, error: &str) -> Reply {
    (status, format!("{{\"error\":\"{error}\"}}"))
}

/// Accepts connections for ever.
pub(crate) async fn accept(listener: TcpListener, service: Arc<Service>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        // A connection that broke before it was accepted is no reason to stop.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        stream.set_nodelay(true)?;
        let service = Arc::clone(&service);
        let answer = service_fn(move |request| respond(Arc::clone(&service), request));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), answer);
        tokio::spawn(async move { drop(connection.await) });
    }
}

async fn respond(
    service: Arc<Service>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if !service.delay.is_zero() {
        tokio::time::sleep(service.delay).await;
    }
    let (status, body) = service.answer(request).await;
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(response)
}

impl Service {
    pub(crate) fn new(keys: Vec<Key>, token: &str, delay: Duration) -> Self {
        Self {
            keys,
            bearer: format!("Bearer {token}"),
            delay,
        }
    }

    pub(crate) fn kids(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.kid.as_str())
    }

    async fn answer(&self, request: Request<Incoming>) -> Reply {
        let shown = request.headers().get(header::AUTHORIZATION);
        let shown = shown.map_or(&b""[..], HeaderValue::as_bytes);
        if constant_time::verify_slices_are_equal(shown, self.bearer.as_bytes()).is_err() {
            return refuse(
                StatusCode::UNAUTHORIZED,
                "the bearer token is missing or wrong",
            );
        }
        let path = request.uri().path().to_owned();
        match (request.method(), path.as_str()) {
            (&Method::GET, "/keys") => {
                let keys: Vec<&str> = self.keys.iter().map(|key| key.jwk.as_str()).collect();
                (StatusCode::OK, format!("{{\"keys\":[{}]}}", keys.join(",")))
            }
            (&Method::POST, path) => {
                let kid = path
                    .strip_prefix("/keys/")
                    .and_then(|rest| rest.strip_suffix("/sign"));
                let key = self.keys.iter().find(|key| Some(key.kid.as_str()) == kid);
                let Some(key) = key else {
                    return refuse(StatusCode::NOT_FOUND, "there is no such key");
                };
                let body = Limited::new(request.into_body(), MAX_BODY).collect().await;
                body.map_or_else(
                    |_| refuse(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long"),
                    |body| sign(key, &body.to_bytes()),
                )
            }
            _ => refuse(
                StatusCode::NOT_FOUND,
                "there are /keys and /keys/{kid}/sign",
            ),
        }
    }
}

fn sign(key: &Key, body: &[u8]) -> Reply {
    let Ok(ask) = serde_json::from_slice::<SignRequest<'_>>(body) else {
        return refuse(StatusCode::BAD_REQUEST, "not alg and input as JSON");
    };
    if ask.alg != key.algorithm.name() {
        return refuse(StatusCode::BAD_REQUEST, "the key has another algorithm");
    }
    let Ok(input) = URL_SAFE_NO_PAD.decode(ask.input) else {
        return refuse(StatusCode::BAD_REQUEST, "the input is not base64url");
    };
    let signed = key.sign(&input).and_then(|signature| {
        let signature = URL_SAFE_NO_PAD.encode(signature);
        serde_json::to_string(&SignResponse { signature }).ok()
    });
    signed.map_or_else(
        || refuse(StatusCode::INTERNAL_SERVER_ERROR, "no signature was made"),
        |answer| (StatusCode::OK, answer),
    )
}
