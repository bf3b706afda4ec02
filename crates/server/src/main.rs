//! Signet: the authorization server.
fn main() {}
