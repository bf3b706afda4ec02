//! A cookie jar (RFC 6265 section 5, with the prefixes of its successor). It must not know requests.
//!
//! There is no list of public suffixes: a domain without a dot is refused instead, which is enough for
//! servers under test.

use url::{Host, Url};

use super::date;

/// No server under test needs more; a hostile one shall not fill the memory.
const MOST: usize = 300;
const LONGEST: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Jar {
    /// In the order of their creation.
    cookies: Vec<Cookie>,
}

#[derive(Debug)]
struct Cookie {
    name: String,
    value: String,
    domain: String,
    host_only: bool,
    path: String,
    secure: bool,
    /// Seconds since 1970; `None` lasts as long as the jar.
    expires: Option<u64>,
}

#[derive(Debug, Default)]
struct Attributes<'a> {
    domain: Option<&'a str>,
    path: Option<&'a str>,
    secure: bool,
    max_age: Option<&'a str>,
    expires: Option<&'a str>,
}

impl Jar {
    /// Takes a `Set-Cookie` value that came from `url`; one that breaks the rules is dropped, as
    /// browsers do.
    pub(crate) fn set(&mut self, value: &[u8], url: &Url, now: u64) {
        let Some(cookie) = std::str::from_utf8(value)
            .ok()
            .and_then(|text| parse(text, url, now))
        else {
            return;
        };
        let is_same = |old: &Cookie| {
            (&old.name, &old.domain, &old.path) == (&cookie.name, &cookie.domain, &cookie.path)
        };
        // A cookie that is set again keeps its place.
        let place = self.cookies.iter().position(is_same);
        let is_dead = cookie.expires.is_some_and(|expires| expires <= now);
        match place {
            Some(place) if is_dead => drop(self.cookies.remove(place)),
            Some(place) => self.cookies[place] = cookie,
            None if is_dead => {}
            None => {
                if self.cookies.len() >= MOST {
                    self.cookies.remove(0);
                }
                self.cookies.push(cookie);
            }
        }
    }

    /// The `Cookie` line for a request, longest paths first.
    pub(crate) fn line(&self, url: &Url, now: u64) -> Option<String> {
        let host = host(url)?;
        let mut fitting: Vec<&Cookie> = self
            .cookies
            .iter()
            .filter(|cookie| cookie.fits(&host, url) && cookie.expires.is_none_or(|at| at > now))
            .collect();
        if fitting.is_empty() {
            return None;
        }
        fitting.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> = fitting.iter().map(|cookie| cookie.pair()).collect();
        Some(pairs.join("; "))
    }
}

impl Cookie {
    fn fits(&self, host: &str, url: &Url) -> bool {
        let fits_host = if self.host_only {
            host == self.domain
        } else {
            is_within(host, &self.domain)
        };
        fits_host && path_matches(url.path(), &self.path) && (!self.secure || is_secure(url))
    }

    fn pair(&self) -> String {
        match self.name.as_str() {
            "" => self.value.clone(),
            name => format!("{name}={}", self.value),
        }
    }
}

fn parse(text: &str, url: &Url, now: u64) -> Option<Cookie> {
    let is_control = |c: char| c.is_control() && c != '\t';
    if text.contains(is_control) || text.len() > LONGEST {
        return None;
    }
    let (pair, rest) = text.split_once(';').unwrap_or((text, ""));
    let (name, value) = pair.split_once('=').unwrap_or(("", pair));
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() && value.is_empty() {
        return None;
    }
    let attributes = attributes(rest);
    let host = host(url)?;
    let (domain, host_only) = scope(attributes.domain, &host, url)?;
    let path = match attributes.path {
        Some(path) if path.starts_with('/') => path.to_owned(),
        _ => default_path(url.path()).to_owned(),
    };
    if attributes.secure && !is_secure(url) {
        return None;
    }
    let keeps_promise = if has_prefix(name, "__Host-") {
        attributes.secure && host_only && attributes.path == Some("/")
    } else {
        attributes.secure || !has_prefix(name, "__Secure-")
    };
    keeps_promise.then(|| Cookie {
        name: name.to_owned(),
        value: value.to_owned(),
        domain,
        host_only,
        path,
        secure: attributes.secure,
        expires: expiry(&attributes, now),
    })
}

fn attributes(rest: &str) -> Attributes<'_> {
    let mut found = Attributes::default();
    for attribute in rest.split(';') {
        let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "domain" => found.domain = Some(value),
            "path" => found.path = Some(value),
            "secure" => found.secure = true,
            "max-age" => found.max_age = Some(value),
            "expires" => found.expires = Some(value),
            _ => {}
        }
    }
    found
}

