//! What is below the requests: connections, TLS, how long they may wait, and who is at their other
//! end. It knows nothing of what is asked or answered.

pub mod certificate;
pub mod forwarded;
pub mod patience;
pub mod peer;
pub mod proxies;
pub mod serve;
pub mod tls;
