//! What happens when things break: the real binary is killed, loses its power, its disk and its
//! database, is started wrongly and is asked to stop. Short under `make test`; under `make chaos`
//! (`SIGNET_TEST_LENGTH=full`) as long as it takes to believe it.

pub(crate) mod child;
pub(crate) mod dice;
pub(crate) mod ledger;
pub(crate) mod load;
pub(crate) mod plan;
pub(crate) mod postgres;
pub(crate) mod report;
pub(crate) mod wire;

mod births;
mod books;
mod disk;
mod drain;
mod keys;
mod kills;
mod powerloss;
mod refusals;
