//! The law: what the RFCs say, as pure functions of facts and `now`.
//!
//! Nothing here reads a clock, draws a random number, waits, logs, or knows that there is a
//! database or a network: what a function needs is in its arguments. One RFC, one module.
#![warn(missing_docs)]

pub mod authorize;
pub mod client;
pub mod client_auth;
pub mod discovery;
pub mod error;
pub mod grant;
pub mod ids;
pub mod introspection;
pub mod jose;
pub mod log;
mod login;
pub mod opaque;
mod openid;
pub mod params;
pub mod revocation;
pub mod scope;
pub mod secret;
pub mod time;
pub mod token;

pub use authorize::{par, pkce, redirect, request_object};
pub use error::{Error, ErrorCode};
pub use grant::{code, family};
pub use login::{consent, session, user};
pub use openid::{claims, id_token, logout, logout_token, userinfo};