/// The domain, and whether the cookie is for this very host only.
fn scope(domain: Option<&str>, host: &str, url: &Url) -> Option<(String, bool)> {
    let domain = domain
        .unwrap_or_default()
        .trim_start_matches('.')
        .to_ascii_lowercase();
    if domain.is_empty() {
        return Some((host.to_owned(), true));
    }
    if domain == host {
        let is_name = matches!(url.host(), Some(Host::Domain(_)));
        return Some((domain, !is_name));
    }
    let is_ours = domain.contains('.') && is_within(host, &domain);
    is_ours.then_some((domain, false))
}

/// `Max-Age` comes before `Expires`; a date that is none counts as absent.
fn expiry(attributes: &Attributes<'_>, now: u64) -> Option<u64> {
    if let Some(age) = attributes.max_age {
        let digits = age.strip_prefix('-').unwrap_or(age);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let seconds = digits.parse().unwrap_or(u64::MAX);
            let is_past = age.starts_with('-');
            return Some(if is_past {
                0
            } else {
                now.saturating_add(seconds)
            });
        }
    }
    attributes.expires.and_then(date::parse)
}

/// Prefixes count in any case (RFC 6265bis section 4.1.3), or a server could be fooled by another spelling.
fn has_prefix(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn host(url: &Url) -> Option<String> {
    url.host_str().map(str::to_ascii_lowercase)
}

/// Whether `host` is `domain` or below it. Addresses are below nothing.
fn is_within(host: &str, domain: &str) -> bool {
    let is_address = host.parse::<std::net::Ipv4Addr>().is_ok() || host.starts_with('[');
    host == domain
        || !is_address
            && host
                .strip_suffix(domain)
                .is_some_and(|before| before.ends_with('.'))
}

/// RFC 6265 section 5.1.4.
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(end) => &path[..end],
    }
}

fn path_matches(request: &str, cookie: &str) -> bool {
    request
        .strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/'))
}

