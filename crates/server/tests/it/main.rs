//! The integration tests of the server, one binary.

// `cfg(test)` tells clippy that these are tests, helping functions and all.
#[cfg(test)]
mod cli;
#[cfg(test)]
mod store;
