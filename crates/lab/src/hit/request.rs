//! What is sent: one request made ready before the run, and the bodies that take turns in it. It must
//! not know connections or pacing.

use std::io::Write as _;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version};
use http_body_util::Full;

use crate::wire::target::Target;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadRequest {
    #[error("not a method: {0}")]
    Method(String),
    #[error("not a header of the form 'Name: value': {0}")]
    Header(String),
    #[error("the URL cannot be written in a request: {0}")]
    Uri(#[from] http::Error),
    #[error("the file of bodies has no lines")]
    NoBodies,
}

/// The bodies of a run.
#[derive(Clone, Debug)]
pub(crate) enum Bodies {
    None,
    /// The same for every request.
    One(Bytes),
    /// Request `k` carries body `k`, round and round.
    Each(Vec<Bytes>),
}

impl Bodies {
    /// One body per line; line ends are not part of a body and empty lines are skipped.
    pub(crate) fn each_line(file: Vec<u8>) -> Result<Self, BadRequest> {
        let file = Bytes::from(file);
        let lines: Vec<_> = file
            .split(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.is_empty())
            .map(|line| file.slice_ref(line))
            .collect();
        if lines.is_empty() {
            return Err(BadRequest::NoBodies);
        }
        Ok(Self::Each(lines))
    }

    fn turn(&self, ordinal: u64) -> Option<&Bytes> {
        match self {
            Self::None => None,
            Self::One(body) => Some(body),
            Self::Each(lines) => {
                let turn = ordinal % lines.len() as u64;
                usize::try_from(turn).ok().and_then(|turn| lines.get(turn))
            }
        }
    }
}

/// The parts of a request as the user gave them.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) method: Option<String>,
    /// `Name: value`, in the order given.
    pub(crate) headers: Vec<String>,
    pub(crate) content_type: String,
    pub(crate) authorization: Option<String>,
    pub(crate) bodies: Bodies,
}

/// A request ready to be written any number of times.
#[derive(Debug)]
pub(crate) struct Requests {
    method: Method,
    bodies: Bodies,
    /// The head up to where Content-Length goes, or with `One` body the whole message.
    bytes: Vec<u8>,
    template: http::Request<()>,
}

impl Requests {
    pub(crate) fn new(target: &Target, draft: Draft) -> Result<Self, BadRequest> {
        let method = method(&draft)?;
        let headers = headers(target, &draft)?;
        let mut bytes = Vec::new();
        bytes.extend_from_slice(format!("{method} {} HTTP/1.1\r\n", target.path()).as_bytes());
        for (name, value) in &headers {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        match &draft.bodies {
            Bodies::None => bytes.extend_from_slice(b"\r\n"),
            Bodies::One(body) => append_body(&mut bytes, body),
            Bodies::Each(_) => {}
        }
        Ok(Self {
            template: template(target, &method, headers)?,
            method,
            bodies: draft.bodies,
            bytes,
        })
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    /// The message of request `ordinal` in HTTP/1.1; `scratch` is where it is put together when
    /// bodies differ.
    pub(crate) fn message<'a>(&'a self, ordinal: u64, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let (Bodies::Each(_), Some(body)) = (&self.bodies, self.bodies.turn(ordinal)) else {
            return &self.bytes;
        };
        scratch.clear();
        scratch.extend_from_slice(&self.bytes);
        append_body(scratch, body);
        scratch
    }

    /// Request `ordinal` for HTTP/2.
    pub(crate) fn request(&self, ordinal: u64) -> http::Request<Full<Bytes>> {
        let body = self.bodies.turn(ordinal).cloned().unwrap_or_default();
        self.template.clone().map(|()| Full::new(body))
    }
}

fn append_body(message: &mut Vec<u8>, body: &[u8]) {
    // Writing to a vector cannot fail.
    drop(write!(message, "content-length: {}\r\n\r\n", body.len()));
    message.extend_from_slice(body);
}

/// POST when there is a body, else GET, unless the user said otherwise.
fn method(draft: &Draft) -> Result<Method, BadRequest> {
    match (&draft.method, &draft.bodies) {
        (Some(text), _) => {
            Method::from_bytes(text.as_bytes()).map_err(|_| BadRequest::Method(text.clone()))
        }
        (None, Bodies::None) => Ok(Method::GET),
        (None, _) => Ok(Method::POST),
    }
}

/// The user's headers, and those that a request needs and the user did not give.
fn headers(target: &Target, draft: &Draft) -> Result<HeaderMap, BadRequest> {
    let mut headers = HeaderMap::new();
    for line in &draft.headers {
        let bad = || BadRequest::Header(line.clone());
        let (name, value) = line.split_once(':').ok_or_else(bad)?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| bad())?;
        let value = HeaderValue::from_str(value.trim()).map_err(|_| bad())?;
        // The length is always that of the body sent: a wrong one would desynchronise HTTP/1.1.
        if name != CONTENT_LENGTH {
            headers.append(name, value);
        }
    }
    let mut otherwise = |name: HeaderName, value: &str| {
        let value = HeaderValue::from_str(value);
        let value = value.map_err(|_| BadRequest::Header(name.to_string()))?;
        headers.entry(name).or_insert(value);
        Ok::<_, BadRequest>(())
    };
    otherwise(HOST, &target.authority())?;
    otherwise(USER_AGENT, concat!("assay/", env!("CARGO_PKG_VERSION")))?;
    if !matches!(draft.bodies, Bodies::None) {
        otherwise(CONTENT_TYPE, &draft.content_type)?;
    }
    if let Some(authorization) = &draft.authorization {
        otherwise(AUTHORIZATION, authorization)?;
    }
    Ok(headers)
}

