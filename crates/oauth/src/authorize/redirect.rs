//! Redirect URIs (RFC 6749 §3.1.2, RFC 9700 §2.1, RFC 8252 §7, §8): compared character by character,
//! but for the port of a loopback address. No patterns, no normalising: two URIs that mean the
//! same to one parser mean different things to another.

use crate::client::{Client, is_resource};
use crate::error::{Error, ErrorCode};

/// Whether a client may register this URI.
pub fn validate(uri: &str) -> Result<(), Error> {
    let refuse = |description| {
        Err(Error::new(
            ErrorCode::InvalidRedirectUri,
            description,
            "client_redirect_uri",
        ))
    };
    if !is_resource(uri) {
        return refuse("a redirect URI is an absolute URI without a fragment");
    }
    let Some((scheme, rest)) = uri.split_once(':') else {
        return refuse("a redirect URI begins with its scheme");
    };
    match scheme {
        "https" | "http" => {
            let Some(authority) = authority(rest) else {
                return refuse("a redirect URI has a host, no user name and no *");
            };
            if scheme == "http" && !is_this_machine(authority) {
                return refuse(
                    "a redirect URI with http is one of this machine (127.0.0.1, [::1] or \
                     localhost): all others use https (RFC 9700 section 2.6)",
                );
            }
            Ok(())
        }
        // A scheme without a dot belongs to everybody (RFC 8252 §8.4); javascript: has none.
        private if private.contains('.') && private.bytes().all(|b| !b.is_ascii_uppercase()) => {
            Ok(())
        }
        _ => refuse(
            "the scheme of a redirect URI is https, or a reversed domain name such as \
             com.example.app (RFC 8252 section 7.1)",
        ),
    }
}

/// Whether the URI of a request is the registered one: the same characters. Only where a loopback
/// address is registered, the port may be another (RFC 8252 §7.3).
pub fn matches(registered: &str, presented: &str) -> bool {
    if registered == presented {
        return true;
    }
    match (loopback(registered), loopback(presented)) {
        (Some(registered), Some(presented)) => registered == presented,
        _ => false,
    }
}

/// The redirect URI of a request, and whether it was sent. What is wrong with it is told to the
/// user on a page, never to an address that nobody vouches for.
pub fn find(
    client: &Client,
    presented: Option<&str>,
    must_be_sent: bool,
) -> Result<(String, bool), Error> {
    let registered = &client.metadata.redirect_uris;
    let Some(presented) = presented else {
        return match &**registered {
            [only] if !must_be_sent => Ok((only.clone(), false)),
            _ => Err(Error::request(
                "redirect_uri is missing: send one that the client is registered with",
                "redirect_uri_missing",
            )),
        };
    };
    // Checked as at registration: a client from before the rule must not be its hole.
    let is_sound = validate(presented).is_ok();
    if is_sound && registered.iter().any(|known| matches(known, presented)) {
        return Ok((presented.to_owned(), true));
    }
    Err(Error::request(
        "redirect_uri is not one that the client is registered with: they are compared character \
         by character",
        "redirect_uri_unknown",
    ))
}

/// Host and port of `//host:port/…`, where they are sound.
fn authority(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix("//")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let is_sound = !authority.is_empty()
        && !authority.starts_with(':')
        && !authority.contains(['@', '*', '%', ',', ';']);
    is_sound.then_some(authority)
}

fn is_this_machine(authority: &str) -> bool {
    ["127.0.0.1", "[::1]", "localhost"].into_iter().any(|host| {
        authority
            .strip_prefix(host)
            .is_some_and(|port| port.is_empty() || is_port(port))
    })
}

/// `:` and a number that can be a port.
fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|digits| {
        (1..=5).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit())
            && !digits.starts_with('0')
            && digits.parse::<u16>().is_ok()
    })
}

