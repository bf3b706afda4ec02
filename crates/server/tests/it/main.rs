//! The integration tests of the server, one binary.

// `cfg(test)` tells clippy that these are tests, helping functions and all.
#[cfg(test)]
mod chaos;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod store;
#[cfg(test)]
mod support;
