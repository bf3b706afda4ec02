//! HTTP/1.1 responses, read incrementally from bytes that arrive in any pieces (RFC 9112). It must
//! not know sockets or time: it is fed bytes and says where the response ends.

use std::mem::MaybeUninit;

use http::{HeaderMap, HeaderName, HeaderValue};
use httparse::{Header, Status};

/// Response heads, chunk lines and trailers beyond this are refused, so that a broken server
/// cannot make the lab collect without end.
const HEAD_LIMIT: usize = 64 * 1024;
const HEADER_LIMIT: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("not an HTTP/1 response head")]
    Head,
    #[error("response head is too large")]
    TooLarge,
    #[error("contradictory or invalid Content-Length")]
    Length,
    #[error("invalid chunk")]
    Chunk,
    #[error("protocol switched without being asked")]
    Switched,
    #[error("bytes after the end of the response")]
    Surplus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Head,
    Fixed(u64),
    ChunkLine,
    ChunkData(u64),
    ChunkEnd(u8),
    Trailers,
    UntilClose,
    Done,
}

/// What is kept of a response, beyond its numbers, for somebody who judges it.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// How much of the body is kept; the rest is only counted.
    limit: usize,
}

impl Kept {
    /// Nothing yet, and at most `limit` bytes of the body later.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.body.len());
        self.body.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn take_headers(&mut self, headers: &[Header<'_>]) {
        self.headers.clear();
        for header in headers {
            // What is no valid header cannot be judged; framing has looked at what matters.
            if let (Ok(name), Ok(value)) = (
                HeaderName::from_bytes(header.name.as_bytes()),
                HeaderValue::from_bytes(header.value),
            ) {
                self.headers.append(name, value);
            }
        }
    }
}

/// One response in the making.
#[derive(Debug)]
pub(crate) struct Response {
    part: Part,
    kept: Option<Kept>,
    /// The beginning of a head or line whose end has not arrived.
    held: Vec<u8>,
    answers_head: bool,
    status: u16,
    body: u64,
    reusable: bool,
}

impl Response {
    /// `answers_head`: the request was HEAD, so no body follows whatever the head says.
    pub(crate) fn new(answers_head: bool) -> Self {
        Self {
            part: Part::Head,
            kept: None,
            held: Vec::new(),
            answers_head,
            status: 0,
            body: 0,
            reusable: false,
        }
    }

    /// Keeps the headers and the beginning of the body.
    pub(crate) fn keeping(mut self, kept: Kept) -> Self {
        self.kept = Some(kept);
        self
    }

    pub(crate) fn into_kept(self) -> Option<Kept> {
        self.kept
    }

    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// Bytes of the body so far, without chunk framing.
    pub(crate) fn body(&self) -> u64 {
        self.body
    }

    pub(crate) fn is_done(&self) -> bool {
        self.part == Part::Done
    }

    /// Whether the connection may carry another request.
    pub(crate) fn is_reusable(&self) -> bool {
        self.is_done() && self.reusable
    }

