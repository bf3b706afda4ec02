//! The gatekeeper: verify a presented token anywhere.