/// Address and remainder of a loopback URI, without its port. `localhost` is not one: a resolver
/// may send it anywhere (RFC 8252 §8.3).
fn loopback(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let host = ["127.0.0.1", "[::1]"]
        .into_iter()
        .find(|host| rest.starts_with(host))?;
    let rest = &rest[host.len()..];
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (port, remainder) = rest.split_at(end);
    (port.is_empty() || is_port(port)).then_some((host, remainder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{ClientMetadata, example};
    use proptest::prelude::*;

    fn client(uris: &[&str]) -> Client {
        Client {
            metadata: ClientMetadata {
                redirect_uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
                ..ClientMetadata::default()
            },
            ..example()
        }
    }

    /// What an attacker would like to be taken for `https://app.example/cb?x=1`.
    const NEAR_MISSES: [&str; 40] = [
        "https://app.example/cb",
        "https://app.example/cb?x=1&",
        "https://app.example/cb?x=1&y=2",
        "https://app.example/cb?x=2",
        "https://app.example/cb?X=1",
        "https://app.example/cb?x=1#",
        "https://app.example/cb?x=1#f",
        "https://app.example/cb/?x=1",
        "https://app.example//cb?x=1",
        "https://app.example/./cb?x=1",
        "https://app.example/a/../cb?x=1",
        "https://app.example/cb/../cb?x=1",
        "https://app.example/%63b?x=1",
        "https://app.example/cb%3Fx=1",
        "https://app.example/cb?x=%31",
        "https://app.example/CB?x=1",
        "https://app.example/cb;?x=1",
        "https://app.example/cb.evil?x=1",
        "https://app.example/cbx?x=1",
        "https://app.example/c?x=1",
        "https://app.example:443/cb?x=1",
        "https://app.example:8443/cb?x=1",
        "https://app.example./cb?x=1",
        "https://APP.example/cb?x=1",
        "HTTPS://app.example/cb?x=1",
        "http://app.example/cb?x=1",
        "//app.example/cb?x=1",
        "app.example/cb?x=1",
        "https:app.example/cb?x=1",
        "https:/app.example/cb?x=1",
        "https://app.example@evil.example/cb?x=1",
        "https://user@app.example/cb?x=1",
        "https://app.example.evil.example/cb?x=1",
        "https://evil.example/https://app.example/cb?x=1",
        "https://sub.app.example/cb?x=1",
        "https://app.example\\@evil.example/cb?x=1",
        "https://app.example/cb?x=1 ",
        " https://app.example/cb?x=1",
        "https://app.example/cb?x=1\n",
        "javascript://app.example/cb?x=1",
    ];

    #[test]
    fn rfc9700_forty_near_misses_are_all_refused() {
        let client = client(&["https://app.example/cb?x=1"]);
        assert!(find(&client, Some("https://app.example/cb?x=1"), true).is_ok());
        for near in NEAR_MISSES {
            let refused = find(&client, Some(near), true).map_err(|error| error.reason);
            assert_eq!(refused, Err("redirect_uri_unknown"), "{near:?}");
        }
    }

    #[test]
    fn only_the_port_of_a_loopback_address_may_vary() {
        let client = client(&[
            "http://127.0.0.1/cb",
            "http://[::1]:8000/cb?a",
            "http://localhost:9000/cb",
        ]);
        for good in [
            "http://127.0.0.1/cb",
            "http://127.0.0.1:51004/cb",
            "http://[::1]/cb?a",
            "http://[::1]:65535/cb?a",
            "http://localhost:9000/cb",
        ] {
            assert!(find(&client, Some(good), true).is_ok(), "{good}");
        }
        for bad in [
            "http://127.0.0.1:0/cb",
            "http://127.0.0.1:65536/cb",
            "http://127.0.0.1:08/cb",
            "http://127.0.0.1:/cb",
            "http://127.0.0.1:80a/cb",
            "http://127.0.0.1:80@evil.example/cb",
            "http://127.0.0.1.evil.example/cb",
            "http://127.0.0.10/cb",
            "http://127.0.0.1/cb2",
            "http://127.0.0.1:80/cb?x",
            "https://127.0.0.1:80/cb",
            "http://127.1/cb",
            "http://[::1]:80/cb",
            "http://[0:0:0:0:0:0:0:1]/cb?a",
            "http://localhost:9001/cb",
            "http://localhost/cb",
        ] {
            assert!(find(&client, Some(bad), true).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_missing_uri_is_filled_in_only_where_there_is_one_answer() {
        let one = client(&["https://a.example/cb"]);
        let two = client(&["https://a.example/cb", "https://a.example/cb2"]);
        assert_eq!(
            find(&one, None, false),
            Ok(("https://a.example/cb".to_owned(), false))
        );
        for (client, must_be_sent) in [(&one, true), (&two, false), (&client(&[]), false)] {
            let refused = find(client, None, must_be_sent).map_err(|error| error.reason);
            assert_eq!(refused, Err("redirect_uri_missing"));
        }
    }

    #[test]
    fn registration_table() {
        for good in [
            "https://app.example/cb",
            "https://app.example",
            "https://app.example:8443/cb?x=1&y=*",
            "http://127.0.0.1/cb",
            "http://[::1]:8000/",
            "http://localhost:3000/cb",
            "com.example.app:/cb",
            "com.example.app://cb",
        ] {
            assert_eq!(validate(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "/cb",
            "https://",
            "https:///cb",
            "https://:443/cb",
            "https://app.example/cb#",
            "https://app.example/cb#f",
            "https://*.app.example/cb",
            "https://user@app.example/cb",
            "https://app.example%2f@evil/cb",
            "http://app.example/cb",
            "http://localhost.evil.example/cb",
            "http://127.0.0.1.evil.example/cb",
            "myapp:/cb",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "https://app.example/c b",
            "https://app.example\\cb",
            "ftp://app.example/cb",
        ] {
            assert!(validate(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_the_registered_uri_matches(presented in "\\PC{0,40}") {
            let client = client(&["https://app.example/cb"]);
            let found = find(&client, Some(&presented), true).is_ok();
            prop_assert_eq!(found, presented == "https://app.example/cb");
        }

        #[test]
        fn a_matching_loopback_uri_differs_in_its_port_only(port in proptest::option::of(1u16..), rest in "[/?][a-z/.:@?&]{0,10}") {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            let presented = format!("http://127.0.0.1{port}{rest}");
            prop_assert_eq!(matches("http://127.0.0.1/cb", &presented), rest == "/cb");
        }
    }
}
