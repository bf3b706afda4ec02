//! Cookies (RFC 6265): read, set and cleared. What is in them is sealed elsewhere; here is how
//! they get to the browser and back.

use http::header::{COOKIE, HeaderValue};
use http::{HeaderMap, HeaderName, Response, header::SET_COOKIE};

/// The cookies of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    /// A random number that this browser has and no other: what is sealed for one browser is of no
    /// use in another.
    Browser,
    /// Who is signed in.
    Session,
}

/// How the cookies of an issuer are written. Over TLS their names have the prefix `__Host-`:
/// browsers then take them from this very host only, over TLS, for every path, so that no sister
/// domain can plant one (RFC 6265bis §4.1.3.2). A development server on plain http cannot.
#[derive(Clone, Copy, Debug)]
pub struct Cookies {
    secure: bool,
}

impl Cookies {
    /// Those of this issuer.
    pub fn of(issuer: &str) -> Self {
        Self {
            secure: issuer.starts_with("https:"),
        }
    }

    /// The name on the wire.
    pub fn name(self, cookie: Cookie) -> &'static str {
        match (cookie, self.secure) {
            (Cookie::Browser, true) => "__Host-signet_browser",
            (Cookie::Browser, false) => "signet_browser",
            (Cookie::Session, true) => "__Host-signet_session",
            (Cookie::Session, false) => "signet_session",
        }
    }

    /// The value of a cookie, if the browser sent one that could be ours. HTTP/2 may split the
    /// header into several (RFC 9113 §8.2.3). Of two of one name, the first is the more specific.
    pub fn read(self, headers: &HeaderMap, cookie: Cookie) -> Option<&str> {
        let pairs = headers.get_all(COOKIE).iter();
        let pairs = pairs.flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
        find(pairs, self.name(cookie).as_bytes())
    }

    /// The header that sets a cookie: for so many seconds, or until the browser is closed.
    /// Nothing where the value has a character that a cookie cannot have; ours are base64url.
    pub fn set(self, cookie: Cookie, value: &str, max_age: Option<u64>) -> Option<HeaderValue> {
        if !value.bytes().all(is_cookie_octet) {
            return None;
        }
        let age = max_age.map(|seconds| format!("; Max-Age={seconds}"));
        self.write(cookie, value, &age.unwrap_or_default())
    }

    /// The header that removes a cookie.
    pub fn clear(self, cookie: Cookie) -> Option<HeaderValue> {
        self.write(cookie, "", "; Max-Age=0")
    }

    fn write(self, cookie: Cookie, value: &str, age: &str) -> Option<HeaderValue> {
        let secure = if self.secure { "; Secure" } else { "" };
        let name = self.name(cookie);
        let text = format!("{name}={value}; Path=/{age}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::from_str(&text).ok()
    }
}

/// Adds `Set-Cookie` headers to a response.
pub fn add<B>(response: &mut Response<B>, cookies: impl IntoIterator<Item = HeaderValue>) {
    const NAME: HeaderName = SET_COOKIE;
    for cookie in cookies {
        response.headers_mut().append(NAME, cookie);
    }
}

/// The value of the first pair of this name whose value a cookie can have.
fn find<'a>(pairs: impl Iterator<Item = &'a [u8]>, name: &[u8]) -> Option<&'a str> {
    for pair in pairs {
        let pair = pair.trim_ascii();
        let Some(value) = pair
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix(b"="))
        else {
            continue;
        };
        if !value.is_empty() && value.iter().copied().all(is_cookie_octet) {
            return str::from_utf8(value).ok();
        }
    }
    None
}

