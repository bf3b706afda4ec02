//! The lab as its users see it: the binary against small servers that count what reaches them.

#![cfg(test)]

mod bodies;
mod closed;
mod echo;
mod failures;
mod lab;
mod newcomer;
mod open;
mod rpc;
mod rpc_server;
mod rpc_service;
mod runs;
mod secure;
mod stub;
