//! A browser without scripts: it keeps cookies, resolves redirects and fills in forms. It must not know
//! what a page is for, and it sends nothing.

pub(crate) mod cookie;
mod date;

use http::{HeaderValue, StatusCode, header};
use url::Url;

use crate::call::{Call, Reply};
use cookie::Jar;

/// What one user's browser remembers.
#[derive(Debug, Default)]
pub(crate) struct Agent {
    jar: Jar,
}

impl Agent {
    /// Forgets every cookie, as a new visitor has none.
    pub(crate) fn forget(&mut self) {
        self.jar = Jar::default();
    }

    /// Keeps the cookies of an answer.
    pub(crate) fn keep(&mut self, reply: &Reply, now: u64) {
        for value in reply.headers.get_all(header::SET_COOKIE) {
            self.jar.set(value.as_bytes(), &reply.url, now);
        }
    }

    /// Adds the cookies that belong to the URL of a call.
    pub(crate) fn attach(&self, call: &mut Call, now: u64) {
        let Some(line) = self.jar.line(&call.url, now) else {
            return;
        };
        if let Ok(value) = HeaderValue::from_bytes(line.as_bytes()) {
            call.headers.push((header::COOKIE, value));
        }
    }
}

/// Where an answer sends the browser by GET. A redirect that keeps the method (307, 308) is none: no
/// server sends passwords on to somewhere else.
pub(crate) fn redirect(reply: &Reply) -> Option<Url> {
    let follows = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::SEE_OTHER,
    ];
    if !follows.contains(&reply.status) {
        return None;
    }
    let location = reply.headers.get(header::LOCATION)?;
    reply.url.join(location.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::{HeaderMap, Method};

    fn reply(url: &str, status: u16, headers: &[(header::HeaderName, &str)]) -> Reply {
        let pair = |(name, value): &(header::HeaderName, &str)| {
            (name.clone(), HeaderValue::from_str(value).unwrap())
        };
        Reply {
            url: Url::parse(url).unwrap(),
            status: StatusCode::from_u16(status).unwrap(),
            headers: headers.iter().map(pair).collect::<HeaderMap>(),
            body: Bytes::new(),
            ending: None,
        }
    }

    #[test]
    fn redirects_are_resolved_against_what_was_asked() {
        for (location, expected) in [
            ("/login?x=1", "https://op.example/login?x=1"),
            ("login", "https://op.example/a/login"),
            ("?x=1", "https://op.example/a/b?x=1"),
            ("//other.example/", "https://other.example/"),
            (
                "http://rp.example/cb?code=1#f",
                "http://rp.example/cb?code=1#f",
            ),
        ] {
            let reply = reply(
                "https://op.example/a/b?q",
                302,
                &[(header::LOCATION, location)],
            );
            assert_eq!(redirect(&reply).unwrap().as_str(), expected);
        }
    }

    #[test]
    fn only_redirects_by_get_are_followed() {
        for (status, follows) in [
            (301, true),
            (302, true),
            (303, true),
            (307, false),
            (200, false),
        ] {
            let reply = reply("https://op.example/", status, &[(header::LOCATION, "/x")]);
            assert_eq!(redirect(&reply).is_some(), follows, "{status}");
        }
        assert_eq!(redirect(&reply("https://op.example/", 302, &[])), None);
        assert_eq!(
            redirect(&reply(
                "https://op.example/",
                302,
                &[(header::LOCATION, "http://")]
            )),
            None
        );
    }

    #[test]
    fn cookies_come_back_with_the_next_call() {
        let mut agent = Agent::default();
        let answer = reply(
            "https://op.example/login",
            200,
            &[
                (header::SET_COOKIE, "a=1; Path=/"),
                (header::SET_COOKIE, "b=2"),
            ],
        );
        agent.keep(&answer, 0);
        let mut call = Call {
            method: Method::GET,
            url: Url::parse("https://op.example/").unwrap(),
            headers: Vec::new(),
            body: Bytes::new(),
        };
        agent.attach(&mut call, 0);
        assert_eq!(
            call.headers,
            [(header::COOKIE, HeaderValue::from_static("a=1; b=2"))]
        );
        agent.forget();
        call.headers.clear();
        agent.attach(&mut call, 0);
        assert!(call.headers.is_empty());
    }
}