    /// Takes the next bytes of the connection. Bytes after the end are an error: only one request
    /// is ever on its way, so nothing can follow its answer.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        while !bytes.is_empty() {
            let used = match self.part {
                Part::Head => self.gather(bytes, Self::head)?,
                Part::Fixed(left) => self.skim(bytes, left, Part::Fixed, Part::Done),
                Part::ChunkLine => self.gather(bytes, Self::chunk_line)?,
                Part::ChunkData(left) => self.skim(bytes, left, Part::ChunkData, Part::ChunkEnd(0)),
                Part::ChunkEnd(seen) => self.chunk_end(seen, bytes[0])?,
                Part::Trailers => self.gather(bytes, Self::trailers)?,
                Part::UntilClose => self.skim(bytes, u64::MAX, |_| Part::UntilClose, Part::Done),
                Part::Done => return Err(Malformed::Surplus),
            };
            bytes = &bytes[used..];
        }
        Ok(())
    }

    /// The peer closed the connection. True when that is how this response ends.
    pub(crate) fn close(&mut self) -> bool {
        if self.part == Part::UntilClose {
            self.part = Part::Done;
        }
        self.is_done()
    }

    /// Parses an element that must be seen whole. Until its end has arrived all bytes are held.
    fn gather(&mut self, bytes: &[u8], parse: Parse) -> Result<usize, Malformed> {
        if self.held.is_empty() {
            if let Some(end) = parse(self, bytes)? {
                return Ok(end);
            }
        } else {
            let before = self.held.len();
            let mut held = std::mem::take(&mut self.held);
            held.extend_from_slice(bytes);
            if let Some(end) = parse(self, &held)? {
                return Ok(end.saturating_sub(before));
            }
            self.held = held;
            return self.within_limit(bytes.len());
        }
        self.held.extend_from_slice(bytes);
        self.within_limit(bytes.len())
    }

    fn within_limit(&self, used: usize) -> Result<usize, Malformed> {
        if self.held.len() > HEAD_LIMIT {
            return Err(Malformed::TooLarge);
        }
        Ok(used)
    }

    /// Counts body bytes, and keeps them where somebody wants them.
    fn skim(&mut self, bytes: &[u8], left: u64, more: fn(u64) -> Part, then: Part) -> usize {
        let here = left.min(bytes.len() as u64);
        self.body = self.body.saturating_add(here);
        let used = usize::try_from(here).unwrap_or(bytes.len());
        if let Some(kept) = &mut self.kept {
            kept.add(&bytes[..used]);
        }
        self.part = if here == left {
            then
        } else {
            more(left - here)
        };
        used
    }

    fn head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let mut room = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADER_LIMIT];
        let mut head = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default()
            .parse_response_with_uninit_headers(&mut head, bytes, &mut room);
        let end = match parsed {
            Ok(Status::Complete(end)) => end,
            Ok(Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Malformed::TooLarge),
            Err(_) => return Err(Malformed::Head),
        };
        let status = head.code.ok_or(Malformed::Head)?;
        match status {
            101 => return Err(Malformed::Switched),
            // An interim response announces the real one, which follows on the same connection.
            100..=199 => return Ok(Some(end)),
            0..=99 => return Err(Malformed::Head),
            _ => {}
        }
        self.status = status;
        if let Some(kept) = &mut self.kept {
            kept.take_headers(head.headers);
        }
        let framing = Framing::of(head.headers, head.version == Some(1))?;
        self.reusable = framing.keeps_open;
        let bodiless = self.answers_head || matches!(status, 204 | 304);
        self.part = match (framing.chunked, framing.length) {
            _ if bodiless => Part::Done,
            (Some(true), _) => Part::ChunkLine,
            (None, Some(0)) => Part::Done,
            (None, Some(length)) => Part::Fixed(length),
            (Some(false), _) | (None, None) => {
                self.reusable = false;
                Part::UntilClose
            }
        };
        Ok(Some(end))
    }

    fn chunk_line(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        match httparse::parse_chunk_size(bytes).map_err(|_| Malformed::Chunk)? {
            Status::Partial => Ok(None),
            Status::Complete((end, size)) => {
                self.part = match size {
                    0 => Part::Trailers,
                    size => Part::ChunkData(size),
                };
                Ok(Some(end))
            }
        }
    }

    fn chunk_end(&mut self, seen: u8, byte: u8) -> Result<usize, Malformed> {
        self.part = match (seen, byte) {
            (0, b'\r') => Part::ChunkEnd(1),
            (1, b'\n') => Part::ChunkLine,
            _ => return Err(Malformed::Chunk),
        };
        Ok(1)
    }

    fn trailers(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let mut room = [httparse::EMPTY_HEADER; HEADER_LIMIT];
        match httparse::parse_headers(bytes, &mut room).map_err(|_| Malformed::Chunk)? {
            Status::Partial => Ok(None),
            Status::Complete((end, _)) => {
                self.part = Part::Done;
                Ok(Some(end))
            }
        }
    }
}

type Parse = fn(&mut Response, &[u8]) -> Result<Option<usize>, Malformed>;

/// How the end of a message is found (RFC 9112 section 6.3).
#[derive(Debug)]
struct Framing {
    /// `Some(true)`: chunked is the last coding; `Some(false)`: some other coding is.
    chunked: Option<bool>,
    length: Option<u64>,
    keeps_open: bool,
}

impl Framing {
    fn of(headers: &[Header<'_>], persistent: bool) -> Result<Self, Malformed> {
        let mut framing = Self {
            chunked: None,
            length: None,
            keeps_open: persistent,
        };
        for header in headers {
            // The lengths of the three names that matter sort out most headers without a compare.
            match header.name.len() {
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    framing.length = Some(length(header.value, framing.length)?);
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    let last = tokens(header.value).last().unwrap_or_default();
                    framing.chunked = Some(last.eq_ignore_ascii_case(b"chunked"));
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    framing.keeps_open = keeps_open(header.value, framing.keeps_open);
                }
                _ => {}
            }
        }
        Ok(framing)
    }
}

/// Whether the connection stays open after this Connection header; `close` wins.
fn keeps_open(value: &[u8], otherwise: bool) -> bool {
    let has = |name: &[u8]| tokens(value).any(|option| option.eq_ignore_ascii_case(name));
    !has(b"close") && (otherwise || has(b"keep-alive"))
}

/// Reads a Content-Length, which may be repeated only with the same value.
fn length(value: &[u8], earlier: Option<u64>) -> Result<u64, Malformed> {
    let mut found = earlier;
    for token in tokens(value) {
        let digits = !token.is_empty() && token.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(token)
            .ok()
            .filter(|_| digits)
            .and_then(|text| text.parse().ok())
            .ok_or(Malformed::Length)?;
        if found.is_some_and(|found| found != number) {
            return Err(Malformed::Length);
        }
        found = Some(number);
    }
    found.ok_or(Malformed::Length)
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests;