/// Browsers trust their own machine as they trust TLS.
fn is_secure(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || is_loopback
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = 1_000_000_000;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn after(from: &str, set: &[&str], to: &str) -> String {
        let mut jar = Jar::default();
        for value in set {
            jar.set(value.as_bytes(), &url(from), NOW);
        }
        jar.line(&url(to), NOW).unwrap_or_default()
    }

    #[test]
    fn a_cookie_goes_where_its_domain_and_host_allow() {
        for row in [
            "https://op.example.com/ | a=1 | https://op.example.com/x | a=1",
            "https://op.example.com/ | a=1 | https://example.com/ | ",
            "https://op.example.com/ | a=1 | https://sub.op.example.com/ | ",
            "https://op.example.com/ | a=1; Domain=example.com | https://rp.example.com/ | a=1",
            "https://op.example.com/ | a=1; Domain=.Example.com | https://example.com/ | a=1",
            "https://op.example.com/ | a=1; Domain=example.com | https://badexample.com/ | ",
            "https://op.example.com/ | a=1; Domain=other.com | https://op.example.com/ | ",
            "https://op.example.com/ | a=1; Domain=com | https://op.example.com/ | ",
            "https://op.example.com/ | a=1; Domain=sub.op.example.com | https://op.example.com/ | ",
            "http://localhost/ | a=1; Domain=localhost | http://localhost:9/ | a=1",
            "http://127.0.0.1:1/ | a=1 | http://127.0.0.1:2/ | a=1",
            "http://127.0.0.1/ | a=1; Domain=127.0.0.1 | http://127.0.0.1/ | a=1",
            "http://127.0.0.1/ | a=1; Domain=0.0.1 | http://127.0.0.1/ | ",
        ] {
            let parts: Vec<&str> = row.split(" | ").collect();
            assert_eq!(after(parts[0], &[parts[1]], parts[2]), parts[3], "{row}");
        }
    }

    #[test]
    fn a_cookie_goes_where_its_path_allows() {
        for (from, set, path, expected) in [
            ("/a/b", "c=1", "/a/", "c=1"),
            ("/a/b", "c=1", "/a", "c=1"),
            ("/a/b", "c=1", "/ab", ""),
            ("/a/b", "c=1", "/", ""),
            ("/a", "c=1", "/z", "c=1"),
            ("/a/b", "c=1; Path=/", "/z", "c=1"),
            ("/a/b", "c=1; Path=/x", "/x/y", "c=1"),
            ("/a/b", "c=1; Path=/x", "/xy", ""),
            ("/a/b", "c=1; Path=/x/", "/x/y", "c=1"),
            ("/a/b", "c=1; Path=relative", "/a/c", "c=1"),
        ] {
            let to = format!("https://h.example{path}");
            let from = format!("https://h.example{from}");
            assert_eq!(after(&from, &[set], &to), expected, "{from} {set} {to}");
        }
    }

    #[test]
    fn secure_cookies_and_prefixes_keep_their_promises() {
        for row in [
            "https://h.example/ | a=1; Secure | http://h.example/ | ",
            "https://h.example/ | a=1; secure; HttpOnly | https://h.example/ | a=1",
            "http://h.example/ | a=1; Secure | https://h.example/ | ",
            "http://127.0.0.1/ | a=1; Secure | http://127.0.0.1/ | a=1",
            "http://localhost/ | a=1; Secure | http://localhost/ | a=1",
            "https://h.example/ | __Host-a=1; Secure; Path=/ | https://h.example/ | __Host-a=1",
            "https://h.example/ | __Host-a=1; Secure | https://h.example/ | ",
            "https://h.example/ | __Host-a=1; Path=/ | https://h.example/ | ",
            "https://h.example/ | __host-a=1; Path=/ | https://h.example/ | ",
            "https://h.example/ | __Host-a=1; Secure; Path=/; Domain=h.example | https://h.example/ | ",
            "https://h.example/ | __Secure-a=1 | https://h.example/ | ",
            "https://h.example/ | __Secure-a=1; Secure | https://h.example/ | __Secure-a=1",
        ] {
            let parts: Vec<&str> = row.split(" | ").collect();
            assert_eq!(after(parts[0], &[parts[1]], parts[2]), parts[3], "{row}");
        }
    }

    #[test]
    fn a_cookie_lives_as_long_as_it_says() {
        let at = url("https://h.example/");
        for (set, later, expected) in [
            ("a=1", u64::MAX, "a=1"),
            ("a=1; Max-Age=10", NOW + 9, "a=1"),
            ("a=1; Max-Age=10", NOW + 10, ""),
            ("a=1; Max-Age=0", NOW, ""),
            ("a=1; Max-Age=-1", NOW, ""),
            ("a=1; Max-Age=x", NOW, "a=1"),
            ("a=1; Max-Age=99999999999999999999999", NOW * 2, "a=1"),
            ("a=1; Expires=Thu, 01 Jan 1970 00:00:10 GMT", NOW, ""),
            ("a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT", NOW, "a=1"),
            ("a=1; Expires=nonsense", NOW, "a=1"),
            (
                "a=1; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:10 GMT",
                NOW,
                "a=1",
            ),
        ] {
            let mut jar = Jar::default();
            jar.set(set.as_bytes(), &at, NOW);
            assert_eq!(jar.line(&at, later).unwrap_or_default(), expected, "{set}");
        }
    }

    #[test]
    fn a_cookie_is_replaced_and_removed_by_its_name_domain_and_path() {
        let from = "https://h.example/x/y";
        for (set, expected) in [
            (vec!["a=1", "a=2"], "a=2"),
            (vec!["a=1", "a=; Max-Age=0"], ""),
            (vec!["a=1", "a=; Path=/; Max-Age=0"], "a=1"),
            (vec!["a=1; Path=/", "b=2", "a=3"], "b=2; a=3; a=1"),
            (vec!["a=1", "b=2", "a=3"], "a=3; b=2"),
            (vec!["=v", "w"], "w"),
            (vec!["", ";", "=", " = ; Path=/"], ""),
            (vec!["a=\"q;r\"; Path=/"], "a=\"q"),
            (vec!["a=b=c"], "a=b=c"),
            (vec!["a=1\u{1}"], ""),
        ] {
            assert_eq!(after(from, &set, from), expected, "{set:?}");
        }
    }

    #[test]
    fn a_hostile_server_does_not_fill_the_memory() {
        let mut jar = Jar::default();
        let at = url("https://h.example/");
        for number in 0..2000 {
            jar.set(format!("c{number}=1").as_bytes(), &at, NOW);
        }
        jar.set(format!("big={}", "x".repeat(5000)).as_bytes(), &at, NOW);
        assert_eq!(jar.cookies.len(), MOST);
        assert!(jar.line(&at, NOW).unwrap().ends_with("c1999=1"));
    }

    proptest! {
        #[test]
        fn what_is_set_is_what_is_sent(name in "[a-zA-Z][a-zA-Z0-9_]{0,10}", value in "[!#-+\\--:<-~]{0,30}") {
            prop_assume!(!name.starts_with("__"));
            let at = "https://h.example/a";
            prop_assert_eq!(after(at, &[&format!("{name}={value}; Path=/")], at), format!("{name}={value}"));
        }

        #[test]
        fn nothing_makes_the_jar_panic(text in "(.|;|=|Domain=|Path=|Max-Age=|Expires=){0,12}") {
            drop(after("https://h.example/a", &[&text], "https://h.example/a"));
        }

        #[test]
        fn no_cookie_reaches_a_stranger(text in "(.|;|=|Domain=|Path=|example|h){0,12}") {
            prop_assert_eq!(after("https://h.example/a", &[&text], "https://h.stranger/a"), "");
        }
    }
}
