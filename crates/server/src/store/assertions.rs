//! Things that may be used once: the `jti` of client assertions (RFC 7523 §3).

use signet_oauth::time::Timestamp;

use super::Store;
use super::error::Error;
use super::op::{Outcome, Write};

/// What came of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingleUse {
    /// This attempt is the one that used it.
    Won,
    /// Another attempt was before.
    Used,
    /// It has expired by the database's clock: whether it was used is not remembered.
    Expired,
}

impl Store {
    /// Uses an assertion up. It is known by its key *and* its expiry: an assertion carries both
    /// under one signature, so a replayed one cannot change either. `attempt` names this use: the
    /// same one again has won again.
    pub async fn use_assertion(
        &self,
        key: [u8; 16],
        until: Timestamp,
        attempt: [u8; 16],
    ) -> Result<SingleUse, Error> {
        let write = Write::UseAssertion {
            key,
            until,
            attempt,
        };
        match self.write(write).await? {
            Outcome::SingleUse(used) => Ok(used),
            _ => Err(Error::mixed_up()),
        }
    }
}
