//! The connections of one user to all the places that its calls name. It must not know flows, pacing
//! or totals.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use http::{Method, StatusCode};
use http_body_util::Full;
use rustls::ClientConfig;
use url::{Position, Url};

use super::dial::Dialer;
use super::http1::Line;
use super::http2::Trunk;
use super::response::{Kept, Response};
use super::{Answer, Failure, Kind};
use crate::call::{Call, Reply};
use crate::clock::{Clock, Nanos};
use crate::wire::target::Target;

/// How connections are made and used.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) http2: bool,
    pub(crate) keep_alive: bool,
}

/// What the sessions of one generator share: how to reach each place, and HTTP/2 connections.
#[derive(Debug)]
pub(crate) struct Exchange {
    manner: Manner,
    clock: Clock,
    places: RefCell<HashMap<String, Place>>,
}

#[derive(Clone, Debug)]
enum Place {
    Http1(Rc<Dialer>),
    Http2(Rc<Trunk>),
}

impl Exchange {
    pub(crate) fn new(manner: Manner, clock: Clock) -> Rc<Self> {
        Rc::new(Self {
            manner,
            clock,
            places: RefCell::default(),
        })
    }

    /// The place of a URL; `origin` is its scheme and authority.
    fn place(&self, origin: &str) -> Result<Place, Failure> {
        if let Some(place) = self.places.borrow().get(origin) {
            return Ok(place.clone());
        }
        let target = Target::parse(origin).map_err(|error| Failure::new(Kind::Connect, error))?;
        let (tls, http2) = (&self.manner.tls, self.manner.http2);
        let tls = tls.as_ref().filter(|_| target.is_tls());
        let dialer = Dialer::new(&target, tls, http2, self.clock)?;
        let place = if http2 {
            Place::Http2(Rc::new(Trunk::new(dialer)))
        } else {
            Place::Http1(Rc::new(dialer))
        };
        let mut places = self.places.borrow_mut();
        Ok(places.entry(origin.to_owned()).or_insert(place).clone())
    }
}

/// One user's connections: with HTTP/1.1 its own to every place, with HTTP/2 the generator's.
#[derive(Debug)]
pub(crate) struct Session {
    exchange: Rc<Exchange>,
    /// Few: a user talks to the server and perhaps to its administrator's door.
    lines: Vec<(String, Line)>,
    message: Vec<u8>,
}

impl Session {
    pub(crate) fn new(exchange: Rc<Exchange>) -> Self {
        Self {
            exchange,
            lines: Vec::new(),
            message: Vec::new(),
        }
    }

    /// Closes every connection: the next call opens new ones.
    pub(crate) fn hang_up(&mut self) {
        self.lines.clear();
    }

    /// Sends a call at once and reads the whole answer; headers and at most `limit` bytes of the
    /// body are kept, if anything is.
    /// Dropping the future in between abandons the call and, with HTTP/1.1, its connection.
    pub(crate) async fn exchange(
        &mut self,
        call: Call,
        limit: Option<usize>,
        start: Nanos,
    ) -> Result<(Answer, Reply), Failure> {
        let answered = self.converse(&call, limit, start).await;
        let (answer, kept) = answered.map_err(|failure| failure.at(&call.url))?;
        let reply = Reply {
            url: call.url,
            status: StatusCode::from_u16(answer.status).unwrap_or_default(),
            headers: kept.headers,
            body: kept.body.into(),
            ending: None,
        };
        Ok((answer, reply))
    }

    async fn converse(
        &mut self,
        call: &Call,
        limit: Option<usize>,
        start: Nanos,
    ) -> Result<(Answer, Kept), Failure> {
        let origin = &call.url[..Position::BeforePath];
        let kept = limit.map(Kept::new);
        let known = self.lines.iter().position(|(place, _)| place == origin);
        let line = match known {
            Some(at) => &mut self.lines[at].1,
            None => match self.exchange.place(origin)? {
                Place::Http1(dialer) => {
                    let line = Line::new(dialer, self.exchange.manner.keep_alive);
                    self.lines.push((origin.to_owned(), line));
                    let last = self.lines.len() - 1;
                    &mut self.lines[last].1
                }
                Place::Http2(trunk) => {
                    let (answer, kept) = trunk.exchange(request(call)?, kept, start).await?;
                    return Ok((answer, kept.unwrap_or_default()));
                }
            },
        };
        write(call, self.exchange.manner.keep_alive, &mut self.message);
        let mut response = Response::new(call.method == Method::HEAD);
        if let Some(kept) = kept {
            response = response.keeping(kept);
        }
        let (answer, kept) = line.exchange(&self.message, response, start).await?;
        Ok((answer, kept.unwrap_or_default()))
    }
}

/// The message of a call in HTTP/1.1 (RFC 9112 section 3).
fn write(call: &Call, keep_alive: bool, message: &mut Vec<u8>) {
    message.clear();
    let mut put = |parts: &[&[u8]]| {
        for part in parts {
            message.extend_from_slice(part);
        }
    };
    let target = call.url[Position::BeforePath..Position::AfterQuery].as_bytes();
    put(&[
        call.method.as_str().as_bytes(),
        b" ",
        target,
        b" HTTP/1.1\r\nhost: ",
    ]);
    let host = call.url[Position::BeforeHost..Position::AfterPort].as_bytes();
    put(&[host, b"\r\n"]);
    for (name, value) in &call.headers {
        put(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
    }
    if !keep_alive {
        put(&[b"connection: close\r\n"]);
    }
    if !call.body.is_empty() || may_have_body(&call.method) {
        put(&[
            b"content-length: ",
            call.body.len().to_string().as_bytes(),
            b"\r\n",
        ]);
    }
    put(&[b"\r\n", &call.body]);
}

/// A method whose body servers expect: without one its length is said to be zero (RFC 9110 section 8.6).
fn may_have_body(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

fn request(call: &Call) -> Result<http::Request<Full<bytes::Bytes>>, Failure> {
    let mut request = http::Request::new(Full::new(call.body.clone()));
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = uri(&call.url)?;
    let headers = call.headers.iter();
    request
        .headers_mut()
        .extend(headers.map(|(name, value)| (name.clone(), value.clone())));
    Ok(request)
}

fn uri(url: &Url) -> Result<http::Uri, Failure> {
    url[..Position::AfterQuery]
        .parse()
        .map_err(|error| Failure::new(Kind::Protocol, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::{HeaderName, HeaderValue};

    fn call(method: Method, url: &str, body: &str) -> Call {
        Call {
            method,
            url: Url::parse(url).unwrap(),
            headers: vec![(
                HeaderName::from_static("x-a"),
                HeaderValue::from_static("1"),
            )],
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
    }

    #[test]
    fn a_call_is_written_as_rfc9112_says() {
        let text = |call: &Call, keep_alive| {
            let mut message = vec![1, 2, 3];
            write(call, keep_alive, &mut message);
            String::from_utf8(message).unwrap()
        };
        let get = call(Method::GET, "http://h.example:81/a?b=c#d", "");
        assert_eq!(
            text(&get, true),
            "GET /a?b=c HTTP/1.1\r\nhost: h.example:81\r\nx-a: 1\r\n\r\n"
        );
        let post = call(Method::POST, "https://[::1]/", "xyz");
        assert_eq!(
            text(&post, false),
            "POST / HTTP/1.1\r\nhost: [::1]\r\nx-a: 1\r\nconnection: close\r\ncontent-length: 3\r\n\r\nxyz"
        );
        let empty = call(Method::PUT, "http://h/", "");
        assert!(text(&empty, true).contains("content-length: 0\r\n\r\n"));
    }
}
