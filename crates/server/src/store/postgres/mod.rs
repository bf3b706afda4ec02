//! The `PostgreSQL` backend: not there yet.

use std::sync::Arc;

use super::StoreOptions;
use super::error::{Error, OpenError};
use super::op::Pending;
use super::statistics::Counters;

const NOT_YET: Error = Error::Unavailable("PostgreSQL is not supported yet");

#[derive(Debug)]
pub(super) struct Postgres;

impl Postgres {
    pub(super) fn open(_: &str, _: StoreOptions, _: Arc<Counters>) -> Result<Self, OpenError> {
        Err(OpenError::Fault(NOT_YET.to_string()))
    }
    pub(super) fn submit(&self, _: Pending) -> Result<(), Error> {
        Err(NOT_YET)
    }
    pub(super) async fn close(&self) {}
}

pub(super) fn migrate(_: &str) -> Result<(i64, i64), OpenError> {
    Err(OpenError::Fault(NOT_YET.to_string()))
}

macro_rules! not_yet {
    ($($room:ident { $($name:ident($($type:ty),*) -> $answer:ty;)* })*) => { $(
        pub(in crate::store) mod $room {
            #[expect(unused_imports, reason = "a stub")]
            use super::super::{clients::*, keys::*, log::*, tokens::*};
            #[expect(unused_imports, reason = "a stub")]
            use signet_oauth::{client::Client, ids::*, log::*};
            $(pub(in crate::store) async fn $name(_: &super::Postgres, $(_: $type),*) -> Result<$answer, super::Error> {
                Err(super::NOT_YET)
            })*
        }
    )* };
}
not_yet! {
    clients { find(&ClientId) -> Snapshot<Option<Client>>; list(&Page) -> Vec<Client>; }
    tokens {
        find(TokenId) -> Option<ListedToken>;
        list(&ClientId, i64, u32) -> TokenPage;
        find_live([u8; 16]) -> Option<LiveToken>;
    }
    log {
        head() -> Head;
        read(Position, u32) -> Vec<LogRow>;
        load_state(Box<dyn FnMut(StateRow) + Send>) -> Position;
    }
    keys { list() -> Snapshot<Vec<KeyRecord>>; }
    meta { time() -> u64; find_setting(&str) -> Option<String>; }
}
