//! The law: what the RFCs say, as pure functions of facts and `now`.
//!
//! Nothing here reads a clock, draws a random number, waits, logs, or knows that there is a
//! database or a network: what a function needs is in its arguments. One RFC, one module.
#![warn(missing_docs)]

pub mod client;
pub mod client_auth;
pub mod discovery;
pub mod error;
pub mod grant;
pub mod ids;
pub mod introspection;
pub mod jose;
pub mod log;
pub mod opaque;
pub mod params;
pub mod revocation;
pub mod scope;
pub mod secret;
pub mod time;
pub mod token;

pub use error::{Error, ErrorCode};
