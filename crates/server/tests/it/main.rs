//! The integration tests of the server, one binary.

#![expect(
    clippy::excessive_nesting,
    reason = "tables of calls are loops in loops, and the body of an async function is a level"
)]

// `cfg(test)` tells clippy that these are tests, helping functions and all.
#[cfg(test)]
mod admin;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod chaos;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod edge;
#[cfg(test)]
mod introspect;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod login;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod persistence;
#[cfg(test)]
mod races;
#[cfg(test)]
mod revoke;
#[cfg(test)]
mod signer;
#[cfg(test)]
mod store;
#[cfg(test)]
mod support;
#[cfg(test)]
mod token;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod userinfo;
#[cfg(test)]
mod users;
#[cfg(test)]
mod wellknown;
