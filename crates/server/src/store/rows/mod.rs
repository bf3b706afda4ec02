//! How domain values become columns and come back. Shared by both backends, private to the store.

mod client;
mod event;
mod family;
mod session;
mod token;
mod user;

pub(super) use client::{ClientColumns, body_of, client_from};
pub(super) use event::{columns_of, ending_kind, ending_number, event_from};
pub(super) use family::{FamilyColumns, family_from};
pub(super) use session::{ConsentColumns, SessionColumns, consent_from, session_from};
pub(super) use token::{TokenColumns, listed_from};
pub(super) use user::{UserColumns, user_body, user_from};

use super::error::Error;
use signet_oauth::time::Timestamp;

/// The tenant of everything: one process serves one issuer for now.
pub(super) const TENANT: i32 = 0;

/// Seconds as a column; what lies beyond the column's range lies at its end.
pub(super) fn seconds(at: Timestamp) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

/// A column of seconds.
pub(super) fn timestamp(seconds: i64) -> Timestamp {
    Timestamp(u64::try_from(seconds).unwrap_or(0))
}

/// A count as a column.
pub(super) fn number(value: u64) -> Result<i64, Error> {
    i64::try_from(value).map_err(|_| Error::Fault(format!("{value} does not fit a column")))
}

/// A column of a count.
pub(super) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Sixteen bytes.
pub(super) fn key16(bytes: &[u8]) -> Result<[u8; 16], Error> {
    bytes
        .try_into()
        .map_err(|_| Error::unreadable("a key is not 16 bytes long"))
}
