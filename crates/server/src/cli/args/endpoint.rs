//! The URL of a listener: where to connect, and what every path begins with.

use std::fmt;

use http::Uri;

/// The URL of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Endpoint {
    /// Whether it speaks TLS.
    pub(in crate::cli) is_tls: bool,
    /// A name or an address, the latter without brackets.
    pub(in crate::cli) host: String,
    /// The port, that of the scheme where none was given.
    pub(in crate::cli) port: u16,
    /// Host and port as the `Host` header wants them.
    pub(in crate::cli) authority: String,
    /// What every path begins with: empty, or `/…` without a slash at its end.
    base: String,
}

impl Endpoint {
    /// Reads `http://…` or `https://…`.
    pub(in crate::cli) fn parse(text: &str) -> Result<Self, String> {
        let url: Uri = text
            .parse()
            .map_err(|fault| format!("it is not a URL: {fault}"))?;
        let is_tls = match url.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("begin it with http:// or https://".to_owned()),
        };
        let authority = url.authority().ok_or("it names no host")?;
        if authority.as_str().contains('@') {
            return Err("it may not hold a user or a password".to_owned());
        }
        if url.query().is_some() {
            return Err("it may not have a query".to_owned());
        }
        let host = authority.host();
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        Ok(Self {
            is_tls,
            host: bare.unwrap_or(host).to_owned(),
            port: authority
                .port_u16()
                .unwrap_or(if is_tls { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            base: url.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The path of a request.
    pub(in crate::cli) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Whether what is sent there could be read on its way.
    pub(in crate::cli) fn is_exposed(&self) -> bool {
        let address = self.host.parse::<std::net::IpAddr>();
        let is_near = address.map_or(self.host == "localhost", |address| address.is_loopback());
        !self.is_tls && !is_near
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_say_where_to_connect() {
        for (text, shown, host, port, exposed) in [
            (
                "http://127.0.0.1:4445",
                "http://127.0.0.1:4445",
                "127.0.0.1",
                4445,
                false,
            ),
            (
                "http://localhost",
                "http://localhost",
                "localhost",
                80,
                false,
            ),
            (
                "http://[::1]:4445/",
                "http://[::1]:4445",
                "::1",
                4445,
                false,
            ),
            (
                "https://auth.example/admin/",
                "https://auth.example/admin",
                "auth.example",
                443,
                false,
            ),
            (
                "http://auth.example:1",
                "http://auth.example:1",
                "auth.example",
                1,
                true,
            ),
        ] {
            let endpoint = Endpoint::parse(text).unwrap();
            assert_eq!(endpoint.to_string(), shown);
            assert_eq!((endpoint.host.as_str(), endpoint.port), (host, port));
            assert_eq!(endpoint.is_exposed(), exposed, "{text}");
        }
        let behind_a_proxy = Endpoint::parse("https://auth.example/admin/").unwrap();
        assert_eq!(behind_a_proxy.path("/version"), "/admin/version");
    }

    #[test]
    fn what_is_no_url_of_a_listener_is_refused() {
        for text in [
            "",
            "127.0.0.1:4445",
            "ftp://h",
            "http://u:p@h",
            "http://h/?q",
            "http://",
        ] {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }
}
