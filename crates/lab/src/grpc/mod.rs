//! A gRPC client that needs no generated code: methods come from a descriptor set or from the server's
//! own reflection, messages from JSON. It must not know plans, paces or totals.

pub(crate) mod call;
pub(crate) mod channel;
mod connection;
mod exchange;
pub(crate) mod fault;
pub(crate) mod fields;
mod frame;
pub(crate) mod metadata;
pub(crate) mod prepared;
pub(crate) mod reflection;
pub(crate) mod schema;
pub(crate) mod status;
pub(crate) mod target;

#[cfg(test)]
mod tests;
