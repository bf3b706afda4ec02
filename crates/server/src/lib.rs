//! Signet: the authorization server. The binary is a thin shell around this library, so that
//! tests can run the server in their own process.
//!
//! Arrows between the rooms: `main → http → flow → app → {store, cache, log, signer} → oauth`.
//! Doors never import the store, the store never imports flows, doors or configuration.

pub mod app;
pub mod build;
pub mod cache;
pub mod cli;
pub mod clock;
pub mod config;
pub mod fetch;
pub mod flow;
pub mod hashing;
pub mod http;
pub mod log;
pub mod rng;
pub mod sealing;
pub mod serve;
pub mod signer;
pub mod store;
pub mod telemetry;
pub mod upkeep;
