//! What stands between the server and the network: TLS, certificates that change, proxies that are
//! believed and strangers that are not.

mod postgres;
mod proxies;
mod tls;