/// `cookie-octet` (RFC 6265 §4.1.1).
fn is_cookie_octet(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TLS: &str = "https://login.example";
    const PLAIN: &str = "http://localhost:4444";

    fn sent(lines: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, HeaderValue::from_bytes(line).unwrap());
        }
        headers
    }

    fn read<'a>(issuer: &str, headers: &'a HeaderMap) -> Option<&'a str> {
        Cookies::of(issuer).read(headers, Cookie::Session)
    }

    #[test]
    fn a_cookie_is_set_as_the_issuer_needs_it() {
        let tls = Cookies::of(TLS).set(Cookie::Session, "abc", Some(60));
        assert_eq!(
            tls.unwrap(),
            "__Host-signet_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
        let plain = Cookies::of(PLAIN).set(Cookie::Browser, "abc", None);
        assert_eq!(
            plain.unwrap(),
            "signet_browser=abc; Path=/; HttpOnly; SameSite=Lax"
        );
        let cleared = Cookies::of(TLS).clear(Cookie::Browser);
        assert_eq!(
            cleared.unwrap(),
            "__Host-signet_browser=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure"
        );
        assert!(Cookies::of(TLS).set(Cookie::Session, "a;b", None).is_none());
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        for (lines, value) in [
            (&[&b"signet_session=a"[..]][..], Some("a")),
            (&[b"x=1; signet_session=a; y=2"], Some("a")),
            (&[b"x=1", b"signet_session=a"], Some("a")),
            (&[b"signet_session=a; signet_session=b"], Some("a")),
            (&[b" ;;  signet_session=a=b== ;"], Some("a=b==")),
            (&[b"signet_session="], None),
            (&[b"signet_session=; signet_session=b"], Some("b")),
            (&[b"signet_session"], None),
            (&[b"xsignet_session=a"], None),
            (&[b"signet_sessionx=a"], None),
            (&[b"signet_session =a"], None),
            (&[b"Signet_session=a"], None),
            (&[b"signet_session=a b"], None),
            (&[b"signet_session=\"a\""], None),
            (&[b"signet_session=\xff"], None),
            (&[b"__Host-signet_session=a"], None),
            (&[], None),
        ] {
            let headers = sent(lines);
            assert_eq!(read(PLAIN, &headers), value, "{lines:?}");
        }
    }

    #[test]
    fn an_unprefixed_cookie_is_not_taken_over_tls() {
        assert_eq!(read(TLS, &sent(&[b"signet_session=planted"])), None);
        let headers = sent(&[b"signet_session=planted; __Host-signet_session=ours"]);
        assert_eq!(read(TLS, &headers), Some("ours"));
    }

    proptest! {
        #[test]
        fn what_was_set_is_read(
            value in "[!#-+\\--:<-\\[\\]-~]{1,80}",
            before in "([a-z]{1,8}=[a-z0-9=]{0,8}; ?){0,4}",
            after in "(; ?[a-z]{1,8}=[a-z0-9=]{0,8}){0,4}",
            tls in any::<bool>(),
        ) {
            let cookies = Cookies::of(if tls { TLS } else { PLAIN });
            let set = cookies.set(Cookie::Session, &value, None).unwrap();
            let pair = set.to_str().unwrap().split("; ").next().unwrap();
            let line = format!("{before}{pair}{after}");
            let headers = sent(&[line.as_bytes()]);
            prop_assert_eq!(cookies.read(&headers, Cookie::Session), Some(&*value));
        }

        #[test]
        fn whatever_is_sent_only_a_value_that_a_cookie_can_have_is_read(
            bytes in prop::collection::vec(prop_oneof![32_u8..=126, Just(b';'), Just(b'='), 128_u8..], 0..60),
            name in prop::sample::select(vec!["signet_session=", "signet_session", "", "; signet_session="]),
        ) {
            let line = [name.as_bytes(), &bytes].concat();
            if let Some(value) = read(PLAIN, &sent(&[&line])) {
                prop_assert!(!value.is_empty() && value.bytes().all(is_cookie_octet));
                let pair = format!("signet_session={value}");
                prop_assert!(String::from_utf8_lossy(&line).contains(&pair));
            }
        }

        #[test]
        fn no_value_adds_an_attribute(value in "\\PC{0,40}") {
            if let Some(header) = Cookies::of(TLS).set(Cookie::Session, &value, None) {
                let text = header.to_str().unwrap();
                prop_assert_eq!(text.split(';').count(), 5, "{}", text);
            }
        }
    }
}
