//! Why a call got no proper end, by kind. It must not know what was called.

use std::io;

use h2::Reason;
use http::StatusCode;

use super::frame::Malformed;
use super::status::{Code, NoCode};
use crate::wire::{Failure, Kind};

/// A status that a server sent is never a fault, whatever its code: it is an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// No connection, or one that was lost.
    #[error("{}", .0.detail)]
    Connection(Failure),
    #[error("the server sent GOAWAY ({0:?})")]
    GoAway(Reason),
    #[error("the server reset the stream ({0:?})")]
    Reset(Reason),
    #[error("no whole answer within the deadline")]
    Deadline,
    #[error("HTTP status {} and no grpc-status", .0.as_u16())]
    Http(StatusCode),
    #[error("the answer is not application/grpc")]
    NotGrpc,
    #[error(transparent)]
    Message(#[from] Malformed),
    #[error("the answer ended without grpc-status")]
    NoStatus,
    #[error("grpc-status is no code of gRPC")]
    BadStatus,
    #[error("{0} messages came, and the method answers with one")]
    NotOne(u64),
    #[error("HTTP/2: {0}")]
    Http2(String),
}

impl Fault {
    /// What a client library of gRPC would report in its place.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Connection(_) | Self::GoAway(_) => Code::UNAVAILABLE,
            Self::Reset(reason) => Code::of_reset(*reason),
            Self::Deadline => Code::DEADLINE_EXCEEDED,
            Self::Http(status) => Code::of_http(*status),
            Self::Message(Malformed::TooLarge { .. }) => Code::RESOURCE_EXHAUSTED,
            Self::Message(_) | Self::NotOne(_) | Self::Http2(_) => Code::INTERNAL,
            Self::NotGrpc | Self::NoStatus | Self::BadStatus => Code::UNKNOWN,
        }
    }

    /// As a failure like those of other protocols; its detail is one of few.
    pub(crate) fn failure(&self) -> Failure {
        let kind = match self {
            Self::Connection(failure) => return failure.clone(),
            Self::GoAway(_) => Kind::Closed,
            Self::Reset(_) => Kind::Reset,
            Self::Deadline => Kind::Timeout,
            Self::Http(_)
            | Self::NotGrpc
            | Self::Message(_)
            | Self::NoStatus
            | Self::BadStatus
            | Self::NotOne(_)
            | Self::Http2(_) => Kind::Protocol,
        };
        Failure::new(kind, self)
    }
}

impl From<h2::Error> for Fault {
    fn from(error: h2::Error) -> Self {
        match error.reason() {
            Some(reason) if error.is_remote() && error.is_go_away() => Self::GoAway(reason),
            Some(reason) if error.is_remote() && error.is_reset() => Self::Reset(reason),
            _ => match error.get_io() {
                Some(lost) => Self::Connection(lost_connection(lost)),
                None => Self::Http2(error.to_string()),
            },
        }
    }
}

/// The HTTP/2 library reports the end of a connection as a broken pipe; what TLS has to say, such as
/// the server's alert that it wants a certificate, as invalid data.
fn lost_connection(error: &io::Error) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Kind::Reset,
        io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => Kind::Closed,
        io::ErrorKind::InvalidData => Kind::Tls,
        _ => Kind::Io,
    };
    match kind {
        Kind::Closed => Failure::new(kind, "connection closed before the answer ended"),
        kind => Failure::new(kind, error),
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Connection(failure)
    }
}

impl From<NoCode> for Fault {
    fn from(_: NoCode) -> Self {
        Self::BadStatus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_stand_for_codes_by_their_reason() {
        let cases = [
            (Reason::REFUSED_STREAM, "UNAVAILABLE"),
            (Reason::CANCEL, "CANCELLED"),
            (Reason::ENHANCE_YOUR_CALM, "RESOURCE_EXHAUSTED"),
            (Reason::INADEQUATE_SECURITY, "PERMISSION_DENIED"),
            (Reason::NO_ERROR, "INTERNAL"),
            (Reason::PROTOCOL_ERROR, "INTERNAL"),
        ];
        for (reason, code) in cases {
            let fault = Fault::Reset(reason);
            assert_eq!(fault.code().name(), code);
            assert_eq!(fault.failure().kind, Kind::Reset);
        }
    }

    #[test]
    fn answers_of_http_stand_for_codes_by_their_status() {
        let cases = [
            (400, "INTERNAL"),
            (401, "UNAUTHENTICATED"),
            (403, "PERMISSION_DENIED"),
            (404, "UNIMPLEMENTED"),
            (418, "UNKNOWN"),
            (429, "UNAVAILABLE"),
            (502, "UNAVAILABLE"),
        ];
        for (status, code) in cases {
            let fault = Fault::Http(StatusCode::from_u16(status).unwrap());
            assert_eq!(fault.code().name(), code);
            assert_eq!(fault.failure().kind, Kind::Protocol);
        }
    }

    #[test]
    fn every_other_fault_has_a_kind_and_a_code() {
        let lost = Fault::Connection(Failure::new(Kind::Tls, "alert"));
        let away = Fault::GoAway(Reason::NO_ERROR);
        let large = Malformed::TooLarge {
            length: 2,
            limit: 1,
        };
        let cases = [
            (lost, Kind::Tls, "UNAVAILABLE"),
            (away, Kind::Closed, "UNAVAILABLE"),
            (Fault::Deadline, Kind::Timeout, "DEADLINE_EXCEEDED"),
            (large.into(), Kind::Protocol, "RESOURCE_EXHAUSTED"),
            (Malformed::Compressed.into(), Kind::Protocol, "INTERNAL"),
            (Fault::NoStatus, Kind::Protocol, "UNKNOWN"),
            (Fault::NotOne(0), Kind::Protocol, "INTERNAL"),
        ];
        for (fault, kind, code) in cases {
            let failure = fault.failure();
            assert_eq!(
                (failure.kind, fault.code().name()),
                (kind, code),
                "{fault:?}"
            );
            assert!(!failure.detail.is_empty());
        }
    }
}