/// HTTP/2 carries the host in `:authority` and has no connection headers.
fn template(
    target: &Target,
    method: &Method,
    mut headers: HeaderMap,
) -> Result<http::Request<()>, BadRequest> {
    let host = headers.remove(HOST);
    let authority = host
        .as_ref()
        .and_then(|host| host.to_str().ok())
        .map_or_else(|| target.authority(), ToOwned::to_owned);
    let scheme = if target.is_tls() { "https" } else { "http" };
    let uri = http::Uri::builder()
        .scheme(scheme)
        .authority(authority)
        .path_and_query(target.path())
        .build()?;
    headers.remove(http::header::CONNECTION);
    let mut request = http::Request::builder()
        .method(method.clone())
        .uri(uri)
        .version(Version::HTTP_2)
        .body(())?;
    *request.headers_mut() = headers;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(bodies: Bodies) -> Draft {
        Draft {
            method: None,
            headers: Vec::new(),
            content_type: "application/x-www-form-urlencoded".to_owned(),
            authorization: None,
            bodies,
        }
    }

    fn message(draft: Draft, ordinal: u64) -> String {
        let target = Target::parse("http://localhost:1/x?y").unwrap();
        let requests = Requests::new(&target, draft).unwrap();
        let mut scratch = Vec::new();
        String::from_utf8(requests.message(ordinal, &mut scratch).to_vec()).unwrap()
    }

    #[test]
    fn request_without_a_body_is_a_get() {
        let text = message(draft(Bodies::None), 0);
        assert!(text.starts_with("GET /x?y HTTP/1.1\r\nhost: localhost:1\r\nuser-agent: assay/"));
        assert!(text.ends_with("\r\n\r\n"));
        assert!(!text.contains("content"));
    }

    #[test]
    fn request_with_a_body_is_a_posted_form() {
        let text = message(draft(Bodies::One(Bytes::from_static(b"a=b"))), 7);
        assert!(text.starts_with("POST "));
        assert!(text.contains("content-type: application/x-www-form-urlencoded\r\n"));
        assert!(text.ends_with("content-length: 3\r\n\r\na=b"));
    }

    #[test]
    fn given_headers_replace_the_usual_ones() {
        let mut draft = draft(Bodies::One(Bytes::from_static(b"{}")));
        draft.method = Some("PUT".to_owned());
        draft.headers = vec![
            "Host: other".to_owned(),
            "Content-Type: application/json".to_owned(),
            "Content-Length: 99".to_owned(),
        ];
        let text = message(draft, 0);
        assert!(text.starts_with("PUT /x?y HTTP/1.1\r\nhost: other\r\n"));
        assert!(text.contains("content-type: application/json\r\n"));
        assert!(text.ends_with("content-length: 2\r\n\r\n{}"));
    }

    #[test]
    fn lines_take_turns() {
        let bodies = || Bodies::each_line(b"t=1\r\n\nt=22\nt=3".to_vec()).unwrap();
        let ends = ["3\r\n\r\nt=1", "4\r\n\r\nt=22", "3\r\n\r\nt=3"];
        for ordinal in 0..9 {
            let text = message(draft(bodies()), ordinal);
            assert!(text.ends_with(ends[usize::try_from(ordinal).unwrap() % 3]));
        }
        assert!(Bodies::each_line(b"\n\r\n".to_vec()).is_err());
    }

    #[test]
    fn header_cannot_smuggle_a_line() {
        let mut draft = draft(Bodies::None);
        draft.headers = vec!["A: b\r\nC: d".to_owned()];
        let target = Target::parse("http://h/").unwrap();
        assert!(Requests::new(&target, draft).is_err());
    }
}
