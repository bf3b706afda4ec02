//! Fetching metrics over HTTP. It must not know what they mean.

mod parse;
mod select;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, HOST, HeaderValue, USER_AGENT};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::config::{self, BadSource};
use super::meter::Poll;
use crate::clock::Clock;
use crate::wire::dial::Dialer;
use crate::wire::target::Target;
use crate::wire::trust::{self, Trust};
use parse::Exposition;

/// More than any server should say about itself at once.
const BODY: usize = 16 << 20;
const FORMATS: &str =
    "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

/// One endpoint.
#[derive(Debug)]
pub(crate) struct Endpoint {
    source: config::Prometheus,
    target: Target,
    dialer: Dialer,
    clock: Clock,
}

impl Endpoint {
    pub(crate) fn new(source: &config::Prometheus, clock: Clock) -> Result<Self, BadSource> {
        let name = || source.name.clone();
        let target = Target::parse(&source.url)
            .map_err(|error| BadSource::Url(name(), error.to_string()))?;
        let trust = match &source.cacert {
            Some(path) => Trust::File(path.clone()),
            None => Trust::System,
        };
        let tls = target
            .is_tls()
            .then(|| trust::client(&trust, false))
            .transpose()
            .map_err(|error| BadSource::Trust(name(), error.to_string()))?
            .map(Arc::new);
        let dialer = Dialer::new(&target, tls.as_ref(), false, clock)
            .map_err(|failure| BadSource::Url(name(), failure.detail))?;
        Ok(Self {
            source: source.clone(),
            target,
            dialer,
            clock,
        })
    }

    pub(crate) async fn poll(&self) -> Result<Poll, String> {
        let text = self.fetch().await?;
        let all = Exposition::parse(&text);
        let (readings, beyond) = select::select(&self.source, &all);
        let mut notes = Vec::new();
        if let Some(line) = all.first_wrong {
            notes.push(format!(
                "line {line} of the metrics makes no sense and is left out, like all of its kind"
            ));
        }
        if readings.is_empty() {
            notes.push("no metric matches".to_owned());
        }
        if beyond > 0 {
            notes.push(format!(
                "more than {} series match: narrow `metrics` or `labels`, or add up with `by`",
                self.source.limit
            ));
        }
        Ok(Poll { readings, notes })
    }

    /// On a connection of its own: whatever happens to one fetch, the next starts afresh.
    async fn fetch(&self) -> Result<String, String> {
        let request = self.request()?;
        let dialled = self.dialer.dial(self.clock.now()).await;
        let (stream, _) =
            dialled.map_err(|failure| format!("no connection: {}", failure.detail))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        let fetching = async {
            let response = sender
                .send_request(request)
                .await
                .map_err(|error| error.to_string())?;
            if response.status() != StatusCode::OK {
                return Err(format!("the endpoint answered {}", response.status()));
            }
            let body = Limited::new(response.into_body(), BODY).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            Ok(String::from_utf8_lossy(&body).into_owned())
        };
        let driving = async {
            // An error of the connection is the request's as well.
            drop(connection.await);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            text = fetching => text,
            () = driving => Err("the connection was closed".to_owned()),
        }
    }

    fn request(&self) -> Result<Request<Empty<Bytes>>, String> {
        let mut request = Request::get(self.target.path())
            .header(HOST, self.target.authority())
            .header(ACCEPT, FORMATS)
            .header(USER_AGENT, "assay");
        if let Some(path) = &self.source.token_file {
            request = request.header(AUTHORIZATION, bearer(path)?);
        }
        request
            .body(Empty::new())
            .map_err(|error| error.to_string())
    }
}

fn bearer(path: &Path) -> Result<HeaderValue, String> {
    let token =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.trim()))
        .map_err(|_| format!("{} holds no bearer token", path.display()))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
