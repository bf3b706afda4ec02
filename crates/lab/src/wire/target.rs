//! Where requests go: the parts of a URL that a connection and a request need. It must not know what
//! is sent or how often.

use url::{Host, Url};

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadTarget {
    #[error("not a URL: {0}")]
    Url(#[from] url::ParseError),
    #[error("the URL must begin with http:// or https://")]
    Scheme,
    #[error("the URL names no host")]
    Host,
    #[error("give credentials with -a, not inside the URL, where every report would show them")]
    Credentials,
}

#[derive(Clone, Debug)]
pub(crate) struct Target {
    url: Url,
    host: Host<String>,
    port: u16,
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Self, BadTarget> {
        let mut url = Url::parse(text)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadTarget::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadTarget::Credentials);
        }
        url.set_fragment(None);
        let host = url.host().ok_or(BadTarget::Host)?.to_owned();
        let port = url.port_or_known_default().ok_or(BadTarget::Scheme)?;
        Ok(Self { url, host, port })
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    pub(crate) fn host(&self) -> &Host<String> {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The whole URL without its fragment.
    pub(crate) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The value of the Host header: the port only when it is not the scheme's own.
    pub(crate) fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.to_string(),
        }
    }

    /// The request target in origin form (RFC 9112 section 3.2.1).
    pub(crate) fn path(&self) -> &str {
        &self.url[url::Position::BeforePath..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_url() {
        let target = Target::parse("http://127.0.0.1:8080/a/b?c=d#e").unwrap();
        assert_eq!(target.authority(), "127.0.0.1:8080");
        assert_eq!((target.path(), target.port()), ("/a/b?c=d", 8080));
        assert!(!target.is_tls());
        let target = Target::parse("https://[::1]").unwrap();
        assert_eq!(target.authority(), "[::1]");
        assert_eq!((target.path(), target.port()), ("/", 443));
        assert!(target.is_tls());
    }

    #[test]
    fn unusable_urls_are_refused() {
        for text in ["", "localhost:80", "ftp://x/", "http://u:p@x/", "http://"] {
            assert!(Target::parse(text).is_err(), "{text:?}");
        }
    }
}
