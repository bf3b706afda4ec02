//! People: who they are, that they are logged in, and what they have allowed.

pub mod consent;
pub(crate) mod pack;
mod profile;
pub mod session;
pub mod user;
